import { getEventListeners } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promiseHooks } from 'node:v8';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { copyTree } from '../../lib/index.js';
import type { CopyJob, CopyOptions } from '../../lib/types.js';
import { digest, hiddenIn, makeUniform } from '../support/atomic.js';
import {
  makeBigFile,
  makeBigTree,
  median,
  openFiles,
  snapshot,
  strangersIn,
  workDirectory,
} from '../support/big-tree.js';
import { nodes, runChild } from './support/child.js';

const FILES = 30_000;
/** The most that a rejection may take, in milliseconds. */
const SOON = 100;

const cwd = workDirectory();
const src = join(cwd, 'src');
let made = 0;
const newDest = () => join(cwd, `dest-${made++}`);

beforeAll(() => {
  makeBigTree(src, FILES);
});

const rejection = (job: CopyJob) =>
  job.then(
    () => expect.unreachable('the job was aborted'),
    (reason: unknown) => reason,
  );

/** Starts a copy and aborts it once `ready` says so; all that must hold after it is checked here. */
async function abortCopy(
  from: string,
  ready: (job: CopyJob) => Promise<unknown>,
  options = {},
): Promise<{ took: number; dest: string; job: CopyJob }> {
  const dest = newDest();
  const before = openFiles();
  const controller = new AbortController();
  const reason = { why: 'enough' };
  const job = copyTree(from, dest, { ...options, signal: controller.signal });
  const rejected = rejection(job);
  await ready(job);
  const began = performance.now();
  controller.abort(reason);
  expect(await rejected).toBe(reason);
  const took = performance.now() - began;

  expect(openFiles()).toEqual(before);
  const left = snapshot(dest);
  await sleep(200);
  expect(snapshot(dest)).toEqual(left);
  return { took, dest, job };
}

async function untilFiles(job: CopyJob, files: number): Promise<void> {
  while (job.result.files < files) await sleep(2);
}

