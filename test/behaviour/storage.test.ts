import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { copyTree } from '../../lib/index.js';
import type { CopyOptions } from '../../lib/types.js';
import { copyInChild } from '../support/child.js';
import { leftovers } from '../support/compare.js';
import { clones, useFileSystem } from '../support/filesystems.js';
import { makeFiles, makeSparseFile } from '../support/trees.js';
import { needTool, workDirectory } from '../support/work.js';

// How files are kept on disk: holes, what was replaced, and when they are there.

const work = workDirectory('storage');
const MiB = 1 << 20;
let number = 0;
let src: string;
let dest: string;
beforeEach(() => {
  src = join(work, `${number}`, 'src');
  dest = join(work, `${number++}`, 'dest');
  mkdirSync(src, { recursive: true });
});

const allocated = (path: string): number => statSync(path).blocks * 512;

describe('sparse', () => {
  const disks = (['tmpfs', 'ext4', 'xfs', 'btrfs'] as const).map(
    (name) => [name, useFileSystem(work, name, { size: '640M' })] as const,
  );
  const block = Buffer.alloc(4096, 1);
  /** Zeros that take room, between, before and after data; and one that is copied in parts. */
  const files = {
    middle: Buffer.concat([block, Buffer.alloc(MiB), block]),
    end: Buffer.concat([block, Buffer.alloc(MiB + 1)]),
    start: Buffer.concat([Buffer.alloc(MiB), block]),
    all: Buffer.alloc(MiB),
    none: Buffer.alloc(MiB, 'x'),
    small: Buffer.alloc(7),
    large: Buffer.concat([Buffer.alloc(33 * MiB), block, Buffer.alloc(33 * MiB)]),
  };

  test.for(disks)('always: zeros become holes on %s', async ([, directoryOf], context) => {
    const directory = directoryOf(context);
    const from = makeFiles(join(directory, 'src'), files);
    const to = join(directory, 'dest');
    await copyTree(from, to, { sparse: 'always' });
    for (const [name, content] of Object.entries(files)) {
      expect(readFileSync(join(to, name)).equals(content), name).toBe(true);
      if (name !== 'none') expect(allocated(join(to, name)), name).toBeLessThanOrEqual(128 << 10);
    }
    expect(allocated(join(to, 'none'))).toBeGreaterThanOrEqual(MiB);
  });

  test('auto keeps holes, and makes none', async () => {
    makeSparseFile(join(src, 'holes'), 8 * MiB, [MiB]);
    makeFiles(src, { zeros: files.all });
    for (const reflink of ['auto', 'never'] as const) {
      await copyTree(src, dest, { reflink });
      expect(allocated(join(dest, 'holes'))).toBeLessThan(MiB);
      expect(allocated(join(dest, 'zeros'))).toBe(MiB);
    }
  });

  test.for(disks)(
    'auto keeps holes where blocks are preallocated past the end, on %s',
    async ([name, directoryOf], context) => {
      needTool(context, 'fallocate');
      const from = join(directoryOf(context), 'preallocated');
      mkdirSync(from);
      const sizes = { middling: 8 * MiB, large: 70 * MiB };
      for (const [file, size] of Object.entries(sizes)) {
        const path = join(from, file);
        makeSparseFile(path, size, [MiB]);
        // More blocks than there are holes. Of just as many nobody would tell, and cp -r makes a dense copy as well.
        execFileSync('fallocate', ['-n', '-o', `${size}`, '-l', `${size}`, path]);
        expect(allocated(path), file).toBeGreaterThan(size);
      }
      for (const reflink of ['auto', 'never'] as const) {
        const to = join(directoryOf(context), `preallocated ${reflink}`);
        const { bytes } = await copyTree(from, to, { reflink });
        for (const [file, size] of Object.entries(sizes)) {
          const path = join(to, file);
          expect(statSync(path).size, file).toBe(size);
          expect(readFileSync(path).equals(readFileSync(join(from, file))), file).toBe(true);
          // A clone has all that its source has.
          if (!clones(name) || reflink === 'never') {
            expect(allocated(path), file).toBeLessThan(MiB);
          }
        }
        if (!clones(name) || reflink === 'never') expect(bytes).toBe(2 * (64 << 10));
      }
    },
  );

  test('always and reflink always exclude each other', () => {
    expect(() => copyTree(src, dest, { sparse: 'always', reflink: 'always' })).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_ARG_VALUE' }),
    );
  });
});

