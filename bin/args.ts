import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import type { CopyOptions, PreserveKind } from '../lib/types.js';
import manifest from '../package.json' with { type: 'json' };
import { globOf, isText, pathOf } from './arguments.js';
import { completions, type Shell, shells } from './completions.js';

/** What the user asked for, in the words of the library where it has them. */
export interface Invocation {
  sources: (string | Buffer)[];
  dest: string | Buffer;
  copy: CopyOptions;
  /** The two trees are compared, and nothing is copied. */
  compare: boolean;
  output: OutputOptions;
}

export interface OutputOptions {
  json: boolean;
  quiet: boolean;
  /** Each entry is printed: with `--verbose`, and in a dry run. */
  entries: boolean;
  /** So is what was left out: with `--verbose`. */
  left: boolean;
  /** Undefined: as the surroundings suggest. */
  progress: boolean | undefined;
}

/** Named as in CopyOptions where they mean the same; only those that were given are present. */
interface Given
  extends Omit<
    CopyOptions,
    'concurrency' | 'onError' | 'signal' | 'entries' | 'ignoreFileNames' | 'filter' | 'reuse'
  > {
  archive?: boolean;
  clobber?: boolean;
  compare?: boolean;
  p?: boolean;
  reuse?: 'clone' | 'hard-link';
  ignoreFileName?: string[];
  jobs?: number;
  failFast?: boolean;
  json?: boolean;
  quiet?: boolean;
  verbose?: boolean;
  progress?: boolean;
}

/**
 * Throws a CommanderError once the usage error, the help or the version has been written; its
 * exitCode is 0 for the last two.
 */
export function parseArgs(argv: readonly string[]): Invocation {
  const program = createProgram();
  program.on('option:help-all', () => createProgram(true).help());
  program.on('option:version', () => print(`${manifest.version}\n`));
  program.on('option:completions', (shell: Shell) => {
    print(completions(shell, createProgram(true)));
  });
  program.parse(argv.map(withoutValue), { from: 'user' });
  const sources = [...program.args];
  const dest = sources.pop();
  if (dest === undefined) return program.error('error: missing arguments SRC and DEST');
  if (sources.length === 0) return program.error(`error: missing argument DEST after '${dest}'`);

  const {
    archive,
    p,
    clobber: _clobber,
    ignoreFileName,
    jobs,
    failFast,
    json,
    quiet,
    verbose,
    progress,
    ...others
  } = program.opts<Given>();
  if (ignoreFileName && !ignoreFileName.every(isText)) {
    return program.error('error: --ignore-file-name must be a name in UTF-8');
  }
  const { compare = false, reuse, ...sameName } = others;
  if (compare && sources.length > 1) return program.error('error: --compare takes two trees');
  const entries = !quiet && Boolean(verbose || sameName.dryRun);
  return {
    sources: sources.map(pathOf),
    dest: pathOf(dest),
    compare,
    copy: {
      ...sameName,
      ...(reuse && { reuse: reuse === 'clone' ? reuse : 'hardLink' }),
      ...(ignoreFileName && { ignoreFileNames: ignoreFileName }),
      ...(jobs !== undefined && { concurrency: jobs }),
      ...(entries && { entries }),
      // Where the command line differs from the library, as cp does.
      parents: sameName.parents ?? false,
      onError: failFast ? 'stop' : 'continue',
    },
    output: {
      json: json ?? false,
      quiet: quiet ?? false,
      entries,
      left: verbose ?? false,
      progress,
    },
  };
}

/** What was asked for in place of a copy. */
function print(text: string): never {
  process.stdout.write(text);
  throw new CommanderError(0, 'fastcp.printed', text);
}

/** Whether `--doctor` was asked for, and not a copy. */
export function asksForDoctor(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv.slice(0, end === -1 ? argv.length : end).includes('--doctor');
}

/** What may be left out comes after '=' only: a word that follows is a path. */
function withoutValue(word: string, index: number, argv: readonly string[]): string {
  const isOption = word === '--atomic' || word === '--snapshot';
  return isOption && !argv.slice(0, index).includes('--') ? `${word}=` : word;
}

const usual: PreserveKind[] = ['mode', 'timestamps', 'ownership'];

