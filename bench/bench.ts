import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { CommanderError } from 'commander';
import { type Arguments, parseArgs } from './args.js';
import { removeLeftovers } from './image.js';
import { thisMachine } from './machine.js';
import { openMemory } from './memory.js';
import { endings, mountObstacle, runInNamespace } from './namespace.js';
import { benchCache, latest } from './paths.js';
import { listRows, planRows, type Row } from './plan.js';
import { type Obstacles, prepare } from './prepare.js';
import { writeReport } from './report.js';
import { load, merge, type Results, type RowResult, save } from './results.js';
import { runRow } from './run.js';
import { rowText, verdictText } from './table.js';
import { judge } from './targets.js';
import { type Counts, countsOf } from './trees.js';

const say = (line: string): void => console.error(line);

process.exitCode = await main();

async function main(): Promise<number> {
  let args: Arguments;
  try {
    args = parseArgs(process.argv.slice(2));
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    throw error;
  }
  if (args.list) {
    console.log(listRows(args.rows));
    return 0;
  }
  if (args.report) return report(args.output ?? latest);
  return (await runInNamespace()) ?? (await run(args));
}

async function run({ rows, output }: Arguments): Promise<number> {
  const interrupted = new AbortController();
  setMaxListeners(0, interrupted.signal); // one for each trial
  for (const signal of endings) process.on(signal, () => interrupted.abort());
  const obstacles = prepare(rows);
  removeLeftovers(benchCache);
  const results: Results = { machine: thisMachine(), rows: [] };
  for (const [name, reason] of obstacles.contenders) say(`LEFT OUT: ${name}: ${reason}`);

  const mounts = mountObstacle() === undefined;
  const memory = openMemory(mounts);
  const around = { mounts, obstacles, signal: interrupted.signal, say };
  const leftOut: string[] = [];
  const sizes = new Map<string, Counts>();
  try {
    for (const row of rows) {
      const obstacle =
        obstacles.fileSystems.get(row.fileSystem.name) ?? corpusObstacle(row, obstacles);
      if (obstacle) {
        leftOut.push(`${row.id}: ${obstacle}`);
        continue;
      }
      const key = JSON.stringify(row.workload.tree);
      const tree = sizes.get(key) ?? countsOf(row.workload.tree);
      sizes.set(key, tree);
      try {
        results.rows.push(
          await runRow(row, tree, { ...around, memory: join(memory.path, row.id) }),
        );
      } catch (error) {
        // Ctrl-C ends a tool that is waited for, too, and is heard only now.
        await setTimeout(20);
        if (interrupted.signal.aborted) break;
        leftOut.push(`${row.id}: ${error instanceof Error ? error.message.trim() : error}`);
        continue;
      }
      const [result] = results.rows.slice(-1);
      if (result) console.log(`\n${rowText(result)}`);
      if (output) save(output, merge(load(output), results, planRows({})));
    }
  } finally {
    memory.close();
  }
  const verdicts = judge(withKnown(results.rows, output)).filter(
    ({ row }) => !row.includes('/') || results.rows.some(({ id }) => id === row),
  );
  if (verdicts.length > 0) console.log(`\n${verdictText(verdicts)}`);
  for (const line of leftOut) say(`LEFT OUT: ${line}`);
  if (interrupted.signal.aborted) say('interrupted');
  if (interrupted.signal.aborted) return 130;
  return isBroken(results) ? 1 : 0;
}

/** Some targets need rows that an earlier run may have measured. */
function withKnown(rows: RowResult[], output: string | undefined): RowResult[] {
  return (rows.length > 0 && output !== undefined && load(output)?.rows) || rows;
}

function corpusObstacle(row: Row, obstacles: Obstacles): string | undefined {
  return row.workload.tree === 'corpus' ? obstacles.corpus : undefined;
}

/** A lost race is a result; a copy of ours that failed is not. */
function isBroken({ rows }: Results): boolean {
  return rows.some(({ trials }) =>
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
  for (const row of results.rows) console.log(`${rowText(row)}\n`);
  console.log(verdictText(judge(results.rows)));
  writeReport(results);
  return 0;
}
