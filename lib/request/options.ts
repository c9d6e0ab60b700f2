/** Options and arguments, checked once: after this file they are what their types say. */

import { type insteadModes, mostWorkers, reflinkModes } from '../engine/native.js';
import { invalidType, invalidValue, outOfRange } from '../errors.js';
import { type Glob, parseGlobs } from '../selection/globs.js';
import { checkRuleFileNames } from '../selection/index.js';
import type { CopyOptions, CopyWarning, Filter, PathLike, PreserveKind } from '../types.js';
import { absolute, pathBytes, type Shown, shownFrom } from '../walk/paths.js';

/** Of these a request has something else than what was asked for. */
type Unlike =
  | 'signal'
  | 'filter'
  | 'include'
  | 'exclude'
  | 'backup'
  | 'preserve'
  | 'hardLink'
  | 'symlink'
  | 'reuse'
  | 'shard';

interface Checked extends Required<Omit<CopyOptions, Unlike>> {
  signal: AbortSignal | undefined;
  filter: Filter | undefined;
  include: Glob[];
  exclude: Glob[];
  backup: 'numbered' | undefined;
  reuse: (typeof reuseModes)[number] | undefined;
}

/** What copyTree() was asked for, with every default filled in. */
export interface Request extends Checked {
  preserve: readonly PreserveKind[];
  /** Directories that DEST has are given what SRC's have, too. */
  existingDirectories: boolean;
  /** Entries that DEST has lose attributes that are not preserved. */
  bare: boolean;
  /** What is made of a file. */
  instead: (typeof insteadModes)[number];
  /** As Node's fs.cp has it: relative links become absolute; FIFOs and sockets are errors. */
  absoluteSymlinks: boolean;
  likeNode: boolean;
  /** Of how many shards, and which: counted from 0. */
  shards: number;
  shard: number;
  /** Nothing is copied, two trees are compared. */
  compares: boolean;
  /** Absolute, as `dest` is: what the working directory is later does not matter. */
  sources: Buffer[];
  /** Several sources were given, as an array: they go into `dest`. */
  several: boolean;
  dest: Buffer;
  /** How messages write absolute paths: as relative ones if the paths were given so. */
  shown: Shown;
  warnings: CopyWarning[];
}

const reuseModes = ['clone', 'hardLink'] as const;
const snapshotModes = ['never', 'auto', 'always'] as const;
const onErrorModes = ['stop', 'continue'] as const;

/** Of copyTree(). */
export const optionNames: ReadonlySet<string> = new Set<keyof CopyOptions>([
  'atomic',
  'reuse',
  'snapshot',
  'preserve',
  'strict',
  'dereference',
  'hardLink',
  'symlink',
  'sparse',
  'backup',
  'fsync',
  'sync',
  'checksum',
  'quickCheck',
  'mirror',
  'deleteExcluded',
  'verify',
  'shard',
  'force',
  'errorOnExist',
  'reflink',
  'concurrency',
  'onError',
  'signal',
  'dryRun',
  'oneFileSystem',
  'parents',
  'entries',
  'gitignore',
  'onlyIgnored',
  'ignoreFileNames',
  'include',
  'exclude',
  'filter',
]);

/** Throws if options are not an object. */
export function checkObject(options: unknown): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw invalidType('options', 'an object', options);
  }
}

