import { Command, InvalidArgumentError } from 'commander';
import { latest, ownCorpus } from './paths.js';
import { type Benchmark, planBenchmarks } from './plan.js';

export interface Arguments {
  benchmarks: Benchmark[];
  list: boolean;
  report: boolean;
  /** The results file. Undefined: latest.json where whole benchmarks were run, nothing otherwise. */
  output: string | undefined;
}

interface Given {
  only?: string[];
  quick?: boolean;
  rounds?: number;
  list?: boolean;
  report?: boolean;
  output?: string;
}

/** Throws a CommanderError once the complaint or the help has been written; exitCode 2, or 0. */
export function parseArgs(argv: readonly string[]): Arguments {
  const program = new Command('npm run bench --')
    .usage('[options]')
    .description('Compares fastcp with other copiers, and prints medians, ranges and ratios.')
    .option('--quick', 'a few minutes: one tree, two file systems, some tools')
    .option(
      '--only <pattern>',
      'benchmarks, workloads, file systems or tools, by name or glob (repeatable)',
      (value: string, before: string[] = []) => [...before, value],
    )
    .option('--rounds <n>', 'trials of each tool', parseRounds)
    .option('--output <file>', 'keep the results here, beside other benchmarks in it', notEmpty)
    .option('--report', `run nothing: print the results file, write chart and docs`)
    .option('--scaling', 'only copies with more and more workers; see --scaling --help')
    .option('--list', 'print the benchmarks, run nothing')
    .helpOption('-h, --help', 'print this help')
    .allowExcessArguments(false)
    .showHelpAfterError("Try 'npm run bench -- --help'.")
    .exitOverride((error) => {
      throw Object.assign(error, { exitCode: error.exitCode === 0 ? 0 : 2 });
    });
  program.parse(argv, { from: 'user' });
  const given = program.opts<Given>();
  const { list = false, report = false, output } = given;
  try {
    const benchmarks = planBenchmarks(given);
    if (benchmarks.length === 0) throw new RangeError('no benchmark has all of them; see --list');
    const partial = Boolean(
      given.quick || ownCorpus || benchmarks.some((benchmark) => benchmark.partial),
    );
    return { benchmarks, list, report, output: output ?? (partial ? undefined : latest) };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return program.error(`error: option '--only <pattern>': ${error.message}`);
  }
}

function parseRounds(value: string): number {
  const rounds = Number(value);
  if (!/^\d+$/.test(value) || rounds < 1 || rounds > 1000) {
    throw new InvalidArgumentError('It must be a whole number from 1 to 1000.');
  }
  return rounds;
}

function notEmpty(value: string): string {
  if (value === '') throw new InvalidArgumentError('It must be a path.');
  return value;
}
