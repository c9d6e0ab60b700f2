import { execFileSync, spawn } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { beforeEach, describe, expect, test } from 'vitest';
import { compareTrees, copyTree } from '../../lib/index.js';
import { copyInChild } from '../support/child.js';
import { differences } from '../support/compare.js';
import { whileMounted } from '../support/filesystems.js';
import { makeFiles, makeSocket } from '../support/trees.js';
import { asUser, needUser } from '../support/user.js';
import { needRoot, skip, workDirectory } from '../support/work.js';

// What an entry is, and where it lands.

const work = workDirectory('kinds');
let at: string;
let src: string;
let dest: string;
let number = 0;

beforeEach(() => {
  at = join(work, `${number++}`);
  execFileSync('mkdir', ['-m', '777', at]);
  src = join(at, 'src');
  dest = join(at, 'dest');
});

const make = (command: string): void => {
  execFileSync('sh', ['-ec', `umask 022; ${command}`], { cwd: at });
};

const modeOf = (path: string): string => (lstatSync(path).mode & 0o7777).toString(8);

describe('files that do not say how long they are', () => {
  test.for([
    '/proc/version',
    '/proc/filesystems',
    '/proc/self/limits',
    '/proc/sys/kernel/ostype',
    '/sys/class/net/lo/mtu', // says 4096
    '/sys/devices/system/cpu/online',
    '/proc/sys/fs/inotify', // a directory of them
  ])('%s', async (path, context) => {
    if (!existsSync(path)) skip(context, 'it is not there');
    for (const reflink of ['auto', 'never'] as const) {
      const result = await copyTree(path, `${dest} ${reflink}`, { reflink });
      expect(result.methods.readWrite).toBe(result.files);
      if (lstatSync(path).isDirectory()) {
        const read = (directory: string) =>
          readdirSync(directory).map((name) => [name, readFileSync(join(directory, name), 'utf8')]);
        expect(read(`${dest} ${reflink}`).sort()).toEqual(read(path).sort());
        expect(result.files).toBeGreaterThan(1);
      } else {
        expect(readFileSync(`${dest} ${reflink}`, 'utf8')).toBe(readFileSync(path, 'utf8'));
      }
      expect(modeOf(`${dest} ${reflink}`)).toBe(modeOf(path));
    }
    const copied = `${dest} auto`;
    expect(await compareTrees(path, copied)).toMatchObject({ differences: [] });
    const again = await copyTree(path, copied, { quickCheck: true });
    expect(again).toMatchObject({ files: 0, errorCount: 0 });
    const names = lstatSync(copied).isFile() ? [''] : readdirSync(copied);
    appendFileSync(join(copied, names[0] ?? ''), 'more');
    expect((await compareTrees(path, copied)).differences).toHaveLength(1);
    expect(await copyTree(path, copied, { sync: true })).toMatchObject({ files: 1 });
  });

  test('many bytes', async () => {
    // Larger than any buffer, of a size that only reading tells.
    const path = '/proc/kallsyms';
    if (!existsSync(path)) return;
    await copyTree(path, dest);
    expect(readFileSync(dest).equals(readFileSync(path))).toBe(true);
  });
});

describe('FIFOs, devices, sockets', () => {
  test('a FIFO is made anew and never opened', async () => {
    make('mkdir src; mkfifo -m 640 src/fifo; echo x > src/file');
    // Whoever opens it to read lets this writer go on.
    const writer = spawn('sh', ['-c', 'exec 3> src/fifo; echo opened'], { cwd: at });
    let output = '';
    writer.stdout.on('data', (piece) => {
      output += piece;
    });
    await sleep(100);
    const result = await copyTree(src, dest);
    await sleep(100);
    writer.kill('SIGKILL');
    expect(output).toBe('');
    expect(result).toMatchObject({ scanned: 3, files: 1, special: 1, errorCount: 0 });
    expect(lstatSync(join(dest, 'fifo')).isFIFO()).toBe(true);
    expect(modeOf(join(dest, 'fifo'))).toBe('640');
  });

  test('devices, by root', async (context) => {
    needRoot(context);
    make('mkdir src; mknod -m 620 src/null c 1 3; mknod -m 604 src/block b 7 201');
    expect(await copyTree(src, dest)).toMatchObject({ special: 2, errorCount: 0 });
    expect(differences(src, dest)).toEqual([]);
  });

  test('devices, by an ordinary user', async (context) => {
    needRoot(context);
    needUser(context);
    make('mkdir src; mknod src/null c 1 3; echo x > src/file');
    const request = { src, dest, options: { onError: 'continue' as const } };
    const { result } = await copyInChild(request, asUser);
    expect(result).toMatchObject({ files: 1, special: 0, errorCount: 1 });
    expect(result.errors).toMatchObject([
      { code: 'EPERM', syscall: 'mknod', path: join(src, 'null'), dest: join(dest, 'null') },
    ]);
    expect(readdirSync(dest)).toEqual(['file']);
  });

  test('a socket is left out, with a warning', async () => {
    make('mkdir src');
    makeSocket(join(src, 'socket'));
    const result = await copyTree(src, dest);
    expect(result).toMatchObject({ scanned: 2, skipped: 1, special: 0, warningCount: 1 });
    const path = join(src, 'socket');
    expect(result.warnings).toEqual([
      { code: 'SOCKET_SKIPPED', path, message: expect.stringContaining(path) },
    ]);
    expect(readdirSync(dest)).toEqual([]);
  });
});