/** What --preserve takes: cp's words. */
const preserveWords: Record<string, PreserveKind> = {
  mode: 'mode',
  timestamps: 'timestamps',
  ownership: 'ownership',
  xattr: 'xattrs',
  links: 'hardLinks',
};

/** `all`: the help also has the options that few people need; the others fit a screen. */
export function createProgram(all = false): Command {
  const rare = (option: Option): Option => option.hideHelp(!all);
  const compare = new Option('--compare', 'copy nothing: print how SRC and DEST differ');
  const choice = <T>(option: Option, meanings: Record<string, T>): Option =>
    rare(option)
      .choices(Object.keys(meanings).filter(Boolean)) // for completions
      .argParser(choiceOf(meanings));
  const program = new Command('fastcp')
    .usage('[options] SRC... DEST')
    .description(
      "Copies directory trees. What SRC holds lands at DEST's own path, merged with what\n" +
        'is there. With DEST/ (a slash) or several SRCs, each lands inside, by its name.',
    )
    .argument('[paths...]')
    .optionsGroup('Selection:')
    .option('--gitignore', 'leave out what git ignores, and .git')
    .addOption(
      rare(new Option('--only-ignored', 'copy only what git ignores')).conflicts(['gitignore']),
    )
    .addOption(
      rare(
        new Option(
          '--ignore-file-name <name>',
          'read rules as in .gitignore from these files, too',
        ),
      ).argParser(collect),
    )
    .option('--include <glob>', 'copy only what matches (may be repeated)', collectGlobs)
    .option('--exclude <glob>', 'leave out what matches (may be repeated)', collectGlobs)
    .addOption(rare(new Option('--shard <i/n>', 'copy only part i of n, counted from 1')))
    .addOption(rare(new Option('-x, --one-file-system', 'do not enter mount points in SRC')))
    .optionsGroup('Copying:')
    .option('--sync', 'leave alone what is unchanged')
    .addOption(rare(new Option('--checksum', '--sync, and only contents prove that')))
    .addOption(
      rare(new Option('--quick-check', '--sync, and size and mtime prove that, as in rsync')),
    )
    .option('--mirror', '--sync, and delete from DEST what SRC does not have')
    .addOption(rare(new Option('--delete-excluded', 'with --mirror: and what is not selected')))
    .addOption(rare(new Option('-n, --no-clobber', 'keep what DEST has').implies({ force: false })))
    .addOption(
      rare(
        new Option('--error-on-exist', 'fail on what DEST has, and keep it').implies({
          force: false,
        }),
      ),
    )
    .addOption(
      rare(new Option('--backup <how>', 'numbered: keep what is replaced as NAME.~N~')).choices([
        'numbered',
      ]),
    )
    .addOption(new Option('-f, --force').hideHelp()) // A habit from cp, and it undoes --no-force.
    .addOption(new Option('--no-force').hideHelp())
    .addOption(new Option('-p', 'keep modes, times and owners').implies({ preserve: usual }))
    .addOption(
      new Option('-a, --archive', '-p and xattrs, ACLs, hard links').implies({ preserve: true }),
    )
    .addOption(
      rare(new Option('--preserve <list>', `preserve all, or ${Object.keys(preserveWords).join()}`))
        .choices(['all', ...Object.keys(preserveWords)]) // for completions
        .argParser(preserveOf),
    )
    .addOption(rare(new Option('--no-preserve', 'keep not even modes')))
    .addOption(rare(new Option('--strict', 'what cannot be kept is an error, not a warning')))
    .addOption(rare(new Option('-L, --dereference', 'copy what links lead to')))
    .addOption(rare(new Option('--hard-link', 'make hard links to files of SRC, no copies')))
    .addOption(rare(new Option('--symlink', 'make links to files of SRC, no copies')))
    .option('--parents', 'make missing parents of DEST')
    .option('--dry-run', 'print what would be done, write nothing')
    .addOption(compare)
    .optionsGroup('Ways:')
    .addOption(
      choice(new Option('--atomic [=two-step]', 'replace DEST whole, in one step, or not at all'), {
        '': true,
        'two-step': 'two-step',
      }),
    )
    .addOption(
      rare(
        new Option('--reuse <how>', 'with --atomic: keep equal files, by clone or hard-link'),
      ).choices(['clone', 'hard-link']),
    )
    .addOption(
      choice(new Option('--snapshot [=when]', 'copy all in one call: always, auto or never'), {
        '': 'always',
        always: 'always',
        auto: 'auto',
        never: 'never',
      }),
    )
    .addOption(
      rare(new Option('--reflink <when>', 'share blocks with SRC: auto, always or never')).choices([
        'auto',
        'always',
        'never',
      ]),
    )
    .addOption(
      rare(
        new Option('--sparse <when>', 'keep holes (auto), or make zeros holes (always)'),
      ).choices(['auto', 'always']),
    )
    .addOption(rare(new Option('--fsync', 'wait until everything is on disk')))
    .addOption(rare(new Option('--verify', 'read back what was written, and compare')))
    .addOption(
      rare(new Option('-j, --jobs <n>', 'copy with at most n threads').argParser(parseJobs)),
    )
    .addOption(rare(new Option('--fail-fast', 'stop at the first error')))
    .optionsGroup('Output:')
    .option('-v, --verbose', 'print each entry, and why others are left out')
    .addOption(new Option('-q, --quiet', 'print errors only').conflicts(['verbose', 'json']))
    .option('--json', 'print JSON, one object a line')
    .addOption(rare(new Option('--progress', 'show progress, in CI and in pipes too')))
    .addOption(rare(new Option('--no-progress', 'show no progress')))
    .addOption(rare(new Option('--doctor', 'with DIR [DIR2]: try what file systems can do')))
    .addOption(
      rare(new Option('--completions <shell>', "print a shell's completions")).choices(shells),
    )
    .addOption(rare(new Option('-V, --version', 'print the version')))
    .addOption(new Option('--help-all').hideHelp())
    .helpOption('-h, --help', 'print this help; --help-all: all options')
    .addHelpText('after', '\nExample: fastcp node_modules /cache/node_modules')
    .configureHelp({
      visibleArguments: () => [],
      optionDescription: (option) => option.description,
      // Without the blank lines between groups it fits a screen of 24 lines.
      formatItemList: (heading, items) => (items.length > 0 ? [heading, ...items] : []),
    })
    .configureOutput({
      outputError: (text, write) => write(text.replace(/^error:/, 'fastcp:')),
    })
    .showHelpAfterError("Try 'fastcp --help'.")
    .exitOverride();
  const names = program.options.map((option) => option.attributeName());
  compare.conflicts(names.filter((name) => !meantToCompare.includes(name)));
  return program;
}

