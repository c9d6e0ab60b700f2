import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { copyTree } from '../../lib/index.js';
import type { CopyOptions, CopyProgress, CopyResult } from '../../lib/types.js';
import { makeBigTree, median, walk, workDirectory } from '../support/big-tree.js';
import { whileMounted } from '../support/filesystems.js';
import { makeDeep } from '../support/trees.js';
import { needRoot, removeTree } from '../support/work.js';
import { nodes, runChild } from './support/child.js';

const FILES = 100_000;
/** The most that terminate() and process.exit() may take, in milliseconds. */
const SOON = 200;

const cwd = workDirectory();
const src = join(cwd, 'src');
const small = join(src, 'group-0', 'inner-0');
let made = 0;
const newDest = (): string => join(cwd, `dest-${made++}`);
let entries: number;

beforeAll(() => {
  makeBigTree(src, FILES);
  entries = walk(src).length + 1;
});

interface Seen {
  states: CopyProgress[];
  last: CopyProgress;
  result: CopyResult;
}

async function copyWithProgress(
  from: string | string[],
  options: CopyOptions = {},
  dest = newDest(),
): Promise<Seen> {
  const states: CopyProgress[] = [];
  const onProgress = (state: CopyProgress): void => void states.push(state);
  const result = await copyTree(from, dest, { ...options, onProgress });
  return { states, last: states.at(-1) as CopyProgress, result };
}

describe('onProgress', () => {
  test('hears of the total early, and ends with the numbers of the result', async () => {
    const { states, last, result } = await copyWithProgress(src);
    const { errors, errorCount, warnings, warningCount, snapshots, ...counters } = result;
    expect(last).toEqual({ ...counters, total: entries });
    expect(last.scanned).toBe(entries);
    const known = states.findIndex(({ total }) => total !== undefined);
    const early = states[known] as CopyProgress;
    expect(early.scanned).toBeLessThan(entries / 2);
    for (const { total } of states.slice(known)) expect(total).toBe(entries);
    console.log(`the total was known at ${early.scanned} of ${entries} entries`);
    // About every 20 ms, and never backwards.
    expect(states.length).toBeGreaterThan(10);
    for (const [index, { scanned, durationMs }] of states.slice(1).entries()) {
      expect(scanned).toBeGreaterThanOrEqual(states[index]?.scanned ?? 0);
      expect(durationMs).toBeGreaterThan(states[index]?.durationMs ?? 0);
    }
  });

  test('progress events have the total as well, without onProgress none', async () => {
    for (const options of [{ onProgress() {} }, {}]) {
      let last: unknown;
      for await (const event of copyTree(src, newDest(), options))
        if (event.type === 'progress') last = event.total;
      expect(last).toBe('onProgress' in options ? entries : undefined);
    }
  });

  test.for<[string, string[], CopyOptions?]>([
    ['a file', [join(small, 'directory-0', 'file-1')]],
    ['several sources', [small, join(small, 'directory-0')]],
    ['a dry run', [small], { dryRun: true }],
    ['an atomic copy', [small], { atomic: true }],
    ['one file system', [small], { oneFileSystem: true }],
  ])('of %s', async ([, from, options]) => {
    const single = from.length === 1 ? (from[0] as string) : from;
    const { last, result } = await copyWithProgress(single, options);
    const below = from.flatMap((path) => walk(path).filter((name) => name !== ''));
    expect(last.total).toBe(below.length + from.length);
    expect(last.scanned).toBe(last.total);
    expect(last.durationMs).toBe(result.durationMs);
  });

  test('of what DEST has already, and of a mirror that deletes', async () => {
    const dest = newDest();
    const total = walk(small).length + 1;
    await copyTree(small, dest);
    expect((await copyWithProgress(small, {}, dest)).last).toMatchObject({ total, scanned: total });
    mkdirSync(join(dest, 'extra'));
    writeFileSync(join(dest, 'extra', 'file'), '');
    const { last } = await copyWithProgress(small, { mirror: true }, dest);
    expect(last).toMatchObject({ total, scanned: total, deleted: 2 });
  });

  test('has no total with a selection, dereference or a shard', async () => {
    for (const options of [
      { exclude: '*.none' },
      { include: '*' },
      { gitignore: true },
      { filter: () => true },
      { dereference: true },
      { shard: '1/2' },
    ]) {
      const { states, last, result } = await copyWithProgress(small, options);
      for (const state of states) expect(state).not.toHaveProperty('total');
      expect(last.files).toBe(result.files);
    }
  });

  test('symlinks to directories are not followed', async () => {
    const tree = join(cwd, 'links');
    mkdirSync(join(tree, 'a'), { recursive: true });
    symlinkSync('.', join(tree, 'a', 'loop'));
    symlinkSync(src, join(tree, 'a', 'elsewhere'));
    expect((await copyWithProgress(tree)).last).toMatchObject({ total: 4, scanned: 4 });
  });

  test('after an error it was the number that was counted', async () => {
    const dest = newDest();
    mkdirSync(dest);
    writeFileSync(join(dest, 'group-0'), 'in the way');
    const states: CopyProgress[] = [];
    const options: CopyOptions = { concurrency: 1, onProgress: (state) => states.push(state) };
    const failed = copyTree(src, dest, options);
    await expect(failed).rejects.toMatchObject({ code: 'ERR_FS_CP_DIR_TO_NON_DIR' });
    expect([undefined, entries]).toContain(states.at(-1)?.total);
    // And where the copy goes on it is what was scanned.
    const { last } = await copyWithProgress(src, { onError: 'continue' }, dest);
    expect(last.total).toBe(last.scanned);
    expect(last.total).toBeLessThan(entries);
  });

  test.each([false, true])(
    'rejects with exactly what it throws; by a promise: %j',
    async (later) => {
      for (const thrown of [new Error('enough'), undefined, 0]) {
        for (const at of [0, 2, Number.POSITIVE_INFINITY]) {
          let calls = 0;
          const onProgress = ({ scanned }: CopyProgress): unknown => {
            if (calls++ < at && scanned !== entries) return undefined;
            if (later) return Promise.reject(thrown);
            throw thrown;
          };
          const rejected = copyTree(src, newDest(), { onProgress }).then(
            () => expect.unreachable(),
            (reason: unknown) => reason,
          );
          expect(await rejected).toBe(thrown);
          const callsThen = calls;
          await sleep(30);
          expect(calls).toBe(callsThen);
        }
      }
    },
  );

  test('may abort', async () => {
    const controller = new AbortController();
    let calls = 0;
    const onProgress = (): void => {
      calls++;
      controller.abort('enough');
    };
    const job = copyTree(src, newDest(), { signal: controller.signal, onProgress });
    await expect(job).rejects.toBe('enough');
    expect(calls).toBe(1);
  });
});

