import picomatch from 'picomatch';
import { type FileSystem, fileSystems } from './file-systems.js';
import { findTool, type Tool, tools } from './tools.js';
import { quick, type Workload, workloads } from './workloads.js';

/** One workload on one file system: what is compared is compared within a benchmark. */
export interface Benchmark {
  id: string;
  workload: Workload;
  fileSystem: FileSystem;
  tools: Tool[];
  rounds: number;
  /** Some tools were not asked for. */
  partial: boolean;
}

export interface Selection {
  /** Names or globs of benchmarks, workloads, file systems or tools. */
  only?: string[];
  quick?: boolean;
  rounds?: number;
}

/** Throws a RangeError that names the pattern which matches nothing. */
export function planBenchmarks({
  only = [],
  quick: isQuick = false,
  rounds,
}: Selection): Benchmark[] {
  const wanted = sortPatterns(only);
  const benchmarks = allBenchmarks().filter(
    ({ id, workload, fileSystem }) =>
      matches(wanted.benchmarks, id, workload.name) && matches(wanted.fileSystems, fileSystem.name),
  );
  const chosen = isQuick ? benchmarks.filter(isQuickBenchmark) : benchmarks;
  return chosen.flatMap((benchmark) => {
    const { subject } = benchmark.workload;
    const kept = benchmark.tools.filter(
      ({ name, role }) =>
        (name === subject || role === 'start' || matches(wanted.tools, name)) &&
        (!isQuick || quick.tools.includes(name)),
    );
    const asked = wanted.tools.length === 0 || kept.some((one) => isMatch(wanted.tools, one.name));
    if (!asked) return [];
    const partial = kept.length < benchmark.tools.length;
    const all = rounds ?? (isQuick ? quick.rounds : benchmark.rounds);
    return [{ ...benchmark, tools: kept, rounds: all, partial }];
  });
}

function allBenchmarks(): Benchmark[] {
  return workloads.flatMap((workload) =>
    workload.fileSystems.map((name) => ({
      id: `${workload.name}/${name}`,
      workload,
      fileSystem: fileSystems.find((one) => one.name === name) as FileSystem,
      tools: workload.tools.map(findTool),
      rounds: workload.rounds,
      partial: false,
    })),
  );
}

function isQuickBenchmark({ workload, fileSystem }: Benchmark): boolean {
  return workload.name === quick.workload && quick.fileSystems.includes(fileSystem.name);
}

interface Patterns {
  benchmarks: string[];
  fileSystems: string[];
  tools: string[];
}

/** Patterns of one sort widen, those of different sorts narrow. */
function sortPatterns(only: string[]): Patterns {
  const sorted: Patterns = { benchmarks: [], fileSystems: [], tools: [] };
  const names = {
    benchmarks: allBenchmarks().flatMap(({ id, workload }) => [id, workload.name]),
    fileSystems: fileSystems.map(({ name }) => name),
    tools: tools.map(({ name }) => name),
  };
  for (const pattern of only) {
    const sort = (['benchmarks', 'fileSystems', 'tools'] as const).find((one) =>
      names[one].some((name) => isMatch([pattern], name)),
    );
    if (!sort) {
      throw new RangeError(`'${pattern}' is no workload, file system or tool; see --list`);
    }
    sorted[sort].push(pattern);
  }
  return sorted;
}

const isMatch = (patterns: string[], name: string): boolean => picomatch(patterns)(name);

const matches = (patterns: string[], ...names: string[]): boolean =>
  patterns.length === 0 || names.some((name) => isMatch(patterns, name));

/**
 * Returns the order of a round: every second one is the reverse of the one before, and each pair turns, so that no tool always
 * comes first, or after the same one. fastcp, the first in the list, is the last at first: the machine may be slow in giving
 * its memory.
 */
export function orderOf<T>(tools: readonly T[], round: number): T[] {
  const turn = (Math.floor(round / 2) + 1) % tools.length;
  const order = [...tools.slice(turn), ...tools.slice(0, turn)];
  return round % 2 === 0 ? order : order.reverse();
}

/** What `--list` prints. */
export function listBenchmarks(benchmarks: Benchmark[]): string {
  const width = Math.max(...benchmarks.map(({ id }) => id.length));
  return benchmarks
    .map(({ id, tools, rounds }) => {
      const names = tools.map(({ name }) => name).join(' ');
      return `${id.padEnd(width)}  ${rounds} x ${names}`;
    })
    .join('\n');
}
