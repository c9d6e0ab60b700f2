import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import * as fs from '../../lib/fs.js';
import { compareTrees, copyTree } from '../../lib/index.js';
import type { CopyOptions } from '../../lib/types.js';
import { COMMAND } from '../support/child.js';
import { makeFiles, makeSocket } from '../support/trees.js';
import { needRoot, workDirectory } from '../support/work.js';

// FIFOs, devices and sockets in DEST, and names of descriptors.

const work = workDirectory('special');
let at: string;
let src: string;
let dest: string;
let number = 0;

beforeEach(() => {
  at = join(work, `${number++}`);
  [src, dest] = [join(at, 'src'), join(at, 'dest')];
  makeFiles(at, { 'src/entry': 'new', 'src/sub/entry': 'new', file: 'new' });
});

const makers: Record<string, (path: string) => void> = {
  fifo: (path) => execFileSync('mkfifo', [path]),
  socket: (path) => makeSocket(path),
  device: (path) => execFileSync('mknod', [path, 'c', '1', '3']),
};
const identity = (path: string) => {
  const { dev, ino, mode, rdev, ctimeNs } = lstatSync(path, { bigint: true });
  return { dev, ino, mode, rdev, ctimeNs };
};
const code = (promise: Promise<unknown>) =>
  promise.then(
    () => 'none',
    (error) => error.code,
  );

describe.for(Object.keys(makers))('a %s in DEST is not replaced', (kind) => {
  const make = (path: string) => makers[kind]?.(path);

  test.for<[string, CopyOptions]>([
    ['a copy', {}],
    ['a dry run', { dryRun: true }],
    ['an update', { sync: true }],
    ['a mirror', { mirror: true }],
    ['a mirror with a filter', { mirror: true, filter: () => true }],
    ['a mirror that is planned', { mirror: true, dryRun: true }],
    ['a backup', { backup: 'numbered' }],
    ['hard links', { hardLink: true }],
    ['symlinks', { symlink: true }],
    ['-a', { preserve: true }],
  ])('by %s', async ([, options], context) => {
    if (kind === 'device') needRoot(context);
    mkdirSync(join(dest, 'sub'), { recursive: true });
    const paths = [join(dest, 'entry'), join(dest, 'sub/entry')];
    for (const path of paths) make(path);
    const before = paths.map(identity);
    const { errors } = await copyTree(src, dest, { ...options, onError: 'continue' });
    expect(errors.map((error) => [error.code, error.dest]).sort()).toEqual(
      paths.map((path) => ['ERR_FASTCP_DEST_IS_SPECIAL', path]),
    );
    const name = kind === 'fifo' ? 'a FIFO' : `a ${kind}`;
    expect(errors[0]?.message).toContain(`the destination is ${name}`);
    expect(paths.map(identity)).toEqual(before);
    expect(readdirSync(dest).sort()).toEqual(['entry', 'sub']);
  });

  test('a directory does not take its place either', async (context) => {
    if (kind === 'device') needRoot(context);
    mkdirSync(dest);
    make(join(dest, 'sub'));
    const before = identity(join(dest, 'sub'));
    for (const options of [{}, { mirror: true }, { mirror: true, dryRun: true }]) {
      expect(await code(copyTree(src, dest, options))).toBe('ERR_FASTCP_DEST_IS_SPECIAL');
      expect(identity(join(dest, 'sub'))).toEqual(before);
    }
  });

  test('as DEST itself, by way of a symlink, atomic or by fastcp/fs', async (context) => {
    if (kind === 'device') needRoot(context);
    make(dest);
    symlinkSync(dest, join(at, 'link'));
    const before = identity(dest);
    const file = join(at, 'file');
    for (const to of [dest, join(at, 'link')]) {
      for (const options of [{}, { dryRun: true }, { backup: 'numbered' as const }]) {
        expect(await code(copyTree(file, to, options))).toBe('ERR_FASTCP_DEST_IS_SPECIAL');
      }
    }
    expect(readlinkSync(join(at, 'link'))).toBe(dest);
    expect(await code(copyTree(file, dest, { atomic: true }))).toBe('ERR_FASTCP_DEST_IS_SPECIAL');
    expect(await code(fs.promises.cp(file, dest))).toBe('ERR_FASTCP_DEST_IS_SPECIAL');
    expect(() => fs.cpSync(file, dest)).toThrow('which fastcp does not replace');
    expect(identity(dest)).toEqual(before);
    expect(readdirSync(at).sort()).toEqual(['dest', 'file', 'link', 'src']);
    // A symlink in its place loses nothing but a symlink.
    symlinkSync('elsewhere', join(at, 'other'));
    await copyTree(join(at, 'other'), join(at, 'link'));
    expect(readlinkSync(join(at, 'link'))).toBe('elsewhere');
  });

  test('a mirror removes one that SRC does not have; a comparison tells of it', async (context) => {
    if (kind === 'device') needRoot(context);
    await copyTree(src, dest);
    make(join(dest, 'extra'));
    rmSync(join(dest, 'entry'));
    make(join(dest, 'entry'));
    const { differences, errors } = await compareTrees(src, dest);
    expect(errors).toEqual([]);
    expect(differences.map(({ type, b }) => [type, b])).toEqual([
      ['content', join(dest, 'entry')],
      ['onlyInB', join(dest, 'extra')],
    ]);
    rmSync(join(dest, 'entry'));
    await copyTree(src, dest, { mirror: true });
    expect(existsSync(join(dest, 'extra'))).toBe(false);
  });
});