describe.each(nodes)('counting ahead, $name', ({ path: node }) => {
  const clean = { exitCode: 0, signal: null, stderr: '' };
  const root = `${join(import.meta.dirname, '../..')}/`;
  /** For a child: counts to the end, or fails after 20 s. */
  const prelude = `
    const { createRequire } = await import('node:module');
    const { execFileSync } = await import('node:child_process');
    const { CountAhead } = createRequire(given.root)('node-gyp-build')(given.root);
    const begin = (path) => new CountAhead([Buffer.from(path)], given.oneFileSystem ?? false);
    const counted = async (path) => {
      const count = begin(path);
      for (let ms = 0; count.total() < 0 && ms < 20_000; ms += 5) await sleep(5);
      return count.total();
    };
    const threads = () => fs.readdirSync('/proc/self/task').length;
    `;
  const child = <T>(code: string, given: object) =>
    runChild<T>(node, prelude + code, { root, src, ...given });

  test('of 5,000 levels is unknown, because paths are too long', async () => {
    const tree = join(cwd, 'deep');
    makeDeep(tree, 5000, 'bare');
    const code = `
      const before = openFiles();
      answer({ total: await counted(given.tree), left: openFiles() - before });`;
    const ended = await child(code, { tree });
    removeTree(tree);
    expect(ended).toMatchObject({ ...clean, answer: { total: -1, left: 0 } });
  });

  test('is unknown where descriptors run out, and a missing directory is empty', async () => {
    const code = `
      const missing = await counted(given.src + '/none');
      const held = [];
      execFileSync('prlimit', ['--pid', String(process.pid), '--nofile=40:40']);
      try { for (;;) held.push(fs.openSync('/')); } catch {}
      const count = begin(given.src);
      await sleep(100);
      answer({ missing, total: count.total() });`;
    expect(await child(code, {})).toMatchObject({ ...clean, answer: { missing: 0, total: -1 } });
  });

  test('stays on one file system if asked', async (context) => {
    needRoot(context);
    const tree = join(cwd, 'mounted');
    mkdirSync(join(tree, 'mount'), { recursive: true });
    const code = `
      const all = await counted(given.tree);
      given.oneFileSystem = true;
      answer({ all, one: await counted(given.tree) });`;
    await whileMounted(['-t', 'tmpfs', 'tmpfs'], join(tree, 'mount'), async () => {
      writeFileSync(join(tree, 'mount/file'), '');
      expect(await child(code, { tree })).toMatchObject({ ...clean, answer: { all: 2, one: 1 } });
    });
  });

  test('stopped early, or forgotten, it leaves no thread', async () => {
    const code = `
      globalThis.gc ?? (await import('node:v8')).setFlagsFromString('--expose-gc');
      const gc = globalThis.gc ?? (await import('node:vm')).runInNewContext('gc');
      const before = threads();
      const times = [];
      for (let round = 0; round < 20; round++) {
        const count = begin(given.src);
        await sleep(round / 4);
        const began = performance.now();
        count.stop();
        while (threads() > before) await new Promise(setImmediate);
        times.push(performance.now() - began);
        if (count.total() !== -1) throw new Error('it was faster than this test');
      }
      for (let round = 0; round < 20; round++) begin(given.src);
      await sleep(1);
      gc();
      await sleep(20);
      answer({ times, more: threads() - before });`;
    const ended = await child<{ times: number[]; more: number }>(code, {});
    expect(ended).toMatchObject({ ...clean, answer: { more: 0 } });
    console.log(`stopped after ${median(ended.answer.times).toFixed(2)} ms`);
    expect(median(ended.answer.times)).toBeLessThan(10);
  });

  test('worker.terminate() and process.exit() do not wait for it', async () => {
    const code = `
      const times = [];
      const before = threads();
      for (let round = 0; round < 20; round++) {
        const worker = startWorker(
          'copyTree(workerData.src, workerData.dest, { onProgress() {} }); parentPort.postMessage(1);',
          { src: given.src, dest: given.dest + round });
        await once(worker, 'message');
        await sleep(round);
        const began = performance.now();
        await worker.terminate();
        times.push(performance.now() - began);
      }
      const pool = 4;
      if (threads() > before + pool) throw new Error(threads() + ' threads, ' + before + ' before');
      copyTree(given.src, given.dest, { onProgress() {} });
      await sleep(5);
      answer({ times, at: Date.now() });
      process.exit(7);`;
    const ended = await child<{ times: number[]; at: number }>(code, { dest: newDest() });
    expect(ended).toMatchObject({ ...clean, exitCode: 7 });
    expect(median(ended.answer.times)).toBeLessThan(SOON);
    expect(ended.endedAt - ended.answer.at).toBeLessThan(SOON);
  });

  test('costs little', { tags: ['all'] }, async () => {
    const code = `
      const spent = { plain: [], counted: [] };
      for (let round = 0; round < 5; round++) {
        for (const how of round % 2 ? ['plain', 'counted'] : ['counted', 'plain']) {
          const before = process.cpuUsage();
          await copyTree(given.src, given.dest, how === 'plain' ? {} : { onProgress() {} });
          const { user, system } = process.cpuUsage(before);
          spent[how].push((user + system) / 1000);
          fs.rmSync(given.dest, { recursive: true });
        }
      }
      answer({ plain: median(spent.plain), counted: median(spent.counted) });`;
    const ended = await child<{ plain: number; counted: number }>(code, { dest: newDest() });
    expect(ended).toMatchObject(clean);
    const { plain, counted } = ended.answer;
    const more = (100 * (counted / plain - 1)).toFixed(1);
    console.log(
      `${FILES} files: ${plain.toFixed(0)} ms of CPU, ${counted.toFixed(0)} ms with onProgress (${more} %)`,
    );
  });
});