export function checkRequest(
  src: PathLike | readonly PathLike[],
  dest: PathLike,
  options: CopyOptions,
): Request {
  checkObject(options);
  for (const name of Object.keys(options)) {
    if (!optionNames.has(name))
      throw invalidValue(`options.${name}`, 'left out: no such option', name);
  }
  const warnings: CopyWarning[] = [];
  const paths = checkPaths(src, dest);
  const reflink = checkChoice(options, 'reflink', reflinkModes);
  const sparse = checkChoice(options, 'sparse', ['auto', 'always']);
  if (sparse === 'always' && reflink === 'always') {
    const expected = "'auto' or 'never' with sparse 'always', which writes files anew";
    throw invalidValue('options.reflink', expected, reflink);
  }
  const again = checkAgain(options);
  const shard = checkShard(options.shard);
  checkTogether(options, again.sync);
  const request: Request = {
    ...paths,
    atomic: checkAtomic(options, paths.sources, again.sync),
    reuse: checkReuse(options),
    snapshot: checkChoice(options, 'snapshot', snapshotModes),
    ...checkPreserve(options.preserve, again.sync || shard.shards > 1, again.sync),
    ...again,
    ...shard,
    bare: false,
    compares: false,
    verify: checkFlag(options, 'verify', false),
    instead: checkInstead(options),
    absoluteSymlinks: false,
    likeNode: false,
    strict: checkFlag(options, 'strict', false),
    dereference: checkFlag(options, 'dereference', false),
    sparse,
    backup: checkBackup(options.backup),
    fsync: checkFlag(options, 'fsync', false),
    force: checkFlag(options, 'force', true),
    errorOnExist: checkFlag(options, 'errorOnExist', false),
    reflink,
    concurrency: checkConcurrency(options.concurrency, warnings),
    onError: checkChoice(options, 'onError', onErrorModes),
    signal: checkSignal(options.signal),
    dryRun: checkFlag(options, 'dryRun', false),
    oneFileSystem: checkFlag(options, 'oneFileSystem', false),
    parents: checkFlag(options, 'parents', true),
    entries: checkFlag(options, 'entries', false),
    ...checkGit(options),
    ignoreFileNames: checkRuleFileNames(
      orEmpty(options.ignoreFileNames),
      'options.ignoreFileNames',
    ),
    include: parseGlobs(orEmpty(options.include), 'options.include'),
    exclude: parseGlobs(orEmpty(options.exclude), 'options.exclude'),
    filter: checkFilter(options.filter),
    warnings,
  };
  const obstacle = request.snapshot === 'always' && snapshotObstacle(request);
  if (!obstacle) return request;
  throw invalidValue('options.snapshot', `'auto' or 'never' with ${obstacle}`, 'always');
}

/** It leaves nothing of DEST, so what keeps some of that cannot be asked for with it. */
function checkAtomic(
  options: CopyOptions,
  sources: readonly Buffer[],
  sync: boolean,
): Request['atomic'] {
  const { atomic = false, force, errorOnExist, backup } = options;
  if (typeof atomic !== 'boolean' && atomic !== 'two-step') {
    const expected = "a boolean or 'two-step'";
    if (typeof atomic !== 'string') throw invalidType('options.atomic', expected, atomic);
    throw invalidValue('options.atomic', expected, atomic);
  }
  if (atomic === false) return false;
  const conflict =
    (force === false && 'force false, which keeps what DEST has') ||
    (errorOnExist && 'errorOnExist, which keeps what DEST has') ||
    (backup && 'backup: nothing of DEST is left to keep') ||
    (sync && 'sync or mirror: all of it is made anew') ||
    (options.shard !== undefined && 'shard: no shard makes the whole') ||
    (sources.length > 1 && 'several sources: one DEST is replaced whole');
  if (conflict) throw invalidValue('options.atomic', `false with ${conflict}`, atomic);
  return atomic;
}

function checkReuse(options: CopyOptions): Request['reuse'] {
  const { atomic, reuse } = options;
  if (reuse === undefined) return undefined;
  const mode = checkChoice(options, 'reuse', reuseModes);
  if (!atomic) throw invalidValue('options.reuse', 'left out without atomic', reuse);
  return mode;
}

function checkPaths(
  src: PathLike | readonly PathLike[],
  dest: PathLike,
): Pick<Request, 'sources' | 'several' | 'dest' | 'shown'> {
  const several = Array.isArray(src);
  if (several && src.length === 0) throw invalidValue('src', 'at least one path', '[]');
  const sources = several
    ? Array.from(src, (path, index) => pathBytes(path, `src[${index}]`))
    : [pathBytes(src, 'src')];
  const target = pathBytes(dest, 'dest');
  return {
    sources: sources.map(absolute),
    several,
    dest: absolute(target),
    shown: { src: shownFrom(sources), dest: shownFrom([target]) },
  };
}