/** Options that `--compare` goes by, as commander names them. */
const meantToCompare = [
  'compare',
  ...['gitignore', 'onlyIgnored', 'ignoreFileName', 'include', 'exclude', 'oneFileSystem'],
  ...['p', 'archive', 'preserve', 'dereference', 'jobs', 'failFast', 'json', 'quiet'],
];

function collect(value: string, previous: string[] = []): string[] {
  return [...previous, value];
}

function collectGlobs(value: string, previous?: string[]): string[] {
  return collect(globOf(value), previous);
}

/** `all`, or words of cp's, separated by commas. */
function preserveOf(list: string): true | PreserveKind[] {
  const words = list.split(',');
  if (words.includes('all')) return true;
  return words.map((word) => {
    const kind = Object.hasOwn(preserveWords, word) ? preserveWords[word] : undefined;
    if (kind) return kind;
    const known = Object.keys(preserveWords).join(', ');
    throw new InvalidArgumentError(`Unknown attribute '${word}'. Known are: all, ${known}.`);
  });
}

function choiceOf<T>(choices: Record<string, T>): (value: string) => T {
  return (value) => {
    const choice = Object.hasOwn(choices, value) ? choices[value] : undefined;
    if (choice !== undefined) return choice;
    const names = Object.keys(choices).filter(Boolean);
    throw new InvalidArgumentError(`Allowed choices are ${names.join(', ')}.`);
  };
}

function parseJobs(value: string): number {
  const jobs = Number(value);
  if (!/^\d+$/.test(value) || jobs < 1 || jobs > 1024) {
    throw new InvalidArgumentError('It must be a whole number from 1 to 1024.');
  }
  return jobs;
}
