import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { copyTree } from '../../lib/index.js';
import {
  makeBigTree,
  openFiles,
  snapshot,
  strangersIn,
  workDirectory,
} from '../support/big-tree.js';
import { needTool } from '../support/work.js';
import { nodes, runChild } from './support/child.js';

const FILES = 2_000;

const root = join(import.meta.dirname, '../../');
const cwd = workDirectory();
const src = join(cwd, 'src');
const big = join(cwd, 'big');
let made = 0;
let dest: string;
const newDest = () => join(cwd, `dest-${made++}`);

beforeAll(() => {
  makeBigTree(src, FILES);
  makeBigTree(big, 30_000);
});
beforeEach(() => {
  dest = newDest();
});

const clean = { exitCode: 0, signal: null, stderr: '' };

function expectWhole(copy: string): void {
  expect(strangersIn(copy, src)).toEqual([]);
  expect(snapshot(copy).length).toBe(snapshot(src).length);
}

describe('jobs of one process', () => {
  test('20 at once', async () => {
    const dests = Array.from({ length: 20 }, newDest);
    const results = await Promise.all(dests.map((to) => copyTree(src, to)));
    for (const result of results) expect(result).toMatchObject({ files: FILES, errorCount: 0 });
    for (const to of dests) expectWhole(to);
  });

  test('20 at once that each want all workers, and one', async () => {
    const dests = Array.from({ length: 20 }, newDest);
    const jobs = dests.map((to, index) => copyTree(src, to, { concurrency: index % 2 ? 1 : 3 }));
    for (const job of jobs) expect(await job).toMatchObject({ files: FILES });
  });

  test('20 into the same directory', async () => {
    const results = await Promise.all(Array.from({ length: 20 }, () => copyTree(src, dest)));
    for (const result of results) expect(result).toMatchObject({ files: FILES, errorCount: 0 });
    expectWhole(dest);
  });

  test('500 at once, with room for 256 file descriptors', async (context) => {
    needTool(context, 'prlimit');
    const small = join(src, 'group-0', 'inner-0', 'directory-0');
    const code = `
      const jobs = Array.from({ length: 500 }, (_, i) => copyTree(given.small, given.dest + '/' + i));
      const controller = new AbortController();
      const aborted = copyTree(given.small, given.dest + '/none', { signal: controller.signal });
      controller.abort('enough');
      const reason = await aborted.catch((thrown) => thrown);
      const ended = (await Promise.allSettled(jobs)).map(({ status }) => status);
      const { files } = await copyTree(given.small, given.dest + '/last');
      answer({ reason, ended: [...new Set(ended)], files: files > 0 });`;
    // Node raises the soft limit to the hard one.
    const limited = ['prlimit', '--nofile=256', process.execPath];
    const ended = await runChild(limited, code, { small, dest });
    const answer = { reason: 'enough', ended: ['fulfilled'], files: true };
    expect(ended).toMatchObject({ ...clean, answer });
  });

  test('one started by an event of another', async () => {
    const second = newDest();
    let other: ReturnType<typeof copyTree> | undefined;
    const job = copyTree(src, dest, { entries: true });
    for await (const event of job) {
      if (event.type !== 'entry' || other) continue;
      other = copyTree(src, second);
      // While the loop waits, its own job has to wait for it, but no other job has to.
      await other;
    }
    await Promise.all([job, other]);
    expectWhole(dest);
    expectWhole(second);
  });

  test('one that back-pressure holds up holds up no other', async () => {
    const held = copyTree(big, newDest(), { entries: true });
    const events = held[Symbol.asyncIterator]();
    await events.next();
    for (let round = 0; round < 5; round++) await copyTree(src, newDest());
    expect(held.result.files).toBeLessThan(30_000);
    await events.return?.();
    expect(await held).toMatchObject({ files: 30_000 });
  });

  test('a short one is done long before a long one that began earlier', async () => {
    const long = copyTree(big, newDest());
    await copyTree(join(src, 'group-0'), dest);
    expect(long.result.files).toBeLessThan(30_000);
    await long;
  });

  test('200 one after another leak neither descriptors nor memory', async () => {
    const small = join(src, 'group-0', 'inner-0', 'directory-0');
    const round = async () => {
      const to = newDest();
      await copyTree(small, to);
      rmSync(to, { recursive: true });
    };
    // Node's own heap grows in steps for about 600 rounds.
    for (let warm = 0; warm < 700; warm++) await round();
    const files = openFiles();
    const growths: number[] = [];
    for (let batch = 0; batch < 3; batch++) {
      const memory = process.memoryUsage.rss();
      for (let index = 0; index < 200; index++) await round();
      growths.push(process.memoryUsage.rss() - memory);
    }
    expect(openFiles()).toEqual(files);
    // A leak would grow in every batch. Each copies 250 files; 50 KB for each job would be seen.
    expect(Math.min(...growths)).toBeLessThan(10 << 20);
  });
});

