import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Bench } from 'tinybench';
import type { Place, Stage } from './image.js';
import { bytesRead } from './image.js';
import { measure as measureAll, type Trial } from './measure.js';
import { touchMemory } from './memory.js';
import type { Benchmark } from './plan.js';
import type { Tool } from './tools.js';
import { type Counts, flawIn, footprint } from './trees.js';
import type { Workload } from './workloads.js';

export interface RoundSettings {
  stage: Stage;
  tree: Counts;
  /** A directory in memory. */
  memory: string;
  signal: AbortSignal;
  measure?: (words: string[], signal: AbortSignal) => Promise<Trial>;
}

/** What of a benchmark a round depends on. */
interface Played extends Pick<Benchmark, 'fileSystem'> {
  workload: Pick<Workload, 'again' | 'cache' | 'iterations'>;
}

/** tinybench calls each tool once; what is around the timed call are its hooks. */
export async function playRound(benchmark: Played, order: Tool[], settings: RoundSettings) {
  const { signal, measure = measureAll } = settings;
  const played: [string, Trial][] = [];
  const bench = new Bench({ iterations: 1, time: 0, warmup: false, throws: true, signal });
  for (const tool of order) {
    let place: Place | undefined;
    let trial: Trial | undefined;
    let readBefore = 0;
    const timed = async () => {
      trial = await measure(wordsOf(benchmark, tool, place), signal);
    };
    bench.add(tool.name, timed, {
      async: true,
      beforeEach: async () => {
        place = await prepare(benchmark, tool, settings);
        readBefore = readSoFar(benchmark, place);
      },
      afterEach: () => {
        if (!trial) return; // It was interrupted, which run() throws.
        const read = readSoFar(benchmark, place) - readBefore;
        if (place && benchmark.workload.cache === 'cold') trial.readBytes = read;
        if (place) check(trial, place, settings);
        played.push([tool.name, trial]);
      },
    });
  }
  await bench.run();
  signal.throwIfAborted();
  return played;
}

function wordsOf({ workload }: Played, tool: Tool, place: Place | undefined): string[] {
  const words = tool.command(place?.src ?? '', place?.dest ?? '');
  return workload.iterations === undefined ? words : [...words, String(workload.iterations)];
}

/** Where the tool copies; undefined where it does not. */
async function prepare(benchmark: Played, tool: Tool, settings: RoundSettings) {
  const { stage, tree, memory, signal, measure = measureAll } = settings;
  if (tool.copies === false) {
    await measure(tool.command('', ''), signal);
    return undefined;
  }
  const place = stage.fresh();
  // An image takes its blocks, and the kernel's cache of them.
  touchMemory(memory, footprint(tree) * (benchmark.fileSystem.kind === 'image' ? 2 : 1));
  await rehearse(tool, settings);
  if (benchmark.workload.again) await copyFirst(tool, place, settings);
  return place;
}

async function copyFirst(
  { name, command, first = command }: Tool,
  place: Place,
  { signal, measure = measureAll }: RoundSettings,
) {
  const { failed } = await measure(first(place.src, place.dest), signal);
  if (failed) throw new Error(`${name}: its first copy: ${failed}`);
}

/**
 * Runs a tool untimed, on one file in memory: then its program is cached, and if the caches were
 * dropped only the tree is cold.
 */
async function rehearse({ command, first }: Tool, settings: RoundSettings) {
  const { memory, signal, measure = measureAll } = settings;
  const directory = join(memory, 'rehearsal');
  const src = join(directory, 'src');
  mkdirSync(src, { recursive: true });
  writeFileSync(join(src, 'file'), 'x');
  const dest = join(directory, 'dest');
  if (first) await measure(first(src, dest), signal);
  await measure(command(src, dest), signal);
  rmSync(directory, { recursive: true });
}

function readSoFar({ workload }: Played, place: Place | undefined): number {
  return workload.cache === 'cold' && place?.device ? bytesRead(place.device) : 0;
}

/** Whether the copy is whole; outside what is timed. */
function check(trial: Trial, { dest }: Place, { stage, tree }: RoundSettings): void {
  const flaw = trial.failed ? undefined : flawIn(dest, tree, trial.copies);
  if (flaw) trial.flaw = flaw;
  stage.release();
}
