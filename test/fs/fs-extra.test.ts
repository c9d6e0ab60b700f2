import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { copyTree } from '../../lib/copy-tree.js';
import { promises } from '../../lib/fs.js';
import * as ours from '../../lib/fs-extra.js';
import { differences } from '../support/compare.js';
import { makeFiles } from '../support/trees.js';
import { workDirectory } from '../support/work.js';

// copy and copySync of fs-extra, and ours: the same trees, codes and messages. test/fs/comparison.test.ts makes random
// calls of both.

type Copy = (src: string, dest: string, options?: object) => Promise<void>;
const theirs = createRequire(import.meta.url)('fs-extra');

const inCallback =
  (copy: (...args: unknown[]) => unknown): Copy =>
  (src, dest, options) =>
    new Promise((resolve, reject) => {
      const done = (error: unknown): void => (error ? reject(error) : resolve());
      if (options === undefined) copy(src, dest, done);
      else copy(src, dest, options, done);
    });
const forms: [name: string, theirs: Copy, ours: Copy][] = [
  ['copy', theirs.copy, ours.copy],
  ['copy, callback', inCallback(theirs.copy), inCallback(ours.copy as never)],
  [
    'copySync',
    async (...args) => theirs.copySync(...args),
    async (...args) => ours.copySync(...args),
  ],
];

const work = workDirectory('fs-extra');
let number = 0;

interface Row {
  make?: (src: string, dest: string) => void;
  options?: object;
  /** The paths, if they are not both directories. */
  paths?: (src: string, dest: string) => [src: string, dest: string];
}

const old = (_src: string, dest: string): void => void makeFiles(dest, { file: 'old' });
const fifo = (path: string): void => void execFileSync('mkfifo', [path]);

const rows: Record<string, Row> = {
  'a directory': {},
  'a file': { paths: (src, dest) => [join(src, 'file'), dest] },
  'missing parents': { paths: (src, dest) => [src, join(dest, 'x/y')] },
  'existing files': { make: old },
  'overwrite: false': { make: old, options: { overwrite: false } },
  'clobber: false': { make: old, options: { clobber: false } },
  'overwrite over clobber': { make: old, options: { clobber: false, overwrite: true } },
  'force is no option': { make: old, options: { force: false } },
  errorOnExist: { make: old, options: { overwrite: false, errorOnExist: true } },
  'errorOnExist, and no file exists': {
    make: (_src, dest) => void makeFiles(dest, { 'directory/other': '' }),
    options: { overwrite: false, errorOnExist: true },
  },
  'missing SRC': { paths: (src, dest) => [join(src, 'missing'), dest] },
  'an empty path': { paths: (src) => [src, ''] },
  'onto itself': { paths: (src) => [src, src] },
  'a file onto itself': { paths: (src) => [join(src, 'file'), join(src, 'file')] },
  'into itself': { paths: (src) => [src, join(src, 'directory/new')] },
  'into itself by way of a symlink': {
    make: (src) => fs.symlinkSync(src, `${src}-link`),
    paths: (src) => [src, join(`${src}-link`, 'directory/new/er')],
  },
  'into itself by way of a symlink, where directories exist': {
    make: (src) => fs.symlinkSync(src, `${src}-link`),
    paths: (src) => [src, join(`${src}-link`, 'directory/deep')],
  },
  'into itself, below a missing directory': { paths: (src) => [src, join(src, 'new/er')] },
  'a directory beside, with the same beginning': { paths: (src) => [src, `${src}-copy`] },
  'a directory onto a file': {
    make: (_src, dest) => fs.writeFileSync(dest, ''),
  },
  'a directory onto a file, within': {
    make: (_src, dest) => void makeFiles(dest, { directory: 'file' }),
  },
  'a file onto a directory': {
    make: (_src, dest) => void makeFiles(dest, { 'file/inner': '' }),
  },
  'symlinks keep their target': {
    make: (src) => {
      fs.symlinkSync('file', join(src, 'relative'));
      fs.symlinkSync(join(src, 'file'), join(src, 'absolute'));
      fs.symlinkSync('nowhere', join(src, 'dangling'));
    },
  },
  'symlinks again': {
    make: (src, dest) => {
      for (const root of [src, dest]) {
        fs.mkdirSync(root, { recursive: true });
        fs.symlinkSync('directory', join(root, 'to directory'));
        fs.symlinkSync('nowhere', join(root, 'dangling'));
      }
    },
  },
  'a symlink below the old one': {
    make: (src, dest) => {
      fs.symlinkSync('directory/deep', join(src, 'symlink'));
      fs.mkdirSync(dest);
      fs.symlinkSync('directory', join(dest, 'symlink'));
    },
  },
  'a symlink above the old one': {
    make: (src, dest) => {
      fs.symlinkSync('directory', join(src, 'symlink'));
      fs.mkdirSync(dest);
      fs.symlinkSync('directory/deep', join(dest, 'symlink'));
    },
  },
  'a symlink onto a file': {
    make: (src, dest) => {
      fs.rmSync(join(src, 'file'));
      fs.symlinkSync('directory', join(src, 'file'));
      old(src, dest);
    },
  },
  dereference: {
    make: (src) => fs.symlinkSync('directory', join(src, 'symlink')),
    options: { dereference: true },
  },
  'dereference: one file by way of a symlink': {
    make: (src, dest) => {
      fs.mkdirSync(dest);
      fs.symlinkSync(join(src, 'file'), join(dest, 'file'));
    },
    options: { dereference: true },
  },
  'a FIFO': { make: (src) => fifo(join(src, 'fifo')) },
  'a FIFO alone': {
    make: (src) => fifo(join(src, 'fifo')),
    paths: (src, dest) => [join(src, 'fifo'), dest],
  },
  'a device': { paths: (_src, dest) => ['/dev/null', dest] },
  'filter of a symlink onto a file': {
    make: (src, dest) => {
      fs.symlinkSync('nowhere', join(src, 'symlink'));
      fs.writeFileSync(dest, '');
    },
    options: { filter: () => false },
    paths: (src, dest) => [join(src, 'symlink'), dest],
  },
  'a path that is not normal': {
    make: (src) => fifo(join(src, 'fifo')),
    paths: (src, dest) => [`${src}/./directory/..`, dest],
  },
  filter: { options: { filter: (from: string) => !from.endsWith('deep') } },
  'filter that uses its options': {
    options: {
      name: 'deep',
      filter(this: { name: string }, from: string) {
        return !from.endsWith(this.name);
      },
    },
  },
  'a filter that is no function': { options: { filter: 'x' } },
  'an array of sources': { paths: (src, dest) => [[src] as never, dest] },
  'filter of SRC itself': { options: { filter: () => false } },
};

