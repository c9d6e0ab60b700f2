import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { CommanderError } from 'commander';
import { type Arguments, parseArgs } from './args.js';
import { removeLeftovers } from './image.js';
import { thisMachine } from './machine.js';
import { openMemory } from './memory.js';
import { endings, handOver, mountObstacle, runInNamespace } from './namespace.js';
import { benchCache, latest, root } from './paths.js';
import { type Benchmark, listBenchmarks, planBenchmarks } from './plan.js';
import { type Obstacles, prepare } from './prepare.js';
import { writeReport } from './report.js';
import { load, merge, type Results, save } from './results.js';
import { runBenchmark } from './run.js';
import { parseScalingArgs, scalingWords } from './scaling/args.js';
import { table } from './table.js';
import { type Counts, countsOf } from './trees.js';

const say = (line: string): void => console.error(line);

process.exitCode = await main();

async function main(): Promise<number> {
  let args: Arguments;
  const words = scalingWords(process.argv.slice(2));
  try {
    if (words) {
      parseScalingArgs(words);
      return await scaling(words);
    }
    args = parseArgs(process.argv.slice(2));
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    throw error;
  }
  if (args.list) {
    console.log(listBenchmarks(args.benchmarks));
    return 0;
  }
  if (args.report) return report(args.output ?? latest);
  return (await runInNamespace()) ?? (await run(args));
}

/** Prepares what it measures with, and runs the program that also runs without the rest of the project. */
async function scaling(words: string[]): Promise<number> {
  const tools = ['fastcp', 'cpz', 'fcp', 'floor', 'own-tables'];
  const obstacles = prepare(planBenchmarks({ only: ['wide/tmpfs', ...tools] }));
  for (const [name, reason] of obstacles.tools) say(`skipped: ${name}: ${reason}`);
  return handOver(process.execPath, [join(root, 'build/bench-scaling.mjs'), ...words]);
}

async function run({ benchmarks, output }: Arguments): Promise<number> {
  const interrupted = new AbortController();
  setMaxListeners(0, interrupted.signal); // one for each trial
  for (const signal of endings) process.on(signal, () => interrupted.abort());
  const obstacles = prepare(benchmarks);
  removeLeftovers(benchCache);
  const results: Results = { machine: thisMachine(), benchmarks: [] };
  for (const [name, reason] of obstacles.tools) say(`skipped: ${name}: ${reason}`);

  const mounts = mountObstacle() === undefined;
  const memory = openMemory(mounts);
  const around = { mounts, obstacles, signal: interrupted.signal, say };
  const skipped: string[] = [];
  const sizes = new Map<string, Counts>();
  try {
    for (const benchmark of benchmarks) {
      const obstacle =
        obstacles.fileSystems.get(benchmark.fileSystem.name) ??
        corpusObstacle(benchmark, obstacles);
      if (obstacle) {
        skipped.push(`${benchmark.id}: ${obstacle}`);
        continue;
      }
      const key = JSON.stringify(benchmark.workload.tree);
      const tree = sizes.get(key) ?? countsOf(benchmark.workload.tree);
      sizes.set(key, tree);
      try {
        results.benchmarks.push(
          await runBenchmark(benchmark, tree, {
            ...around,
            memory: join(memory.path, benchmark.id),
          }),
        );
      } catch (error) {
        // Ctrl-C ends a tool that is waited for, too, and is heard only now.
        await setTimeout(20);
        if (interrupted.signal.aborted) break;
        skipped.push(`${benchmark.id}: ${error instanceof Error ? error.message.trim() : error}`);
        continue;
      }
      if (output) save(output, merge(load(output), results, planBenchmarks({})));
    }
  } finally {
    memory.close();
  }
  if (results.benchmarks.length > 0) console.log(`\n${table(results.benchmarks)}`);
  for (const line of skipped) say(`skipped: ${line}`);
  if (interrupted.signal.aborted) say('interrupted');
  if (interrupted.signal.aborted) return 130;
  return isBroken(results) ? 1 : 0;
}

function corpusObstacle(benchmark: Benchmark, obstacles: Obstacles): string | undefined {
  return benchmark.workload.tree === 'corpus' ? obstacles.corpus : undefined;
}

/** A lost race is a result; a copy of ours that failed is not. */
function isBroken({ benchmarks }: Results): boolean {
  return benchmarks.some(({ trials }) =>
    Object.entries(trials).some(
      ([name, list]) =>
        name.startsWith('fastcp') && list.some(({ failed, flaw }) => failed ?? flaw),
    ),
  );
}

function report(path: string): number {
  const results = load(path);
  if (!results) {
    say(`there are no results in ${path}: npm run bench`);
    return 1;
  }
  console.log(table(results.benchmarks));
  writeReport(results);
  return 0;
}
