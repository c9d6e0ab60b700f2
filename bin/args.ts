import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { CommanderError } from 'commander';
import { table } from '../lib/request/table.js';
import type { CopyOptions, PreserveKind } from '../lib/types.js';
import manifest from '../package.json' with { type: 'json' };
import { isDirectory, isText, looksRemote, pathOf } from './arguments.js';
import { completions, type Shell } from './completions.js';
import { refuseLetters } from './habits.js';
import { readPatterns } from './patterns.js';
import { createProgram, kindsOf, parse } from './program.js';
import { refuse } from './refuse.js';
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

/** Commander's result: the options of the table by their names in the library, and those of the command. */
interface Given extends CopyOptions {
  include?: string[];
  exclude?: string[];
  p?: boolean;
  archive?: boolean;
  noPreserve?: true | PreserveKind[];
  d?: boolean;
  b?: boolean;
  compare?: boolean;
  delete?: boolean;
  includeFrom?: string[];
  excludeFrom?: string[];
  failFast?: boolean;
  targetDirectory?: string;
  noTargetDirectory?: boolean;
  json?: boolean;
  quiet?: boolean;
  verbose?: boolean;
  progress?: boolean;
}

/**
 * Parses the command line. Throws ERR_INVALID_ARG_VALUE for wrong usage, and a CommanderError after printing the help. Returns
 * 'doctor' if the user asked for that and not for a copy.
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
  const known = program.options.map(({ long }) => long);
  refuseLetters(options, known, kinds.filter((kind) => kind === 'path').length);
  const words = argv.map((word, index) =>
    kinds[index] === 'option' && Object.hasOwn(rewritten, word) ? rewritten[word] : word,
  );
  parse(program, words as string[]);

  const given = program.opts<Given>();
  for (const word of program.args) refuseRemote(word);
  const { sources, dest } = placesOf(program.args, given);
  if (given.mirror || given.delete || given.atomic) refuseTwoPlaces(sources, dest, given);
  const { compare = false, verbose = false, json = false, quiet = false } = given;
  if (quiet && verbose) refuse('--quiet cannot be combined with --verbose');
  if (quiet && json) refuse('--quiet cannot be combined with --json');
  if (compare && verbose) refuse('--verbose means nothing to a comparison');
  if (compare && sources.length > 1) refuse('--compare takes two trees');
  const copy = optionsOf(given);
  const entries = !quiet && Boolean(verbose || copy.dryRun);
  return {
    sources: sources.map(pathOf),
    dest: pathOf(dest),
    compare,
    copy: { ...copy, ...(entries && { entries }) },
    output: { json, quiet, entries, all: verbose, progress: given.progress },
  };
}

/** Refuses a URL, and a path that scp and rsync would look for on another machine, unless a local entry has that name. */
function refuseRemote(word: string): void {
  const [first = word] = word.split('/');
  if (!looksRemote(word) || existsSync(pathOf(first))) return;
  if (word.startsWith('file:/')) refuse(`'${word}': write the path without 'file://'`);
  refuse(`'${word}': fastcp works on one machine only; for a local path write './${word}'`);
}

/** Finds SRC and DEST among the words that are no options. */
function placesOf(
  words: readonly string[],
  { targetDirectory: into, noTargetDirectory: exactly, compare }: Given,
): { sources: string[]; dest: string } {
  const sources = [...words];
  if (into !== undefined) {
    if (exactly || compare) refuse(`-t cannot be combined with ${exactly ? '-T' : '--compare'}`);
    if (sources.length === 0) refuse('missing argument SRC');
    if (!isDirectory(pathOf(into)))
      refuse(`-t: '${into}' is not a directory, or cannot be reached`);
    return { sources, dest: `${into}/` };
  }
  const dest = sources.pop();
  if (dest === undefined) return refuse('missing arguments SRC and DEST');
  if (sources.length === 0) {
    if (compare) return refuse('--compare takes two trees');
    return refuse(
      `missing argument DEST after '${dest}'; to copy into the current directory, write './'`,
    );
  }
  if (!exactly) return { sources, dest };
  if (sources.length > 1) refuse('-T takes one SRC: several are copied into DEST');
  return { sources, dest: dest.replace(/(?!^)\/+$/, '') };
}

/** Refuses `--mirror a/ b/`: rsync would fill b, and fastcp b/a. */
function refuseTwoPlaces(
  sources: readonly string[],
  dest: string,
  { mirror, atomic, targetDirectory }: Given,
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
  refuse(
    `${option} '${src}' '${dest}' can mean two places: for DEST write '${exactly}' or '${inside}'`,
  );
}

/** Returns the library's options. */
function optionsOf(given: Given): CopyOptions {
  const { b, failFast, includeFrom = [], excludeFrom = [], backup } = given;
  if (given.ignoreFileNames?.every(isText) === false) {
    refuse('--ignore-file-name must be a name in UTF-8');
  }
  const options: CopyOptions = {};
  for (const [name, spec] of Object.entries(table)) {
    const value = given[name as keyof CopyOptions];
    // The flag of an option that is true by default switches it off: --no-lock.
    const isOn = spec.type === 'flag' && spec.default;
    if (value !== undefined) Object.assign(options, { [name]: isOn ? false : value });
  }
  if (given.delete && !given.sync && !given.mirror && !given.checksum && !given.quickCheck) {
    refuse('--delete requires --sync: use --mirror, which does both');
  }
  const include = [...(given.include ?? []), ...includeFrom.flatMap(readPatterns)];
  const exclude = [...(given.exclude ?? []), ...excludeFrom.flatMap(readPatterns)];
  const preserve = preserveFor(given);
  return {
    ...options,
    ...(given.delete && { mirror: true }),
    // An empty file includes nothing, as an empty list does.
    ...((given.include ?? given.includeFrom) && { include }),
    ...(exclude.length > 0 && { exclude }),
    ...(preserve !== undefined && { preserve }),
    ...(b && !backup && { backup: 'existing' as const }),
    ...(given.errorOnExist && { force: false }),
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
 * What options mean to commander. An optional value comes only after '=', because a word that follows is a path. The words of cp
 * after --update= are options of fastcp.
 */
const rewritten: Record<string, string> = {
  '--atomic': '--atomic=',
  '--snapshot': '--snapshot=always',
  '--reflink': '--reflink=always',
  '--backup': '--backup=existing',
  '--backup=t': '--backup=numbered',
  '--backup=nil': '--backup=existing',
  '--preserve': '--preserve=mode,timestamps,ownership',
  '--no-preserve': '--no-preserve=mode',
  '--update=all': '--force',
  '--update=older': '--update',
  '--update=none': '--no-clobber',
  '--update=none-fail': '--error-on-exist',
};
