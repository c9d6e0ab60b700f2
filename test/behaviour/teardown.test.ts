import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  makeBigFile,
  makeBigTree,
  median,
  strangersIn,
  workDirectory,
} from '../support/big-tree.js';
import { nodes, runChild } from './support/child.js';

const FILES = 30_000;
const ROUNDS = 20;
/** The most that terminate() and process.exit() may take, in milliseconds. */
const SOON = 200;

describe.each(nodes)('$name', ({ path: node }) => {
  const cwd = workDirectory();
  const src = join(cwd, 'src');
  const file = join(cwd, 'file');
  let made = 0;
  let dest: string;

  beforeAll(() => {
    makeBigTree(src, FILES);
    makeBigFile(file, 1024);
  });
  beforeEach(() => {
    dest = join(cwd, `dest-${made++}`);
  });

  const clean = { exitCode: 0, signal: null, stderr: '' };

  describe('worker.terminate()', () => {
    interface Terminated {
      times: number[];
      main: number;
      leaked: number;
    }
    /** Ends workers at random moments; meanwhile and afterwards the main thread copies. */
    const terminate = (worker: string, most: number) => `
      const times = [];
      let main = 0;
      let before;
      const small = path.join(given.src, 'group-0', 'inner-0', 'directory-0');
      for (let round = 0; round < ${ROUNDS}; round++) {
        if (round === 2) before = openFiles();
        const worker = startWorker(\`${worker}\`, { ...given, dest: given.dest + '/' + round });
        await once(worker, 'message');
        await sleep(Math.random() * ${most});
        const began = performance.now();
        await worker.terminate();
        times.push(performance.now() - began);
        main += (await copyTree(small, given.dest + '/small-' + round)).files;
        fs.rmSync(given.dest, { recursive: true, force: true });
      }
      answer({ times, main, leaked: openFiles() - before });`;

    const check = (ended: { answer: Terminated }) => {
      expect(ended).toMatchObject(clean);
      expect(ended.answer).toMatchObject({ main: ROUNDS * 250, leaked: 0 });
      expect(median(ended.answer.times)).toBeLessThan(SOON);
    };

    test('in the middle of a tree', async () => {
      const worker = `
        copyTree(workerData.src, workerData.dest);
        parentPort.postMessage('started');`;
      check(await runChild<Terminated>(node, terminate(worker, 250), { src, dest }));
    });

    test('in the middle of a large file', async () => {
      const worker = `
        copyTree(workerData.file, workerData.dest + '/file');
        parentPort.postMessage('started');`;
      check(await runChild<Terminated>(node, terminate(worker, 120), { src, file, dest }));
    });

    test('of a job that back-pressure holds up', async () => {
      const worker = `
        const job = copyTree(workerData.src, workerData.dest, { entries: true });
        job[Symbol.asyncIterator]().next();
        parentPort.postMessage('started');`;
      check(await runChild<Terminated>(node, terminate(worker, 250), { src, dest }));
    });

    test('of several jobs that wait for each other', async () => {
      const worker = `
        for (let i = 0; i < 8; i++) copyTree(workerData.src, workerData.dest + '/' + i);
        parentPort.postMessage('started');`;
      check(await runChild<Terminated>(node, terminate(worker, 250), { src, dest }));
    });

    test('of many short jobs, whose every call into the addon may be cut off', async () => {
      const code = `
        const small = path.join(given.src, 'group-0', 'inner-0', 'directory-0');
        for (let round = 0; round < 60; round++) {
          const worker = startWorker(
            'for (let i = 0; i < 200; i++) copyTree(workerData.small, workerData.dest + i);' +
            'parentPort.postMessage(1);', { small, dest: given.dest });
          await once(worker, 'message');
          await sleep(Math.random() * 25);
          await worker.terminate();
        }
        answer('alive');`;
      const env = { UV_THREADPOOL_SIZE: '2' };
      for (let again = 0; again < 3; again++) {
        const ended = await runChild(node, code, { src, dest }, env);
        expect(ended).toMatchObject({ ...clean, answer: 'alive' });
      }
    });

    test('while jobs of the main thread take turns with those that end', async () => {
      const code = `
        const times = [];
        let main = 0;
        const dest = (name) => path.join(given.dest, String(name));
        let over = false;
        const mine = (async () => {
          for (let i = 0; !over; i++) {
            const job = (name) => copyTree(path.join(given.src, 'group-1'), dest(name));
            const results = await Promise.all([job('a' + i), job('b' + i), job('c' + i)]);
            for (const { files } of results) main += files > 0 ? 1 : 0;
            fs.rmSync(dest('a' + i), { recursive: true });
          }
        })();
        for (let round = 0; round < ${ROUNDS}; round++) {
          const worker = startWorker(
            'for (let i = 0; i < 6; i++) copyTree(workerData.src, workerData.dest + i);' +
            'parentPort.postMessage(1);', { ...given, dest: dest('w' + round + '-') });
          await once(worker, 'message');
          await sleep(Math.random() * 120);
          const began = performance.now();
          await worker.terminate();
          times.push(performance.now() - began);
        }
        over = true;
        await mine;
        answer({ times, main });`;
      const ended = await runChild<Terminated>(
        node,
        code,
        { src, dest },
        { UV_THREADPOOL_SIZE: '2' },
      );
      expect(ended).toMatchObject(clean);
      expect(ended.answer.main).toBeGreaterThan(0);
      expect(ended.answer.main % 3).toBe(0);
      expect(median(ended.answer.times)).toBeLessThan(SOON);
    });
  });

  describe('process.exit()', () => {
    interface Exited {
      at: number;
    }
    const leave = (before: string, given: object, env = {}) =>
      runChild<Exited>(
        node,
        `${before}
        await sleep(given.delay);
        answer({ at: Date.now() });
        process.exit(7);`,
        { src, file, dest, ...given },
        env,
      );

    /** Node's own end takes time too, which is not ours. */
    async function exitTime(before: string, delays: number[], env = {}): Promise<number> {
      const times: number[] = [];
      for (const delay of delays) {
        dest = join(cwd, `dest-${made++}`);
        const { answer, endedAt, ...ended } = await leave(before, { delay }, env);
        expect(ended).toEqual({ exitCode: 7, signal: null, stderr: '' });
        times.push(endedAt - answer.at);
        // Whatever was copied is whole, even so.
        expect(strangersIn(dest, src)).toEqual([]);
      }
      return median(times);
    }

    const delays = [0, 20, 50, 90, 140];

    test('in the middle of a tree', async () => {
      expect(await exitTime('copyTree(given.src, given.dest);', delays)).toBeLessThan(SOON);
    });

    test('with one thread in the pool', async () => {
      const env = { UV_THREADPOOL_SIZE: '1' };
      expect(await exitTime('copyTree(given.src, given.dest);', delays, env)).toBeLessThan(SOON);
    });

    test('in the middle of a large file, which is gone', async () => {
      const times: number[] = [];
      for (const delay of [30, 60, 90]) {
        dest = join(cwd, `dest-${made++}`);
        const { answer, endedAt, ...ended } = await leave('copyTree(given.file, given.dest);', {
          delay,
        });
        expect(ended).toEqual({ exitCode: 7, signal: null, stderr: '' });
        times.push(endedAt - answer.at);
        expect(existsSync(dest)).toBe(false);
      }
      expect(median(times)).toBeLessThan(SOON);
    });

    test('of a job that back-pressure holds up', async () => {
      const start = `
        const job = copyTree(given.src, given.dest, { entries: true });
        job[Symbol.asyncIterator]().next();`;
      expect(await exitTime(start, [0, 50, 300])).toBeLessThan(SOON);
    });

    test('with several jobs that wait for each other', async () => {
      const start = `
        for (let i = 0; i < 8; i++) copyTree(given.src, path.join(given.dest, 'group-' + i));`;
      const times: number[] = [];
      for (const delay of delays) {
        const { answer, endedAt, ...ended } = await leave(start, { delay });
        expect(ended).toEqual({ exitCode: 7, signal: null, stderr: '' });
        times.push(endedAt - answer.at);
      }
      expect(median(times)).toBeLessThan(SOON);
    });

    test('with a worker that copies', async () => {
      const start = `
        const worker = startWorker(
          'copyTree(workerData.src, workerData.dest); parentPort.postMessage(1);', given);
        await once(worker, 'message');`;
      expect(await exitTime(start, delays)).toBeLessThan(SOON);
    });

    test('in a worker ends the worker only', async () => {
      const code = `
        const times = [];
        for (const delay of [0, 20, 50, 90, 140]) {
          const worker = startWorker(
            'copyTree(workerData.src, workerData.dest);' +
            'setTimeout(() => { parentPort.postMessage(Date.now()); process.exit(3); }, workerData.delay);',
            { ...given, delay });
          const [[at], [exitCode]] = await Promise.all([once(worker, 'message'), once(worker, 'exit')]);
          if (exitCode !== 3) throw new Error('exit code ' + exitCode);
          times.push(Date.now() - at);
        }
        const { files } = await copyTree(path.join(given.src, 'group-0'), given.dest + '-main');
        answer({ times, files });`;
      const ended = await runChild<{ times: number[]; files: number }>(node, code, { src, dest });
      expect(ended).toMatchObject(clean);
      expect(ended.answer.files).toBeGreaterThan(0);
      expect(median(ended.answer.times)).toBeLessThan(SOON);
      expect(strangersIn(dest, src)).toEqual([]);
    });
  });

  test('an uncaught exception in the middle ends the process as ever', async () => {
    const code = `
      copyTree(given.src, given.dest);
      setTimeout(() => {
        answer({ at: Date.now() });
        throw new Error('uncaught');
      }, 60);`;
    const ended = await runChild<{ at: number }>(node, code, { src, dest });
    expect(ended).toMatchObject({ exitCode: 1, signal: null });
    expect(ended.stderr).toContain('Error: uncaught');
    expect(ended.endedAt - ended.answer.at).toBeLessThan(SOON);
    expect(strangersIn(dest, src)).toEqual([]);
  });

  test('an uncaught exception in a worker ends the worker only', async () => {
    const code = `
      const worker = startWorker(
        'copyTree(workerData.src, workerData.dest); setTimeout(() => { throw new Error("uncaught") }, 60)',
        given);
      const [error] = await once(worker, 'error');
      const { files } = await copyTree(path.join(given.src, 'group-0'), given.dest + '-main');
      answer({ message: error.message, files: files > 0 });`;
    const ended = await runChild(node, code, { src, dest });
    expect(ended).toMatchObject({ ...clean, answer: { message: 'uncaught', files: true } });
  });

  test('the process stays until the copy is done, though nobody awaits it', async () => {
    const code = `
      copyTree(given.src, given.dest).then((result) => answer(result.files));`;
    expect(await runChild(node, code, { src, dest })).toMatchObject({ ...clean, answer: FILES });
  });

  test('the process ends by itself after the copy', async () => {
    const code = `
      await copyTree(path.join(given.src, 'group-0'), given.dest);
      answer({ at: Date.now() });`;
    const { answer, endedAt, ...ended } = await runChild<{ at: number }>(node, code, { src, dest });
    expect(ended).toEqual(clean);
    expect(endedAt - answer.at).toBeLessThan(SOON);
  });

  test('a worker that has ended by itself leaves the addon to the others', async () => {
    const code = `
      let files = 0;
      for (let round = 0; round < 10; round++) {
        const worker = startWorker(
          'copyTree(workerData.src, workerData.dest).then(({ files }) => parentPort.postMessage(files))',
          { src: path.join(given.src, 'group-0'), dest: given.dest + '/' + round });
        const [[copied]] = await Promise.all([once(worker, 'message'), once(worker, 'exit')]);
        files += copied;
      }
      const again = await copyTree(path.join(given.src, 'group-0'), given.dest + '/main');
      answer(files === again.files * 10);`;
    expect(await runChild(node, code, { src, dest })).toMatchObject({ ...clean, answer: true });
  });
});