describe.each(forms)('%s', (_form, theirCopy, ourCopy) => {
  test.each(Object.entries(rows))('%s', async (_name, { make, options, paths }) => {
    const outcomes = [];
    for (const copy of [theirCopy, ourCopy]) {
      const directory = join(work, `${number++}`);
      const [src, dest] = [join(directory, 'src'), join(directory, 'dest')];
      makeFiles(src, { file: 'content', 'directory/deep/inner': 'inside' });
      make?.(src, dest);
      const [from, to] = paths?.(src, dest) ?? [src, dest];
      const outcome = await copy(from, to, options).then(
        () => 'ok',
        ({ name, message, code }) => ({ name, message: message.replaceAll(directory, 'D'), code }),
      );
      outcomes.push({ outcome, directory });
    }
    const [a, b] = outcomes as [(typeof outcomes)[0], (typeof outcomes)[0]];
    expect(b.outcome).toEqual(a.outcome);
    // Where a copy fails, some entries may be there and others not, in either.
    if (a.outcome !== 'ok') return;
    const listing = 'find . -printf "%p %M %l\\n" | sort; find . -type f -exec cksum {} + | sort';
    const look = (root: string): string =>
      execFileSync('sh', ['-c', listing], { cwd: root, encoding: 'utf8' }).replaceAll(root, 'D');
    expect(look(b.directory)).toBe(look(a.directory));
  });
});

test('preserveTimestamps: to the nanosecond, and of symlinks and new directories as well', async () => {
  const directory = join(work, `${number++}`);
  const [src, dest] = [join(directory, 'src'), join(directory, 'dest')];
  makeFiles(src, { file: 'content', 'directory/inner': '' });
  fs.symlinkSync('file', join(src, 'symlink'));
  const names = ['file', 'symlink', 'directory/inner', 'directory', ''];
  for (const name of names) {
    execFileSync('touch', ['-h', '-d', '2001-01-01 00:00:00.123456789', join(src, name)]);
  }
  await ours.copy(src, dest, { preserveTimestamps: true });
  expect(differences(src, dest)).toEqual([]);
  for (const name of names) {
    const { mtimeNs } = fs.lstatSync(join(dest, name), { bigint: true });
    expect([name, `${mtimeNs}`.slice(-9)]).toEqual([name, '123456789']);
  }
});

test('overwrite: false keeps symlinks, which fs-extra replaces', async () => {
  const directory = join(work, `${number++}`);
  const [src, dest] = [join(directory, 'src'), join(directory, 'dest')];
  for (const root of [src, dest]) fs.mkdirSync(root, { recursive: true });
  fs.symlinkSync('new', join(src, 'symlink'));
  fs.symlinkSync('old', join(dest, 'symlink'));
  await ours.copy(src, dest, { overwrite: false });
  expect(fs.readlinkSync(join(dest, 'symlink'))).toBe('old');
  await theirs.copy(src, dest, { overwrite: false });
  expect(fs.readlinkSync(join(dest, 'symlink'))).toBe('new');
});