describe('backup', () => {
  const backup: CopyOptions = { backup: 'numbered' };

  test('what is replaced stays, the newest with the highest number', async () => {
    makeFiles(src, { file: '3', 'a/other': 'y', new: 'n' });
    makeFiles(dest, { file: '1', 'a/other': 'x', 'file.~7~': '0', 'file.~x~': '-', 'a/b.~9~': '' });
    await copyTree(src, dest, backup);
    await copyTree(src, dest, backup);
    const content = (name: string): string => readFileSync(join(dest, name), 'utf8');
    expect(['file', 'file.~8~', 'file.~9~'].map(content)).toEqual(['3', '1', '3']);
    expect(['a/other.~1~', 'a/other.~2~'].map(content)).toEqual(['x', 'y']);
    expect(existsSync(join(dest, 'new.~1~'))).toBe(true);
    expect(leftovers(dest)).toEqual([]);
  });

  test.for([
    ['a hard link', []],
    ['a hard link, and a file system without renameat2', ['renameat2:error=EINVAL']],
    ...(['EPERM', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'] as const).map(
      (code) => [`no hard link: ${code}`, [`linkat:error=${code}`]] as const,
    ),
  ] as const)(
    'if the old entry cannot be replaced, it keeps its one name: %s',
    async ([, others], context) => {
      needTool(context, 'strace');
      makeFiles(src, { file: 'new' });
      makeFiles(dest, { file: 'old' });
      const strace = ['strace', '-f', '-qq', '-o', '/dev/null', '-e', 'trace=/renameat2?,linkat'];
      const faults = ['renameat:error=EIO:when=1', ...others].flatMap((one) => [
        '-e',
        `inject=${one}`,
      ]);
      const { error } = await copyInChild({ src, dest, options: backup }, [...strace, ...faults]);
      expect(error).toMatchObject({ code: 'EIO', syscall: 'rename' });
      expect(readdirSync(dest)).toEqual(['file']);
      expect(readFileSync(join(dest, 'file'), 'utf8')).toBe('old');
    },
  );

  test.for([
    ['9', '6', '10'],
    ['6', '9', '10'],
    ['10', '6', '9'],
    ['6', '10', '9'],
  ])('the highest number counts, in whatever order they are listed: %j', async (numbers) => {
    makeFiles(src, { file: 'new' });
    makeFiles(dest, { file: 'old' });
    for (const one of numbers) writeFileSync(join(dest, `file.~${one}~`), one);
    const next = Math.max(...numbers.map(Number)) + 1;
    await copyTree(src, dest, backup);
    expect(readFileSync(join(dest, `file.~${next}~`), 'utf8')).toBe('old');
    await copyTree(join(src, 'file'), join(dest, 'file'), backup);
    expect(readFileSync(join(dest, `file.~${next + 1}~`), 'utf8')).toBe('new');
    expect(readdirSync(dest)).toHaveLength(numbers.length + 3);
  });

  test('a file as such, and links', async () => {
    writeFileSync(join(src, 'file'), 'new');
    writeFileSync(dest, 'old');
    await copyTree(join(src, 'file'), dest, backup);
    expect(readFileSync(`${dest}.~1~`, 'utf8')).toBe('old');
    symlinkSync('to', join(src, 'link'));
    await copyTree(join(src, 'link'), dest, backup);
    expect(readFileSync(`${dest}.~2~`, 'utf8')).toBe('new');
  });

  test.for([
    ['linkat:error=EPERM'],
    ['linkat:error=EPERM', 'renameat2:error=EINVAL'], // FUSE
  ])('where there are no hard links: %o', async (faults, context) => {
    needTool(context, 'strace');
    makeFiles(src, { file: 'new' });
    makeFiles(dest, { file: 'old', 'file.~1~': 'older' });
    const words = ['strace', '-f', '-qq', '-o', join(work, 'log')];
    const inject = faults.flatMap((fault) => ['-e', `inject=${fault}`]);
    const { error } = await copyInChild({ src, dest, options: backup }, [...words, ...inject]);
    expect(error).toBeUndefined();
    const found = readdirSync(dest).map((name) => [name, readFileSync(join(dest, name), 'utf8')]);
    expect(Object.fromEntries(found)).toEqual({
      file: 'new',
      'file.~1~': 'older',
      'file.~2~': 'old',
    });
  });

  test('none of a file that another program has removed meanwhile', async (context) => {
    needTool(context, 'strace');
    makeFiles(src, { file: 'new' });
    makeFiles(dest, { file: 'old' });
    const words = ['strace', '-f', '-qq', '-o', join(work, 'log')];
    const inject = ['-e', 'inject=linkat:error=ENOENT'];
    const { error } = await copyInChild({ src, dest, options: backup }, [...words, ...inject]);
    expect(error).toBeUndefined();
    expect(readFileSync(join(dest, 'file'), 'utf8')).toBe('new');
    expect(readdirSync(dest)).toEqual(['file']);
  });

  test('a name that leaves no room for one: an error that says so, and the old file stays', async () => {
    const name = 'n'.repeat(255);
    makeFiles(src, { [name]: 'new' });
    makeFiles(dest, { [name]: 'old' });
    for (const one of [backup, { backup: 'existing' } as const])
      await expect(copyTree(src, dest, one)).rejects.toThrow(
        'ENAMETOOLONG: name too long: that of the backup, rename',
      );
    expect(readdirSync(dest)).toEqual([name]);
    expect(readFileSync(join(dest, name), 'utf8')).toBe('old');
  });

  test('none where nothing is replaced', async () => {
    makeFiles(src, { file: 'new' });
    makeFiles(dest, { file: 'old' });
    await expect(async () => copyTree(src, dest, { ...backup, force: false })).rejects.toThrow(
      'cannot be combined with options.force: false',
    );
    await copyTree(src, dest, { ...backup, dryRun: true });
    expect(readdirSync(dest)).toEqual(['file']);
  });

  test('other names of what is replaced keep it', async () => {
    makeFiles(src, { file: 'new' });
    makeFiles(dest, { file: 'old' });
    linkSync(join(dest, 'file'), join(work, `name ${number}`));
    await copyTree(src, dest, backup);
    expect(readFileSync(join(work, `name ${number}`), 'utf8')).toBe('old');
  });
});

describe('timestamps that are coarser in DEST', () => {
  const disk = useFileSystem(work, 'ntfs', { size: '64M' });
  test('are no reason to update a file, named or in a tree', async (context) => {
    const to = join(disk(context), 'update');
    makeFiles(src, { file: 'x' });
    execFileSync('touch', ['-d', '2025-01-02 03:04:05.123456789', join(src, 'file')]);
    for (const [from, into] of [
      [src, to],
      [join(src, 'file'), join(to, 'single')],
    ] as const) {
      expect(await copyTree(from, into, { update: true })).toMatchObject({ files: 1 });
      expect(await copyTree(from, into, { update: true })).toMatchObject({ files: 0, skipped: 1 });
    }
  });
});

describe('fsync', () => {
  const traced = async (options: CopyOptions): Promise<string[]> => {
    const log = join(work, `log ${number}`);
    const words = ['strace', '-f', '-y', '-qq', '-o', log, '-e', 'trace=fsync,renameat'];
    const { error } = await copyInChild({ src, dest, options }, words);
    expect(error).toBeUndefined();
    // Another thread's call may have been written in between.
    return [
      ...readFileSync(log, 'utf8').matchAll(/fsync\(\d+<(.*?)>(?:\) += 0| <unfinished)/g),
    ].map(([, path = '']) => path);
  };

  test('files, then directories, then the directories that were made for DEST', async (context) => {
    needTool(context, 'strace');
    makeFiles(src, { file: 'x', 'directory/inner': 'y' });
    const top = dest;
    dest = join(top, 'made/for/it');
    const paths = await traced({ fsync: true });
    const within = ['file', 'directory/inner', 'directory', ''].map((name) => join(dest, name));
    const above = ['made/for', 'made', '', '..'].map((name) => join(top, name));
    const wanted = [
      ...within.map((path) => path.replace(/\/$/, '')),
      ...above.map((path) => path.replace(/\/$/, '')),
    ];
    expect(paths.toSorted()).toEqual(wanted.toSorted());
    expect(paths.indexOf(join(dest, 'directory'))).toBeGreaterThan(
      paths.indexOf(join(dest, 'directory/inner')),
    );
  });

  test('directories that DEST has, too', async (context) => {
    needTool(context, 'strace');
    makeFiles(src, { file: 'x', 'directory/inner': 'y' });
    mkdirSync(join(dest, 'directory'), { recursive: true });
    const paths = await traced({ fsync: true, preserve: false });
    expect(paths).toContain(join(dest, 'directory'));
    expect(paths).toContain(dest);
  });

  test('files of which a sync sets the metadata alone', async (context) => {
    needTool(context, 'strace');
    makeFiles(src, { file: 'x', same: 'y' });
    await copyTree(src, dest, { sync: true });
    chmodSync(join(src, 'file'), 0o600);
    const paths = await traced({ sync: true, fsync: true });
    expect(paths).toContain(join(dest, 'file'));
    expect(paths).not.toContain(join(dest, 'same'));
  });

  test('not otherwise', async (context) => {
    needTool(context, 'strace');
    makeFiles(src, { file: 'x' });
    expect(await traced({})).toEqual([]);
  });

  test('an error is an error, and no file', async (context) => {
    needTool(context, 'strace');
    makeFiles(src, { file: 'x' });
    const words = ['strace', '-f', '-qq', '-o', join(work, 'log'), '-e', 'inject=fsync:error=EIO'];
    const { error } = await copyInChild({ src, dest, options: { fsync: true } }, words);
    expect(error).toMatchObject({ code: 'EIO', syscall: 'fsync' });
    expect(existsSync(join(dest, 'file'))).toBe(false);
  });
});
