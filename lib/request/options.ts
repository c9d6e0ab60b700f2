/** Checks options and arguments. After this file they have the values that their types allow. */

import type { Like } from '../bridge/native.js';
import { abortClasses } from '../builtins.js';
import { invalid, invalidType, invalidValue, outOfRange } from '../errors/arguments.js';
import { absolute, pathBytes, type ShownPaths, shownFrom, trimSlashes } from '../paths.js';
import { type Glob, parseGlobs } from '../selection/globs.js';
import { checkRuleFileNames } from '../selection/index.js';
import type { CopyOptions, CopyProgress, Filter, PathLike, PreserveKind } from '../types.js';
import { findConflict, missingRequirements } from './conflicts.js';
import { type Choice, type ChoiceName, type Flag, type FlagName, table } from './table.js';

/** Flags and choices, with their defaults. */
type Checked = { [K in FlagName]: boolean } & {
  [K in ChoiceName]:
    | Exclude<CopyOptions[K], undefined>
    | ((typeof table)[K]['default'] & undefined);
};

/** A call of copyTree() with all defaults. */
export interface Request extends Checked {
  preserve: readonly PreserveKind[];
  /** Also applies SRC's metadata to directories that exist in DEST. */
  existingDirectories: boolean;
  /** With `atomic`, in the engine: the old DEST, whose place the copy will take. */
  replaces: Buffer | undefined;
  /** What is created for a file. */
  instead: 'copy' | 'hardLink' | 'symlink';
  /** Whose rules apply: see docs/fs.md. */
  like: Like;
  /** Of the time of the call; empty unless `like` is another program, or if it was removed. */
  workingDirectory: Buffer;
  /** A DEST that is a symlink to a directory stands for that directory. */
  followsDest: boolean;
  /** Relative symlinks become absolute, as in Node's fs.cp. */
  absoluteSymlinks: boolean;
  /** The number of shards (0: this copy is none), and this copy's, counted from 0. */
  shards: number;
  shard: number;
  atomic: boolean | 'two-step';
  /** Seconds. */
  lockTimeout: number;
  concurrency: number;
  signal: AbortSignal | undefined;
  filter: Filter | undefined;
  onProgress: ((progress: CopyProgress) => void) | undefined;
  ignoreFileNames: string[];
  include: Glob[] | undefined;
  exclude: Glob[];
  /** Nothing is copied: two trees are compared. */
  compares: boolean;
  /** Absolute, as `dest` is, so a later change of the working directory has no effect. */
  sources: Buffer[];
  /** Several sources were passed, as an array: they are copied into `dest`. */
  several: boolean;
  dest: Buffer;
  /** How messages write absolute paths: relative if the paths were passed so. */
  shown: ShownPaths;
}

/** Throws if options are not an object. */
export function checkObject(options: unknown): asserts options is object {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw invalidType('options', 'an object', options);
  }
}

/** Throws for a name that is not an option of `known`, and suggests an option. */
export function checkNames(options: object, known: readonly string[]): void {
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const meant = nearestName(name, known);
    const hint = meant === undefined ? '' : `; did you mean '${meant}'?`;
    throw refuseOption(name, `is not an option of fastcp${hint}`);
  }
}

function refuseOption(name: string, why: string): Error {
  return invalid(TypeError, 'ERR_INVALID_ARG_VALUE', `The "options.${name}" property ${why}`);
}

/** Names of other tools for fastcp's options. */
const otherNames: Record<string, keyof CopyOptions> = {
  overwrite: 'force',
  clobber: 'force',
  skipExisting: 'force',
  ignore: 'exclude',
  ignored: 'onlyIgnored',
  ignoreFiles: 'ignoreFileNames',
  delete: 'mirror',
  hardlink: 'hardLink',
  timestamps: 'preserveTimestamps',
  progress: 'onProgress',
  mode: 'preserve',
};

/**
 * Returns the option that was probably meant by `name`: for another tool's name, or with at most two different
 * letters.
 */
function nearestName(name: string, known: readonly string[]): string | undefined {
  const other = Object.hasOwn(otherNames, name) ? otherNames[name] : undefined;
  if (other && known.includes(other)) return other;
  const lower = name.toLowerCase();
  const distances = known.map((one): [string, number] => [one, distance(lower, one.toLowerCase())]);
  const [best] = distances.sort((a, b) => a[1] - b[1]);
  return best && best[1] <= Math.min(2, Math.floor(name.length / 3)) ? best[0] : undefined;
}

