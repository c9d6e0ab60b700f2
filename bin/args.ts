import { Command, InvalidArgumentError, Option } from 'commander';
import type { CopyOptions } from '../lib/types.js';
import manifest from '../package.json' with { type: 'json' };

/** What the user asked for, in the words of the library where it has them. */
export interface Invocation {
  sources: string[];
  dest: string;
  copy: CopyOptions;
  output: OutputOptions;
}

export interface OutputOptions {
  json: boolean;
  quiet: boolean;
  /** Each entry is printed: with `--verbose`, and in a dry run. */
  entries: boolean;
  /** Undefined: as the surroundings suggest. */
  progress: boolean | undefined;
}

/** Named as in CopyOptions where they mean the same; only those that were given are present. */
interface Given extends Pick<CopyOptions, 'force' | 'errorOnExist' | 'oneFileSystem' | 'parents'> {
  reflink?: 'auto' | 'always' | 'never';
  dryRun?: boolean;
  jobs?: number;
  stop?: boolean;
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
  program.parse(argv, { from: 'user' });
  const sources = [...program.args];
  const dest = sources.pop();
  if (dest === undefined) return program.error('error: missing arguments SRC and DEST');
  if (sources.length === 0) return program.error(`error: missing argument DEST after '${dest}'`);

  const { jobs, stop, json, quiet, verbose, progress, ...sameName } = program.opts<Given>();
  const entries = !quiet && Boolean(verbose || sameName.dryRun);
  return {
    sources,
    dest,
    copy: {
      ...sameName,
      ...(jobs !== undefined && { concurrency: jobs }),
      ...(entries && { entries }),
      // Where the command line differs from the library, as cp does.
      parents: sameName.parents ?? false,
      onError: stop ? 'stop' : 'continue',
    },
    output: { json: json ?? false, quiet: quiet ?? false, entries, progress },
  };
}

function createProgram(): Command {
  return new Command('fastcp')
    .usage('[options] SRC... DEST')
    .description(
      "Copies folder trees. What SRC holds lands at DEST's own path, merged with what\n" +
        'is there. With DEST/ (a slash) or several SRCs, each lands inside, by its name.',
    )
    .argument('[paths...]')
    .optionsGroup('What is copied:')
    .addOption(new Option('-f, --force').hideHelp()) // A habit from cp, and it undoes --no-force.
    .option('--no-force', 'keep what DEST has')
    .addOption(
      new Option('--error-on-exist', 'fail on what DEST has, and keep it').implies({
        force: false,
      }),
    )
    .option('--parents', 'make missing parents of DEST')
    .option('-x, --one-file-system', 'do not enter mount points in SRC')
    .option('--stop', 'stop at the first error')
    .option('--dry-run', 'print what would be done, write nothing')
    .optionsGroup('How:')
    .addOption(
      new Option('--reflink <when>', 'share blocks with SRC: auto, always or never').choices([
        'auto',
        'always',
        'never',
      ]),
    )
    .option('-j, --jobs <n>', 'copy with at most n threads', parseJobs)
    .optionsGroup('Output:')
    .option('-v, --verbose', 'print each entry')
    .addOption(new Option('-q, --quiet', 'print errors only').conflicts(['verbose', 'json']))
    .option('--json', 'print JSON, one object a line')
    .addOption(new Option('--progress').hideHelp())
    .option('--no-progress', 'show no progress (--progress: in CI and in pipes too)')
    .version(manifest.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
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
}

function parseJobs(value: string): number {
  const jobs = Number(value);
  if (!/^\d+$/.test(value) || jobs < 1 || jobs > 1024) {
    throw new InvalidArgumentError('It must be a whole number from 1 to 1024.');
  }
  return jobs;
}
