import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { type FileSystem, fileSystems } from '../file-systems.js';
import { benchCache } from '../paths.js';

export interface ScalingArguments {
  workers: number[];
  rounds: number;
  fileSystems: FileSystem[];
  /** Of the tree's number of files. */
  scale: number;
  /** Directories of binaries. */
  bin: string[];
  json: boolean;
}

interface Given extends Omit<ScalingArguments, 'fileSystems'> {
  only: FileSystem[];
}

const cores = availableParallelism();
const usual = ['tmpfs', 'ext4', 'xfs'];
const defaults: Given = {
  workers: [1, 2, 4, 8, 16].filter((count) => count <= cores),
  rounds: 3,
  only: fileSystems.filter(({ name }) => usual.includes(name)),
  scale: 1,
  // Where prepare() puts them.
  bin: [join(benchCache, 'bin'), join(benchCache, 'cargo/bin')],
  json: false,
};

/** The words for parseScalingArgs(), or undefined if a command line is about other benchmarks. */
export function scalingWords(argv: readonly string[]): string[] | undefined {
  return argv.includes('--scaling') ? argv.filter((word) => word !== '--scaling') : undefined;
}

/** Throws a CommanderError once the complaint or the help has been written; exitCode 2, or 0. */
export function parseScalingArgs(argv: readonly string[]): ScalingArguments {
  const program = new Command('npm run bench -- --scaling')
    .usage('[options]')
    .description('Copies a tree with more and more workers, each on a core of its own.')
    .option('--workers <list>', 'numbers of workers (default: 1,2,4,8,16, up to the cores)', list)
    .option('--rounds <n>', 'trials of each tool (default: 3)', (value) => wholeNumber(value, 1000))
    .option('--only <list>', `of the file systems ${usual.join(',')}`, fileSystemList)
    .option('--scale <share>', "of the tree's files: above 0, up to 1 (default: 1)", share)
    .option(
      '--bin <directory>',
      'where measure, floor, own-tables, cpz and fcp are (repeatable)',
      (value: string, before: string[] = []) => [...before, value],
    )
    .option('--json', 'print the raw numbers')
    .helpOption('-h, --help', 'print this help')
    .allowExcessArguments(false)
    .showHelpAfterError("Try 'npm run bench -- --scaling --help'.")
    .exitOverride((error) => {
      throw Object.assign(error, { exitCode: error.exitCode === 0 ? 0 : 2 });
    });
  program.parse(argv, { from: 'user' });
  const { only, ...given } = { ...defaults, ...program.opts<Partial<Given>>() };
  return { ...given, fileSystems: only };
}

function list(value: string): number[] {
  return value.split(',').map((one) => wholeNumber(one, 256)); // floor has at most 256
}

function wholeNumber(value: string, most: number): number {
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < 1 || number > most) {
    throw new InvalidArgumentError(`'${value}' is no whole number from 1 to ${most}.`);
  }
  return number;
}

function fileSystemList(value: string): FileSystem[] {
  return value.split(',').map((name) => {
    const found = defaults.only.find((one) => one.name === name);
    if (!found) throw new InvalidArgumentError(`'${name}' is none of ${usual.join(', ')}.`);
    return found;
  });
}

function share(value: string): number {
  const number = Number(value);
  if (!(number > 0 && number <= 1)) throw new InvalidArgumentError('It must be in (0, 1].');
  return number;
}
