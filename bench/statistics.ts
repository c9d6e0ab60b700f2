/** A median, and between what its values lay. */
export interface Spread {
  median: number;
  least: number;
  most: number;
}

export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError('there is no median of nothing');
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] as number;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] as number;
  return (lower + upper) / 2;
}

export function spread(values: readonly number[]): Spread {
  return { median: median(values), least: Math.min(...values), most: Math.max(...values) };
}

/**
 * How many times as long `slow` takes as `fast`: the ratio of the medians, and the least and most of the
 * ratios of single rounds. Where one has fewer rounds, its last stands for the missing ones.
 */
export function ratio(slow: readonly number[], fast: readonly number[]): Spread {
  const rounds = Math.max(slow.length, fast.length);
  const at = (values: readonly number[], round: number): number =>
    values[Math.min(round, values.length - 1)] as number;
  const each = Array.from({ length: rounds }, (_, round) => at(slow, round) / at(fast, round));
  return { ...spread(each), median: median(slow) / median(fast) };
}

export function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}
