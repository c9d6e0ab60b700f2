import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Machine } from './machine.js';
import type { Trial } from './measure.js';
import type { Benchmark } from './plan.js';
import type { Counts } from './trees.js';

/** What was measured, raw. Everything else (medians, ratios, targets) is made of it when it is shown. */
export interface Results {
  machine: Machine;
  benchmarks: BenchmarkResult[];
}

export interface BenchmarkResult {
  id: string;
  measured: string;
  /** Of fastcp: its version, and the commit where it is known. */
  fastcp: string;
  tree: Counts;
  /** Images lay on the disk and not in memory. */
  onDisk: boolean;
  versions: Record<string, string>;
  /** By tool, in the order of rounds. */
  trials: Record<string, Trial[]>;
  /** Who could not run, and why. */
  skipped: Record<string, string>;
}

export function load(path: string): Results | undefined {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Results) : undefined;
}

/** Benchmarks of the same machine stay beside the new ones; another machine's go. */
export function merge(
  before: Results | undefined,
  now: Results,
  order: Pick<Benchmark, 'id'>[],
): Results {
  const same = before && JSON.stringify(before.machine) === JSON.stringify(now.machine);
  const benchmarks = new Map(
    (same ? before.benchmarks : []).map((benchmark) => [benchmark.id, benchmark]),
  );
  for (const benchmark of now.benchmarks) benchmarks.set(benchmark.id, benchmark);
  const place = (id: string): number => order.findIndex((benchmark) => benchmark.id === id);
  return { ...now, benchmarks: [...benchmarks.values()].sort((a, b) => place(a.id) - place(b.id)) };
}

/** One trial a line: a file that can be read, and compared with git. */
export function save(path: string, results: Results): void {
  const text = JSON.stringify(results, null, 1).replace(/\{[^{}[\]]*\}/g, (inner) =>
    inner.replace(/\n\s*/g, ' '),
  );
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, `${text}\n`);
  renameSync(`${path}.new`, path);
}