describe('SRC is', () => {
  test('a file', async () => {
    make('echo text > src; chmod 640 src');
    expect(await copyTree(src, dest)).toMatchObject({ scanned: 1, files: 1, directories: 0 });
    expect(readFileSync(dest, 'utf8')).toBe('text\n');
    expect(modeOf(dest)).toBe('640');
  });

  test('a large file', async () => {
    make('head -c 70000001 /dev/urandom > src');
    expect(await copyTree(src, dest)).toMatchObject({ scanned: 1, files: 1, bytes: 70000001 });
    execFileSync('cmp', [src, dest]);
  });

  test('an empty directory', async () => {
    make('mkdir -m 751 src');
    expect(await copyTree(src, dest)).toMatchObject({ scanned: 1, directories: 1 });
    expect(modeOf(dest)).toBe('751');
  });

  test.for([
    ['to a directory', 'mkdir directory; ln -s directory src', 'directory'],
    ['to a file', 'touch file; ln -s ./file src', './file'],
    ['that dangles', 'ln -s /nowhere src', '/nowhere'],
  ] as const)('a link %s: it stays one', async ([, command, target]) => {
    make(command);
    expect(await copyTree(src, dest)).toMatchObject({ scanned: 1, symlinks: 1 });
    expect(readlinkSync(dest)).toBe(target);
  });

  test('a link with a slash: what it leads to', async () => {
    make('mkdir directory; touch directory/a; ln -s b directory/link; ln -s directory src');
    expect(await copyTree(`${src}/`, dest)).toMatchObject({
      files: 1,
      directories: 1,
      symlinks: 1,
    });
    expect(differences(join(at, 'directory'), dest)).toEqual([]);
  });

  test('a FIFO', async () => {
    make('mkfifo -m 604 src');
    expect(await copyTree(src, dest)).toMatchObject({ scanned: 1, special: 1 });
    expect(lstatSync(dest).isFIFO()).toBe(true);
    expect(modeOf(dest)).toBe('604');
  });

  test('a socket', async () => {
    makeSocket(src);
    await expect(copyTree(src, dest)).rejects.toMatchObject({ code: 'ERR_FS_CP_SOCKET' });
    expect(readdirSync(at)).toEqual(['src']);
  });

  test('a URL, or bytes that are not UTF-8', async () => {
    make('echo text > src');
    const bytes = Buffer.concat([Buffer.from(`${at}/`), Buffer.from([0xff])]);
    await copyTree(pathToFileURL(src), bytes);
    await copyTree(bytes, pathToFileURL(dest));
    expect(readFileSync(dest, 'utf8')).toBe('text\n');
    expect(readdirSync(at, 'latin1').sort()).toEqual(['dest', 'src', '\xff']);
  });
});

