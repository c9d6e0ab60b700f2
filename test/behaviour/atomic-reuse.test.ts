/**
 * With `reuse` an atomic copy has the same outcome as without, for random trees of all kinds of entries. Prints its seed;
 * FASTCP_SEED makes the same again.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, linkSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { copyTree } from '../../lib/index.js';
import type { CopyOptions } from '../../lib/types.js';
import { containers } from '../support/atomic.js';
import { copyInChild } from '../support/child.js';
import { useFileSystem, whileMounted } from '../support/filesystems.js';
import { seed, size } from '../support/form.js';
import { makeFiles, makeSocket } from '../support/trees.js';
import { asUser, needUser, USER } from '../support/user.js';
import { isDarwinModel, needRoot, needTool, workDirectory } from '../support/work.js';

const work = workDirectory('atomic-reuse');
const rounds = size(5, 40);
console.info(`atomic reuse: ${rounds} rounds, FASTCP_SEED=${seed}`);

/** SRC, and an old DEST with many of its entries. */
const make = `
import os, random, socket, stat, sys
rng = random.Random(int(sys.argv[1]))
os.umask(0o22)
def tree(depth):
    return {rng.choice('abcdef'): entry(depth) for _ in range(rng.randrange(1, 6))}
def entry(depth):
    kind = rng.choice(['file'] * 5 + ['directory'] * 4 + ['link', 'fifo'] + sys.argv[2:])
    owner = rng.choice([0, 0, 0, 5])
    mode = rng.choice([0o644, 0o755, 0o600, 0o2755, 0o400])
    if kind == 'directory': return kind, owner, mode | 0o700, tree(depth - 1) if depth > 0 else {}
    if kind == 'device': return kind, owner, mode, rng.choice([3, 5])
    return kind, owner, mode, rng.choice(['x', 'y', 'x' * 5000])
def older(entries):
    result = {}
    for name, (kind, owner, mode, what) in entries.items():
        change = rng.randrange(10)
        if change == 0: continue
        if change == 1: result[name] = entry(1)
        elif change == 2: result[name] = kind, rng.choice([0, 5]), mode, what
        elif kind == 'directory': result[name] = kind, owner, mode, older(what)
        else: result[name] = kind, owner, mode, what
    if rng.random() < 0.3: result[rng.choice('abcdefgh')] = entry(1)
    return result
def write(path, entries):
    files = []
    for name, (kind, owner, mode, what) in entries.items():
        at = path + '/' + name
        if kind == 'directory':
            os.mkdir(at)
            write(at, what)
        elif kind == 'link': os.symlink(what[:9], at)
        elif kind == 'fifo': os.mkfifo(at)
        elif kind == 'socket': socket.socket(socket.AF_UNIX).bind(at)
        elif kind == 'device': os.mknod(at, stat.S_IFCHR | 0o600, os.makedev(1, what))
        else:
            with open(at, 'w') as file: file.write(what)
            if files and rng.random() < 0.2:
                os.unlink(at)
                os.link(rng.choice(files), at)
            files.append(at)
        os.lchown(at, owner, owner)
        if kind != 'link': os.chmod(at, mode)
        os.utime(at, (10 ** 9, 10 ** 9), follow_symlinks=False)
src = tree(2)
src['z'] = 'file', 0, 0o644, 'z'  # something is selected
for name, entries in ('src', src), ('plain', older(src)):
    os.mkdir(name)
    write(name, entries)
`;

/** Everything about a tree but inodes and the times of directories and special entries, which are new. */
function describeTree(root: string): string {
  const entries = execFileSync('find', ['.', '-printf', '%p %y %m %U %G %n %l\n'], { cwd: root });
  const files = execFileSync('find', ['.', '-type', 'f', '-exec', 'md5sum', '{}', '+'], {
    cwd: root,
  });
  return `${entries}${files}`.split('\n').sort().join('\n');
}

