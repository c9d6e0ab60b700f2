import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Bench } from 'tinybench';
import type { Contender } from './contenders.js';
import type { Place, Stage } from './image.js';
import { bytesRead } from './image.js';
import { measure, type Trial } from './measure.js';
import { touchMemory } from './memory.js';
import type { Row } from './plan.js';
import { type Counts, flawIn, footprint } from './trees.js';

export interface RoundSettings {
  stage: Stage;
  tree: Counts;
  /** A directory in memory. */
  memory: string;
  signal: AbortSignal;
}

/** tinybench calls each contender once; what is around the timed call are its hooks. */
export async function playRound(row: Row, order: Contender[], settings: RoundSettings) {
  const { signal } = settings;
  const played: [string, Trial][] = [];
  const bench = new Bench({ iterations: 1, time: 0, warmup: false, throws: true, signal });
  for (const contender of order) {
    let place: Place | undefined;
    let trial: Trial | undefined;
    let readBefore = 0;
    const timed = async () => {
      trial = await measure(wordsOf(row, contender, place), signal);
      return { overriddenDuration: trial.inProcessMs ?? trial.wallMs };
    };
    bench.add(contender.name, timed, {
      async: true,
      beforeEach: async () => {
        place = await prepare(row, contender, settings);
        readBefore = readSoFar(row, place);
      },
      afterEach: () => {
        if (!trial) return; // It was interrupted, which run() throws.
        const read = readSoFar(row, place) - readBefore;
        if (place && row.workload.cache === 'cold') trial.readBytes = read;
        if (place) check(trial, place, settings);
        played.push([contender.name, trial]);
      },
    });
  }
  await bench.run();
  signal.throwIfAborted();
  return played;
}

function wordsOf({ workload }: Row, contender: Contender, place: Place | undefined): string[] {
  const words = contender.command(place?.src ?? '', place?.dest ?? '');
  return workload.iterations === undefined ? words : [...words, String(workload.iterations)];
}

/** Where the contender copies; undefined where it does not. */
async function prepare(row: Row, contender: Contender, settings: RoundSettings) {
  const { stage, tree, memory, signal } = settings;
  if (contender.copies === false) return undefined;
  const place = stage.fresh();
  // An image takes its blocks, and the kernel's cache of them.
  touchMemory(memory, footprint(tree) * (row.fileSystem.kind === 'image' ? 2 : 1));
  await rehearse(contender, memory, signal);
  return place;
}

/**
 * Runs a contender untimed, on one file in memory: then its program is cached, and where the caches were
 * dropped only the tree is cold.
 */
async function rehearse({ command }: Contender, memory: string, signal: AbortSignal) {
  const directory = join(memory, 'rehearsal');
  const src = join(directory, 'src');
  mkdirSync(src, { recursive: true });
  writeFileSync(join(src, 'file'), 'x');
  await measure(command(src, join(directory, 'dest')), signal);
  rmSync(directory, { recursive: true });
}

function readSoFar({ workload }: Row, place: Place | undefined): number {
  return workload.cache === 'cold' && place?.device ? bytesRead(place.device) : 0;
}

/** Whether the copy is whole; outside what is timed. */
function check(trial: Trial, { dest }: Place, { stage, tree }: RoundSettings): void {
  const flaw = trial.failed ? undefined : flawIn(dest, tree, trial.copies);
  if (flaw) trial.flaw = flaw;
  stage.release();
}