describe('a signal that aborts', () => {
  test('before the start: nothing is made', async () => {
    const dest = newDest();
    const reason = new Error('never mind');
    const job = copyTree(src, dest, { signal: AbortSignal.abort(reason) });
    expect(await rejection(job)).toBe(reason);
    expect(existsSync(dest)).toBe(false);
    expect(job.result).toMatchObject({ scanned: 0, files: 0, errorCount: 0 });
  });

  test('without a reason: the signal has one', async () => {
    const signal = AbortSignal.abort();
    expect(await rejection(copyTree(src, newDest(), { signal }))).toBe(signal.reason);
  });

  test('with undefined or null as a reason', async () => {
    const controller = new AbortController();
    controller.abort(null);
    const job = copyTree(src, newDest(), { signal: controller.signal });
    await expect(job).rejects.toBe(null);
  });

  test('while the roots are looked at', async () => {
    for (const turns of [0, 1, 2, 3, 5, 8]) {
      const { job } = await abortCopy(src, async () => {
        for (let turn = 0; turn < turns; turn++) await null;
        if (turns > 2) await new Promise((resolve) => setImmediate(resolve));
      });
      expect(job.result.files).toBeLessThan(FILES);
    }
  });

  test('in the middle: rejects soon and leaves only whole files', async () => {
    const times: number[] = [];
    for (let round = 0; round < 5; round++) {
      const { took, dest, job } = await abortCopy(src, (job) => untilFiles(job, 3_000));
      times.push(took);
      expect(job.result.files).toBeGreaterThanOrEqual(3_000);
      expect(job.result.files).toBeLessThan(FILES);
      expect(job.result).toMatchObject({ errors: [], errorCount: 0 });
      expect(strangersIn(dest, src)).toEqual([]);
      rmSync(dest, { recursive: true });
    }
    expect(median(times)).toBeLessThan(SOON);
  });

  test('in the middle of a large file: its bytes do not count', async () => {
    const large = join(cwd, 'large');
    mkdirSync(large);
    writeFileSync(join(large, 'small'), 'small');
    writeFileSync(join(large, 'file'), Buffer.alloc(400 << 20, 'x'));
    const { dest, job } = await abortCopy(large, async (job) => {
      while (job.result.bytes < 64 << 20) await new Promise((resolve) => setImmediate(resolve));
    });
    const left = readdirSync(dest);
    expect(left).not.toContain('file');
    expect(job.result).toMatchObject({ files: left.length, bytes: 'small'.length * left.length });
    rmSync(large, { recursive: true });
  });

  test('in the middle of a copy over what is there: each file is the old or the new one', async () => {
    const dest = newDest();
    await copyTree(src, dest);
    const controller = new AbortController();
    const job = copyTree(src, dest, { signal: controller.signal });
    const rejected = rejection(job);
    await untilFiles(job, 3_000);
    controller.abort('enough');
    expect(await rejected).toBe('enough');
    expect(strangersIn(dest, src)).toEqual([]);
    expect(snapshot(dest).length).toBe(snapshot(src).length);
    rmSync(dest, { recursive: true });
  });

  test('at any moment', { tags: ['all'], timeout: 240_000 }, async () => {
    const began = performance.now();
    const whole = newDest();
    await copyTree(src, whole);
    const duration = performance.now() - began;
    rmSync(whole, { recursive: true });

    const before = openFiles();
    const times: number[] = [];
    for (let round = 0; round < 50; round++) {
      const dest = newDest();
      const controller = new AbortController();
      let abortedAt = 0;
      let done = false;
      const reason = Symbol('reason');
      const job = copyTree(src, dest, { signal: controller.signal });
      const timer = setTimeout(
        () => {
          abortedAt = performance.now();
          controller.abort(reason);
        },
        Math.random() * duration * 0.9,
      );
      await job.then(
        () => {
          done = true;
        },
        (error: unknown) => expect(error).toBe(reason),
      );
      clearTimeout(timer);
      if (!done) times.push(performance.now() - abortedAt);
      expect(openFiles()).toEqual(before);
      if (round % 5 === 0) {
        const left = snapshot(dest);
        await sleep(50);
        expect(snapshot(dest)).toEqual(left);
        expect(strangersIn(dest, src)).toEqual([]);
      }
      rmSync(dest, { recursive: true, force: true });
    }
    expect(times.length).toBeGreaterThan(10);
    expect(median(times)).toBeLessThan(SOON);
  });

  test('while back-pressure holds the copy up', async () => {
    const { took, dest, job } = await abortCopy(
      src,
      async (job) => {
        await job[Symbol.asyncIterator]().next();
        let seen = -1;
        // Nobody takes events any more: it comes to a halt by itself.
        while (job.result.files !== seen) {
          seen = job.result.files;
          await sleep(150);
        }
      },
      { entries: true },
    );
    expect(took).toBeLessThan(SOON);
    expect(job.result.files).toBeGreaterThan(0);
    expect(job.result.files).toBeLessThan(FILES);
    expect(strangersIn(dest, src)).toEqual([]);
  });

  test('ends the loop of whoever iterates', async () => {
    const controller = new AbortController();
    const job = copyTree(src, newDest(), { signal: controller.signal });
    let events = 0;
    const iterating = (async () => {
      for await (const event of job) {
        events++;
        if (event.type === 'progress' && event.files > 1000) controller.abort('enough');
      }
    })();
    await expect(iterating).rejects.toBe('enough');
    expect(events).toBeGreaterThan(0);
    await expect(job).rejects.toBe('enough');
  });

  test('after the end: nothing happens', async () => {
    const dest = newDest();
    const controller = new AbortController();
    const job = copyTree(join(src, 'group-0'), dest, { signal: controller.signal });
    const result = await job;
    const left = snapshot(dest);
    controller.abort();
    await sleep(50);
    expect(snapshot(dest)).toEqual(left);
    expect(await job).toBe(result);
    expect(job.result).toEqual(result);
  });

  test('several jobs at once', async () => {
    const controller = new AbortController();
    const dests = Array.from({ length: 10 }, newDest);
    const jobs = dests.map((dest) => copyTree(src, dest, { signal: controller.signal }));
    const rejected = Promise.all(jobs.map(rejection));
    await sleep(100);
    const began = performance.now();
    controller.abort('enough');
    expect(await rejected).toEqual(jobs.map(() => 'enough'));
    expect(performance.now() - began).toBeLessThan(SOON * 2);
    for (const dest of dests) expect(strangersIn(dest, src)).toEqual([]);
  });
});