test('the same FIFO or device again: it stays, and gets what is preserved', async (context) => {
  needRoot(context);
  execFileSync('mkfifo', ['-m', '640', join(src, 'fifo')]);
  execFileSync('mknod', ['-m', '620', join(src, 'null'), 'c', '1', '3']);
  await copyTree(src, dest);
  const names = ['fifo', 'null'].map((name) => join(dest, name));
  const inodes = () => names.map((name) => lstatSync(name).ino);
  const before = inodes();
  for (const options of [{}, { sync: true }, { preserve: true }, { mirror: true }]) {
    execFileSync('chmod', ['600', ...names]);
    expect(await copyTree(src, dest, options)).toMatchObject({ errorCount: 0, special: 0 });
    expect(inodes()).toEqual(before);
    expect(names.map((name) => lstatSync(name).mode & 0o777)).toEqual([0o640, 0o620]);
  }
  // Another device of the same name is not that device.
  rmSync(join(dest, 'null'));
  execFileSync('mknod', [join(dest, 'null'), 'c', '1', '5']);
  expect(await code(copyTree(src, dest))).toBe('ERR_FASTCP_DEST_IS_SPECIAL');
  expect(await code(copyTree(src, dest, { mirror: true }))).toBe('ERR_FASTCP_DEST_IS_SPECIAL');
});

describe('a file copied to a symlink that leads to a directory', () => {
  beforeEach(() => {
    makeFiles(at, { 'release/kept': 'kept' });
    symlinkSync('release', join(at, 'current'));
  });

  test.for<[string, CopyOptions]>([
    ['default', {}],
    ['force: false', { force: false }],
    ['a dry run', { dryRun: true }],
    ['an update', { sync: true }],
    ['a backup', { backup: 'numbered' }],
    ['a symlink to the file', { symlink: true }],
    ['atomic', { atomic: true }],
  ])('%s: as for the directory', async ([, options]) => {
    const refused = 'atomic' in options ? 'ERR_FASTCP_DEST_IS_LINK' : 'ERR_FS_CP_NON_DIR_TO_DIR';
    expect(await code(copyTree(join(at, 'file'), join(at, 'current'), options))).toBe(refused);
    expect(readlinkSync(join(at, 'current'))).toBe('release');
    expect(readdirSync(join(at, 'release'))).toEqual(['kept']);
  });

  test('a symlink takes the place of a symlink', async () => {
    symlinkSync('src', join(at, 'next'));
    await copyTree(join(at, 'next'), join(at, 'current'));
    await copyTree(join(at, 'next'), join(at, 'current'));
    expect(readlinkSync(join(at, 'current'))).toBe('src');
  });

  test('into it', async () => {
    await copyTree(join(at, 'file'), `${join(at, 'current')}/`);
    expect(readdirSync(join(at, 'release')).sort()).toEqual(['file', 'kept']);
  });

  test('fastcp/fs follows Node: the symlink goes', async () => {
    await fs.promises.cp(join(at, 'file'), join(at, 'current'));
    expect(readFileSync(join(at, 'current'), 'utf8')).toBe('new');
    expect(readdirSync(join(at, 'release'))).toEqual(['kept']);
  });
});