const preserveKinds: readonly PreserveKind[] = [
  'mode',
  'timestamps',
  'ownership',
  'xattrs',
  'hardLinks',
];

type Preserved = Pick<Request, 'preserve' | 'existingDirectories'>;

/** `directories`: those that DEST has are given what SRC's have in any case, `times`: so are times. */
function checkPreserve(value: unknown, directories: boolean, times: boolean): Preserved {
  const { preserve, existingDirectories } = preserved(value);
  return {
    preserve: times ? withTimes(preserve) : preserve,
    existingDirectories: existingDirectories || directories,
  };
}

export function withTimes(preserve: readonly PreserveKind[]): readonly PreserveKind[] {
  return preserve.includes('timestamps') ? preserve : [...preserve, 'timestamps'];
}

/** What `options.preserve` says by itself. */
export function preserved(value: unknown): Preserved {
  if (value === undefined) return { preserve: ['mode'], existingDirectories: false };
  if (value === true) return { preserve: preserveKinds, existingDirectories: true };
  if (value === false) return { preserve: [], existingDirectories: false };
  if (!Array.isArray(value)) {
    throw invalidType('options.preserve', 'a boolean or an array of strings', value);
  }
  const preserve = value.map((one: unknown, index) => {
    const name = `options.preserve[${index}]`;
    if (typeof one !== 'string') throw invalidType(name, 'a string', one);
    const kind = preserveKinds.find((known) => known === one);
    if (kind) return kind;
    throw invalidValue(name, `one of ${quoted(preserveKinds)}`, one);
  });
  return { preserve, existingDirectories: true };
}

type Again = Pick<Request, 'sync' | 'checksum' | 'quickCheck' | 'mirror' | 'deleteExcluded'>;

function checkAgain(options: CopyOptions): Again {
  const mirror = checkFlag(options, 'mirror', false);
  const checksum = checkFlag(options, 'checksum', false);
  const quickCheck = checkFlag(options, 'quickCheck', false);
  const deleteExcluded = checkFlag(options, 'deleteExcluded', false);
  if (deleteExcluded && !mirror) {
    throw invalidValue('options.deleteExcluded', 'false without mirror', true);
  }
  if (quickCheck && checksum) {
    throw invalidValue('options.quickCheck', 'false with checksum', true);
  }
  const sync = checkFlag(options, 'sync', false) || mirror || checksum || quickCheck;
  return { sync, checksum, quickCheck, mirror, deleteExcluded };
}

/** What cannot be had at once, and why. */
function checkTogether(options: CopyOptions, sync: boolean): void {
  const { mirror, shard, backup, symlink, force } = options;
  const refuse = (name: string, expected: string, value: unknown): never => {
    throw invalidValue(`options.${name}`, expected, value);
  };
  if (mirror && shard !== undefined) {
    refuse('shard', 'left out with mirror: a shard does not know what the others keep', shard);
  }
  if (mirror && backup !== undefined) {
    refuse('backup', 'left out with mirror, which would remove backups', backup);
  }
  if (sync && symlink) refuse('symlink', 'false with sync: links are never out of date', true);
  if (sync && force === false) refuse('force', 'true with sync', false);
}

function checkShard(value: unknown): Pick<Request, 'shard' | 'shards'> {
  if (value === undefined) return { shard: 0, shards: 1 };
  if (typeof value !== 'string') throw invalidType('options.shard', 'a string', value);
  const [, part, parts] = /^([1-9]\d{0,5})\/([1-9]\d{0,5})$/.exec(value) ?? [];
  if (Number(part) <= Number(parts)) return { shard: Number(part) - 1, shards: Number(parts) };
  throw invalidValue('options.shard', "'i/n' with i from 1 to n, at most 999999", value);
}