describe('a signal that aborts at any await', () => {
  const FEW = 100;
  const few = join(cwd, 'few');
  const modes: [name: string, options: CopyOptions][] = [
    ['plain', {}],
    ['with rules', { gitignore: true }],
    ['snapshot', { snapshot: 'auto' }],
    ['atomic', { atomic: true }],
    ['in two steps', { atomic: 'two-step' }],
    ['atomic, with a snapshot', { atomic: true, snapshot: 'auto' }],
  ];

  beforeAll(() => {
    makeUniform(few, 'new', FEW);
  });

  test.each(modes)(
    '%s: rejects soon, unless the copy is whole',
    { tags: ['all'] },
    async (_, options) => {
      const parent = newDest();
      const dest = join(parent, 'dest');
      mkdirSync(parent);
      if (options.atomic) makeUniform(dest, 'old', FEW);
      const before = digest(dest);
      const times: number[] = [];
      const placed = options.atomic && statSync(dest).ino;
      for (let awaits = 0, whole = false; !whole; awaits++) {
        const controller = new AbortController();
        const reason = Symbol(`after ${awaits} awaits`);
        let began = 0;
        const job = copyTree(few, dest, { ...options, signal: controller.signal });
        let left = awaits;
        // Between what an await waited for and what follows it.
        const off = promiseHooks.onBefore(() => {
          if (left-- !== 0) return;
          whole = placed ? statSync(dest).ino !== placed : job.result.files === FEW;
          began = performance.now();
          controller.abort(reason);
        });
        const outcome = await job.catch((thrown: unknown) => thrown);
        off();
        whole ||= !controller.signal.aborted;
        if (whole) expect(outcome).toMatchObject({ files: FEW, warnings: [] });
        else expect(outcome).toBe(reason);
        times.push(performance.now() - began);
        if (whole || options.atomic) expect(digest(dest)).toBe(whole ? digest(few) : before);
        else if (existsSync(dest)) expect(strangersIn(dest, few)).toEqual([]); // the engine had begun
        if (!options.atomic) rmSync(dest, { recursive: true, force: true });
        expect(hiddenIn(parent)).toEqual([]);
      }
      expect(times.length).toBeGreaterThan(10);
      expect(median(times)).toBeLessThan(SOON);
    },
  );

  test('beside what a killed run left: the next run removes the rest of it', async () => {
    const parent = newDest();
    const dest = join(parent, 'dest');
    const killed = makeBigTree(join(parent, '.dest.fastcp-0123456789abcdef'), 20_000);
    writeFileSync(`${killed}.lock`, '');
    makeUniform(dest, 'old', 10);
    const before = digest(dest);
    const groups = () => readdirSync(killed).length;
    const all = groups();
    const controller = new AbortController();
    const job = copyTree(few, dest, { atomic: true, signal: controller.signal });
    const rejected = rejection(job);
    await vi.waitUntil(() => groups() < all, { interval: 1 });
    const began = performance.now();
    controller.abort('enough');
    expect(await rejected).toBe('enough');
    expect(performance.now() - began).toBeLessThan(SOON);
    expect(groups()).toBeGreaterThan(0);
    expect(digest(dest)).toBe(before);
    expect(await copyTree(few, dest, { atomic: true })).toMatchObject({ warnings: [] });
    expect(hiddenIn(parent)).toEqual([]);
    expect(digest(dest)).toBe(digest(few));
  });
});

