import { mkdirSync } from 'node:fs';
import { comparedMs } from './compare.js';
import type { Stage } from './image.js';
import { fastcpVersion, versionOf } from './machine.js';
import type { Trial } from './measure.js';
import { availableMemory } from './memory.js';
import { benchCache } from './paths.js';
import { type Benchmark, orderOf } from './plan.js';
import type { Obstacles } from './prepare.js';
import type { BenchmarkResult } from './results.js';
import { playRound } from './round.js';
import { openStage } from './stage.js';
import { type Counts, footprint, makeTree } from './trees.js';

export interface Surroundings {
  /** A directory in memory, of this benchmark alone; made here. */
  memory: string;
  /** File systems may be mounted. */
  mounts: boolean;
  obstacles: Obstacles;
  signal: AbortSignal;
  say: (line: string) => void;
}

/** Runs a benchmark: each round, every tool once, see orderOf(). */
export async function runBenchmark(
  benchmark: Benchmark,
  tree: Counts,
  around: Surroundings,
): Promise<BenchmarkResult> {
  const { memory, obstacles, say, signal } = around;
  const able = benchmark.tools.filter(({ name }) => !obstacles.tools.has(name));
  const trials: BenchmarkResult['trials'] = Object.fromEntries(able.map(({ name }) => [name, []]));
  const onDisk = isOnDisk(benchmark, tree, around);
  mkdirSync(memory, { recursive: true });
  const stage = openBenchmarkStage(benchmark, onDisk, around);
  try {
    for (let round = 0; round < benchmark.rounds; round++) {
      const order = orderOf(able, round).filter(
        ({ slow }) => round === 0 || !slow || benchmark.workload.iterations !== undefined,
      );
      const played = await playRound(benchmark, order, { stage, tree, memory, signal });
      for (const [name, trial] of played) trials[name]?.push(trial);
      const times = played.map(([name, trial]) => `${name} ${shortTime(benchmark, trial)}`);
      say(`${benchmark.id} ${round + 1}/${benchmark.rounds}: ${times.join(', ')}`);
    }
  } finally {
    stage.close();
  }
  const versions = able.flatMap((one) => {
    const version = versionOf(one);
    return version === undefined ? [] : [[one.name, version] as const];
  });
  return {
    id: benchmark.id,
    measured: new Date().toISOString().slice(0, 10),
    fastcp: fastcpVersion(),
    tree,
    onDisk,
    versions: Object.fromEntries(versions),
    trials,
    skipped: Object.fromEntries(
      benchmark.tools.flatMap(({ name }) => {
        const reason = obstacles.tools.get(name);
        return reason === undefined ? [] : [[name, reason]];
      }),
    ),
  };
}

function openBenchmarkStage(
  benchmark: Benchmark,
  onDisk: boolean,
  { memory, mounts }: Surroundings,
): Stage {
  const { tree, cache, restore = 'image', inodes } = benchmark.workload;
  return openStage(benchmark.fileSystem, {
    fill: (path) => makeTree(tree, path),
    memory,
    disk: benchCache,
    pristine: onDisk ? benchCache : memory,
    cold: cache === 'cold',
    restore,
    mounts,
    unlimitedInodes: inodes === 'unlimited',
  });
}

/** How often a tree is in memory at once: images, and what the kernel caches of them. */
function isOnDisk(
  { fileSystem, workload }: Benchmark,
  tree: Counts,
  { say }: Surroundings,
): boolean {
  const size = footprint(tree);
  const isImage = fileSystem.kind === 'image';
  let times = 2;
  if (isImage) times = workload.restore === 'remove' ? 4 : workload.cache === 'cold' ? 3 : 5;
  const needed = times * size;
  const available = availableMemory();
  if (needed < available) return false;
  const gib = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`;
  const lack = `it takes ${gib(needed)} of memory, and ${gib(available)} are available`;
  if (!isImage) throw new Error(lack);
  say(`${workload.name}/${fileSystem.name}: ${lack}: the image goes to the disk`);
  return true;
}

function shortTime({ workload }: Benchmark, trial: Trial): string {
  if (trial.failed) return trial.failed;
  return `${(comparedMs(workload, trial) / 1000).toFixed(3)} s${trial.flaw ? ` (${trial.flaw})` : ''}`;
}
