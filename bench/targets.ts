import {
  fastestOf,
  geometricMean,
  type Measured,
  median,
  ratioOf,
  timeOf,
  trialsOf,
} from './compare.js';
import { fastestPeer, overall, type Target } from './workloads.js';

/** A target of which everything was measured. */
export interface Verdict {
  /** The tool that the target is about. */
  tool: string;
  text: string;
  met: boolean;
}

/** Judges the targets of a benchmark; some of them need another one. */
export function judge(benchmark: Measured, all: Measured[]): Verdict[] {
  return benchmark.workload.targets.flatMap((target) => judgeTarget(target, benchmark, all));
}

/** Judges what is wanted of all benchmarks that have a peer. */
export function judgeAll(benchmarks: Measured[]): Verdict[] {
  const races = benchmarks.flatMap((benchmark) => {
    const peer = fastestOf(benchmark);
    const ratio = peer && ratioOf(benchmark, peer);
    return ratio ? [{ workload: benchmark.workload.name, ratio }] : [];
  });
  const { ahead, geometricMean: mean } = overall;
  const same = races.filter(({ workload }) => workload === ahead.workload);
  const won = same.filter(({ ratio }) => ratio > 1).length;
  const ratio = races.length > 0 ? geometricMean(races.map((race) => race.ratio)) : undefined;
  return [
    ...verdict(
      fastestPeer,
      `fastcp is faster, of ${same.length} benchmarks of ${ahead.workload}`,
      same.length > 0 ? won : undefined,
      { least: ahead.least },
      String,
    ),
    ...verdict(
      fastestPeer,
      `geometric mean of the ratio over all ${races.length} benchmarks that have a peer`,
      ratio,
      { least: mean },
      times,
    ),
  ];
}

function judgeTarget(target: Target, benchmark: Measured, all: Measured[]): Verdict[] {
  const { subject } = benchmark.workload;
  switch (target.kind) {
    case 'faster': {
      const isFastest = target.than === fastestPeer;
      const name = isFastest ? fastestOf(benchmark) : target.than;
      if (name === undefined) return [];
      const what = isFastest ? `${fastestPeer}, ratio` : 'ratio';
      return verdict(name, what, ratioOf(benchmark, name), target, times);
    }
    case 'cpu': {
      const [own, start, limit] = [subject, 'node', target.of].map((name) =>
        cpuOf(benchmark, name),
      );
      const value = own && start && limit ? (own - start) / limit : undefined;
      const what = `(CPU - CPU of node -e 0) / CPU of ${target.of}`;
      return verdict(subject, what, value, target, timesExactly);
    }
    case 'start':
      return verdict(subject, 'time above node -e 0', aboveStart(benchmark), target, ms);
    case 'memory': {
      const peaks = trialsOf(benchmark, subject)?.map(({ peakKiB }) => (peakKiB * 1024) / 1e6);
      const value = peaks && Math.max(...peaks);
      return verdict(subject, 'peak memory', value, target, (mb) => `${mb.toFixed(0)} MB`);
    }
    case 'duration': {
      const library = 'fastcp-library';
      const found = trialsOf(benchmark, library)?.flatMap(({ durationMs }) => durationMs ?? []);
      return verdict(library, 'durationMs', found?.length ? median(found) : undefined, target, ms);
    }
    case 'per file': {
      const fewer = all.find(({ result }) => result.id === target.benchmark);
      const [own, other] = [benchmark, fewer].map((one) => one && perFile(one));
      const what = `time per file, in that of ${target.benchmark}`;
      return verdict(subject, what, own && other && own / other, target, times);
    }
  }
}

type Bound = { least: number } | { most: number };
type Format = (value: number) => string;

const times: Format = (value) => `${value.toFixed(2)} x`;
const timesExactly: Format = (value) => `${value.toFixed(3)} x`;
const ms: Format = (value) => `${value.toFixed(1)} ms`;

function verdict(
  tool: string,
  what: string,
  value: number | undefined,
  bound: Bound,
  as: Format,
): Verdict[] {
  if (value === undefined) return [];
  const isLeast = 'least' in bound;
  const wanted = isLeast ? `${as(bound.least)} or more` : `${as(bound.most)} or less`;
  const met = isLeast ? value >= bound.least : value <= bound.most;
  return [{ tool, met, text: `${what}: ${as(value)}, wanted ${wanted}` }];
}

function cpuOf(benchmark: Measured, name: string): number | undefined {
  const trials = trialsOf(benchmark, name);
  return trials && median(trials.map(({ cpuMs }) => cpuMs));
}

function aboveStart(benchmark: Measured): number | undefined {
  const own = timeOf(benchmark, benchmark.workload.subject);
  const start = timeOf(benchmark, 'node');
  return own !== undefined && start !== undefined ? own - start : undefined;
}

function perFile(benchmark: Measured): number | undefined {
  const above = aboveStart(benchmark);
  return above && above / benchmark.result.tree.files;
}
