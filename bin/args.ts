import { existsSync, statSync } from 'node:fs';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { findConflict, missingRequirements } from '../lib/request/conflicts.js';
import { type Choice, groups, type Spelling, table } from '../lib/request/table.js';
import type { CopyOptions, PreserveKind } from '../lib/types.js';
import manifest from '../package.json' with { type: 'json' };
import { globOf, isText, pathOf } from './arguments.js';
import { completions, type Shell, shells } from './completions.js';
import { insteadOf } from './habits.js';
import { readPatterns } from './patterns.js';

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
  p?: boolean;
  archive?: boolean;
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

/** Spellings of options whose names differ from the library's, or that only the command line has. */
const spelledFor: Partial<Record<keyof CopyOptions, string[]>> = {
  force: ['clobber', 'errorOnExist'],
  preserve: ['preserve', 'archive', 'p', 'd'],
  hardLink: ['link'],
  symlink: ['symbolicLink'],
  backup: ['backup', 'b'],
  mirror: ['mirror', 'delete'],
  sync: ['sync', 'checksum', 'quickCheck'],
  ignoreFileNames: ['ignoreFileName'],
  concurrency: ['jobs'],
  onError: ['failFast'],
  parents: ['mkpath'],
};

/**
 * Throws a CommanderError after writing the usage error, the help or the version. Its exitCode is 0 for the
 * last two.
 */
export function parseArgs(argv: readonly string[]): Invocation {
  const program = createProgram();
  program.on('option:help-all', () => createProgram(true).help());
  program.on('option:version', () => print(`${manifest.version}\n`));
  program.on('option:completions', (shell: Shell) => {
    print(completions(shell, createProgram(true)));
  });
  const [only] = argv;
  if (argv.length === 1 && only === 'help' && !existsSync(only)) program.help();
  const error = (text: string): never => program.error(`error: ${text}`);
  refuseClusters(program, argv, error);
  program.parse(argv.map(withoutValue), { from: 'user' });

  const given = program.opts<Given>();
  const { sources, dest } = placesOf(program.args, given, error);
  const { compare = false, verbose = false, json = false, quiet = false } = given;
  if (compare && sources.length > 1) error('--compare takes two trees');
  const copy = optionsOf(given, error);
  const entries = !quiet && Boolean(verbose || copy.dryRun);
  refuseConflicts(program, argv, copy, compare);
  return {
    sources: sources.map(pathOf),
    dest: pathOf(dest),
    compare,
    copy: { ...copy, ...(entries && { entries }) },
    output: { json, quiet, entries, all: verbose, progress: given.progress },
  };
}

/** Letters that mean something else in rsync, where they seldom stand alone. */
const notInClusters: Record<string, string> = {
  t: "rsync's -t is --preserve=timestamps; for cp's write --target-directory=DIR",
  h: 'sizes are always human-readable; for the help write --help',
};

/** Refuses `-rt` and `-avh`: a reader of rsync's manual would not expect cp's -t, or the help. */
function refuseClusters(
  program: Command,
  argv: readonly string[],
  error: (text: string) => never,
): void {
  const longs = new Set<string | undefined>(program.options.map(({ long }) => long)).add('--help');
  const end = argv.indexOf('--');
  for (const word of end < 0 ? argv : argv.slice(0, end)) {
    if (!/^-[A-Za-z]{2,}$/.test(word) || longs.has(`-${word}`)) continue;
    for (const [letter, why] of Object.entries(notInClusters)) {
      if (word.includes(letter)) error(`-${letter} in '${word}': ${why}`);
    }
  }
}

function isDirectory(word: string): boolean {
  return statSync(pathOf(word), { throwIfNoEntry: false })?.isDirectory() === true;
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
    if (!isDirectory(into)) error(`-t: '${into}' is not a directory`);
    return { sources, dest: `${into}/` };
  }
  const dest = sources.pop();
  if (dest === undefined) return error('missing arguments SRC and DEST');
  if (sources.length === 0) {
    if (compare) return error('--compare takes two trees');
    return error(`missing argument DEST after '${dest}'; to copy into this directory, write '.'`);
  }
  if (!exactly) return { sources, dest };
  if (sources.length > 1) error('-T takes one SRC: several are copied into DEST');
  return { sources, dest: dest.replace(/(?!^)\/+$/, '') };
}

