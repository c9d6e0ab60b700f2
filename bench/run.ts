import { mkdirSync } from 'node:fs';
import type { Stage } from './image.js';
import { fastcpVersion, versionOf } from './machine.js';
import type { Trial } from './measure.js';
import { availableMemory } from './memory.js';
import { benchCache } from './paths.js';
import type { Row } from './plan.js';
import type { Obstacles } from './prepare.js';
import type { RowResult } from './results.js';
import { playRound } from './round.js';
import { openStage } from './stage.js';
import { type Counts, footprint, makeTree } from './trees.js';

export interface Surroundings {
  /** A directory in memory, of this row alone; made here. */
  memory: string;
  /** File systems may be mounted. */
  mounts: boolean;
  obstacles: Obstacles;
  signal: AbortSignal;
  say: (line: string) => void;
}

/** Runs a row: each round, every contender once, in an order that turns from round to round. */
export async function runRow(row: Row, tree: Counts, around: Surroundings): Promise<RowResult> {
  const { memory, obstacles, say, signal } = around;
  const able = row.contenders.filter(({ name }) => !obstacles.contenders.has(name));
  const trials: RowResult['trials'] = Object.fromEntries(able.map(({ name }) => [name, []]));
  const onDisk = isOnDisk(row, tree, around);
  mkdirSync(memory, { recursive: true });
  const stage = openRowStage(row, onDisk, around);
  try {
    for (let round = 0; round < row.rounds; round++) {
      const turn = round % able.length;
      const order = [...able.slice(turn), ...able.slice(0, turn)].filter(
        ({ slow }) => round === 0 || !slow || row.workload.iterations !== undefined,
      );
      const played = await playRound(row, order, { stage, tree, memory, signal });
      for (const [name, trial] of played) trials[name]?.push(trial);
      const times = played.map(([name, trial]) => `${name} ${shortTime(row, trial)}`);
      say(`${row.id} ${round + 1}/${row.rounds}: ${times.join(', ')}`);
    }
  } finally {
    stage.close();
  }
  const versions = able.flatMap((one) => {
    const version = versionOf(one);
    return version === undefined ? [] : [[one.name, version] as const];
  });
  return {
    id: row.id,
    measured: new Date().toISOString().slice(0, 10),
    fastcp: fastcpVersion(),
    tree,
    onDisk,
    versions: Object.fromEntries(versions),
    trials,
    leftOut: Object.fromEntries(
      row.contenders.flatMap(({ name }) => {
        const reason = obstacles.contenders.get(name);
        return reason === undefined ? [] : [[name, reason]];
      }),
    ),
  };
}

function openRowStage(row: Row, onDisk: boolean, { memory, mounts }: Surroundings): Stage {
  const { tree, cache, restore = 'image', inodes } = row.workload;
  return openStage(row.fileSystem, {
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
function isOnDisk({ fileSystem, workload }: Row, tree: Counts, { say }: Surroundings): boolean {
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

function shortTime({ workload }: Row, trial: Trial): string {
  if (trial.failed) return trial.failed;
  const ms = workload.inProcess ? (trial.inProcessMs ?? trial.wallMs) : trial.wallMs;
  return `${(ms / 1000).toFixed(3)} s${trial.flaw ? ` (${trial.flaw})` : ''}`;
}