describe('where it lands', () => {
  beforeEach(() => {
    makeFiles(src, { 'a/b': 'b', c: 'c' });
  });

  test('exactly at DEST, whether or not that exists', async () => {
    await copyTree(src, dest);
    await copyTree(src, dest);
    expect(differences(src, dest)).toEqual([]);
  });

  test.for(['dest/', 'dest//'])('inside %s', async (name) => {
    const result = await copyTree(src, join(at, name));
    expect(result.errorCount).toBe(0);
    expect(readdirSync(dest)).toEqual(['src']);
    expect(differences(src, join(dest, 'src'))).toEqual([]);
  });

  test('several sources inside it, even if only one', async () => {
    make('echo d > other; ln -s other link');
    await copyTree([join(at, 'src/a')], dest);
    await copyTree([src, join(at, 'other'), join(at, 'link')], dest);
    expect(readdirSync(dest).sort()).toEqual(['a', 'link', 'other', 'src']);
    expect(differences(src, join(dest, 'src'))).toEqual([]);
    expect(readlinkSync(join(dest, 'link'))).toBe('other');
  });

  test.for(['src/.', 'src/a/..', 'src/a/b/../..'])(
    '%s into a directory has a name',
    async (name) => {
      mkdirSync(dest);
      if (name.includes('b/')) {
        await expect(copyTree(`${at}/${name}`, `${dest}/`)).rejects.toMatchObject({
          code: 'ENOTDIR',
        });
      } else {
        await copyTree(`${at}/${name}`, `${dest}/`);
        expect(differences(src, join(dest, 'src'))).toEqual([]);
      }
    },
  );

  test('where a link to a directory leads', async () => {
    make('mkdir directory; ln -s directory dest');
    await copyTree(src, dest);
    expect(readlinkSync(dest)).toBe('directory');
    expect(differences(src, join(at, 'directory'))).toEqual([]);
  });
});

test.for(['a bind mount', 'a symlink that is dereferenced'])(
  'one directory below both SRC and DEST, by %s, is an error',
  async (how, context) => {
    if (how === 'a bind mount') needRoot(context);
    makeFiles(src, { 'other/file': 'x' });
    makeFiles(dest, { 'shared/file': 'content' });
    const shared = join(src, 'shared');
    chmodSync(join(dest, 'shared/file'), 0o604);
    utimesSync(join(dest, 'shared/file'), 1e9, 1e9);
    const look = () => {
      const { ino, mode, mtimeNs, ctimeNs } = lstatSync(join(dest, 'shared/file'), {
        bigint: true,
      });
      return [ino, mode, mtimeNs, ctimeNs];
    };
    const before = look();
    const copy = async () => {
      const { errors, files } = await copyTree(src, dest, {
        onError: 'continue',
        dereference: how !== 'a bind mount',
      });
      const message = expect.stringContaining('is the same one in source and destination');
      expect(errors).toMatchObject([{ code: 'ERR_FS_CP_EINVAL', path: shared, message }]);
      expect(files).toBe(1);
      expect(look()).toEqual(before);
    };
    if (how === 'a bind mount') {
      mkdirSync(shared);
      await whileMounted(['--bind', join(dest, 'shared')], shared, copy);
    } else {
      symlinkSync(join(dest, 'shared'), shared);
      await copy();
    }
  },
);

describe('oneFileSystem', () => {
  test.for([true, false])('%s', async (oneFileSystem, context) => {
    needRoot(context);
    makeFiles(src, { 'here/file': 'x', 'mounted/below': 'hidden' });
    const directory = join(src, 'mounted');
    await whileMounted(['-t', 'tmpfs', '-o', 'mode=751', 'tmpfs'], directory, async () => {
      writeFileSync(join(directory, 'beyond'), 'y');
      symlinkSync('x', join(directory, 'link'));
      const result = await copyTree(src, dest, { oneFileSystem });
      const beyond = oneFileSystem ? [] : ['beyond', 'link'];
      expect(readdirSync(join(dest, 'mounted')).sort()).toEqual(beyond);
      expect(result).toMatchObject({
        directories: 3,
        files: oneFileSystem ? 1 : 2,
        skipped: oneFileSystem ? 1 : 0,
        errorCount: 0,
      });
      expect(modeOf(join(dest, 'mounted'))).toBe('751');
    });
  });

  test('SRC may itself be a mount point', async (context) => {
    needRoot(context);
    mkdirSync(src);
    await whileMounted(['-t', 'tmpfs', 'tmpfs'], src, async () => {
      makeFiles(src, { 'a/b': 'x' });
      const result = await copyTree(src, dest, { oneFileSystem: true });
      expect(result).toMatchObject({ files: 1, directories: 2, skipped: 0 });
    });
  });
});
