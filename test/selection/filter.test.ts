import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EntryFilter } from '../../lib/selection/filter.js';
import { type Listed, type Selection, verdicts } from '../../lib/selection/index.js';
import type { FilterEntry } from '../../lib/types.js';
import { makeFiles } from '../support/trees.js';
import { filesTaken, select, walk } from './support/walk.js';

let src = '';
beforeAll(() => {
  src = mkdtempSync(join(tmpdir(), 'fastcp-filter-'));
  makeFiles(src, { a: '', 'b/c': '', 'b/d/e': '', 'f/g': '' });
});
afterAll(() => rmSync(src, { recursive: true, force: true }));

const { take } = verdicts;

async function selectionOf(filter: EntryFilter): Promise<Selection> {
  return (await select(src, { filter })) as Selection;
}

const listing = (count: number): Listed[] =>
  Array.from({ length: count }, (_, i) => ({ name: `${i}`, kind: 'file' }));

describe('what it is asked', () => {
  test('every entry once, parents first, with path, name, kind and parent', async () => {
    const entries = new Map<string, FilterEntry>();
    const filter: EntryFilter = (entry) => {
      expect(entries.has(entry.path)).toBe(false);
      entries.set(entry.path, entry);
      return true;
    };
    expect(await filesTaken(src, { filter })).toEqual(['a', 'b/c', 'b/d/e', 'f/g']);
    expect([...entries.keys()].sort()).toEqual(['a', 'b', 'b/c', 'b/d', 'b/d/e', 'f', 'f/g']);
    expect(entries.get('a')).toEqual({ path: 'a', name: 'a', kind: 'file' });
    const directory = entries.get('b');
    expect(directory).toMatchObject({ name: 'b', kind: 'directory' });
    expect(entries.get('b/d')?.parent).toBe(directory);
    const paths = [...entries.keys()];
    expect(paths.indexOf('b')).toBeLessThan(paths.indexOf('b/c'));
  });

  test('nothing that globs leave out, and directories that are only looked into', async () => {
    const asked: string[] = [];
    const filter: EntryFilter = ({ path }) => asked.push(path) > 0;
    const { taken } = await walk(src, { include: ['b/d/e'], filter });
    expect(asked).toEqual(['b', 'b/d', 'b/d/e']);
    expect(taken).toEqual(['b/', 'b/d/', 'b/d/e']);
  });
});

describe.each([
  ['sync', (answer: boolean) => answer],
  ['async', async (answer: boolean) => answer],
])('%s answers', (_, reply) => {
  test('false on a directory leaves out what is in it', async () => {
    const asked: string[] = [];
    const filter: EntryFilter = ({ path }) => {
      asked.push(path);
      return reply(path !== 'b' && path !== 'a');
    };
    const walked = await walk(src, { filter });
    expect(walked.taken).toEqual(['f/', 'f/g']);
    expect(asked.sort()).toEqual(['a', 'b', 'f', 'f/g']);
    expect(walked.left.get('a')).toBe('filter');
  });
});

test('no promise where the filter gives none', async () => {
  const selection = await selectionOf(() => true);
  const judged = selection.judge(selection.root, listing(3));
  expect(judged).not.toBeInstanceOf(Promise);
  expect(judged).toMatchObject({ verdicts: new Uint8Array([take, take, take]) });
});

test('at most 64 answers are awaited, over all directories, and all of them are', async () => {
  let pending = 0;
  let most = 0;
  const selection = await selectionOf(async () => {
    pending += 1;
    most = Math.max(most, pending);
    await turn();
    pending -= 1;
    return true;
  });
  const directories = [listing(200), listing(200), listing(1)];
  const judged = await Promise.all(
    directories.map((list) => selection.judge(selection.root, list)),
  );
  for (const { verdicts: got } of judged) expect([...got].every((one) => one === take)).toBe(true);
  expect(most).toBe(64);
});

test('who waits for room and then needs none leaves it to others', async () => {
  const answers: ((wanted: boolean) => void)[] = [];
  const selection = await selectionOf(({ kind }) =>
    kind === 'symlink' ? true : new Promise((answer) => answers.push(answer)),
  );
  const many = selection.judge(selection.root, listing(64));
  const others = Array.from({ length: 100 }, (_, i) =>
    selection.judge(selection.root, [{ name: `${i}`, kind: 'symlink' }]),
  );
  for (const answer of answers) answer(true);
  expect(await Promise.all([many, ...others])).toHaveLength(101);
});

describe('what it throws comes out as it is, and it is not called again', () => {
  const thrown: unknown[] = [undefined, null, false, new Error('no'), Symbol('no')];

  test.each(thrown.map((value) => [value]))('thrown: %s', async (value) => {
    let calls = 0;
    const selection = await selectionOf(() => {
      calls += 1;
      throw value;
    });
    for (let i = 0; i < 2; i++) {
      const caught = await outcome(async () => selection.judge(selection.root, listing(3)));
      expect(caught).toEqual({ thrown: value });
    }
    expect(calls).toBe(1);
  });

  test.each(thrown.map((value) => [value]))('rejected: %s', async (value) => {
    const selection = await selectionOf(({ name }) =>
      // The others never answer: that hangs nothing.
      name === '1' ? Promise.reject(value) : new Promise(() => {}),
    );
    const both = [listing(100), listing(1)].map((list) =>
      outcome(async () => selection.judge(selection.root, list)),
    );
    expect(await Promise.all(both)).toEqual([{ thrown: value }, { thrown: value }]);
  });

  test('thrown after promises were given', async () => {
    const selection = await selectionOf(({ name }) => {
      if (name === '2') throw undefined;
      return Promise.resolve(true);
    });
    const caught = await outcome(async () => selection.judge(selection.root, listing(4)));
    expect(caught).toEqual({ thrown: undefined });
  });
});

async function outcome(run: () => Promise<unknown>): Promise<unknown> {
  try {
    return { returned: await run() };
  } catch (thrown) {
    return { thrown };
  }
}
