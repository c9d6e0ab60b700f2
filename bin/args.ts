import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { CommanderError } from 'commander';
import { table } from '../lib/request/table.js';
import type { CopyOptions, PreserveKind } from '../lib/types.js';
import manifest from '../package.json' with { type: 'json' };
import { isDirectory, isText, looksRemote, pathOf } from './arguments.js';
import { completions, type Shell } from './completions.js';
import { readPatterns } from './patterns.js';
import { createProgram, kindsOf } from './program.js';
import { refuseClusters, refuseConflicts } from './refusals.js';
import { kindsOfP, preserveWords } from './values.js';

/** The parsed command line, in terms of the library if it has them. */
export interface Invocation {
  sources: (string | Buffer)[];
  dest: string | Buffer;
  copy: CopyOptions;
  /** Compares the two trees, and copies nothing. */
  compare: boolean;
  output: OutputOptions;
}

export interface OutputOptions {
  json: boolean;
  quiet: boolean;
  /** Prints each entry that is copied, replaced or deleted: with `--verbose`, and in a dry run. */
  entries: boolean;
  /** Also prints every other entry: excluded, skipped and unchanged ones. With `--verbose`. */
  all: boolean;
  /** Undefined: depends on the terminal. */
  progress: boolean | undefined;
}

/** Commander's result: the options of the user, named as in CopyOptions if they mean the same. */
interface Given extends CopyOptions {
  include?: string[];
  exclude?: string[];
  p?: boolean;
  archive?: boolean;
  noPreserve?: true | PreserveKind[];
  d?: boolean;
  b?: boolean;
  compare?: boolean;
  clobber?: boolean;
  delete?: boolean;
  includeFrom?: string[];
  excludeFrom?: string[];
  ignoreFileName?: string[];
  link?: boolean;
  symbolicLink?: boolean;
  mkpath?: boolean;
  jobs?: number;
  failFast?: boolean;
  targetDirectory?: string;
  noTargetDirectory?: boolean;
  json?: boolean;
  quiet?: boolean;
  verbose?: boolean;
  progress?: boolean;
}

/**
 * Throws a CommanderError after writing the usage error, the help or the version. Its exitCode is 0 for the
 * last two. Returns 'doctor' if the user asked for that and not for a copy.
 */
export function parseArgs(argv: readonly string[]): Invocation | 'doctor' {
  const program = createProgram();
  const kinds = kindsOf(program, argv);
  const options = argv.filter((_, index) => kinds[index] === 'option');
  if (options.includes('--doctor')) return 'doctor';
  program.on('option:help-all', () => createProgram(true).help());
  program.on('option:version', () => print(`${manifest.version}\n`));
  program.on('option:completions', (shell: Shell) => {
    print(completions(shell, createProgram(true)));
  });
  const [only] = argv;
  if (argv.length === 1 && only === 'help' && !existsSync(only)) program.help();
  const error = (text: string): never => program.error(`error: ${text}`);
  const paths = argv.filter((_, index) => kinds[index] === 'path');
  if (paths.includes('--')) paths.splice(paths.indexOf('--'), 1);
  refuseClusters(program, options, paths.length, error);
  const empty = options.find((word) => optionalValues.some((name) => word === `${name}=`));
  if (empty) error(`'${empty}' has no value; without one write '${empty.slice(0, -1)}'`);
  const words = argv.map((word, index) => (kinds[index] === 'option' ? normalized(word) : word));
  program.parse(words, { from: 'user' });

  const given = program.opts<Given>();
  // For commander a negative number is no option but a path, also the end of -n5.
  const isSplit = program.args.length > paths.length;
  const number =
    options.find((word) => /^-[\d.]/.test(word)) ??
    (isSplit ? program.args.find((word) => /^-./.test(word)) : undefined);
  if (number !== undefined) error(`unknown option '${number}'; for a path write './${number}'`);
  for (const word of program.args) refuseRemote(word, error);
  const { sources, dest } = placesOf(program.args, given, error);
  if (given.mirror || given.delete || given.atomic) refuseTwoPlaces(sources, dest, given, error);
  const { compare = false, verbose = false, json = false, quiet = false } = given;
  if (compare && sources.length > 1) error('--compare takes two trees');
  const copy = optionsOf(given, error);
  const entries = !quiet && Boolean(verbose || copy.dryRun);
  refuseConflicts(program, options, copy, compare);
  return {
    sources: sources.map(pathOf),
    dest: pathOf(dest),
    compare,
    copy: { ...copy, ...(entries && { entries }) },
    output: { json, quiet, entries, all: verbose, progress: given.progress },
  };
}

/** Returns the exit code of an error of parseArgs(), which has written its text. Undefined for other errors. */
export function usageExitCode(error: unknown): number | undefined {
  if (!(error instanceof CommanderError)) return undefined;
  return error.exitCode === 0 ? 0 : 2;
}

/** Refuses a URL, and a path that scp and rsync would look for on another machine, unless a local entry has that name. */
function refuseRemote(word: string, error: (text: string) => never): void {
  const [first = word] = word.split('/');
  if (!looksRemote(word) || existsSync(pathOf(first))) return;
  if (word.startsWith('file:/')) error(`'${word}': write the path without 'file://'`);
  error(`'${word}': fastcp works on one machine only; for a local path write './${word}'`);
}