describe.each(nodes)('$name', ({ path: node }) => {
  test('jobs in three workers and the main thread', async () => {
    const code = `
      const workers = [0, 1, 2].map((index) => startWorker(
        'const jobs = [0, 1].map((i) => copyTree(workerData.src, workerData.dest + i));' +
        'Promise.all(jobs).then((results) => parentPort.postMessage(results.map(({ files }) => files)))',
        { src: given.src, dest: given.dest + '/' + index }));
      const ended = workers.map((worker) => Promise.all([once(worker, 'message'), once(worker, 'exit')]));
      const mine = await Promise.all([3, 4].map((i) => copyTree(given.src, given.dest + '/main' + i)));
      const theirs = (await Promise.all(ended)).map(([[files], [exitCode]]) => [...files, exitCode]);
      answer([...theirs, mine.map(({ files }) => files)]);`;
    const ended = await runChild(node, code, { src, dest });
    const worker = [FILES, FILES, 0];
    expect(ended).toMatchObject({ ...clean, answer: [worker, worker, worker, [FILES, FILES]] });
    expectWhole(join(dest, '00'));
    expectWhole(join(dest, '21'));
    expectWhole(join(dest, 'main4'));
  });

  test.each(['1', '2', '4', '64'])('UV_THREADPOOL_SIZE=%s', async (size) => {
    const code = `
      const jobs = [0, 1, 2, 3, 4].map((i) => copyTree(given.src, given.dest + '/' + i));
      answer((await Promise.all(jobs)).map(({ files, errorCount }) => [files, errorCount]));`;
    const ended = await runChild(node, code, { src, dest }, { UV_THREADPOOL_SIZE: size });
    expect(ended).toMatchObject({ ...clean, answer: Array(5).fill([FILES, 0]) });
    for (let index = 0; index < 5; index++) expectWhole(join(dest, String(index)));
  });

  test.each(['0', '-3', 'many', '', '5000'])('UV_THREADPOOL_SIZE=%j', async (size) => {
    const code = `answer((await copyTree(given.src, given.dest)).files);`;
    const ended = await runChild(node, code, { src, dest }, { UV_THREADPOOL_SIZE: size });
    expect(ended).toMatchObject({ ...clean, answer: FILES });
  });

  test('a pool of one thread serves the host meanwhile', async () => {
    const code = `
      let ended = false;
      const job = copyTree(given.big, given.dest).finally(() => { ended = true; });
      await sleep(10);
      const times = [];
      while (!ended && times.length < 100) {
        const began = performance.now();
        await fs.promises.stat(given.big);
        times.push(performance.now() - began);
      }
      const during = !ended || times.length < 100;
      await job;
      answer({ times: times.length, during, median: median(times), most: Math.max(...times) });`;
    const env = { UV_THREADPOOL_SIZE: '1' };
    const ended = await runChild<Record<string, number>>(node, code, { big, dest }, env);
    expect(ended).toMatchObject({ ...clean, answer: { during: true } });
    expect(ended.answer.times).toBeGreaterThan(10);
    expect(ended.answer.median).toBeLessThan(50);
  });

  test.each(['1', '2', '4'])('ten jobs leave room in a pool of %s', async (size) => {
    const code = `
      const crypto = await import('node:crypto');
      const { promisify } = await import('node:util');
      const pbkdf2 = promisify(crypto.pbkdf2);
      const calls = [() => fs.promises.stat(given.src), () => pbkdf2('a', 'b', 10, 16, 'sha1')];
      await Promise.all(calls.map((call) => call()));
      const { createRequire } = await import('node:module');
      const { threads } = createRequire(given.root)('node-gyp-build')(given.root);
      const { availableParallelism } = await import('node:os');
      let left = 10;
      let most = 0;
      const jobs = Array.from({ length: left }, (_, i) =>
        copyTree(given.src, given.dest + '/' + i).finally(() => { left--; }));
      const times = [];
      await sleep(5);
      while (left > 0) {
        for (const call of calls) {
          const began = performance.now();
          await call();
          times.push(performance.now() - began);
          most = Math.max(most, threads());
        }
      }
      await Promise.all(jobs);
      const useful = availableParallelism();
      // Those without work end after a moment.
      for (let wait = 0; threads() > 0 && wait < 100; wait++) await sleep(10);
      const late = Math.max(...times);
      answer({ most, useful, count: times.length, median: median(times), late, left: threads() });`;
    const env = { UV_THREADPOOL_SIZE: size };
    const ended = await runChild<Record<string, number>>(node, code, { root, src, dest }, env);
    expect(ended).toMatchObject({ ...clean, answer: { left: 0 } });
    const { most, useful = 0, count, median, late } = ended.answer;
    // One for each copy, perhaps more while SRC has to be read from a disk, one that ends, and one that wakes JavaScript.
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(Math.max(10, useful * 2) + 2);
    expect(count).toBeGreaterThan(5);
    expect(median).toBeLessThan(size === '1' ? 50 : 20);
    expect(late).toBeLessThan(500);
  });

  test('a thread that a copy has when it is stopped goes to the next one', async () => {
    const code = `
      const { createRequire } = await import('node:module');
      const { threads } = createRequire(given.root)('node-gyp-build')(given.root);
      const controllers = [new AbortController(), new AbortController()];
      const jobs = controllers.map(({ signal }, i) =>
        copyTree(given.big, given.dest + '/' + i, { signal, concurrency: 1 }));
      const settled = Promise.allSettled(jobs);
      while (jobs.some(({ result }) => result.files === 0)) await sleep(1);
      for (const until = performance.now() + 200; performance.now() < until; );
      for (const controller of controllers) controller.abort();
      await settled;
      const next = copyTree(given.src, given.dest + '/next').then(({ files }) => files);
      const files = await Promise.race([next, sleep(10_000, 'it hangs', { ref: false })]);
      for (let wait = 0; threads() > 0 && wait < 100; wait++) await sleep(10);
      answer({ files, threads: threads() });`;
    const ended = await runChild(node, code, { root, src, big, dest }, { UV_THREADPOOL_SIZE: '1' });
    expect(ended).toMatchObject({ ...clean, answer: { files: FILES, threads: 0 } });
  });

  test('a comparison that another job breaks off links no name to what is old', async () => {
    const names = join(cwd, 'names');
    const size = 48 << 20;
    mkdirSync(names);
    writeFileSync(join(names, 'one'), Buffer.alloc(size, 'x'));
    linkSync(join(names, 'one'), join(names, 'two'));
    const dests = [0, 1, 2].map((i) => {
      const to = join(cwd, `old ${i}`);
      mkdirSync(to);
      const old = Buffer.alloc(size, 'x');
      old[size - 1] = 0;
      for (const name of ['one', 'two']) writeFileSync(join(to, name), old);
      return to;
    });
    const code = `
      const options = { mirror: true, preserve: true };
      const jobs = given.dests.map((dest) => copyTree(given.names, dest, options));
      const results = await Promise.all(jobs);
      answer(results.map(({ errorCount }) => errorCount));`;
    const env = { UV_THREADPOOL_SIZE: '1' };
    const ended = await runChild<number[]>(node, code, { names, dests }, env);
    expect(ended).toMatchObject({ ...clean, answer: [0, 0, 0] });
    for (const to of dests) {
      for (const name of ['one', 'two']) {
        expect(readFileSync(join(to, name)).at(-1)).toBe(readFileSync(join(names, name)).at(-1));
      }
    }
  });

  test('an abort ends a copy while the pool is held, and leaves its room to later jobs', async () => {
    // Both threads are held by FIFOs that nobody writes to, before the copy is told what to do.
    const code = `
      const { execFileSync } = await import('node:child_process');
      const fifo = given.dest + '.fifo';
      execFileSync('mkfifo', [fifo]);
      const isHeld = (task) => {
        try {
          return fs.readFileSync('/proc/self/task/' + task + '/syscall', 'latin1').startsWith('257 ');
        } catch {
          return false; // a thread that has ended
        }
      };
      let held = [];
      let goOn;
      const filter = (_src, _dest, { path }) => {
        if (path === '') return true;
        if (held.length === 0) held = [0, 1].map(() => fs.promises.open(fifo, 'r'));
        return new Promise((resolve) => { goOn = () => resolve(true); });
      };
      const controller = new AbortController();
      const job = copyTree(given.one, given.dest, { filter, signal: controller.signal });
      const ended = job.then(() => 'copied', (reason) => reason);
      const areHeld = () => fs.readdirSync('/proc/self/task').filter(isHeld).length === 2;
      while (!areHeld()) await new Promise((resolve) => setImmediate(resolve));
      goOn();
      controller.abort('enough');
      const outcome = await ended;
      const writer = fs.openSync(fifo, fs.constants.O_RDWR | fs.constants.O_NONBLOCK);
      for (const file of await Promise.all(held)) await file.close();
      fs.closeSync(writer);
      const later = copyTree(given.one, given.dest + ' later').then(({ files }) => files);
      answer([outcome, await Promise.race([later, sleep(5000, 'none', { ref: false })])]);
      process.exit();`;
    const one = join(cwd, 'one file');
    mkdirSync(one, { recursive: true });
    writeFileSync(join(one, 'file'), 'content');
    const env = { UV_THREADPOOL_SIZE: '2' };
    const ended = await runChild(node, code, { one, dest }, env);
    expect(ended).toMatchObject({ ...clean, answer: ['enough', 1] });
  });

  test('jobs of a pool of one run together, not one after another', async () => {
    const code = `
      const done = [0, 0, 0];
      const run = (i) => copyTree(given.big, given.dest + '/' + i, {
        onProgress({ scanned }) { done[i] = scanned; },
      });
      await Promise.race([0, 1, 2].map(run));
      answer(done);`;
    const env = { UV_THREADPOOL_SIZE: '1' };
    const ended = await runChild<number[]>(node, code, { big, dest }, env);
    expect(ended).toMatchObject(clean);
    // When the first one ends, the others are well on their way. How far depends on who gets the cores.
    const [least = 0, , most = 0] = ended.answer.sort((a, b) => a - b);
    expect(least).toBeGreaterThan(most / 50);
  });
});
