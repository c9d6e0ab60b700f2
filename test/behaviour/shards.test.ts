// Parts of one tree, by several processes at once or one after another.

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { compareTrees, copyTree } from '../../lib/index.js';
import type { CopyOptions } from '../../lib/types.js';
import { copyInChild } from '../support/child.js';
import { differences } from '../support/compare.js';
import { byEntry } from '../support/filter.js';
import { size } from '../support/form.js';
import { makeFiles } from '../support/trees.js';
import { asUser, needUser, USER } from '../support/user.js';
import { needRoot, needTool, workDirectory } from '../support/work.js';

const work = workDirectory('shards');
let number = 0;
let src: string;
let dest: string;
beforeEach(() => {
  const directory = join(work, `${number++}`);
  mkdirSync(directory);
  chmodSync(directory, 0o777);
  src = join(directory, 'src');
  dest = join(directory, 'dest');
});

/** Directories of many widths and depths, empty ones, and some that keep their owner from writing. */
function makeTree(): string[] {
  const closed: string[] = [];
  for (let i = 0; i < 120; i++) {
    const directory = join(src, `a${i % 5}`, `b${i % 11}`, `c${i}`);
    mkdirSync(directory, { recursive: true });
    for (let file = 0; file < i % 7; file++)
      writeFileSync(join(directory, `${file}`), `${i} ${file}`);
    if (i % 9 === 0) closed.push(directory);
  }
  mkdirSync(join(src, 'empty/also empty'), { recursive: true });
  closed.push(join(src, 'a1'), join(src, 'a2/b2'), src);
  for (const directory of closed.toSorted((a, b) => b.length - a.length))
    chmodSync(directory, 0o555);
  return closed;
}