/** Finds SRC and DEST among the words that are no options. */
function placesOf(
  words: readonly string[],
  { targetDirectory: into, noTargetDirectory: exactly, compare }: Given,
  error: (text: string) => never,
): { sources: string[]; dest: string } {
  const sources = [...words];
  if (into !== undefined) {
    if (exactly) error('-t cannot be combined with -T');
    if (sources.length === 0) error('missing argument SRC');
    if (!isDirectory(pathOf(into))) error(`-t: '${into}' is not a directory, or cannot be reached`);
    return { sources, dest: `${into}/` };
  }
  const dest = sources.pop();
  if (dest === undefined) return error('missing arguments SRC and DEST');
  if (sources.length === 0) {
    if (compare) return error('--compare takes two trees');
    return error(
      `missing argument DEST after '${dest}'; to copy into the current directory, write './'`,
    );
  }
  if (!exactly) return { sources, dest };
  if (sources.length > 1) error('-T takes one SRC: several are copied into DEST');
  return { sources, dest: dest.replace(/(?!^)\/+$/, '') };
}

/** Refuses `--mirror a/ b/`: rsync would fill b, and fastcp b/a. */
function refuseTwoPlaces(
  sources: readonly string[],
  dest: string,
  { mirror, atomic, targetDirectory }: Given,
  error: (text: string) => never,
): void {
  const [src = ''] = sources;
  if (
    targetDirectory !== undefined ||
    sources.length !== 1 ||
    !/.\/$/.test(src) ||
    !/.\/$/.test(dest)
  )
    return;
  const option = atomic ? '--atomic' : mirror ? '--mirror' : '--delete';
  const exactly = dest.replace(/\/+$/, '');
  const inside = join(dest, basename(resolve(src)));
  error(
    `${option} '${src}' '${dest}' can mean two places: for DEST write '${exactly}' or '${inside}'`,
  );
}

/** Returns the library's options. */
function optionsOf(given: Given, error: (text: string) => never): CopyOptions {
  const { b, clobber, jobs, failFast, mkpath, link, symbolicLink } = given;
  const { ignoreFileName, includeFrom = [], excludeFrom = [], backup } = given;
  if (ignoreFileName && !ignoreFileName.every(isText)) {
    error('--ignore-file-name must be a name in UTF-8');
  }
  const options: CopyOptions = {};
  for (const name of Object.keys(table) as (keyof CopyOptions)[]) {
    // Commander sets it to true without --no-lock.
    const isGiven = name === 'lock' ? given.lock === false : given[name] !== undefined;
    if (isGiven) Object.assign(options, { [name]: given[name] });
  }
  if (given.delete && !given.sync && !given.mirror && !given.checksum && !given.quickCheck) {
    error('--delete requires --sync: use --mirror, which does both');
  }
  const patterns = (files: string[]): string[] =>
    files.flatMap((file) => readPatterns(file, error));
  const include = [...(given.include ?? []), ...patterns(includeFrom)];
  const exclude = [...(given.exclude ?? []), ...patterns(excludeFrom)];
  const preserve = preserveFor(given);
  return {
    ...options,
    ...(given.delete && { mirror: true }),
    // An empty file includes nothing, as an empty list does.
    ...((given.include ?? given.includeFrom) && { include }),
    ...(exclude.length > 0 && { exclude }),
    ...(preserve !== undefined && { preserve }),
    ...(b && !backup && { backup: 'existing' as const }),
    ...(link && { hardLink: true }),
    ...(symbolicLink && { symlink: true }),
    ...(clobber === false && { force: false }),
    ...(given.errorOnExist && { force: false }),
    ...(ignoreFileName && { ignoreFileNames: ignoreFileName }),
    ...(jobs !== undefined && { concurrency: jobs }),
    ...(mkpath === false && { parents: false }),
    // The command line differs from the library here, as cp does.
    onError: failFast ? 'stop' : 'continue',
  };
}

/** `--preserve`, `-a`, `-p` and `-d` (hard links) add up. `--no-preserve` takes its kinds away, whatever the order. */
function preserveFor({ preserve, noPreserve, archive, p, d }: Given): CopyOptions['preserve'] {
  const isAll = archive || preserve === true;
  if (isAll && !noPreserve) return true;
  if (!preserve && !p && !d && !noPreserve) return undefined;
  // As in cp, which copies modes in any case.
  const kinds = new Set<PreserveKind>(isAll ? Object.values(preserveWords) : ['mode']);
  for (const kind of [...(Array.isArray(preserve) ? preserve : []), ...(p ? kindsOfP : [])])
    kinds.add(kind);
  if (d) kinds.add('hardLinks');
  const left = [...kinds].filter((kind) => noPreserve !== true && !noPreserve?.includes(kind));
  // A list also sets the modes of existing directories.
  const isDefault = !isAll && !preserve && !p && !d && left.length > 0;
  return isDefault ? undefined : left.length > 0 && left;
}

/** Prints text that replaces a copy, such as the help, and exits. */
function print(text: string): never {
  process.stdout.write(text);
  throw new CommanderError(0, 'fastcp.printed', text);
}

/**
 * Rewrites options for commander. An optional value comes only after '=', because a word that follows is a path.
 * cp's `--update=…` becomes fastcp's option.
 */
function normalized(word: string): string {
  if (optionalValues.includes(word)) return `${word}=`;
  return (Object.hasOwn(updates, word) && updates[word]) || word;
}

const optionalValues = [
  '--atomic',
  '--snapshot',
  '--reflink',
  '--backup',
  '--preserve',
  '--no-preserve',
];

/** The words of cp after --update=, as fastcp's options. */
const updates: Record<string, string> = {
  '--update=all': '--force',
  '--update=older': '--update',
  '--update=none': '--no-clobber',
  '--update=none-fail': '--error-on-exist',
};
