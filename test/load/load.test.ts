import { execFileSync, spawn } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { copyTree } from '../../lib/index.js';
import { runChild } from '../behaviour/support/child.js';
import { makeBigTree, openFiles, strangersIn, walk } from '../support/big-tree.js';
import { COMMAND } from '../support/child.js';
import { size } from '../support/form.js';
import { workDirectory } from '../support/work.js';

// Many copies, and their end at any moment. The long form takes minutes.

const work = workDirectory('load');
const src = join(work, 'src');
const small = join(work, 'small');
const long = join(work, 'long');
let made = 0;
const newDest = (): string => join(work, `dest ${made++}`);

beforeAll(() => {
  makeBigTree(src, 5_000);
  makeBigTree(small, 40);
  makeBigTree(long, 20_000);
});

test('50 jobs at once', async () => {
  const open = openFiles();
  const dests = Array.from({ length: 50 }, newDest);
  const results = await Promise.all(dests.map((dest) => copyTree(src, dest)));
  expect(results.map(({ files, errorCount }) => [files, errorCount])).toEqual(
    dests.map(() => [5_000, 0]),
  );
  for (const [index, dest] of dests.entries()) {
    expect(walk(dest)).toEqual(walk(src));
    if (index % 10 === 0) expect(strangersIn(dest, src)).toEqual([]);
    rmSync(dest, { recursive: true });
  }
  expect(openFiles()).toEqual(open);
});

const JOBS = size(300, 300, 1_000);
test(`${JOBS} jobs one after another: neither memory nor descriptors`, {
  timeout: 300_000,
}, async () => {
  const code = `
    const before = openFiles();
    const memory = [];
    for (let job = 0; job < given.jobs; job++) {
      await copyTree(given.src, given.dest, { force: true, mirror: job % 3 === 0, entries: job % 2 === 0 });
      if (job % 20 === 19) {
        globalThis.gc();
        memory.push(process.memoryUsage().rss / 2 ** 20);
      }
    }
    answer({ before, after: openFiles(), memory });`;
  const { answer, exitCode, stderr } = await runChild<{
    before: number;
    after: number;
    memory: number[];
  }>(
    process.execPath,
    code,
    { src: small, dest: newDest(), jobs: JOBS },
    { NODE_OPTIONS: '--expose-gc' },
  );
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(answer.after).toBe(answer.before);
  // The first ones warm up.
  const [early = 0, late = 0] = [
    answer.memory[Math.floor(answer.memory.length / 3)],
    answer.memory.at(-1),
  ];
  console.log(`load: ${JOBS} jobs, ${early.toFixed(1)} MB became ${late.toFixed(1)} MB`);
  expect(late - early).toBeLessThan(8);
});

const ENDS = size(40, 40, 500);
test(`${ENDS} worker threads ended in the middle`, { timeout: 300_000 }, async () => {
  const code = `
    // Node itself keeps some for its workers.
    const opened = () => fs.readdirSync('/proc/self/fd').filter((name) => {
      try {
        return fs.readlinkSync('/proc/self/fd/' + name).startsWith(path.dirname(given.src));
      } catch {
        return false;
      }
    }).length;
    let began = 0;
    for (let round = 0; round < given.rounds; round++) {
      const worker = startWorker(
        'copyTree(workerData.src, workerData.dest).catch(() => {}); parentPort.postMessage(0)',
        { src: given.src, dest: given.dest + '/' + round % 7 });
      await once(worker, 'message');
      began++;
      await sleep(Math.random() * 15);
      await worker.terminate();
    }
    // Their last files are closed by threads of the pool.
    for (let tries = 0; tries < 100 && opened() > 0; tries++) await sleep(20);
    const { files } = await copyTree(given.src, given.dest + '/whole');
    answer({ began, files, open: opened() });`;
  const dest = newDest();
  const given = { src, dest, rounds: ENDS };
  const began = performance.now();
  // The child's own limit is for short ones.
  for (let rounds = 0; rounds < ENDS; rounds += 100) {
    const part = { ...given, rounds: Math.min(100, ENDS - rounds) };
    const { answer, exitCode, signal, stderr } = await runChild<{
      began: number;
      files: number;
      open: number;
    }>(process.execPath, code, part);
    expect({ exitCode, signal, stderr }).toEqual({ exitCode: 0, signal: null, stderr: '' });
    expect(answer).toMatchObject({ began: part.rounds, files: 5_000, open: 0 });
    expect(strangersIn(join(dest, 'whole'), src)).toEqual([]);
    for (let i = 0; i < Math.min(7, part.rounds); i++)
      expect(strangersIn(join(dest, `${i}`), src)).toEqual([]);
    rmSync(dest, { recursive: true });
  }
  console.log(
    `load: ${ENDS} worker threads ended, ${Math.round((performance.now() - began) / 1000)} s`,
  );
});

describe('signals', () => {
  const ROUNDS = size(16, 16, 200);

  /** Sends it after a while; what the process ended by. */
  async function interrupt(dest: string, signal: 'SIGINT' | 'SIGTERM', after: number) {
    const child = spawn(process.execPath, [COMMAND, long, dest], {
      stdio: 'ignore',
      timeout: 20_000,
      killSignal: 'SIGKILL',
    });
    const ended = new Promise<[number | null, string | null]>((resolve) => {
      child.once('close', (status, by) => resolve([status, by]));
    });
    await sleep(after);
    child.kill(signal);
    return ended;
  }

  test(`at ${ROUNDS} random moments`, { timeout: 1_800_000 }, async () => {
    const began = performance.now();
    const whole = newDest();
    execFileSync(process.execPath, [COMMAND, long, whole], { stdio: 'ignore' });
    const duration = performance.now() - began;
    rmSync(whole, { recursive: true });
    const seen = new Map<string, number>();
    for (let round = 0; round < ROUNDS; round++) {
      const dest = newDest();
      const signal = round % 2 ? 'SIGINT' : 'SIGTERM';
      const [status, by] = await interrupt(dest, signal, Math.random() * duration);
      // Before Node has got so far as to listen, the signal itself ends it.
      const what = by ?? `${status}`;
      expect(['0', signal, signal === 'SIGINT' ? '130' : '143']).toContain(what);
      seen.set(what, (seen.get(what) ?? 0) + 1);
      if (what === '0') expect(walk(dest)).toEqual(walk(long));
      // Whole files, no temporary ones, modes too: nothing but what SRC has.
      expect(existsSync(dest) ? strangersIn(dest, long) : []).toEqual([]);
      rmSync(dest, { recursive: true, force: true });
    }
    console.log(
      `load: ${ROUNDS} signals in ${duration.toFixed(0)} ms each at most`,
      Object.fromEntries(seen),
    );
    expect((seen.get('130') ?? 0) + (seen.get('143') ?? 0)).toBeGreaterThan(0);
  });
});