test.each(nodes)('a signal that aborts while the host keeps the pool busy: $name', async (node) => {
  const code = `
    const crypto = await import('node:crypto');
    const controller = new AbortController();
    const job = copyTree(given.src, given.dest, { signal: controller.signal });
    const rejected = job.catch((reason) => reason);
    while (job.result.files === 0) await sleep(1);
    const busy = new Promise((resolve) =>
      crypto.pbkdf2('a', 'b', 1_000_000, 64, 'sha512', resolve));
    await sleep(100); // now the job's worker waits for the thread
    const began = performance.now();
    controller.abort('enough');
    const reason = await rejected;
    const took = performance.now() - began;
    await busy;
    answer({ reason, took });`;
  const took: number[] = [];
  for (let round = 0; round < 3; round++) {
    const dest = newDest();
    const env = { UV_THREADPOOL_SIZE: '1' };
    const ended = await runChild<{ took: number }>(node.path, code, { src, dest }, env);
    expect(ended).toMatchObject({ exitCode: 0, stderr: '', answer: { reason: 'enough' } });
    took.push(ended.answer.took);
  }
  expect(median(took)).toBeLessThan(SOON);
});

describe('a signal that aborts in the middle of a large file', () => {
  let file: string;
  beforeAll(() => {
    file = makeBigFile(join(cwd, 'file'), 1024);
  });

  test.each([{}, { concurrency: 1 }, { reflink: 'never' as const }])(
    'rejects soon, and the file is gone: %j',
    async (options) => {
      const times: number[] = [];
      for (let round = 0; round < 5; round++) {
        const { took, dest } = await abortCopy(
          file,
          async (job) => {
            while (job.result.bytes === 0) await sleep(1);
          },
          options,
        );
        times.push(took);
        expect(existsSync(dest)).toBe(false);
      }
      expect(median(times)).toBeLessThan(SOON);
    },
  );

  test('leaves the file that was to be replaced', async () => {
    const dest = makeBigFile(newDest(), 1);
    const old = readFileSync(dest);
    const controller = new AbortController();
    const job = copyTree(file, dest, { signal: controller.signal });
    const rejected = rejection(job);
    while (job.result.bytes === 0) await sleep(1);
    controller.abort('enough');
    expect(await rejected).toBe('enough');
    expect(readFileSync(dest).equals(old)).toBe(true);
    const names = snapshot(cwd).filter((line) => line.includes('.fastcp-'));
    expect(names).toEqual([]);
  });
});

describe('one signal for many copies', () => {
  /** Of no class of Node's, as those of jsdom and of polyfills. */
  class ForeignSignal {
    aborted = false;
    reason: unknown;
    readonly calls = new Set<() => void>();
    addEventListener(_: string, call: () => void): void {
      this.calls.add(call);
    }
    removeEventListener(_: string, call: () => void): void {
      this.calls.delete(call);
    }
    abort(reason: unknown): void {
      this.aborted = true;
      this.reason = reason;
      for (const call of this.calls) call();
    }
  }

  test('has one listener, which goes with the last of them', async () => {
    const { signal } = new AbortController();
    const warn = vi.fn();
    process.on('warning', warn);
    const from = join(src, 'group-0');
    const jobs = Array.from({ length: 30 }, (_, i) =>
      copyTree(from, newDest(), { signal, lock: i % 2 === 0, mirror: i % 3 === 0 }),
    );
    await sleep(5);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await Promise.all(jobs);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    await sleep(5);
    process.off('warning', warn);
    expect(warn).not.toHaveBeenCalled();
  });

  test('of another class: has one listener, which goes with the last of them, and aborts them all', async () => {
    const signal = new ForeignSignal();
    const given = { signal: signal as unknown as AbortSignal };
    const jobs = Array.from({ length: 30 }, () => copyTree(join(src, 'group-0'), newDest(), given));
    expect(signal.calls.size).toBe(1);
    await Promise.all(jobs);
    expect(signal.calls.size).toBe(0);
    const reasons = [1, 2].map(() => rejection(copyTree(src, newDest(), given)));
    await sleep(20);
    signal.abort('enough');
    expect(await Promise.all(reasons)).toEqual(['enough', 'enough']);
    expect(signal.calls.size).toBe(0);
    expect(await rejection(copyTree(src, newDest(), given))).toBe('enough');
  });
});
