// Mounts in SRC and DEST: what a mirror spares, and copies that would never end.
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { type CopyOptions, compareTrees, copyTree } from '../../lib/index.js';
import { copyInChild } from '../support/child.js';
import { unmountAll, useFileSystem, whileMounted } from '../support/filesystems.js';
import { makeFiles } from '../support/trees.js';
import { needRoot, needTool, workDirectory } from '../support/work.js';

const work = workDirectory('mounts');
let number = 0;
let at: string;
beforeEach(() => {
  at = join(work, `${number++}`);
});

const mountedBtrfs = useFileSystem(work, 'btrfs');

const PROTECTED = 'ERR_FASTCP_DEST_PROTECTED';

/** All files below a directory with their contents, as far as a limit of depth. */
function filesIn(directory: string, excluded: readonly string[], depth = 0): string[] {
  if (!existsSync(directory) || depth > 6) return [];
  if (lstatSync(directory).isCharacterDevice()) return []; // a file that is deleted in an overlay
  if (!lstatSync(directory).isDirectory()) return [`=${readFileSync(directory, 'utf8')}`];
  return readdirSync(directory).flatMap((name) => {
    if (excluded.includes(name)) return [];
    return filesIn(join(directory, name), excluded, depth + 1).map((file) => `${name}/${file}`);
  });
}

describe('a mirror where a bind mount shows a part of one tree in the other', () => {
  const SAME = 'ERR_FS_CP_EINVAL';
  // The second is mounted on the third.
  const rows: [string, string, string, CopyOptions, string?][] = [
    ['excluded in DEST', 'dest/b', 'src/m', { exclude: '/b' }],
    ['DEST itself', 'dest', 'src/m', {}, SAME],
    ['DEST itself, excluded', 'dest', 'src/m', { exclude: 'm' }],
    ['a directory above DEST, excluded', '.', 'src/m', { exclude: 'm' }],
    ['DEST is in SRC', 'src/c', 'dest', {}, SAME],
    ['DEST is in SRC, excluded', 'src/c', 'dest', { exclude: '/c' }],
    ['DEST has a part of SRC, excluded', 'src/m', 'dest/c', { exclude: '/c' }],
    ['DEST has a part that SRC lacks', 'src/c', 'dest/b', {}, 'ERR_FASTCP_MOUNT_POINT'],
    ['SRC is in DEST', 'src', 'dest/c', {}, SAME],
    ['SRC is in DEST, excluded', 'src', 'dest/c', { exclude: '/c' }],
    ['SRC is from DEST', 'dest/c', 'src', {}, SAME],
    ['SRC is from DEST, excluded', 'dest/c', 'src', { exclude: '/c' }],
    ['another directory of the same name', 'other', 'src/m', {}],
  ];
  test.for(rows)('%s: %s on %s, %j', async ([, from, on, options, code], context) => {
    needRoot(context);
    makeFiles(at, {
      'src/c/file': '1',
      'src/m/file': '2',
      'dest/b/file': '3',
      'dest/c/more': '4',
      'other/b/file': '5',
    });
    await whileMounted(['--bind', join(at, from)], join(at, on), async () => {
      const names = [options.exclude ?? []].flat().map((name) => name.replace('/', ''));
      // Where SRC shows all of DEST, that is what the user wants to replace.
      if (from === 'dest') names.push('m');
      if (on === 'dest') names.push('c');
      const before = filesIn(join(at, 'src'), names);
      const copy = copyTree(join(at, 'src'), join(at, 'dest'), { mirror: true, ...options });
      if (code) await expect(copy).rejects.toMatchObject({ code });
      else await copy;
      expect(filesIn(join(at, 'src'), names)).toEqual(before);
    });
  });
});

/** A command that mounts an overlay on a directory, both below the working directory. */
const overlay = (low: string, on: string, up = 'up', options = ''): string =>
  `mkdir -p ${up} ${up}.work && mount -t overlay o -o ${options}lowerdir=$PWD/${low},upperdir=$PWD/${up},workdir=$PWD/${up}.work ${on}`;

describe('marks prove nothing where an overlay hides how files change', () => {
  test.for<[string, string]>([
    ['metacopy', `${overlay('low', 'src', 'up', 'metacopy=on,')} && chmod 600 src/f`],
    ['neither', overlay('low', 'src')],
  ])('%s', async ([, script], context) => {
    needRoot(context);
    makeFiles(at, { 'low/f': 'AAAA', 'src/y': '' });
    const old = new Date(2020, 1, 1);
    utimesSync(join(at, 'low/f'), old, old);
    try {
      execFileSync('sh', ['-c', script], { cwd: at });
      const mirror = () => copyTree(join(at, 'src'), join(at, 'dest'), { mirror: true });
      await mirror();
      await mirror();
      writeFileSync(join(at, 'low/f'), 'BBBB');
      utimesSync(join(at, 'low/f'), old, old);
      const now = readFileSync(join(at, 'src/f'), 'utf8');
      await mirror();
      expect(readFileSync(join(at, 'dest/f'), 'utf8')).toBe(now);
    } finally {
      unmountAll(at);
    }
  });
});