const _isFull = (file: string): boolean =>
  (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;

const filesIn = (root: string): string[] =>
  existsSync(root)
    ? readdirSync(root, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
    : [];

const timesOf = (root: string): string =>
  execFileSync('find', ['.', '-printf', '%p %m %T@\n'], { cwd: root, encoding: 'utf8' });

describe.for(size([1, 5], [1, 2, 5, 16]))('%d shards', (n) => {
  const shards = Array.from({ length: n }, (_, i) => `${i + 1}/${n}`);

  test('are disjoint, and the whole together', async () => {
    makeTree();
    const all: string[] = [];
    for (const shard of shards) {
      const own = join(dest, shard.replace('/', ' of '));
      await copyTree(src, own, { shard });
      all.push(...filesIn(own));
    }
    expect(all.toSorted()).toEqual(filesIn(src).toSorted());
  });

  test.for(['at once', 'one after another'])('%s, by an ordinary user', async (how, context) => {
    needUser(context);
    const closed = makeTree();
    execFileSync('chown', ['-R', `${USER}`, src]);
    const copy = (shard: string) =>
      copyInChild({ src, dest, options: { shard, preserve: ['mode', 'timestamps'] } }, asUser);
    const outcomes = [];
    // Twice: shards may be run again. A whole copy fails then in directories that shut it out.
    for (const _ of n > 1 ? [1, 2] : [1]) {
      if (how === 'at once') outcomes.push(...(await Promise.all(shards.map(copy))));
      else for (const shard of shards) outcomes.push(await copy(shard));
    }
    expect(outcomes.map(({ error }) => error?.message).filter(Boolean)).toEqual([]);
    for (const { result } of n > 1 ? outcomes : [])
      expect(result.warnings).toMatchObject([{ code: 'MODE_NOT_PRESERVED', count: closed.length }]);
    for (const directory of n > 1 ? closed : []) {
      expect(statSync(directory.replace(src, dest)).mode & 0o777).toBe(0o755);
      chmodSync(directory, 0o755);
    }
    expect(differences(src, dest)).toEqual([]);
    expect(timesOf(dest).split('\n').toSorted()).toEqual(timesOf(src).split('\n').toSorted());
  });
});

describe.for(['a new group', 'the group that DEST passes on', 'default ACLs'])(
  'files that could get %s',
  (what) => {
    const variants: Record<string, CopyOptions[]> = {
      'four shards': [1, 2, 3, 4].map((i) => ({ shard: `${i}/4` })),
      'two copies': [{}, {}],
      'two copies that sync': [{ sync: true }, { sync: true }],
    };
    test.for(Object.keys(variants))(
      'keep their own where %s finish directories',
      async (how, context) => {
        needRoot(context);
        needTool(context, 'setfacl');
        for (let i = 0; i < 60; i++) {
          const at = join(src, `${i}`);
          makeFiles(at, Object.fromEntries(Array.from({ length: 20 }, (_, j) => [`${j}`, `${j}`])));
          if (what === 'default ACLs') execFileSync('setfacl', ['-d', '-m', `u:${USER}:rw`, at]);
          if (what === 'a new group') {
            chownSync(at, 0, USER);
            chmodSync(at, 0o2775);
          }
        }
        const isPassedOn = what === 'the group that DEST passes on';
        if (isPassedOn) execFileSync('chgrp', ['-R', `${USER}`, src]);
        for (let round = 0; round < 3; round++) {
          const to = `${dest}-${round}`;
          if (isPassedOn) {
            mkdirSync(to);
            chownSync(to, 0, USER);
            chmodSync(to, 0o2775);
          }
          const copies = variants[how] ?? [];
          await Promise.all(copies.map((one) => copyTree(src, to, { ...one, preserve: true })));
          const { differences: found } = await compareTrees(src, to, { preserve: true });
          expect(found.map(({ b }) => b)).toEqual([]);
        }
      },
    );
  },
);

test.for<[string, CopyOptions]>([
  ['with their owner', { preserve: ['mode', 'ownership'] }],
  ['in spite of the umask', {}],
])(
  'another shard finishes a directory that has just been created: %s',
  { tags: ['all'] },
  async ([, options], context) => {
    needRoot(context);
    needTool(context, 'strace');
    // What the first shard learns in one directory must not lead it to wrong conclusions in the next one.
    const directories = ['one', 'two'].map((name) => join(src, name));
    const names = Array.from({ length: 20 }, (_, i) => `${i}`);
    for (const at of directories) {
      makeFiles(at, Object.fromEntries(names.map((name) => [name, name])));
      if (!options.preserve) continue;
      for (const name of names) chmodSync(join(at, name), 0o600);
      chmodSync(at, 0o700);
    }
    if (options.preserve) execFileSync('chown', ['-R', `${USER}:${USER}`, src]);
    const log = `${dest}.log`;
    const slowly = ['strace', '-f', '-qq', '-o', log, '-e', 'inject=mkdirat:delay_exit=1500000'];
    const first = { ...options, shard: '1/2', concurrency: 1 };
    const copied = copyInChild({ src, dest, umask: 0o077, options: first }, slowly);
    while (!['one', 'two'].every((name) => existsSync(join(dest, name)))) await sleep(5);
    await copyTree(src, dest, { ...options, shard: '2/2' });
    expect((await copied).error).toBeUndefined();
    const { preserve } = options;
    const { differences: found } = await compareTrees(src, dest, preserve ? { preserve } : {});
    expect(found.map(({ b }) => b)).toEqual([]);
  },
);

test('a second shard narrows the mode of a directory that the first one has just set', {
  tags: ['all'],
}, async (context) => {
  needRoot(context);
  needTool(context, 'strace');
  makeFiles(src, { file: 'x' });
  chmodSync(src, 0o755);
  chownSync(src, USER, USER);
  chmodSync(join(src, 'file'), 0o600); // as it is created: without a call that waits
  mkdirSync(dest);
  chmodSync(dest, 0o755);
  const copy = (shard: string, delay: string) => {
    const strace = ['strace', '-f', '-qq', '-o', `${dest}.${shard[0]}`];
    const options: CopyOptions = { shard, preserve: ['mode', 'ownership'], strict: true };
    return copyInChild({ src, dest, options }, [...strace, '-e', `inject=fchmod:${delay}`]);
  };
  const asks = (shard: string, mode: string): boolean =>
    existsSync(`${dest}.${shard}`) &&
    readFileSync(`${dest}.${shard}`, 'utf8').includes(`, ${mode}`);
  // The second narrows 3 s from now, and sets the mode 3 s later. The first looks at it between these.
  const second = copy('2/2', 'delay_enter=3000000');
  while (!asks('2', '0700')) await sleep(5);
  const first = copy('1/2', 'delay_exit=3500000:when=2');
  for (const { error } of [await first, await second]) expect(error).toBeUndefined();
  const { mode, uid } = statSync(dest);
  expect([mode & 0o7777, uid]).toEqual([0o755, USER]);
});

test.for(['1/1', '1/2'])('shard %s sets the modes of existing directories', async (shard) => {
  makeFiles(src, { 'd/a': 'a' });
  makeFiles(dest, { 'd/b': 'b' });
  chmodSync(join(src, 'd'), 0o711);
  await copyTree(src, dest, { shard });
  if (shard !== '1/1') await copyTree(src, dest, { shard: '2/2' });
  expect(statSync(join(dest, 'd')).mode & 0o7777).toBe(0o711);
});

test('a file is copied by one of them', async () => {
  makeFiles(src, { file: 'x' });
  const found = [];
  for (const shard of ['1/3', '2/3', '3/3']) {
    const { files } = await copyTree(join(src, 'file'), join(dest, '../copy'), { shard });
    found.push(files);
  }
  expect(found.toSorted()).toEqual([0, 0, 1]);
  expect(readFileSync(join(dest, '../copy'), 'utf8')).toBe('x');
});

test('files that are sources are divided, whatever directory they are in', async () => {
  const names = Array.from({ length: 40 }, (_, index) => `file ${index}`);
  makeFiles(src, Object.fromEntries(names.map((name) => [name, name])));
  makeFiles(join(src, 'other place'), Object.fromEntries(names.map((name) => [name, name])));
  const parts = async (from: string): Promise<string[][]> => {
    const sources = names.map((name) => join(from, name));
    const found: string[][] = [];
    for (let part = 1; part <= 4; part++) {
      const to = join(dest, `${part}`);
      await copyTree(sources, to, { shard: `${part}/4` });
      found.push(filesIn(to).toSorted());
    }
    return found;
  };
  const found = await parts(src);
  expect(found.flat().toSorted()).toEqual(names.map((name) => `/${name}`).toSorted());
  for (const part of found) expect(part.length).toBeGreaterThan(2);
  expect(await parts(join(src, 'other place'))).toEqual(found);
});

test('with a selection: what is selected, once', async () => {
  makeTree();
  const all: string[] = [];
  for (const shard of ['1/3', '2/3', '3/3']) {
    const own = join(dest, shard.replace('/', ' of '));
    await copyTree(src, own, {
      shard,
      exclude: ['**/3'],
      filter: byEntry(({ name }) => name !== '2'),
    });
    all.push(...filesIn(own));
  }
  const wanted = filesIn(src).filter((path) => !/\/[23]$/.test(path));
  expect(all.toSorted()).toEqual(wanted.toSorted());
});
