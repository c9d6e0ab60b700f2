import { execFileSync } from 'node:child_process';
import {
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { type CopyOptions, copyTree } from '../../lib/index.js';
import { copyInChild } from '../support/child.js';
import { leftovers, readTree } from '../support/compare.js';
import { useFileSystem } from '../support/filesystems.js';
import { makeFiles } from '../support/trees.js';
import { needTool, workDirectory } from '../support/work.js';

// Links followed, and links or names made instead of copies.

const work = workDirectory('links');
let number = 0;
let src: string;
let dest: string;
beforeEach(() => {
  src = join(work, `${number}`, 'src');
  dest = join(work, `${number++}`, 'dest');
  makeFiles(src, { file: 'content', 'directory/inner': 'inside' });
});

describe('dereference', () => {
  test('files, directories, links to links, and what lies outside', async () => {
    makeFiles(join(src, '..'), { 'outside/far': 'away' });
    for (const [name, target] of [
      ['to file', 'file'],
      ['to directory', 'directory'],
      ['to link', 'to directory'],
      ['to outside', '../outside'],
      ['directory/absolute', join(src, 'file')],
    ] satisfies [string, string][]) {
      symlinkSync(target, join(src, name));
    }
    const result = await copyTree(src, dest, { dereference: true });
    expect(result).toMatchObject({ symlinks: 0, files: 9, directories: 5 });
    expect([...readTree(dest).values()].some(({ kind }) => kind === 'symlink')).toBe(false);
    expect(readFileSync(join(dest, 'to outside/far'), 'utf8')).toBe('away');
    expect(readFileSync(join(dest, 'to link/absolute'), 'utf8')).toBe('content');
  });

  test('SRC itself', async () => {
    symlinkSync('src', join(src, '../link'));
    await copyTree(join(src, '../link'), dest, { dereference: true });
    expect(lstatSync(dest).isDirectory()).toBe(true);
    expect(readFileSync(join(dest, 'directory/inner'), 'utf8')).toBe('inside');
  });

  test.for([
    ['a directory itself', 'directory/loop', '.'],
    ['one above', 'directory/loop', '..'],
    ['by another link', 'loop', 'directory/back'],
    ['above SRC', 'directory/loop', '../..'],
  ] satisfies [string, string, string][])('a loop: %s', async ([, name, target]) => {
    symlinkSync(target, join(src, name));
    if (target === 'directory/back') symlinkSync('..', join(src, target));
    const options = { dereference: true, onError: 'continue' } as const;
    const result = await copyTree(src, dest, options);
    expect(result.errorCount).toBeGreaterThan(0);
    for (const error of result.errors) {
      // SRC was copied before DEST was met in it.
      const code =
        target === '../..' ? expect.stringMatching(/^(ELOOP|ERR_FS_CP_EINVAL)$/) : 'ELOOP';
      expect(error).toMatchObject({ code, path: expect.stringContaining(src) });
    }
    expect(readFileSync(join(dest, 'directory/inner'), 'utf8')).toBe('inside');
  });

  test.for([
    ['a link that leads nowhere', 'nowhere', 'ENOENT'],
    ['a link to itself', 'link', 'ELOOP'],
  ] satisfies [string, string, string][])('%s', async ([, target, code]) => {
    symlinkSync(target, join(src, 'link'));
    await expect(copyTree(src, dest, { dereference: true })).rejects.toMatchObject({
      code,
      path: join(src, 'link'),
    });
  });

  test('rules see what links lead to', async () => {
    symlinkSync('directory', join(src, 'link'));
    const kinds: Record<string, string> = {};
    await copyTree(src, dest, {
      dereference: true,
      filter(_src, _dest, { path, kind }) {
        if (path === '') return true;
        kinds[path] = kind;
        return path !== 'directory';
      },
    });
    expect(kinds).toMatchObject({ link: 'directory', 'link/inner': 'file' });
    expect([...readTree(dest).keys()].sort()).toEqual(['', 'file', 'link', 'link/inner']);
  });
});

describe('hardLink', () => {
  test('files have one more name, links and directories are made', async () => {
    symlinkSync('file', join(src, 'link'));
    const result = await copyTree(src, dest, { hardLink: true });
    expect(result).toMatchObject({ files: 0, hardLinks: 2, symlinks: 1, directories: 2 });
    expect(statSync(join(dest, 'directory/inner')).ino).toBe(
      statSync(join(src, 'directory/inner')).ino,
    );
    expect(readlinkSync(join(dest, 'link'))).toBe('file');
    expect(statSync(join(dest, 'directory')).ino).not.toBe(statSync(join(src, 'directory')).ino);
  });

  test('again: what has the name already is left alone', async () => {
    await copyTree(src, dest, { hardLink: true });
    expect(await copyTree(src, dest, { hardLink: true })).toMatchObject({
      hardLinks: 0,
      unchanged: 2,
    });
    expect(leftovers(dest)).toEqual([]);
  });

  test.for<CopyOptions>([{ sync: true }, { mirror: true, preserve: true }, { checksum: true }])(
    'again with %j: symlinks are unchanged too',
    async (options) => {
      symlinkSync('file', join(src, 'link'));
      const how = { ...options, hardLink: true };
      await copyTree(src, dest, how);
      for (const dryRun of [true, false])
        expect(await copyTree(src, dest, { ...how, dryRun })).toMatchObject({
          symlinks: 0,
          hardLinks: 0,
          unchanged: 3,
        });
      rmSync(join(dest, 'link'));
      symlinkSync('other', join(dest, 'link'));
      expect(await copyTree(src, dest, how)).toMatchObject({ symlinks: 1, unchanged: 2 });
      expect(readlinkSync(join(dest, 'link'))).toBe('file');
    },
  );

  test.for<CopyOptions>([
    { hardLink: true },
    { sync: true },
    { mirror: true, preserve: true },
    { force: false },
    { update: true },
  ])(
    'a named file that is a hard link of the one in DEST stays; the same file by another path is refused: %j',
    async (options) => {
      const file = join(src, 'file');
      mkdirSync(dest);
      linkSync(file, join(dest, 'file'));
      symlinkSync('.', join(src, 'here'));
      for (const to of [dest, join(dest, 'file')]) {
        const { unchanged, skipped } = await copyTree(to === dest ? [file] : file, to, options);
        expect(unchanged + skipped).toBe(1);
      }
      const same = { code: 'ERR_FS_CP_EINVAL', reason: 'source and destination are the same' };
      for (const [to, how] of [
        [file, options],
        [join(src, 'here/file'), options],
        [join(dest, 'file'), {}],
        [join(dest, 'file'), { atomic: true }],
      ] as const)
        await expect(copyTree(file, to, how)).rejects.toMatchObject(same);
      expect(statSync(file).nlink).toBe(2);
      expect(readFileSync(file, 'utf8')).toBe('content');
    },
  );

  test('what is replaced keeps its other names', async () => {
    makeFiles(dest, { file: 'old' });
    linkSync(join(dest, 'file'), join(work, `kept ${number}`));
    await copyTree(src, dest, { hardLink: true });
    expect(readFileSync(join(dest, 'file'), 'utf8')).toBe('content');
    expect(readFileSync(join(work, `kept ${number}`), 'utf8')).toBe('old');
  });

  const slowly = ['-e', 'trace=linkat,renameat', '-e', 'inject=renameat:delay_enter=1000000'];

  test('another copy links the same file at that moment: nothing is left', async (context) => {
    needTool(context, 'strace');
    makeFiles(dest, { file: 'old' });
    const slow = ['strace', '-f', '-qq', '-o', join(dest, '../log'), ...slowly];
    const copy = copyInChild({ src, dest, options: { hardLink: true } }, slow);
    while (leftovers(dest).length === 0) await setTimeout(5);
    rmSync(join(dest, 'file'));
    linkSync(join(src, 'file'), join(dest, 'file'));
    expect((await copy).result).toMatchObject({ hardLinks: 2, errorCount: 0 });
    expect(leftovers(dest)).toEqual([]);
    expect(statSync(join(src, 'file')).nlink).toBe(2);
  });

  test('another copy gives the second name at that moment: nothing is left', async (context) => {
    needTool(context, 'strace');
    linkSync(join(src, 'file'), join(src, 'linked'));
    makeFiles(dest, { file: 'old', linked: 'old' });
    const slow = ['strace', '-f', '-qq', '-o', join(dest, '../log'), ...slowly];
    const options = { preserve: true, concurrency: 1 };
    const copy = copyInChild({ src, dest, options }, slow);
    const names = ['file', 'linked'].map((name) => join(dest, name));
    const find = (links: number) => names.find((name) => statSync(name).nlink === links);
    let first: string | undefined;
    while (!first) {
      await setTimeout(5);
      first = find(2); // its second name is temporary yet
    }
    const second = find(1) as string;
    rmSync(second);
    linkSync(first, second);
    expect((await copy).result).toMatchObject({ files: 2, hardLinks: 1, errorCount: 0 });
    expect(leftovers(dest)).toEqual([]);
    expect(statSync(second).nlink).toBe(2);
  });

  test('a dry run', async () => {
    const result = await copyTree(src, dest, { hardLink: true, dryRun: true });
    expect(result).toMatchObject({ files: 0, hardLinks: 2, bytes: 0 });
  });

  const disk = useFileSystem(work, 'tmpfs');
  test('another file system: an error that says so', async (context) => {
    const far = join(disk(context), 'dest');
    await expect(copyTree(src, far, { hardLink: true })).rejects.toMatchObject({
      code: 'EXDEV',
      syscall: 'link',
      message: expect.stringContaining('cross-device link not permitted'),
    });
  });
});

describe('symlink', () => {
  test('links to the files of SRC, by whole paths', async () => {
    const result = await copyTree(src, dest, { symlink: true });
    expect(result).toMatchObject({ files: 0, symlinks: 2, directories: 2 });
    expect(readlinkSync(join(dest, 'directory/inner'))).toBe(join(src, 'directory/inner'));
    expect(readFileSync(join(dest, 'file'), 'utf8')).toBe('content');
  });

  test('relative paths are made whole', async () => {
    const command = new URL('../../dist/fastcp.cjs', import.meta.url).pathname;
    execFileSync(process.execPath, [command, '--symbolic-link', 'src', 'dest'], {
      cwd: join(src, '..'),
      stdio: 'pipe',
    });
    expect(readlinkSync(join(dest, 'file'))).toBe(join(src, 'file'));
  });

  test('does not take the place of what it leads to', async () => {
    const real = join(work, `real ${number}`);
    makeFiles(real, { f: 'precious' });
    rmSync(src, { recursive: true });
    mkdirSync(src);
    symlinkSync(join(real, 'f'), join(src, 'f'));
    const how = { symlink: true, dereference: true, onError: 'continue' } as const;
    const { errors } = await copyTree(src, real, how);
    expect(errors).toMatchObject([{ code: 'ERR_FS_CP_EINVAL', path: join(src, 'f') }]);
    expect(readFileSync(join(real, 'f'), 'utf8')).toBe('precious');
    expect(leftovers(work)).toEqual([]);
  });

  test.for<CopyOptions>([
    { symlink: true, hardLink: true },
    { symlink: true, dereference: true, atomic: true },
    { symlink: true, dereference: true, atomic: 'two-step' },
  ])('is refused: %j', (options) => {
    mkdirSync(dest);
    expect(() => copyTree(src, dest, options)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_ARG_VALUE' }),
    );
  });
});
