import { compare, fastest, type Judged } from './compare.js';
import { contender } from './contenders.js';
import { atLeast, type Judgement, times } from './judgement.js';
import { geometricMean } from './statistics.js';
import { fastestPeer, overall, type Target } from './workloads.js';

/** What is wanted over all rows, of those that race against a peer. */
export function judgeAll(rows: Judged[]): (Judgement & { row: string })[] {
  const races = rows.flatMap((row) => {
    const peer = row.workload.targets.some(namesPeer) ? fastest(row) : undefined;
    const value = peer && compare(row, peer)?.fair.median;
    return value ? [{ name: row.workload.name, value }] : [];
  });
  const { ahead, geometricMean: mean } = overall;
  const verdicts: (Judgement & { row: string })[] = [];
  const same = races.filter(({ name }) => name === ahead.workload);
  if (same.length > 0) {
    const won = same.filter(({ value }) => value > 1).length;
    const judged = atLeast(`ahead of ${fastestPeer}`, won, ahead.least, String);
    verdicts.push({ row: `${same.length} x ${ahead.workload}`, ...judged });
  }
  if (races.length > 0) {
    const all = geometricMean(races.map(({ value }) => value));
    const judged = atLeast(`as fast as ${fastestPeer}, geometric mean`, all, mean, times);
    verdicts.push({ row: `${races.length} races`, ...judged });
  }
  return verdicts;
}

const namesPeer = (target: Target): boolean =>
  target.kind === 'faster' &&
  (target.than === fastestPeer || contender(target.than).role === 'peer');