/** Returns the number of letters to insert, remove or replace (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

export function checkRequest(
  src: PathLike | readonly PathLike[],
  dest: PathLike,
  options: CopyOptions,
): Request {
  checkObject(options);
  checkNames(options, Object.keys(table));
  const paths = checkPaths(src, dest);
  const checked = checkAll(options);
  const atomic = checkAtomic(options.atomic);
  const shard = checkShard(options.shard);
  const lists = {
    ignoreFileNames: checkRuleFileNames(options.ignoreFileNames ?? [], 'options.ignoreFileNames'),
    include:
      options.include === undefined
        ? undefined
        : parseGlobs(listOf(options.include), 'options.include'),
    exclude: parseGlobs(listOf(options.exclude), 'options.exclude'),
  };
  for (const name of ['include', 'exclude'] as const) refuseWholePaths(options[name], name, paths);
  for (const name of ['recursive', 'verbatimSymlinks'] as const) {
    if (!checked[name]) {
      throw invalidValue(`options.${name}`, "true: 'fastcp/fs' has it as fs.cp does", false);
    }
  }
  const conflict = findConflict(options);
  if (conflict) {
    const { name, others, why } = conflict;
    const given = others.map((one) => `options.${one}${one === 'force' ? ' false' : ''}`);
    throw refuseOption(name, `cannot be combined with ${given.join(' and ')}${why && `: ${why}`}`);
  }
  for (const [name, needed] of missingRequirements(options)) {
    throw refuseOption(name, `requires options.${needed}`);
  }
  if (checked.sparse === 'always' && checked.reflink === 'always') {
    const expected = "'auto' or 'never' with sparse 'always', which writes files anew";
    throw invalidValue('options.reflink', expected, checked.reflink);
  }
  if (atomic && paths.sources.length > 1) {
    throw invalidValue('options.atomic', 'false with several sources', atomic);
  }
  const sync = checked.sync || checked.mirror || checked.checksum || checked.quickCheck;
  const keepsTimes = sync || checked.update || checked.preserveTimestamps || checked.worktree;
  const { preserve, existingDirectories } = preserved(options.preserve);
  const request: Request = {
    ...paths,
    ...checked,
    ...shard,
    ...lists,
    ...(checked.worktree && { onlyIgnored: true, force: false }),
    ...(checked.worktree && paths.sources.length === 1 && { dest: trimSlashes(paths.dest) }),
    sync,
    atomic,
    preserve: keepsTimes ? withTimes(preserve) : preserve,
    existingDirectories: (existingDirectories && !checked.worktree) || sync || shard.shards > 0,
    replaces: undefined,
    compares: false,
    instead: checked.hardLink ? 'hardLink' : checked.symlink ? 'symlink' : 'copy',
    absoluteSymlinks: false,
    like: 'fastcp',
    workingDirectory: Buffer.alloc(0),
    followsDest: true,
    concurrency: checkConcurrency(options.concurrency),
    lockTimeout: checkSeconds(options.lockTimeout),
    signal: checkSignal(options.signal),
    filter: checkFunction(options.filter, 'filter'),
    onProgress: checkFunction(options.onProgress, 'onProgress'),
  };
  const obstacle = request.snapshot === 'always' && snapshotObstacle(request);
  if (!obstacle) return request;
  throw invalidValue('options.snapshot', `'auto' or 'never' with ${obstacle}`, 'always');
}

/** Checks every flag and choice of the table. */
function checkAll(options: CopyOptions): Checked {
  const checked: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries(table)) {
    if (spec.type === 'flag') checked[name] = checkFlag(options, name, spec);
    if (spec.type === 'choice') checked[name] = checkChoice(options, name, spec);
  }
  return checked as unknown as Checked;
}

function given(options: CopyOptions, name: string): unknown {
  return (options as Record<string, unknown>)[name];
}

function checkFlag(options: CopyOptions, name: string, spec: Flag): boolean {
  const value = given(options, name);
  if (value === undefined) return spec.default;
  if (typeof value !== 'boolean') throw invalidType(`options.${name}`, 'a boolean', value);
  return value;
}

function checkChoice(options: CopyOptions, name: string, spec: Choice<string>): string | undefined {
  const value = given(options, name);
  if (value === undefined) return spec.default;
  if (typeof value !== 'string') throw invalidType(`options.${name}`, 'a string', value);
  if (spec.choices.includes(value)) return value;
  throw invalidValue(`options.${name}`, `one of ${quoted(spec.choices)}`, value);
}

