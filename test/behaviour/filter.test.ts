// The user's own function under a running copy.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { copyTree } from '../../lib/index.js';
import type { Filter, FilterEntry } from '../../lib/types.js';
import { versions } from '../fs/support/nodes.js';
import { makeBigTree, openFiles, snapshot, walk, workDirectory } from '../support/big-tree.js';
import { byEntry } from '../support/filter.js';
import { makeFiles } from '../support/trees.js';
import { nodes, runChild } from './support/child.js';

const work = workDirectory();
const src = join(work, 'src');
let made = 0;
const newDest = (): string => join(work, `dest-${made++}`);
let all: string[] = [];

beforeAll(() => {
  makeBigTree(src, 4000);
  all = walk(src);
});

const outcome = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.unreachable('it was to reject'),
    (thrown: unknown) => ({ thrown }),
  );

describe('what it says', () => {
  test.each<[string, Filter]>([
    ['at once', byEntry(({ name }) => !name.endsWith('7'))],
    ['by a promise', byEntry(async ({ name }) => !name.endsWith('7'))],
    ['after a while', byEntry(({ name }) => sleep(name.length % 3, !name.endsWith('7')))],
    [
      'either way',
      byEntry(({ name }) =>
        name.includes('1') ? !name.endsWith('7') : sleep(0, !name.endsWith('7')),
      ),
    ],
  ])('%s', async (_, filter) => {
    const dest = newDest();
    const asked: FilterEntry[] = [];
    await copyTree(src, dest, {
      filter: (from, to, entry) => {
        expect([from, to]).toEqual([join(src, entry.path), join(dest, entry.path)]);
        if (entry.path !== '') asked.push(entry);
        return filter(from, to, entry);
      },
    });
    const isKept = (path: string): boolean => path.split('/').every((name) => !name.endsWith('7'));
    expect(walk(dest)).toEqual(all.filter(isKept));
    // Once about each entry but for those below what it refused, and a directory before what is in it.
    const expected = all.filter((path) => isKept(join(path, '..')));
    expect(asked.map(({ path }) => path).sort()).toEqual(expected);
    const seen = new Set<string>();
    for (const { path, parent } of asked) {
      if (parent) expect(seen).toContain(parent.path);
      seen.add(path);
    }
  });
});

describe('what it throws comes out as it is, and nothing is left behind', () => {
  const values = [undefined, null, 0, 'text', new Error('mine'), Symbol('s')];
  const whens: [string, number][] = [
    ['first', 1],
    ['later', 2000],
  ];
  for (const [when, nth] of whens) {
    test.each(values)(`${when}: %s`, async (value) => {
      const thrower = (fail: () => never): Filter => {
        let count = 0;
        return () => ++count < nth || fail();
      };
      const throwing = thrower(() => {
        throw value;
      });
      const rejecting: Filter = (...about) => Promise.resolve().then(() => throwing(...about));
      for (const filter of [throwing, rejecting]) {
        const before = openFiles();
        const dest = newDest();
        expect(await outcome(copyTree(src, dest, { filter }))).toEqual({ thrown: value });
        expect(openFiles()).toEqual(before);
        const there = snapshot(dest);
        await sleep(20);
        expect(snapshot(dest)).toEqual(there);
      }
    });
  }

  test('it is not called again', async () => {
    let calls = 0;
    let callsAfter = 0;
    const filter: Filter = () => {
      calls += 1;
      if (calls === 100) throw new Error('mine');
      if (calls > 100) callsAfter += 1;
      return true;
    };
    await outcome(copyTree(src, newDest(), { filter }));
    await sleep(20);
    expect(callsAfter).toBe(0);
  });
});

describe('an abort does not wait for it', () => {
  test.each([1, 64, 500])('after %i answers', async (answers) => {
    const controller = new AbortController();
    const reason = new Error('enough');
    let count = 0;
    const filter: Filter = () => {
      count += 1;
      if (count < answers) return true;
      setTimeout(() => controller.abort(reason), 5);
      return new Promise(() => {}); // never
    };
    const before = openFiles();
    const job = copyTree(src, newDest(), { filter, signal: controller.signal });
    expect(await outcome(job)).toEqual({ thrown: reason });
    expect(openFiles()).toEqual(before);
  });

  test.each<[string, (path: string) => unknown]>([
    ['at once', () => true],
    ['by promises', () => sleep(1, true)],
  ])('nor is it called again, where it answers %s', async (_how, answer) => {
    const wide = join(work, 'wide');
    makeFiles(wide, Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`${i}`, ''])));
    const controller = new AbortController();
    let after = 0;
    const filter = byEntry(({ path }) => {
      if (controller.signal.aborted) after += 1;
      if (path.endsWith('77')) controller.abort('enough');
      return answer(path) as boolean;
    });
    const job = copyTree(wide, newDest(), { filter, signal: controller.signal });
    expect(await outcome(job)).toEqual({ thrown: 'enough' });
    await sleep(50);
    expect(after).toBe(0);
  });

  test('which an answer that comes too late does not undo', async () => {
    const controller = new AbortController();
    const late: (() => void)[] = [];
    const filter: Filter = () => new Promise((resolve) => late.push(() => resolve(true)));
    const dest = newDest();
    const job = copyTree(src, dest, { filter, signal: controller.signal });
    while (late.length === 0) await sleep(1);
    controller.abort('enough');
    expect(await outcome(job)).toEqual({ thrown: 'enough' });
    for (const answer of late) answer();
    await sleep(20);
    expect(walk(dest)).toEqual([]);
  });
});

