import type { Trial } from './measure.js';
import type { BenchmarkResult } from './results.js';
import { findTool } from './tools.js';
import { type Workload, workloads } from './workloads.js';

/** A result with the workload that it belongs to. */
export interface Measured {
  result: BenchmarkResult;
  workload: Workload;
}

/** Drops the results of benchmarks that no longer exist. */
export function withWorkloads(results: BenchmarkResult[]): Measured[] {
  return results.flatMap((result) => {
    const [name, fileSystem] = result.id.split('/');
    const workload = workloads.find(
      (one) => one.name === name && one.fileSystems.some((other) => other === fileSystem),
    );
    return workload ? [{ result, workload }] : [];
  });
}

/** Returns a tool's trials, or undefined if it has none or if one of them failed. */
export function trialsOf({ result }: Measured, name: string): Trial[] | undefined {
  const trials = result.trials[name] ?? [];
  return trials.length > 0 && trials.every(({ failed }) => !failed) ? trials : undefined;
}

/** Returns the time of a trial that its benchmark compares, in milliseconds. */
export function comparedMs({ inProcess }: Workload, { inProcessMs, wallMs }: Trial): number {
  return inProcess ? (inProcessMs ?? wallMs) : wallMs;
}

/** Returns the times that a benchmark compares, in milliseconds. */
export function timesOf(benchmark: Measured, name: string): number[] | undefined {
  return trialsOf(benchmark, name)?.map((trial) => comparedMs(benchmark.workload, trial));
}

/** Returns the median time of a tool, in milliseconds. */
export function timeOf(benchmark: Measured, name: string): number | undefined {
  const times = timesOf(benchmark, name);
  return times && median(times);
}

/**
 * Returns how many times as long as fastcp a tool takes. A command that does not run in Node gets Node's
 * start added to its time, because that start is not fastcp's work.
 */
export function ratioOf(benchmark: Measured, name: string): number | undefined {
  const { subject, inProcess } = benchmark.workload;
  const own = timeOf(benchmark, subject);
  const time = timeOf(benchmark, name);
  if (own === undefined || time === undefined) return undefined;
  const { role } = findTool(name);
  const isNative = !inProcess && (role === 'peer' || role === 'limit');
  return (time + ((isNative && timeOf(benchmark, 'node')) || 0)) / own;
}

/** Returns the fastest of the peers whose copies were complete. */
export function fastestOf(benchmark: Measured): string | undefined {
  const timeOrNever = (name: string): number => timeOf(benchmark, name) ?? Infinity;
  const { trials } = benchmark.result;
  return Object.keys(trials)
    .filter((name) => findTool(name).role === 'peer' && timeOrNever(name) < Infinity)
    .filter((name) => trials[name]?.every(({ flaw }) => !flaw))
    .sort((a, b) => timeOrNever(a) - timeOrNever(b))[0];
}

export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError('there is no median of nothing');
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] as number;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] as number;
  return (lower + upper) / 2;
}

export function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}
