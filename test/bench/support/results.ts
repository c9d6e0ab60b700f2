import type { Trial } from '../../../bench/measure.js';
import type { BenchmarkResult } from '../../../bench/results.js';

export const trial = (wallMs: number, more: Partial<Trial> = {}): Trial => ({
  wallMs,
  cpuMs: wallMs,
  peakKiB: 1000,
  ...more,
});

/** A benchmark with these wall times, in milliseconds, and nothing else of note. */
export function benchmarkResult(id: string, times: Record<string, number[]>): BenchmarkResult {
  return {
    id,
    measured: '2026-01-02',
    fastcp: '0.1.0',
    tree: { files: 1000, directories: 10, symlinks: 0, bytes: 4_000_000 },
    onDisk: false,
    versions: { cpz: '3.2.1' },
    trials: Object.fromEntries(
      Object.entries(times).map(([name, list]) => [name, list.map((ms) => trial(ms))]),
    ),
    skipped: {},
  };
}

export const machine = {
  processor: 'a processor',
  cores: 2,
  memoryGiB: 4,
  kernel: '6.1',
  node: 'v20.0.0',
};