const manners: CopyOptions[] = [
  {},
  { preserve: true },
  { preserve: ['mode', 'hardLinks'] },
  { exclude: 'a' },
  { include: ['b', 'c/d', 'z'] },
  { preserve: true, include: ['e/**', 'z'] },
];

test.for(['hardLink', 'clone'] as const)(
  '%s: as without',
  {
    timeout: 60_000 + rounds * 2000,
  },
  async (reuse, context) => {
    needRoot(context);
    needTool(context, 'python3');
    const directory = reuse === 'clone' ? btrfs(context) : work;
    const reusing = new Set<CopyOptions>();
    for (let round = 0; round < rounds; round++) {
      const at = join(directory, `${reuse} ${round}`);
      mkdirSync(at);
      const ownSeed = seed + round;
      // New entries get the group of such a directory.
      if (ownSeed % 2 === 0) execFileSync('sh', ['-c', 'chgrp 33 "$0" && chmod 2775 "$0"', at]);
      const [src, plain, reused] = ['src', 'plain', 'reused'].map((name) => join(at, name)) as [
        string,
        string,
        string,
      ];
      const manner = manners[ownSeed % manners.length] ?? {};
      const options: CopyOptions = { atomic: true, ...manner };
      // For an included socket, which is not copied, a copy without `reuse` creates the directories.
      const sockets = options.include ? [] : ['socket'];
      const devices = isDarwinModel ? [] : ['device']; // macOS copies none
      execFileSync('python3', ['-c', make, `${ownSeed}`, ...devices, ...sockets], { cwd: at });
      const told = `${reuse}, FASTCP_SEED=${ownSeed}, ${JSON.stringify(options)}`;
      execFileSync('cp', ['-a', plain, reused]);
      await copyTree(src, plain, options);
      // The first copy gives files the owner that new ones have, so that the second finds files to reuse.
      for (const time of [1, 2]) {
        const copied = await copyTree(src, reused, { ...options, reuse }).catch(
          (error: unknown) => {
            // Where there is no file to reuse.
            expect(error, told).toMatchObject({ code: 'ERR_FASTCP_NO_REUSE' });
          },
        );
        expect(containers(at), told).toEqual([]);
        if (!copied) break;
        expect(describeTree(reused), told).toBe(describeTree(plain));
        if (time === 2) expect(copied.files, told).toBe(0);
        if (copied.unchanged > 0) reusing.add(manner);
      }
      rmSync(at, { recursive: true });
    }
    if (rounds > 4 * manners.length) expect([...reusing]).toHaveLength(manners.length);
  },
);

const btrfs = useFileSystem(work, 'btrfs');
const xfs = useFileSystem(work, 'xfs', { size: '400M' });

test('on XFS, where an exchange changes the mtime of DEST: it has that of SRC', async (context) => {
  const at = join(xfs(context), 'times');
  const [src, dest] = [join(at, 'src'), join(at, 'dest')];
  makeFiles(src, { a: 'x' });
  execFileSync('touch', ['-d', '2001-01-01', src]);
  for (let round = 0; round < 2; round++) {
    await copyTree(src, dest, { atomic: true, reuse: 'hardLink' });
    expect(statSync(dest).mtimeMs).toBe(statSync(src).mtimeMs);
  }
});

test('a default ACL has come to the directory around DEST: new files get their ACL', async (context) => {
  needTool(context, 'setfacl');
  const at = join(work, 'lists');
  const [src, plain, reused] = ['src', 'plain', 'reused'].map((name) => join(at, name)) as [
    string,
    string,
    string,
  ];
  for (const root of [src, plain, reused]) makeFiles(root, { f: 'x', 'd/g': 'y' });
  execFileSync('setfacl', ['-d', '-m', 'u:1234:rwx', at]);
  await copyTree(src, plain, { atomic: true });
  const lists = (cwd: string): string =>
    execFileSync('getfacl', ['-n', '.', 'f', 'd', 'd/g'], { cwd, encoding: 'utf8' });
  for (let round = 0; round < 2; round++) {
    await copyTree(src, reused, { atomic: true, reuse: 'hardLink' });
    expect(lists(reused)).toBe(lists(plain));
  }
});

