import { compare, fastest, type Judged } from './compare.js';
import { atLeast, type Judgement, times } from './judgement.js';
import { geometricMean } from './statistics.js';
import { findTool } from './tools.js';
import { fastestPeer, overall, type Target } from './workloads.js';

/** What is wanted over all benchmarks, of those that race against a peer. */
export function judgeAll(benchmarks: Judged[]): (Judgement & { benchmark: string })[] {
  const races = benchmarks.flatMap((benchmark) => {
    const peer = benchmark.workload.targets.some(namesPeer) ? fastest(benchmark) : undefined;
    const value = peer && compare(benchmark, peer)?.fair.median;
    return value ? [{ name: benchmark.workload.name, value }] : [];
  });
  const { ahead, geometricMean: mean } = overall;
  const verdicts: (Judgement & { benchmark: string })[] = [];
  const same = races.filter(({ name }) => name === ahead.workload);
  if (same.length > 0) {
    const won = same.filter(({ value }) => value > 1).length;
    const judged = atLeast(`ahead of ${fastestPeer}`, won, ahead.least, String);
    verdicts.push({ benchmark: `${same.length} x ${ahead.workload}`, ...judged });
  }
  if (races.length > 0) {
    const all = geometricMean(races.map(({ value }) => value));
    const judged = atLeast(`as fast as ${fastestPeer}, geometric mean`, all, mean, times);
    verdicts.push({ benchmark: `${races.length} races`, ...judged });
  }
  return verdicts;
}

const namesPeer = (target: Target): boolean =>
  target.kind === 'faster' &&
  (target.than === fastestPeer || findTool(target.than).role === 'peer');