test('a filter that copies a tree itself', async () => {
  const inner: Promise<unknown>[] = [];
  const filter = byEntry(async ({ path, kind }) => {
    if (kind === 'directory') {
      const copied = copyTree(join(src, path), newDest(), { filter: () => true });
      inner.push(copied);
      await copied;
    }
    return true;
  });
  const dest = newDest();
  await copyTree(src, dest, { filter });
  expect(walk(dest)).toEqual(all);
  expect(inner.length).toBeGreaterThan(20);
});

test('many copies with slow filters at once', async () => {
  const filter = byEntry(({ name }) => (name.endsWith('3') ? sleep(1, true) : true));
  const dests = Array.from({ length: 8 }, newDest);
  await Promise.all(dests.map((dest) => copyTree(src, dest, { filter })));
  for (const dest of dests) expect(walk(dest)).toEqual(all);
});

describe.each(nodes)('$name', ({ path: node }) => {
  test.each(['1', '2', '4'])('a pool of %s threads, which the filter needs, too', async (size) => {
    const dest = newDest();
    const code = `
      const filter = (entry) => new Promise((resolve) => fs.stat('/', () => resolve(true)));
      const { files } = await copyTree(given.src, given.dest, { filter });
      answer(files);`;
    const ended = await runChild(node, code, { src, dest }, { UV_THREADPOOL_SIZE: size });
    expect(ended).toMatchObject({ exitCode: 0, answer: 4000 });
    expect(walk(dest)).toEqual(all);
  });

  test('that never answers does not keep the process alive', async () => {
    const code = `await copyTree(given.src, given.dest, { filter: () => new Promise(() => {}) });`;
    const { exitCode, stderr } = await runChild(node, code, { src, dest: newDest() });
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 13 }); // an await that never settled
  });

  test.each([
    'await copyTree(given.src, given.dest, { filter });',
    'for await (const event of copyTree(given.src, given.dest, { filter }));',
    "await copyTree(given.src, given.dest, { filter, mirror: true, onError: 'continue' });",
  ])('that never answers for a file makes no copy look complete: %s', async (copy) => {
    const code = `
      const filter = (src, dest, { kind }) => (kind === 'file' ? new Promise(() => {}) : true);
      ${copy}
      answer('copied');`;
    const { exitCode, answer } = await runChild(node, code, { src, dest: newDest() });
    expect({ exitCode, answer }).toEqual({ exitCode: 13, answer: undefined });
  });

  test('that never answers does not keep the process alive, however much waits for it', async () => {
    // More directories than are asked about at once, and more names than the engine keeps.
    const many = join(work, 'many long names');
    for (let d = 0; d < 200; d++) {
      const names = Array.from({ length: 100 }, (_, file) => `${'x'.repeat(240)}${file}`);
      makeFiles(join(many, `${d}`), Object.fromEntries(names.map((name) => [name, ''])));
    }
    const code = `
      const filter = (src, dest, { kind }) => (kind === 'file' ? new Promise(() => {}) : true);
      await copyTree(given.src, given.dest, { filter });`;
    const { exitCode } = await runChild(node, code, { src: many, dest: newDest() });
    expect(exitCode).toBe(13);
  });

  test('that never answers holds up neither process.exit() nor terminate()', async () => {
    const code = `
      const filter = '{ filter: () => new Promise(() => {}) }';
      const worker = startWorker(\`copyTree(workerData.src, workerData.dest, \${filter});
        setTimeout(() => parentPort.postMessage(''), 50);\`, { ...given, dest: given.dest + 'w' });
      await once(worker, 'message');
      let began = performance.now();
      await worker.terminate();
      const took = performance.now() - began;
      copyTree(given.src, given.dest, { filter: () => new Promise(() => {}) }).catch(() => {});
      await sleep(50);
      answer({ took, at: Date.now() });
      process.exit(0);`;
    const ended = await runChild<{ took: number; at: number }>(node, code, {
      src,
      dest: newDest(),
    });
    expect(ended.exitCode).toBe(0);
    expect(ended.answer.took).toBeLessThan(200);
    expect(ended.endedAt - ended.answer.at).toBeLessThan(200);
  });
});

// The engine wakes JavaScript's thread from outside of all contexts, which Node 24 and later show.
test.each(versions)("functions of the user have the caller's AsyncLocalStorage: %s", (node) => {
  const script = `
    const { AsyncLocalStorage } = require('node:async_hooks');
    const [, dist, src, dest] = process.argv;
    const { copyTree } = require(dist + '/index.cjs');
    const storage = new AsyncLocalStorage();
    const seen = new Set();
    const note = () => Boolean(seen.add(storage.getStore()));
    storage.run('copyTree', () => copyTree(src, dest, { filter: note, onProgress: () => void note() })).then(() =>
      storage.run('cp', () =>
        require(dist + '/fs.cjs').cp(src, dest + ' 2', { recursive: true, filter: note }, () =>
          process.stdout.write([...seen].join()))));`;
  const dist = new URL('../../dist', import.meta.url).pathname;
  const seen = execFileSync(node, ['-e', script, dist, src, newDest()], { encoding: 'utf8' });
  expect(seen).toBe('copyTree,cp');
});

test('on the command line: verdicts in JSON', () => {
  const command = new URL('../../dist/fastcp.cjs', import.meta.url).pathname;
  const args = [command, '--dry-run', '--json', '-v', '--exclude', 'group-1', src, newDest()];
  const lines = execFileSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 1 << 26 });
  const events = lines
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(events.filter(({ action }) => action === 'exclude')).toMatchObject([
    { type: 'entry', kind: 'directory', path: join(src, 'group-1'), reason: 'exclude: group-1' },
  ]);
  expect(events.at(-1)).toMatchObject({ type: 'result', errorCount: 0 });
  expect(existsSync(events.at(-2).dest)).toBe(false);
  expect(readFileSync(join(src, 'group-1/inner-1/directory-1/file-250'), 'utf8')).toContain('250');
});