/** Returns the library's options. */
function optionsOf(given: Given, error: (text: string) => never): CopyOptions {
  const { archive, p, d, b, clobber, jobs, failFast, mkpath, link, symbolicLink } = given;
  const { ignoreFileName, includeFrom = [], excludeFrom = [], backup } = given;
  if (ignoreFileName && !ignoreFileName.every(isText)) {
    error('--ignore-file-name must be a name in UTF-8');
  }
  const options: CopyOptions = {};
  for (const name of Object.keys(table) as (keyof CopyOptions)[]) {
    if (given[name] !== undefined) Object.assign(options, { [name]: given[name] });
  }
  if (given.delete && !given.sync && !given.mirror && !given.checksum && !given.quickCheck) {
    error('--delete requires --sync; --mirror stands for both');
  }
  const patterns = (files: string[]): string[] =>
    files.flatMap((file) => readPatterns(file, error));
  const include = [...listOf(given.include), ...patterns(includeFrom)];
  const exclude = [...listOf(given.exclude), ...patterns(excludeFrom)];
  const preserve = preserveFor(given.preserve, archive, p, d);
  return {
    ...options,
    ...(given.delete && { mirror: true }),
    ...(include.length > 0 && { include }),
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

const listOf = (value: string | readonly string[] | undefined): readonly string[] =>
  value === undefined ? [] : typeof value === 'string' ? [value] : value;

/** Adds hard links for `-d`. `--preserve`, `-a` and `-p` add up. */
function preserveFor(
  preserve: CopyOptions['preserve'],
  archive: boolean | undefined,
  p: boolean | undefined,
  d: boolean | undefined,
): CopyOptions['preserve'] {
  if (preserve === false) return false;
  if (archive || preserve === true) return true;
  // As in cp, which copies modes in any case.
  const kinds = new Set<PreserveKind>(preserve ? ['mode', ...preserve] : d ? ['mode'] : []);
  if (p) for (const kind of usual) kinds.add(kind);
  if (d) kinds.add('hardLinks');
  return kinds.size > 0 || preserve ? [...kinds] : undefined;
}

/** Reports the options as the user typed them. */
function refuseConflicts(
  program: Command,
  argv: readonly string[],
  copy: CopyOptions,
  compare: boolean,
): void {
  const typed = (name: keyof CopyOptions): string => typedFor(program, argv, name);
  const given = program.options.filter(
    (one) => program.getOptionValueSource(one.attributeName()) === 'cli',
  );
  const find = (...names: string[]): Option | undefined =>
    given.find((one) => names.includes(one.attributeName()));
  const [quiet, loud] = [find('quiet'), find('verbose', 'json')];
  if (quiet && loud) {
    program.error(`error: ${typedAs(quiet, argv)} cannot be combined with ${typedAs(loud, argv)}`);
  }
  if (compare) {
    const other = given.find((one) => !meantToCompare.includes(one.attributeName()));
    if (other) program.error(`error: --compare cannot be combined with ${typedAs(other, argv)}`);
  }
  const conflict = findConflict(copy);
  if (conflict) {
    const { name, other, why } = conflict;
    const because = why && `: ${why}`;
    const message = `${typed(name)} cannot be combined with ${typed(other)}${because}`;
    program.error(`error: ${message}`);
  }
  for (const [name, needed] of missingRequirements(copy)) {
    program.error(`error: ${typed(name)} requires ${spellingOf(program, needed)}`);
  }
}

/** Returns the typed form of an option of the library. */
function typedFor(program: Command, argv: readonly string[], name: keyof CopyOptions): string {
  const attributes: string[] = spelledFor[name] ?? [name];
  const option = program.options.find(
    (one) =>
      attributes.includes(one.attributeName()) &&
      program.getOptionValueSource(one.attributeName()) === 'cli',
  );
  return option ? typedAs(option, argv) : `--${name}`;
}

function spellingOf(program: Command, name: keyof CopyOptions): string {
  return program.options.find((one) => one.attributeName() === name)?.long ?? `--${name}`;
}

/** Returns the short or the long form, whichever was typed. */
function typedAs({ short, long }: Option, argv: readonly string[]): string {
  const end = argv.indexOf('--');
  const words = end < 0 ? argv : argv.slice(0, end);
  const isLong = words.some((word) => long && (word === long || word.startsWith(`${long}=`)));
  return isLong || !short ? (long ?? short ?? '') : short;
}

/** Prints text that replaces a copy, such as the help, and exits. */
function print(text: string): never {
  process.stdout.write(text);
  throw new CommanderError(0, 'fastcp.printed', text);
}

/** Returns whether the user asked for `--doctor` and not for a copy. */
export function asksForDoctor(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv.slice(0, end === -1 ? argv.length : end).includes('--doctor');
}

/** An optional value comes only after '='. A word that follows is a path. */
function withoutValue(word: string, index: number, argv: readonly string[]): string {
  if (argv.slice(0, index).includes('--')) return word;
  if (optionalValues.includes(word)) return `${word}=`;
  return (Object.hasOwn(updates, word) && updates[word]) || word;
}

const usual: PreserveKind[] = ['mode', 'timestamps', 'ownership'];

/** The words of cp after --preserve. */
const preserveWords: Record<string, PreserveKind> = {
  mode: 'mode',
  timestamps: 'timestamps',
  ownership: 'ownership',
  xattr: 'xattrs',
  links: 'hardLinks',
};

/** The meanings of an option's words. The empty word stands for the option without a value. */
const meanings: Partial<Record<keyof CopyOptions, Record<string, unknown>>> = {
  atomic: { '': true, 'two-step': 'two-step' },
  snapshot: { '': 'always', always: 'always', auto: 'auto', never: 'never' },
  reflink: { '': 'always', always: 'always', auto: 'auto', never: 'never' },
  reuse: { clone: 'clone', 'hard-link': 'hardLink' },
  // As in cp, whose `t` and `nil` mean the same.
  backup: {
    '': 'existing',
    numbered: 'numbered',
    existing: 'existing',
    t: 'numbered',
    nil: 'existing',
  },
};

const optionalValues = ['--atomic', '--snapshot', '--reflink', '--backup', '--preserve'];

/** The words of cp after --update=, as fastcp's options. */
const updates: Record<string, string> = {
  '--update=older': '--update',
  '--update=none': '--no-clobber',
  '--update=none-fail': '--error-on-exist',
};

/** Options that only the command line has, by the group in which the help shows them. */
const commandOptions: Record<keyof typeof groups, Spelling[]> = {
  select: [
    { group: 'select', flags: '--include-from <file>', help: 'read globs to include from a file' },
    { group: 'select', flags: '--exclude-from <file>', help: 'read globs to exclude from a file' },
  ],
  existing: [
    { group: 'existing', flags: '--delete', help: 'with --sync: the same as --mirror' },
    {
      group: 'existing',
      flags: '-n, --no-clobber',
      help: 'keep existing entries',
      common: true,
    },
    { group: 'existing', flags: '-b', help: 'the same as --backup' },
    {
      group: 'existing',
      flags: '-t, --target-directory <dir>',
      help: 'copy every SRC into this directory',
    },
  ],
  metadata: [
    { group: 'metadata', flags: '-p', help: 'preserve modes, timestamps and owners', common: true },
    {
      group: 'metadata',
      flags: '-a, --archive',
      help: '-p, and xattrs, ACLs and hard links',
      common: true,
    },
    { group: 'metadata', flags: '--no-preserve', help: 'do not even preserve modes' },
    { group: 'metadata', flags: '-d', help: 'preserve hard links' },
  ],
  content: [{ group: 'content', flags: '--fail-fast', help: 'stop at the first error' }],
  output: [
    {
      group: 'output',
      flags: '--compare',
      help: 'copy nothing, print how SRC and DEST differ',
      common: true,
    },
    {
      group: 'output',
      flags: '-v, --verbose',
      help: 'print every entry, and why it is excluded',
      common: true,
    },
    { group: 'output', flags: '-q, --quiet', help: 'print errors only' },
    { group: 'output', flags: '--json', help: 'print JSON, one object per line', common: true },
    { group: 'output', flags: '--progress', help: 'show progress, also in CI and in pipes' },
    { group: 'output', flags: '--no-progress', help: 'show no progress' },
    {
      group: 'output',
      flags: '--doctor',
      help: 'with DIR [DIR2]: show what the file systems support',
    },
    { group: 'output', flags: '--completions <shell>', help: 'print completions for a shell' },
    { group: 'output', flags: '-V, --version', help: 'print the version', common: true },
  ],
};

/** Options of cp and rsync that name fastcp's default. */
const habits = ['-r, --recursive', '-R', '-P, --no-dereference', '--mkpath', '-f, --force'];

/**
 * Creates the parser. With `all` the help also has the options that few people need. The others fit on a
 * screen.
 */
export function createProgram(all = false): Command {
  const program = new Command('fastcp')
    .usage('[options] SRC... DEST')
    .description(
      "Copies directory trees. SRC's content lands at DEST's own path, merged with\n" +
        'what is there. With DEST/ (a slash) or several SRCs, each lands inside.',
    )
    .argument('[paths...]');
  for (const group of Object.keys(groups) as (keyof typeof groups)[]) {
    program.optionsGroup(all ? groups[group] : 'Options:');
    for (const [name, { cli, ...spec }] of Object.entries(table)) {
      if (cli?.group !== group) continue;
      const option = new Option(cli.flags, cli.help).hideHelp(!all && !cli.common);
      const choices = spec.type === 'choice' ? (spec as Choice<string>).choices : undefined;
      program.addOption(withParser(option, name as keyof CopyOptions, choices));
    }
    for (const { flags, help, common } of commandOptions[group]) {
      const option = new Option(flags, help).hideHelp(!all && !common);
      program.addOption(withParser(option, option.attributeName()));
    }
  }
  program.optionsGroup(all ? groups.output : 'Options:');
  for (const flags of habits) program.addOption(named(flags, `habit${flags}`));
  return program
    .addOption(named('-T, --no-target-directory', 'noTargetDirectory'))
    .addOption(new Option('--help-all', 'print this help with all options').hideHelp(!all))
    .helpOption('-h, --help', 'print this help; --help-all prints all options')
    .addHelpText('after', '\nExample: fastcp node_modules /cache/node_modules')
    .configureHelp({
      visibleArguments: () => [],
      optionDescription: (option) => option.description,
      optionTerm: (option) => option.flags.replace(' [=', '[='),
      // Without blank lines between groups it fits on a screen.
      formatItemList: (heading, items) => (items.length > 0 ? [heading, ...items] : []),
    })
    .configureOutput({
      outputError: (text, write) =>
        write(
          insteadOf(
            text,
            program.options.map(({ long }) => long ?? ''),
          ).replace(/^error:/, 'fastcp:'),
        ),
    })
    .showHelpAfterError("Try 'fastcp --help'.")
    .exitOverride();
}

/** Creates a flag that no help shows. Commander would treat a flag with `no-` as the negation of another. */
function named(flags: string, name: string): Option {
  const option = new Option(flags).hideHelp();
  option.attributeName = () => name;
  option.negate = false;
  return option;
}

/** Sets how a value is read, and for completions the possible values. */
function withParser(option: Option, name: string, choices?: readonly string[]): Option {
  if (option.negate) return option;
  const words = meanings[name as keyof CopyOptions];
  if (words) {
    const shown = Object.keys(words).filter((word) => word.length > 3);
    return option.choices(shown).argParser(choiceOf(words, shown));
  }
  if (choices) return option.choices([...choices]);
  switch (name) {
    case 'include':
    case 'exclude':
      return option.argParser(collectGlobs);
    case 'ignoreFileName':
    case 'ignoreFileNames':
    case 'includeFrom':
    case 'excludeFrom':
      return option.argParser(collect);
    case 'preserve':
      return option.choices(['all', ...Object.keys(preserveWords)]).argParser(preserveOf);
    case 'concurrency':
      return option.argParser(parseJobs);
    case 'completions':
      return option.choices([...shells]);
    default:
      return option;
  }
}

/** Options that have a meaning for `--compare`, as commander names them. */
const meantToCompare = [
  'compare',
  ...['gitignore', 'onlyIgnored', 'ignoreFileName', 'include', 'exclude', 'oneFileSystem'],
  ...['includeFrom', 'excludeFrom', 'progress'],
  ...['p', 'd', 'archive', 'preserve', 'dereference', 'jobs', 'failFast', 'json', 'quiet'],
];

function collect(value: string, previous: string[] = []): string[] {
  return [...previous, value];
}

function collectGlobs(value: string, previous?: string[]): string[] {
  return collect(globOf(value), previous);
}

/**
 * Parses words of cp, separated by commas. Without a value it returns the kinds that -p preserves, as in cp.
 */
function preserveOf(list: string, before?: unknown): true | PreserveKind[] {
  const earlier = Array.isArray(before) ? (before as PreserveKind[]) : [];
  if (before === true) return true;
  if (list === '') return [...earlier, ...usual];
  const words = list.split(',');
  if (words.includes('all')) return true;
  const added = words.map((word) => {
    const kind = Object.hasOwn(preserveWords, word) ? preserveWords[word] : undefined;
    if (kind) return kind;
    const known = Object.keys(preserveWords).join(', ');
    throw new InvalidArgumentError(`unknown attribute '${word}'; known are all, ${known}`);
  });
  return [...earlier, ...added];
}

function choiceOf(
  choices: Record<string, unknown>,
  shown: readonly string[],
): (value: string) => unknown {
  return (value) => {
    if (Object.hasOwn(choices, value)) return choices[value];
    throw new InvalidArgumentError(`unknown value '${value}'; known are ${shown.join(', ')}`);
  };
}

function parseJobs(value: string): number {
  const jobs = Number(value);
  if (!/^\d+$/.test(value) || jobs < 1 || jobs > 1024) {
    throw new InvalidArgumentError(`'${value}' is not a whole number from 1 to 1024`);
  }
  return jobs;
}