test.for([
  [2, {}],
  [2, { dereference: true }],
  [4, {}],
  [4, { strict: true, onError: 'continue' }],
] as const)(
  '%i hard links to a file of a lower layer of DEST, of which one was changed, %o',
  async ([count, options], context) => {
    needRoot(context);
    const names = ['a', 'b', 'c', 'd'].slice(0, count);
    makeFiles(at, { 'low/a': '1', 'src/a': '1' });
    for (const name of names.slice(1))
      for (const directory of ['low', 'src'])
        linkSync(join(at, directory, 'a'), join(at, directory, name));
    const dest = join(at, 'dest');
    mkdirSync(dest);
    const mirror = () =>
      copyTree(join(at, 'src'), dest, { mirror: true, preserve: true, ...options });
    const inodes = () => new Set(names.map((name) => statSync(join(dest, name)).ino));
    try {
      execFileSync('sh', ['-c', overlay('low', 'dest')], { cwd: at });
      writeFileSync(join(dest, 'a'), '2'); // from now on it is a file of its own
      const { warnings, errors } = await mirror();
      if (errors.length === 0) expect(readFileSync(join(dest, 'a'), 'utf8')).toBe('1');
      expect(errors.length > 0).toBe('strict' in options && inodes().size > 1);
      // The overlay gives a file a new number when it gets a hard link.
      const said = [...warnings, ...errors].map(({ message }) => message);
      const other = expect.stringMatching(/another entry is there now/);
      expect(said).toEqual(inodes().size > 1 ? [other] : []);
      expect(await mirror()).toMatchObject({ warnings: [], errors: [] });
      expect(readFileSync(join(dest, 'a'), 'utf8')).toBe('1');
      expect(inodes().size).toBe(1);
      expect(readdirSync(dest).sort()).toEqual(names);
    } finally {
      unmountAll(at);
    }
  },
);

describe('oneFileSystem: DEST in SRC, on another file system', () => {
  test.for<[string, CopyOptions]>([
    ['new', {}],
    ['new/a/b', {}],
    ['new', { mirror: true }],
  ])('%s, %j', async ([name, options], context) => {
    needRoot(context);
    makeFiles(at, { 'src/file': '1', 'src/new/x': '' });
    const [src, dest] = [join(at, 'src'), join(at, 'src', name)];
    const copy = () => copyTree(src, dest, { preserve: true, oneFileSystem: true, ...options });
    await expect(copy()).rejects.toMatchObject({ code: 'ERR_FS_CP_EINVAL' });
    await whileMounted(['-t', 'tmpfs', 'tmpfs'], join(src, 'new'), async () => {
      for (let i = 0; i < 2; i++) {
        await copy();
        expect(readdirSync(dest).sort()).toEqual(['file', 'new']);
        expect(readdirSync(join(dest, 'new'))).toEqual([]);
      }
      // The new tree would be beside DEST.
      await expect(
        copyTree(src, join(src, 'new/b'), { oneFileSystem: true, atomic: true }),
      ).rejects.toMatchObject({ code: 'ERR_FS_CP_EINVAL' });
    });
  });
});

test('oneFileSystem: DEST in SRC, in another subvolume', async (context) => {
  needTool(context, 'btrfs');
  const src = join(mountedBtrfs(context), 'whole');
  makeFiles(src, { file: '1' });
  execFileSync('btrfs', ['-q', 'subvolume', 'create', join(src, 'sub')]);
  for (let i = 0; i < 2; i++) {
    await copyTree(src, join(src, 'sub/copy'), { mirror: true, oneFileSystem: true });
    expect(readdirSync(join(src, 'sub/copy')).sort()).toEqual(['file', 'sub']);
  }
});

describe('several SRC', () => {
  test.each<[string[], string]>([
    [['a', 'dest/a/file'], 'dest/a/file'],
    [['dest/a/sub', 'a'], 'dest/a/sub'],
    [['a', 'dest/a/sub/'], 'dest/a/sub/'],
  ])('one is in the DEST of another: %j', async (names, refused) => {
    makeFiles(at, { 'a/own': '1', 'dest/a/file': '2', 'dest/a/sub/file': '3' });
    const before = filesIn(at, []);
    const sources = names.map((name) => `${at}/${name}`);
    const copy = copyTree(sources, `${at}/dest/`, { mirror: true, onError: 'continue' });
    const path = expect.stringContaining(refused.replace(/\/$/, ''));
    await expect(copy).rejects.toMatchObject({ code: PROTECTED, path });
    expect(filesIn(at, [])).toEqual(before);
  });
});