test.for([0o400, 0o444, 0o600])(
  'the old DEST has mode %o: its files are copied',
  async (mode, context) => {
    needUser(context);
    const at = join(work, `shut ${mode}`);
    const [src, dest] = [join(at, 'src'), join(at, 'dest')];
    makeFiles(src, { f: 'new' });
    makeFiles(dest, { f: 'new' });
    execFileSync('chown', ['-R', `${USER}`, at]);
    chmodSync(dest, mode);
    const options: CopyOptions = { atomic: true, reuse: 'hardLink' };
    const { error } = await copyInChild({ src, dest, options }, asUser);
    expect(error).toBeUndefined();
    expect(readdirSync(dest)).toEqual(['f']);
  },
);

test('directories alone are selected, and DEST has them', async () => {
  const at = join(work, 'directories');
  const [src, dest] = [join(at, 'src'), join(at, 'dest')];
  makeFiles(src, { 'a/b/x': '', z: '' });
  for (let round = 0; round < 2; round++) {
    await copyTree(src, dest, { atomic: true, reuse: 'hardLink', include: 'a/b', exclude: 'x' });
    expect(readdirSync(dest, { recursive: true }).sort()).toEqual(['a', 'a/b']);
  }
});

test('an excluded socket where the old DEST has directories: they are removed once', async () => {
  const at = join(work, 'sockets');
  mkdirSync(at);
  const [src, dest] = [join(at, 'src'), join(at, 'dest')];
  makeFiles(src, { keep: '' });
  makeSocket(join(src, 's'));
  for (let round = 0; round < 20; round++) {
    rmSync(dest, { recursive: true, force: true });
    const files = Array.from({ length: 40 }, (_, i) => [`s/${i}/f`, ''] as const);
    makeFiles(dest, { keep: '', ...Object.fromEntries(files) });
    await copyTree(src, dest, { atomic: true, reuse: 'hardLink', exclude: 's' });
    expect(readdirSync(dest)).toEqual(['keep']);
  }
});

test('names of one file, in SRC and the old DEST, are separate files unless hard links are preserved', async () => {
  const at = join(work, 'names');
  const [src, dest] = [join(at, 'src'), join(at, 'dest')];
  makeFiles(src, { a: 'x' });
  linkSync(join(src, 'a'), join(src, 'b'));
  execFileSync('cp', ['-a', src, dest]);
  const inode = (name: string): number => statSync(join(dest, name)).ino;
  const old = inode('a');
  await copyTree(src, dest, { atomic: true, reuse: 'hardLink' });
  expect(inode('a')).not.toBe(inode('b'));
  expect([inode('a'), inode('b')]).toContain(old);
  const preserve = ['mode', 'hardLinks'] as const;
  await copyTree(src, dest, { atomic: true, reuse: 'hardLink', preserve });
  expect(inode('a')).toBe(inode('b'));
});

test('with -x: nothing stays where SRC has a mount point', async (context) => {
  needRoot(context);
  const at = join(work, 'mounts');
  const [src, dest] = [join(at, 'src'), join(at, 'dest')];
  makeFiles(src, { 'm/hidden': '', same: 'x' });
  makeFiles(dest, { 'm/q/old': 'old', same: 'x' });
  await whileMounted(['-t', 'tmpfs', 'tmpfs'], join(src, 'm'), async () => {
    const copy = { atomic: true, reuse: 'hardLink', oneFileSystem: true } as const;
    await copyTree(src, dest, { ...copy, include: ['m/hidden', 'same'] });
    makeFiles(dest, { 'm/q/old': 'old' });
    await copyTree(src, dest, copy);
  });
  expect(
    execFileSync('find', ['.'], { cwd: dest, encoding: 'utf8' }).trim().split('\n').sort(),
  ).toEqual(['.', './m', './same']);
});