function checkAtomic(value: unknown): Request['atomic'] {
  if (value === undefined) return false;
  if (typeof value === 'boolean' || value === 'two-step') return value;
  const expected = "a boolean or 'two-step'";
  if (typeof value !== 'string') throw invalidType('options.atomic', expected, value);
  throw invalidValue('options.atomic', expected, value);
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

/**
 * Refuses globs that begin with the path of SRC or DEST. They are relative to SRC and would match nothing, so a mirror would
 * delete what the user wants to keep. A path of one name may also be a directory in SRC. In `/` all paths are.
 */
function refuseWholePaths(
  globs: CopyOptions['include'],
  name: 'include' | 'exclude',
  { sources, dest }: Pick<Request, 'sources' | 'dest'>,
): void {
  const roots = [...sources, dest].map((path) => trimSlashes(path).toString());
  if (sources.some((path) => trimSlashes(path).toString() === '/')) return;
  const deep = roots.filter((path) => path.split('/').length > 2);
  for (const [index, glob] of [globs ?? []].flat().entries()) {
    if (!deep.some((path) => `${glob}/`.startsWith(`${path}/`))) continue;
    throw invalidValue(`options.${name}[${index}]`, "a glob relative to SRC, as '/cache'", glob);
  }
}

const preserveKinds: readonly PreserveKind[] = [
  'mode',
  'timestamps',
  'ownership',
  'xattrs',
  'hardLinks',
];

export function withTimes(preserve: readonly PreserveKind[]): readonly PreserveKind[] {
  return preserve.includes('timestamps') ? preserve : [...preserve, 'timestamps'];
}

/** Returns the part of the request that `options.preserve` alone decides. */
export function preserved(value: unknown): Pick<Request, 'preserve' | 'existingDirectories'> {
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

function checkShard(value: unknown): Pick<Request, 'shard' | 'shards'> {
  if (value === undefined) return { shard: 0, shards: 0 };
  if (typeof value !== 'string') throw invalidType('options.shard', 'a string', value);
  const [, part, parts] = /^([1-9]\d{0,5})\/([1-9]\d{0,5})$/.exec(value) ?? [];
  if (Number(part) <= Number(parts)) return { shard: Number(part) - 1, shards: Number(parts) };
  throw invalidValue('options.shard', "'i/n' with i from 1 to n, at most 999999", value);
}

const quoted = (list: readonly string[]): string => list.map((one) => `'${one}'`).join(', ');

function checkConcurrency(value: unknown): number {
  const most = 1024;
  if (value === undefined) return most;
  if (typeof value !== 'number') throw invalidType('options.concurrency', 'a number', value);
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw outOfRange('options.concurrency', `an integer from 1 to ${most}`, value);
}

function checkSeconds(value: unknown): number {
  if (value === undefined) return 600;
  if (typeof value !== 'number') throw invalidType('options.lockTimeout', 'a number', value);
  if (value >= 0) return value;
  throw outOfRange('options.lockTimeout', 'a number of seconds, at least 0', value);
}

/** A string stands for a list of one. Null is not a list. */
function listOf(value: unknown): unknown {
  if (typeof value === 'string') return [value];
  return value === undefined ? [] : value;
}

function checkFunction<T>(value: T, name: string): T {
  if (value === undefined || typeof value === 'function') return value;
  throw invalidType(`options.${name}`, 'a function', value);
}

/** Returns a signal of Node's own class. Those of jsdom and of polyfills lack what newer ones have, each something else. */
export function checkSignal(value: unknown): AbortSignal | undefined {
  if (value === undefined) return undefined;
  const signal = value as AbortSignal | null;
  if (typeof signal?.aborted !== 'boolean' || typeof signal.addEventListener !== 'function')
    throw invalidType('options.signal', 'an AbortSignal', value);
  // So node:events recognises what it takes.
  if (Reflect.get(signal.constructor, Symbol.for('nodejs.event_target'))) return signal;
  const { AbortController } = abortClasses();
  const own = new AbortController();
  const abort = (): void => own.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return own.signal;
}

/** Returns the first option that a snapshot cannot fulfil. */
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
    'sync or mirror': request.sync,
    update: request.update,
    shard: request.shards > 0,
    gitignore: request.gitignore,
    onlyIgnored: request.onlyIgnored,
    include,
    exclude: exclude.length > 0,
    ignoreFileNames: ignoreFileNames.length > 0,
    filter: request.filter,
  };
  return Object.keys(obstacles).find((name) => obstacles[name]);
}