test('a filter: each path once, SRC first; copySync() refuses a promise', async () => {
  const directory = join(work, `${number++}`);
  const [src, dest] = [join(directory, 'src'), join(directory, 'dest')];
  makeFiles(src, { file: '', 'directory/inner': '' });
  const seen: string[] = [];
  const filter = (from: string, to: string): boolean => {
    seen.push(`${from} ${to}`);
    return true;
  };
  await new Promise<void>((resolve, reject) => {
    ours.copy(src, dest, filter, (error) => (error ? reject(error) : resolve()));
  });
  const names = ['', '/directory', '/directory/inner', '/file'];
  expect(seen[0]).toBe(`${src} ${dest}`);
  expect(seen.sort()).toEqual(names.map((name) => `${src}${name} ${dest}${name}`).sort());
  expect(() => ours.copySync(src, dest, (async () => true) as never)).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_RETURN_VALUE' }),
  );
});

test.for(['a filter', 'another program'])('%s creates the directories above DEST', async (who) => {
  const directory = join(work, `${number++}`);
  const [src, above] = [join(directory, 'src'), join(directory, 'above')];
  makeFiles(src, { file: 'content' });
  const create = async (): Promise<boolean> => {
    if (who === 'another program') await sleep(50);
    fs.mkdirSync(above, { recursive: true });
    return true;
  };
  await ours.copy(src, join(above, 'dest'), { filter: create });
  expect(fs.readdirSync(join(above, 'dest'))).toEqual(['file']);
});

const starts: Record<string, (src: string, dest: string) => Promise<unknown>> = {
  copyTree: (src, dest) => copyTree(src, dest),
  'fs.promises.cp': (src, dest) => promises.cp(src, dest, { recursive: true }),
  'fs-extra’s copy': (src, dest) => ours.copy(src, dest),
};
test.for(Object.keys(starts))(
  '%s: copies that begin while others create the directories above DEST',
  async (name) => {
    const directory = join(work, `${number++}`);
    const src = join(directory, 'src');
    makeFiles(src, { file: 'content', 'sub/file': 'content' });
    for (let round = 0; round < 100; round++) {
      const release = join(directory, `${round}/release/packages`);
      const copies = Array.from({ length: 6 }, async (_, i) => {
        // Each begins a few turns of the event loop later.
        for (let turn = 0; turn < i * (round % 5); turn++) await new Promise(setImmediate);
        await starts[name]?.(src, join(release, `${i}`));
      });
      await Promise.all(copies);
      expect(fs.readdirSync(release)).toHaveLength(6);
    }
  },
);

test.for(['copy', 'copySync'] as const)(
  '%s: a symlink that appears in the place of DEST is not followed',
  async (form) => {
    const outcomes = [];
    for (const copier of [theirs, ours]) {
      const directory = join(work, `${number++}`);
      const [src, dest] = [join(directory, 'src'), join(directory, 'dest')];
      makeFiles(directory, { 'src/file': 'content', 'elsewhere/kept': '' });
      const filter = (from: string): boolean => {
        if (from === src) fs.symlinkSync('elsewhere', dest);
        return true;
      };
      const error = await (async () => copier[form](src, dest, { filter }))().catch((e) => e);
      expect(error).toBeInstanceOf(Error);
      outcomes.push(fs.readdirSync(join(directory, 'elsewhere')));
    }
    expect(outcomes).toEqual([['kept'], ['kept']]);
  },
);

test('a callback in the place of any argument gets the error', async () => {
  for (const args of [[], ['src'], [undefined, 'dest']]) {
    const errorOf = (copy: (...args: unknown[]) => unknown): Promise<unknown> =>
      new Promise((resolve) => void copy(...args, resolve));
    const error = await errorOf(ours.copy as never);
    expect(error).toBeInstanceOf(TypeError);
    expect(error).toMatchObject({ code: 'ERR_INVALID_ARG_TYPE' });
    expect(await errorOf(theirs.copy)).toMatchObject({ code: 'ERR_INVALID_ARG_TYPE' });
  }
});

test('copySync takes every falsy value for no options, as fs-extra does', () => {
  const src = join(work, 'falsy');
  makeFiles(src, { file: '' });
  for (const [name, copySync] of Object.entries({ ours: ours.copySync, theirs: theirs.copySync })) {
    for (const options of [false, 0, '', null, undefined]) {
      const dest = join(work, `falsy ${options} ${name}`);
      copySync(src, dest, options as never);
      expect(fs.readdirSync(dest), `${options} ${name}`).toEqual(['file']);
    }
  }
});

test('the default export has both', () => {
  expect(ours.default).toEqual({ copy: ours.copy, copySync: ours.copySync });
});