function checkInstead(options: CopyOptions): Request['instead'] {
  const hardLink = checkFlag(options, 'hardLink', false);
  const symlink = checkFlag(options, 'symlink', false);
  if (hardLink && symlink) throw invalidValue('options.symlink', 'false with hardLink', true);
  if (hardLink) return 'hardLink';
  return symlink ? 'symlink' : 'copy';
}

function checkBackup(value: unknown): 'numbered' | undefined {
  if (value === undefined || value === 'numbered') return value;
  if (typeof value !== 'string') throw invalidType('options.backup', 'a string', value);
  throw invalidValue('options.backup', "'numbered'", value);
}

const quoted = (list: readonly string[]): string => list.map((one) => `'${one}'`).join(', ');

function checkFlag(options: CopyOptions, name: keyof CopyOptions, fallback: boolean): boolean {
  const { [name]: value = fallback } = options;
  if (typeof value !== 'boolean') throw invalidType(`options.${name}`, 'a boolean', value);
  return value;
}

/** The first choice is the default. */
function checkChoice<T extends string>(
  options: CopyOptions,
  name: keyof CopyOptions,
  choices: readonly [T, ...T[]],
): T {
  const { [name]: value = choices[0] } = options;
  if (typeof value !== 'string') throw invalidType(`options.${name}`, 'a string', value);
  const choice = choices.find((one) => one === value);
  if (choice === undefined) {
    throw invalidValue(`options.${name}`, `one of ${quoted(choices)}`, value);
  }
  return choice;
}

function checkConcurrency(value: unknown, warnings: CopyWarning[]): number {
  if (value === undefined) return mostWorkers;
  if (typeof value !== 'number') throw invalidType('options.concurrency', 'a number', value);
  if (!Number.isInteger(value) || value < 1 || value > 1024) {
    throw outOfRange('options.concurrency', 'an integer from 1 to 1024', value);
  }
  if (value <= mostWorkers) return value;
  warnings.push({
    code: 'CONCURRENCY_CAPPED',
    message: `concurrency ${value} is capped at ${mostWorkers}: one thread of libuv's pool stays free (set UV_THREADPOOL_SIZE to at least ${value + 1} before Node starts)`,
  });
  return mostWorkers;
}

/** Null is no list. */
function orEmpty(value: unknown): unknown {
  return value === undefined ? [] : value;
}

function checkGit(options: CopyOptions): Pick<Request, 'gitignore' | 'onlyIgnored'> {
  const gitignore = checkFlag(options, 'gitignore', false);
  const onlyIgnored = checkFlag(options, 'onlyIgnored', false);
  if (gitignore && onlyIgnored) {
    throw invalidValue('options.onlyIgnored', 'false where options.gitignore is true', true);
  }
  return { gitignore, onlyIgnored };
}

function checkFilter(value: unknown): Filter | undefined {
  if (value === undefined || typeof value === 'function') return value as Filter | undefined;
  throw invalidType('options.filter', 'a function', value);
}

function checkSignal(value: unknown): AbortSignal | undefined {
  if (value === undefined || value instanceof AbortSignal) return value;
  throw invalidType('options.signal', 'an AbortSignal', value);
}

/** What was asked for that a snapshot cannot honour. */
export function snapshotObstacle(request: Request): string | undefined {
  const { include, exclude, ignoreFileNames } = request;
  const obstacles: Record<string, unknown> = {
    'several sources': request.sources.length > 1,
    dereference: request.dereference,
    hardLink: request.instead === 'hardLink',
    symlink: request.instead === 'symlink',
    "reflink 'never'": request.reflink === 'never',
    "sparse 'always'": request.sparse === 'always',
    backup: request.backup,
    reuse: request.reuse,
    'sync or mirror': request.sync,
    shard: request.shards > 1,
    gitignore: request.gitignore,
    onlyIgnored: request.onlyIgnored,
    include: include.length > 0,
    exclude: exclude.length > 0,
    ignoreFileNames: ignoreFileNames.length > 0,
    filter: request.filter,
  };
  return Object.keys(obstacles).find((name) => obstacles[name]);
}