test('a comparison with oneFileSystem finds what a file system mounted in the second tree has', async (context) => {
  needRoot(context);
  makeFiles(at, { 'a/sub/file': '1', 'b/sub/x': '' });
  await whileMounted(['-t', 'tmpfs', 'tmpfs'], join(at, 'b/sub'), async () => {
    makeFiles(at, { 'b/sub/file': '1', 'b/sub/extra': '2' });
    const { differences } = await compareTrees(join(at, 'a'), join(at, 'b'), {
      oneFileSystem: true,
    });
    const only = differences.filter(({ type }) => type === 'onlyInB');
    expect(only).toMatchObject([{ b: join(at, 'b/sub/extra') }]);
  });
});

describe('a copy in which DEST appears in SRC, as it grows', () => {
  test.for<CopyOptions>([{}, { sync: true }, { preserve: true }])(
    'ends with an error: by a symlink, %j',
    async (options) => {
      makeFiles(at, { 'src/a/f': '1', 'dest/a/b/f': '2' });
      symlinkSync('../../dest/a', join(at, 'src/a/b'));
      const { errors, directories } = await copyTree(join(at, 'src'), join(at, 'dest'), {
        ...options,
        ...{ dereference: true, onError: 'continue', signal: AbortSignal.timeout(5000) },
      });
      expect(errors).toMatchObject([{ code: 'ERR_FS_CP_EINVAL', path: join(at, 'src/a/b') }]);
      expect(directories).toBe(0);
    },
  );

  test.for<[string, [string, string][]]>([
    ['by one bind mount', [['src/a/c', 'dest/a']]],
    [
      'by one volume',
      [
        ['out', 'src/a'],
        ['out/a', 'dest/a'],
      ],
    ],
    [
      'deeper in one volume',
      [
        ['out', 'src/a'],
        ['out/a/b', 'dest/a'],
      ],
    ],
  ])('ends with an error: %s', async ([, mounted], context) => {
    needRoot(context);
    makeFiles(at, {
      'src/a/c/f': '1',
      'src/b/f': '2',
      'out/a/b/f': '3',
      'dest/a/f': '',
      'dest/b/f': '',
    });
    try {
      for (const [from, on] of mounted)
        execFileSync('mount', ['--bind', join(at, from), join(at, on)]);
      const options = { onError: 'continue', signal: AbortSignal.timeout(5000) } as const;
      const { errors, directories } = await copyTree(join(at, 'src'), join(at, 'dest'), options);
      expect(errors.map(({ code }) => code)).toContain('ERR_FS_CP_EINVAL');
      expect(directories).toBeLessThan(200);
    } finally {
      unmountAll(at);
    }
  });

  test('ends with an error: two directories that symlinks lead into each other', async (context) => {
    needTool(context, 'strace');
    makeFiles(at, { 'src/a/f': '1', 'src/b/f': '2', 'dest/a/f': '', 'dest/b/f': '' });
    symlinkSync('../../dest/b', join(at, 'src/a/m'));
    symlinkSync('../../dest/a', join(at, 'src/b/n'));
    const words = ['strace', '-f', '-qq', '-o', '/dev/null', '-e', 'trace=mkdirat'];
    const slowly = [...words, '-e', 'inject=mkdirat:delay_exit=5000'];
    const options = { dereference: true, onError: 'continue', concurrency: 2 } as const;
    const { result } = await copyInChild(
      { src: join(at, 'src'), dest: join(at, 'dest'), options },
      slowly,
    );
    expect(result?.errors.map(({ code }) => code)).toContain('ERR_FS_CP_EINVAL');
    expect(result?.directories).toBeLessThan(50);
  });
});

test('oneFileSystem: subvolumes that only DEST has stay, with an error', async (context) => {
  needTool(context, 'btrfs');
  const disk = mountedBtrfs(context);
  const [src, dest] = [join(disk, 'src'), join(disk, 'dest')];
  makeFiles(disk, { 'src/file': '1', 'dest/extra/x': '' });
  for (const path of ['sub', 'extra/sub'])
    execFileSync('btrfs', ['-q', 'subvolume', 'create', join(dest, path)]);
  makeFiles(dest, { 'sub/dear': '2', 'extra/sub/dear': '3' });
  const options = { mirror: true, oneFileSystem: true, onError: 'continue' } as const;
  const { errors } = await copyTree(src, dest, options);
  expect(errors.map(({ code, path }) => [code, path]).sort()).toEqual([
    ['ERR_FASTCP_MOUNT_POINT', join(dest, 'extra/sub')],
    ['ERR_FASTCP_MOUNT_POINT', join(dest, 'sub')],
  ]);
  expect(filesIn(dest, []).sort()).toEqual(['extra/sub/dear/=3', 'file/=1', 'sub/dear/=2']);
  await copyTree(src, dest, { mirror: true });
  expect(filesIn(dest, [])).toEqual(['file/=1']);
});
