import type { Trial } from './measure.js';
import type { BenchmarkResult } from './results.js';
import { median, ratio, type Spread } from './statistics.js';
import { findTool, type Tool } from './tools.js';
import { type Workload, workloads } from './workloads.js';

/** A benchmark as it was measured, joined with what is wanted of it. */
export interface Judged {
  result: BenchmarkResult;
  workload: Workload;
  fileSystem: string;
}

/** Undefined for a benchmark that there is no more. */
export function withWorkload(result: BenchmarkResult): Judged | undefined {
  const [name, fileSystem = ''] = result.id.split('/');
  const workload = workloads.find(
    (one) => one.name === name && one.fileSystems.some((other) => other === fileSystem),
  );
  return workload && { result, workload, fileSystem };
}

/** A tool's trials that ended well, or undefined where one did not or there are none. */
export function trialsOf({ result }: Judged, name: string): Trial[] | undefined {
  const trials = result.trials[name] ?? [];
  return trials.length > 0 && trials.every(({ failed }) => !failed) ? trials : undefined;
}

/** The times that a benchmark compares, in milliseconds. */
export function timesOf(benchmark: Judged, name: string): number[] | undefined {
  return trialsOf(benchmark, name)?.map((trial) =>
    benchmark.workload.inProcess ? (trial.inProcessMs ?? trial.wallMs) : trial.wallMs,
  );
}

export interface Comparison {
  /** How many times as long as the subject it takes. */
  plain: Spread;
  /** With Node's start added to a command that does not pay it. Else as `plain`. */
  fair: Spread;
}

export function compare(benchmark: Judged, name: string): Comparison | undefined {
  const subject = timesOf(benchmark, benchmark.workload.subject);
  const times = timesOf(benchmark, name);
  if (!subject || !times) return undefined;
  const plain = ratio(times, subject);
  const start = startOf(benchmark);
  const paysStart = !isNative(findTool(name)) || benchmark.workload.inProcess;
  if (paysStart || start === undefined) return { plain, fair: plain };
  return {
    plain,
    fair: ratio(
      times.map((ms) => ms + start),
      subject,
    ),
  };
}

const isNative = ({ role }: Tool): boolean => role === 'peer' || role === 'limit';

/** Node's start, in milliseconds. */
export function startOf(benchmark: Judged): number | undefined {
  const times = timesOf(benchmark, 'node');
  return times && median(times);
}

/** Of the peers whose copies were whole. */
export function fastest(benchmark: Judged): string | undefined {
  const peers = Object.entries(benchmark.result.trials)
    .filter(([name, trials]) => findTool(name).role === 'peer' && trials.every((one) => !one.flaw))
    .flatMap(([name]) => {
      const times = timesOf(benchmark, name);
      return times ? [{ name, time: median(times) }] : [];
    });
  return peers.sort((a, b) => a.time - b.time)[0]?.name;
}
