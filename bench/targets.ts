import {
  compare,
  fastest,
  type Judged,
  startOf,
  timesOf,
  trialsOf,
  withWorkload,
} from './compare.js';
import { atLeast, atMost, type Judgement, ms, times } from './judgement.js';
import { judgeAll } from './overall.js';
import type { BenchmarkResult } from './results.js';
import { median } from './statistics.js';
import { findTool } from './tools.js';
import { fastestPeer, type Target } from './workloads.js';

export interface Verdict extends Judgement {
  benchmark: string;
}

/** Every target of the benchmarks, and those over all of them. */
export function judge(results: BenchmarkResult[]): Verdict[] {
  const benchmarks = results.flatMap((result) => withWorkload(result) ?? []);
  const verdicts = benchmarks.flatMap((benchmark) =>
    benchmark.workload.targets.map((target) => ({
      benchmark: benchmark.result.id,
      ...judgeTarget(target, benchmark, benchmarks),
    })),
  );
  return [...verdicts, ...judgeAll(benchmarks)];
}

function judgeTarget(target: Target, benchmark: Judged, benchmarks: Judged[]): Judgement {
  const { subject } = benchmark.workload;
  switch (target.kind) {
    case 'faster': {
      const name = target.than === fastestPeer ? fastest(benchmark) : target.than;
      const value = name && compare(benchmark, name)?.fair.median;
      const who = name ? findTool(name).title : '';
      const what = target.than === fastestPeer ? `${fastestPeer}, ${who}` : who;
      return atLeast(`as fast as ${what}`, value || undefined, target.least, times);
    }
    case 'cpu': {
      const [own, start, limit] = [subject, 'node', 'floor'].map((name) => cpu(benchmark, name));
      const value = own && start && limit && (own - start) / limit;
      return atMost("CPU less Node's start, in floor's", value || undefined, target.most, times);
    }
    case 'start': {
      const own = timesOf(benchmark, subject);
      const start = startOf(benchmark);
      const value = own && start !== undefined ? median(own) - start : undefined;
      return atMost('time above node -e 0', value, target.mostMs, ms);
    }
    case 'memory': {
      const peaks = trialsOf(benchmark, subject)?.map(({ peakKiB }) => (peakKiB * 1024) / 1e6);
      const value = peaks && Math.max(...peaks);
      return atMost('peak memory', value, target.mostMB, (mb) => `${mb.toFixed(0)} MB`);
    }
    case 'duration': {
      const all = trialsOf(benchmark, 'fastcp-library')?.flatMap(
        ({ durationMs }) => durationMs ?? [],
      );
      return atMost('durationMs', all?.length ? median(all) : undefined, target.mostMs, ms);
    }
    case 'per file': {
      const fewer = benchmarks.find(({ result }) => result.id === target.benchmark);
      const [own, other] = [perFile(benchmark), fewer && perFile(fewer)];
      const value = own && other && own / other;
      return atMost(
        `time per file, in that of ${target.benchmark}`,
        value || undefined,
        target.most,
        times,
      );
    }
  }
}

function cpu(benchmark: Judged, name: string): number | undefined {
  const trials = trialsOf(benchmark, name);
  return trials && median(trials.map(({ cpuMs }) => cpuMs));
}

function perFile(benchmark: Judged): number | undefined {
  const own = timesOf(benchmark, benchmark.workload.subject);
  const start = startOf(benchmark);
  return own && start !== undefined
    ? (median(own) - start) / benchmark.result.tree.files
    : undefined;
}