describe('names of descriptors', () => {
  const bash = (script: string) => {
    const { status, stdout, stderr } = spawnSync(
      'bash',
      ['--norc', '-c', script, 'bash', process.execPath, COMMAND],
      { cwd: at, encoding: 'utf8' },
    );
    return { status, stdout, stderr };
  };

  test.for([
    ['"$@" <(echo text) out'],
    ['"$@" -L <(echo text) out'],
    ['echo text | "$@" /dev/stdin out'],
    ['echo text | "$@" /dev/fd/0 out'],
    ['echo text | "$@" --mirror /proc/self/fd/0 out'],
    ['echo text | "$@" //dev/./../dev/fd//0 out'],
    ['ln -s /proc/self/fd to; echo text | "$@" to/0 out'],
    ['ln -s /dev/stdin in; echo text | "$@" -L in out'],
    ['"$@" /dev/stdout out > >(cat)'],
    ['"$@" /dev/stdin out < /dev/null'],
    ['exec 5< file; rm file; "$@" /dev/fd/5 out'],
  ])('SRC open on no file: %s', ([script]) => {
    const { status, stderr } = bash(script as string);
    expect(stderr).toContain("': the source is an open file descriptor of no file");
    expect(status).toBe(1);
    expect(existsSync(join(at, 'out'))).toBe(false);
  });

  test.for([
    ['"$@" -q /dev/stdin out < file'],
    ['exec 5< file; "$@" -q /dev/fd/5 out'],
    ['exec 5< file; rm file; "$@" -q -L /dev/fd/5 out'],
    ['mkdir to; "$@" -q /dev/stdin to/ < file; mv to/stdin out'],
  ])('SRC open on a file: %s', ([script]) => {
    expect(bash(script as string)).toEqual({ status: 0, stdout: '', stderr: '' });
    expect(lstatSync(join(at, 'out')).isFile()).toBe(true);
    expect(readFileSync(join(at, 'out'), 'utf8')).toBe('new');
  });

  test('SRC open on a directory', () => {
    expect(bash('exec 5< src; "$@" -q /dev/fd/5 out')).toMatchObject({ status: 0, stderr: '' });
    expect(readdirSync(join(at, 'out')).sort()).toEqual(['entry', 'sub']);
  });

  test.for([['"$@" file /dev/fd/5 5> captured'], ['"$@" file /dev/fd/5 5> >(cat)']])(
    'DEST: %s',
    ([script]) => {
      const { status, stderr } = bash(script as string);
      expect(status).toBe(1);
      expect(stderr).toContain('the destination names an open file descriptor');
    },
  );

  describe.for(['/dev/stdin', '/dev/stdout', '/dev/fd/5', '/proc/self/fd/0'])(
    'a symlink to %s is a symlink',
    (target) => {
      const link = () => readlinkSync(join(at, 'out'));

      test('in a tree', async () => {
        symlinkSync(target, join(src, 'in'));
        await copyTree(src, dest);
        expect(readlinkSync(join(dest, 'in'))).toBe(target);
      });

      test.for([
        '"$@" -q in out 5< file < file > captured',
        'echo text | "$@" -q in out 5< file | cat',
        '"$@" -q in out 5< file; "$@" -q in out 5< file', // also onto a symlink to a descriptor
        'mkdir to; "$@" -q in to/ 5< file; mv to/in out',
        '"$@" -q --atomic in out 5< file',
      ])('as SRC: %s', (script) => {
        symlinkSync(target, join(at, 'in'));
        expect(bash(script)).toEqual({ status: 0, stdout: '', stderr: '' });
        expect(link()).toBe(target);
      });

      test.for(['cpSync', 'promises.cp'] as const)(
        'by %s of fastcp/fs, as in Node',
        async (form) => {
          symlinkSync(target, join(at, 'in'));
          const options = { verbatimSymlinks: true };
          if (form === 'cpSync') fs.cpSync(join(at, 'in'), join(at, 'out'), options);
          else await fs.promises.cp(join(at, 'in'), join(at, 'out'), options);
          expect(link()).toBe(target);
        },
      );
    },
  );

  test.for(['-L in', 'in/'])('a symlink to one that is followed: %s', (how) => {
    const made = bash(
      `ln -s /dev/fd/5 in; "$@" -q ${how} out 5< ${how === 'in/' ? 'src' : 'file'}`,
    );
    expect(made).toEqual({ status: 0, stdout: '', stderr: '' });
    const out = lstatSync(join(at, 'out'));
    expect([out.isFile(), out.isDirectory()]).toEqual([how !== 'in/', how === 'in/']);
  });
});
