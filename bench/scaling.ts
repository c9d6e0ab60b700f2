// What the copiers gain by more workers: node bench-scaling.mjs [OPTIONS]. One file, which also runs on a machine without
// the project's packages and compilers: it takes build/bench-scaling.mjs, dist, build/Release or prebuilds, and the binaries
// of the other tools in a directory (--bin).
import { setMaxListeners } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { CommanderError } from 'commander';
import type { FileSystem } from './file-systems.js';
import { thisMachine } from './machine.js';
import { measure, measureWall, type Trial } from './measure.js';
import { availableMemory, openMemory } from './memory.js';
import { endings, mountObstacle, runInNamespace } from './namespace.js';
import { root } from './paths.js';
import { orderOf } from './plan.js';
import { obstacleOf } from './prepare.js';
import { playRound, type RoundSettings } from './round.js';
import { parseScalingArgs, type ScalingArguments } from './scaling/args.js';
import { type ScalingResult, scalingTable } from './scaling/table.js';
import { findBinary, isOurs, lacking, toolsOf } from './scaling/tools.js';
import { countPlan, makePlanned, planTree } from './scaling/tree.js';
import { openStage } from './stage.js';
import { duration } from './table.js';
import { footprint } from './trees.js';

const say = (line: string): void => console.error(line);

process.exitCode = await main();

async function main(): Promise<number> {
  let args: ScalingArguments;
  try {
    args = parseScalingArgs(process.argv.slice(2));
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    throw error;
  }
  for (const built of ['dist/fastcp.cjs', 'dist/index.js']) {
    if (existsSync(join(root, built))) continue;
    say(`${built} is missing: npm run build`);
    return 1;
  }
  return (await runInNamespace()) ?? (await run(args));
}

async function run(args: ScalingArguments): Promise<number> {
  const interrupted = new AbortController();
  const { signal } = interrupted;
  setMaxListeners(0, signal); // one for each trial
  for (const ending of endings) process.on(ending, () => interrupted.abort());
  delete process.env.UV_THREADPOOL_SIZE; // The command sets its own.
  for (const line of lacking(args.bin)) say(line);

  const mounts = mountObstacle() === undefined;
  const memory = openMemory(mounts);
  const results: ScalingResult[] = [];
  try {
    for (const fileSystem of args.fileSystems) {
      try {
        const around = { memory: join(memory.path, fileSystem.name), mounts, signal };
        results.push(await runOn(fileSystem, args, around));
      } catch (error) {
        if (signal.aborted) break;
        say(
          `left out: ${fileSystem.name}: ${error instanceof Error ? error.message.trim() : error}`,
        );
      }
    }
  } finally {
    memory.close();
  }
  if (signal.aborted) say('interrupted');
  if (signal.aborted) return 130;
  show(results, args);
  const ours = results.flatMap(({ trials }) => trials.filter(({ tool }) => isOurs(tool)));
  return ours.some(({ failed, flaw }) => failed ?? flaw) ? 1 : 0;
}

interface Around extends Pick<RoundSettings, 'signal' | 'memory'> {
  mounts: boolean;
}

/** Every round runs each tool once with each number of workers, see orderOf(). */
async function runOn(
  fileSystem: FileSystem,
  { workers, rounds, scale, bin }: ScalingArguments,
  { memory, mounts, signal }: Around,
): Promise<ScalingResult> {
  const obstacle = obstacleOf(fileSystem);
  if (obstacle) throw new Error(obstacle);
  const plan = planTree(scale);
  const tree = countPlan(plan);
  // Two images and what the kernel caches of them, as in run.ts.
  const needed = footprint(tree) * (fileSystem.kind === 'image' ? 5 : 2);
  if (needed > availableMemory()) throw new Error('it takes more memory than is available');
  mkdirSync(memory);
  const stage = openStage(fileSystem, {
    ...{ memory, mounts, disk: memory, pristine: memory, cold: false, restore: 'image' },
    fill: (path) => makePlanned(plan, path),
    unlimitedInodes: true,
  });
  const program = findBinary('measure', bin);
  const timed: RoundSettings['measure'] = (words) =>
    program === undefined ? measureWall(words, signal) : measure(words, signal, program);
  const trials: ScalingResult['trials'] = [];
  try {
    for (let round = 0; round < rounds; round++) {
      for (const count of workers) {
        const order = orderOf(toolsOf(count, bin), round);
        const settings = { stage, tree, memory, signal, measure: timed };
        const played = await playRound({ fileSystem, workload: {} }, order, settings);
        trials.push(...played.map(([tool, trial]) => ({ tool, workers: count, ...trial })));
        const times = played.map(([name, trial]) => `${name} ${shortly(trial)}`).join(', ');
        say(`${fileSystem.name}, ${count} workers, ${round + 1}/${rounds}: ${times}`);
      }
    }
  } finally {
    stage.close();
  }
  return { fileSystem: fileSystem.name, trials };
}

function shortly({ failed, flaw, inProcessMs, wallMs }: Trial): string {
  return failed ?? flaw ?? duration(inProcessMs ?? wallMs);
}

function show(results: ScalingResult[], { workers, scale, json }: ScalingArguments): void {
  const machine = thisMachine();
  const tree = countPlan(planTree(scale));
  if (json) {
    console.log(JSON.stringify({ machine, tree, results }, null, 1));
    return;
  }
  const { processor, cores, kernel, node } = machine;
  console.log(`${processor}, ${cores} cores, Linux ${kernel}, Node ${node}.`);
  console.log(`${tree.files} files, ${tree.directories} directories, ${tree.bytes} bytes.`);
  console.log(
    "Seconds: median (range), CPU, times as long as cpz. Node's start is in the command's times and in the CPU of both.",
  );
  for (const result of results) {
    console.log(`\n### ${result.fileSystem}\n\n${scalingTable(result, workers)}`);
  }
}
