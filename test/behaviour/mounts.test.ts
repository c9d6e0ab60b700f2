// A mirror deletes nothing that SRC shows, wherever mounts bring directories of SRC and DEST together. The oracle is what SRC
// showed before. FASTCP_SEED makes the same again.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
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
import { setTimeout } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { CopyError, type CopyOptions, compareTrees, copyTree } from '../../lib/index.js';
import { type Mount, MountTable, sharedBy } from '../../lib/walk/mounts.js';
import { Random } from '../selection/support/random.js';
import { CHILD, copyInChild, run } from '../support/child.js';
import { unmountAll, useFileSystem, whileMounted } from '../support/filesystems.js';
import { seed, size } from '../support/form.js';
import { makeFiles } from '../support/trees.js';
import { asUser, needUser, USER } from '../support/user.js';
import { hasTool, needRoot, needTool, workDirectory } from '../support/work.js';

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

describe('what SRC shows of DEST, or DEST of SRC', () => {
  // The second is mounted on the third.
  const rows: [string, string, string, CopyOptions, boolean][] = [
    ['DEST has what SRC has not', 'dest/b', 'src/m', {}, false],
    ['a selection that leaves it', 'dest/b', 'src/m', { exclude: '*.log' }, false],
    ['SRC has it at another place', 'dest/c', 'src/m', {}, false],
    ['excluded in SRC only', 'dest/b', 'src/m', { exclude: '/m' }, false],
    ['excluded in DEST', 'dest/b', 'src/m', { exclude: '/b' }, true],
    ['excluded, but deleted', 'dest/b', 'src/m', { exclude: '/b', deleteExcluded: true }, false],
    ['DEST itself', 'dest', 'src/m', {}, false],
    ['DEST itself, excluded', 'dest', 'src/m', { exclude: 'm' }, true],
    ['a directory above DEST, excluded', '.', 'src/m', { exclude: 'm' }, true],
    ['a file', 'dest/b/file', 'src/c/file', {}, false],
    ['DEST is in SRC', 'src/c', 'dest', {}, false],
    ['DEST is in SRC, excluded', 'src/c', 'dest', { exclude: '/c' }, true],
    ['DEST has a part of SRC', 'src/m', 'dest/c', {}, false],
    ['DEST has a part of SRC, excluded', 'src/m', 'dest/c', { exclude: '/c' }, true],
    ['DEST has a part of SRC where SRC has nothing', 'src/c', 'dest/b', {}, false],
    ['SRC is in DEST', 'src', 'dest/c', {}, false],
    ['SRC is in DEST, excluded', 'src', 'dest/c', { exclude: '/c' }, true],
    ['SRC is from DEST', 'dest/c', 'src', {}, false],
    ['SRC is from DEST, excluded', 'dest/c', 'src', { exclude: '/c' }, true],
    ['another directory of the same name', 'other', 'src/m', {}, true],
  ];
  test.for(rows)('%s: %s on %s, %j', async ([, from, on, options, works], context) => {
    needRoot(context);
    makeFiles(at, {
      'src/c/file': '1',
      'src/m/file': '2',
      'dest/b/file': '3',
      'dest/c/more': '4',
      'other/b/file': '5',
    });
    await whileMounted(['--bind', join(at, from)], join(at, on), async () => {
      const excluded = [options.exclude ?? []].flat().map((name) => name.replace('/', ''));
      const before = filesIn(join(at, 'src'), excluded);
      const copy = copyTree(join(at, 'src'), join(at, 'dest'), { mirror: true, ...options });
      if (works) await copy;
      else
        await expect(copy).rejects.toMatchObject({
          code: PROTECTED,
          message: expect.stringMatching(/mount/),
        });
      expect(filesIn(join(at, 'src'), excluded)).toEqual(before);
    });
  });

  test.for<[string, CopyOptions, boolean]>([
    ['data', { exclude: '/data' }, true],
    ['data', { exclude: '/data', deleteExcluded: true }, false],
    ['p/data', { exclude: '/p', deleteExcluded: true }, false],
    ['p/data', { exclude: 'other', deleteExcluded: true }, true],
  ])(
    'at the same place in both, and perhaps excluded: %s, %j',
    async ([on, options, works], context) => {
      needRoot(context);
      makeFiles(at, { [`src/${on}/x`]: '', 'src/file': '1', [`dest/${on}/precious`]: '2' });
      await whileMounted(['--bind', join(at, 'dest', on)], join(at, 'src', on), async () => {
        const how = { mirror: true, onError: 'continue', ...options } as const;
        const copy = copyTree(join(at, 'src'), join(at, 'dest'), how);
        if (works) await copy;
        else await expect(copy).rejects.toMatchObject({ code: PROTECTED });
        expect(filesIn(join(at, 'src', on), [])).toEqual(['precious/=2']);
      });
    },
  );

  test('a directory that the user may not look at', async (context) => {
    needUser(context);
    makeFiles(at, { 'src/locked/x/y': '', 'dest/b/file': '1', 'src/c': '2' });
    await whileMounted(['--bind', join(at, 'dest/b')], join(at, 'src/locked/x'), async () => {
      chmodSync(join(at, 'src/locked'), 0o700);
      execFileSync('chown', ['-R', `${USER}`, join(at, 'dest')]);
      const mirror = (exclude: string[]) =>
        copyInChild(
          { src: join(at, 'src'), dest: join(at, 'dest'), options: { mirror: true, exclude } },
          asUser,
        );
      expect((await mirror(['locked'])).error).toMatchObject({ code: PROTECTED });
      expect((await mirror(['locked', 'b'])).result).toMatchObject({ files: 1, errorCount: 0 });
    });
  });

  test('at the same place in both: an error for that directory only', async (context) => {
    needRoot(context);
    makeFiles(at, { 'src/data/x': '', 'src/file': '1', 'dest/data/precious': '2' });
    await whileMounted(['--bind', join(at, 'dest/data')], join(at, 'src/data'), async () => {
      const options = { mirror: true, onError: 'continue' } as const;
      const { errors } = await copyTree(join(at, 'src'), join(at, 'dest'), options);
      const message = expect.stringContaining(
        'by a mount or a symlink, this directory is the same',
      );
      expect(errors).toMatchObject([{ code: 'ERR_FS_CP_EINVAL', message }]);
      expect(filesIn(join(at, 'dest'), [])).toEqual(['data/precious/=2', 'file/=1']);
    });
  });

  test('a mount that another one hides is none', async (context) => {
    needRoot(context);
    makeFiles(at, { 'src/m/b/file': '1', 'over/b/file': '2', 'dest/b/file': '3' });
    const [m, b] = [join(at, 'src/m'), join(at, 'src/m/b')];
    const mirror = () => copyTree(join(at, 'src'), join(at, 'dest'), { mirror: true });
    await whileMounted(['--bind', join(at, 'dest/b')], b, async () => {
      await expect(mirror()).rejects.toMatchObject({ code: PROTECTED });
      await whileMounted(['--bind', join(at, 'over')], m, async () => {
        await mirror();
        expect(filesIn(join(at, 'dest'), [])).toEqual(['m/b/file/=2']);
      });
    });
  });
});

/** A command that mounts an overlay on a directory, both below the working directory. */
const overlay = (low: string, on: string, up = 'up', options = ''): string =>
  `mkdir -p ${up} ${up}.work && mount -t overlay o -o ${options}lowerdir=$PWD/${low},upperdir=$PWD/${up},workdir=$PWD/${up}.work ${on}`;

describe('SRC has an overlay, and DEST a layer of it, or the reverse', () => {
  // The layers and the working directory, the place of the overlay, SRC and DEST.
  type Row = [string, string, string, CopyOptions, string | undefined];
  const none = undefined;
  const layer = 'is also';
  test.for<Row>([
    ['base dest/.overlay/up dest/.overlay/work', 'src', 'src dest', {}, layer],
    ['base dest/.overlay/up dest/.overlay/work', 'src', 'src dest', { exclude: '/.overlay' }, none],
    ['dest/base up work', 'src', 'src dest', {}, layer],
    ['dest/base up work', 'src', 'src dest', { atomic: true, mirror: false }, layer],
    ['dest/b,se up work', 'src', 'src dest', {}, layer],
    ['dest/b:se up work', 'src', 'src dest', {}, layer],
    ['dest/b\\se up work', 'src', 'src dest', {}, layer],
    ['dest/b,se up work', 'src', 'src dest', { atomic: true, mirror: false }, layer],
    ['dest/b:se up work', 'src', 'src dest', { atomic: true, mirror: false }, layer],
    ['dest/b\\se up work', 'src', 'src dest', { atomic: true, mirror: false }, layer],
    ['base src/u:p work', 'dest', 'src dest', {}, 'is also'],
    ['base src/u,p work', 'dest', 'src dest', {}, 'is also'],
    ['dest up work', 'src', 'src dest', {}, none],
    ['dest up work', 'src', 'src/x dest/x', {}, none],
    ['dest up work', 'src', 'src dest', { atomic: true, mirror: false }, 'copy without atomic'],
    ['dest up work', 'src', 'src dest', { deleteExcluded: true, exclude: 'x' }, 'is also'],
    ['dest up work', 'src/m', 'src dest', {}, 'is also the destination'],
    ['dest up work', 'src', 'src/x dest', {}, 'is also'],
    ['dest/m up work', 'src/m', 'src dest', {}, none],
    ['dest/m up work', 'src/m', 'src dest', { deleteExcluded: true, exclude: 'x' }, layer],
    ['base up work', 'src', 'src dest', {}, none],
    ['base up work', 'src', 'src base/x', {}, 'is also the destination'],
    ['base up work', 'src', 'src base/x', { exclude: 'x' }, none],
    ['base up work', 'src', 'src base/missing', { exclude: 'missing' }, none],
    ['base up work', 'src', 'src up/other', {}, 'is also the destination'],
    ['base up work', 'src', 'src/x base', {}, 'is also'],
    ['base up work', 'src/y', 'src base', {}, 'is also the destination'],
    ['base up work', 'src/y', 'src base', { exclude: 'y' }, none],
    ['base src/up work', 'dest', 'src dest', {}, 'is also'],
    ['base src/x work', 'dest/x', 'src dest', {}, 'is also'],
    ['base src work', 'dest/y', 'src dest', {}, 'is also'],
    ['base src work', 'dest', 'src dest/x', {}, 'is also the destination'],
    ['base src work', 'dest', 'src dest', {}, 'is also the destination'],
    ['base dest work', 'src', 'src dest', {}, 'is also the destination'],
    ['src up work', 'dest', 'src dest', {}, none],
    ['src/low up work', 'dest', 'src dest', {}, none],
  ])('%s on %s, %s, %j', async ([layers, on, paths, options, refused], context) => {
    needRoot(context);
    const [lower = '', upper = '', scratch = ''] = layers.split(' ').map((path) => join(at, path));
    const [src = '', dest = ''] = paths.split(' ').map((path) => join(at, path));
    for (const path of [lower, upper, scratch, join(at, on), join(at, 'dest')])
      mkdirSync(path, { recursive: true });
    makeFiles(lower, { 'x/old': '1' });
    const [low, up, by] = [lower, upper, scratch].map((path) => path.replace(/[\\,:]/g, '\\$&'));
    const how = `lowerdir=${low},upperdir=${up},workdir=${by}`;
    const excluded = [options.exclude ?? []].flat().map((name) => name.replace('/', ''));
    await whileMounted(['-t', 'overlay', 'overlay', '-o', how], join(at, on), async () => {
      makeFiles(join(at, on), { 'x/new': '2', 'other/new': '3' });
      const before = filesIn(src, excluded);
      const copy = copyTree(src, dest, { mirror: true, ...options });
      if (refused) {
        const message = expect.stringContaining(refused);
        await expect(copy).rejects.toMatchObject({ code: PROTECTED, message });
      } else await copy;
      expect(filesIn(src, excluded)).toEqual(before);
      if (!refused) expect(filesIn(dest, ['.overlay', ...excluded]).sort()).toEqual(before.sort());
    });
  });
});

test.for<[string, boolean]>([
  ['lowerdir=low,upperdir=../up,workdir=../work', false],
  ['lowerdir=../base,upperdir=../up,workdir=../work', true],
])('an overlay whose layers have relative paths: %s', async ([layers, works], context) => {
  needRoot(context);
  makeFiles(at, { 'dest/low/x': '1', 'base/x': '2', 'src/y': '' });
  for (const name of ['up', 'work']) mkdirSync(join(at, name));
  try {
    const how = ['-i', '-t', 'overlay', '-o', layers, 'overlay', '../src'];
    execFileSync('mount', how, { cwd: join(at, 'dest') });
    const copy = copyTree(join(at, 'src'), join(at, 'dest'), { mirror: true });
    if (works) await copy;
    else await expect(copy).rejects.toMatchObject({ code: PROTECTED });
  } finally {
    unmountAll(at);
  }
});

describe('ways to a layer of the overlay', () => {
  test.for<[string, string]>([
    ['a bind mount of the layer', `mount --bind dest/low other && ${overlay('other', 'src')}`],
    ['a bind mount above it', `mount --bind dest other && ${overlay('other/low', 'src')}`],
    ['another overlay', `${overlay('dest/low', 'other')} && ${overlay('other', 'src', 'up2')}`],
    ['DEST is a bind mount', `mount --bind real dest && ${overlay('real/low', 'src')}`],
  ])('%s', async ([, script], context) => {
    needRoot(context);
    makeFiles(at, { 'dest/low/x': '1', 'real/low/x': '1', 'src/y': '', 'other/y': '' });
    try {
      execFileSync('sh', ['-c', script], { cwd: at });
      const before = filesIn(join(at, 'src'), []);
      for (const options of [{ mirror: true }, { atomic: true, exclude: 'x' }] as const) {
        const copy = copyTree(join(at, 'src'), join(at, 'dest'), options);
        await expect(copy).rejects.toMatchObject({ code: PROTECTED });
        expect(filesIn(join(at, 'src'), [])).toEqual(before);
      }
    } finally {
      unmountAll(at);
    }
  });
});

// Nothing tells that these are the same. Only a new entry shows it.
test.for<[string, string]>([
  ['bindfs', 'bindfs -o nonempty dest/low src/m'],
  ['bindfs, SRC itself', 'bindfs -o nonempty dest/low src'],
  ['a layer by a name that is gone', 'gone'],
  ['a layer that has moved', 'moved'],
])('entries of DEST that SRC shows stay: %s', async ([, script], context) => {
  needRoot(context);
  if (script.startsWith('bindfs')) needTool(context, 'bindfs');
  makeFiles(at, { 'src/m/y': '', 'src/f': '1', 'other/y': '' });
  for (let i = 0; i < 30; i++) makeFiles(at, { [`dest/low/d/${i}`]: `${i}` });
  const scripts: Record<string, string> = {
    gone: `mount --bind dest/low other && ${overlay('other', 'src')} && umount other`,
    moved: `mv dest/low here && ${overlay('here', 'src')} && mv here dest/low`,
  };
  try {
    execFileSync('sh', ['-c', scripts[script] ?? script], { cwd: at });
    const before = filesIn(join(at, 'src'), []);
    const options = { mirror: true, onError: 'continue' } as const;
    const { errors } = await copyTree(join(at, 'src'), join(at, 'dest'), options);
    expect(errors.map(({ code }) => code)).toContain('ERR_FS_CP_EINVAL');
    expect(filesIn(join(at, 'src'), []).sort()).toEqual(before.sort());
  } finally {
    unmountAll(at);
  }
});

test('entries of DEST that SRC shows deeper in a mount stay, also on a full disk', async (context) => {
  needRoot(context);
  needTool(context, 'bindfs');
  makeFiles(at, { 'src/sub/a': 'a', 'src/m/y': '', 'dest/y': '' });
  const dest = join(at, 'dest');
  const mirror = () =>
    copyTree(join(at, 'src'), dest, { mirror: true, onError: 'continue', sync: true });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'nr_inodes=12', 'tmpfs', dest]);
    makeFiles(dest, { 'sub/extra': 'precious', 'sub/d/x': '1' });
    execFileSync('bindfs', ['-o', 'nonempty', dest, join(at, 'src/m')]);
    for (const full of [false, true]) {
      if (full) for (let i = 0; i < 12; i++) spawnSync('touch', [join(dest, `sub/more${i}`)]);
      const before = filesIn(dest, ['m', 'sub/a', 'a']).filter((path) => path.startsWith('sub/'));
      const { errors, deleted } = await mirror();
      const code = full ? 'ENOSPC' : 'ERR_FS_CP_EINVAL';
      expect(errors.map((error) => error.code)).toContain(code);
      expect(deleted).toBe(0);
      expect(filesIn(dest, [])).toEqual(expect.arrayContaining(before));
    }
  } finally {
    unmountAll(at);
  }
});

test('a temporary directory that SRC shows meanwhile is not copied', async (context) => {
  needRoot(context);
  needTool(context, 'bindfs');
  needTool(context, 'strace');
  makeFiles(at, { 'src/k/m/y': '', 'dest/low/x': 'x' });
  const [src, dest] = [join(at, 'src'), join(at, 'dest')];
  try {
    execFileSync('bindfs', ['-o', 'nonempty', join(dest, 'low'), join(src, 'k/m')]);
    const options = { mirror: true, onError: 'continue', concurrency: 2 } as const;
    // The second one, in 'low', is there from 0.3 to 1.3 s. Another worker lists the mount after 0.6 s.
    const delays = ['mkdirat:delay_exit=300000', 'unlinkat:delay_enter=700000:when=2'];
    const strace = ['strace', '-f', '-qq', '-o/dev/null', '-etrace=mkdirat,unlinkat'];
    strace.push(...delays.map((delay) => `-einject=${delay}`));
    const { result } = await copyInChild({ src, dest, options }, strace);
    expect(result?.errors.map(({ code }) => code)).toEqual(['ERR_FS_CP_EINVAL']);
    const paths = readdirSync(dest, { recursive: true }).sort();
    expect(paths).toEqual(['k', 'k/m', 'k/m/x', 'low', 'low/x']);
  } finally {
    unmountAll(at);
  }
});

test.for<[string, string, string, CopyOptions]>([
  ['a part of DEST, with -x', 'dest/b', 'src/m', { oneFileSystem: true }],
  ['SRC in DEST', 'src', 'dest/c', { deleteExcluded: true }],
  ['a part of SRC at the same place', 'src/c', 'dest/c', { deleteExcluded: true }],
  ['DEST as SRC', 'dest', 'src', { deleteExcluded: true }],
])('FUSE shows %s: nothing is deleted from SRC', async ([, from, on, options], context) => {
  needRoot(context);
  needTool(context, 'bindfs');
  makeFiles(at, { 'src/c/a.log': '1', 'src/m/y': '', 'src/a': '', 'src/b.log': '' });
  makeFiles(at, { 'dest/b/x': '2', 'dest/b/x.log': '3', 'dest/c/y': '4', 'dest/top.log': '5' });
  try {
    execFileSync('bindfs', ['-o', 'nonempty', join(at, from), join(at, on)]);
    const before = filesIn(join(at, 'src'), []);
    const how = { mirror: true, onError: 'continue', exclude: '*.log', ...options } as const;
    const { errors } = await copyTree(join(at, 'src'), join(at, 'dest'), how);
    expect(errors.map(({ code }) => code)).toContain('ERR_FS_CP_EINVAL');
    expect(filesIn(join(at, 'src'), [])).toEqual(expect.arrayContaining(before));
  } finally {
    unmountAll(at);
  }
});

test.for<CopyOptions>([
  {},
  { include: ['keep', 'x/wanted'], deleteExcluded: true },
  { include: ['keep', 'x/nothing'], deleteExcluded: true },
])('FUSE shows DEST: a file where SRC has a directory stays, %j', async (options, context) => {
  needRoot(context);
  needTool(context, 'bindfs');
  makeFiles(at, { 'src/m/y': '', 'src/keep': '', 'src/x/wanted': '', 'dest/x': 'precious' });
  const [src, dest] = [join(at, 'src'), join(at, 'dest')];
  try {
    execFileSync('bindfs', ['-o', 'nonempty', dest, join(src, 'm')]);
    const how = { mirror: true, onError: 'continue', ...options } as const;
    const { errors, deleted } = await copyTree(src, dest, how);
    expect(errors.map(({ code }) => code)).toContain('ERR_FS_CP_EINVAL');
    expect(deleted).toBe(0);
    expect(readFileSync(join(src, 'm/x'), 'utf8')).toBe('precious');
  } finally {
    unmountAll(at);
  }
});

describe('DEST is or contains SRC, of which one is seen through a mount: nothing is deleted', () => {
  const roots = [
    ['real/s/x', 'real/s'],
    ['real/s/x', 'real'],
    ['real/s/x/y', 'real/s'],
    ['real/s/x', 'real/s/x'],
    ['real', 'real'],
  ] as const;
  const ways = [['view', 'real'] as const, ['real', 'view'] as const, ['view', 'other'] as const];
  const kinds = [{ mirror: true }, { mirror: true, deleteExcluded: true }] as const;
  const all = roots.flatMap(([src, dest]) =>
    ways.flatMap(([from, to]) =>
      kinds.map(
        (options) =>
          [src.replace('real', from), dest.replace('real', to), Object.keys(options)] as const,
      ),
    ),
  );
  test.for(all)('%s to %s, %s', async ([src, dest, options], context) => {
    needRoot(context);
    needTool(context, 'bindfs');
    makeFiles(at, { 'real/s/x/a': 'a', 'real/s/x/y/a': 'a', 'real/s/x/x': 'x', 'real/s/y/b': 'b' });
    makeFiles(at, { 'real/s/c': 'c', 'real/s/d.log': 'd', 'view/y': '', 'other/y': '' });
    try {
      for (const view of ['view', 'other'])
        execFileSync('bindfs', ['-o', 'nonempty', join(at, 'real'), join(at, view)]);
      const names = (): string[] =>
        filesIn(join(at, 'real'), []).map((file) => file.replace(/=.*/, ''));
      const before = names();
      const how = Object.fromEntries(options.map((option) => [option, true]));
      const rest = { exclude: '*.log', onError: 'continue' } as const;
      const outcome = await copyTree(join(at, src), join(at, dest), { ...how, ...rest }).catch(
        (error: CopyError) => error,
      );
      const errors = outcome instanceof CopyError ? [outcome] : outcome.errors;
      const expected = ['ERR_FS_CP_EINVAL', 'ERR_FS_CP_NON_DIR_TO_DIR', PROTECTED];
      expect(errors.map(({ code }) => code).filter((code) => !expected.includes(code))).toEqual([]);
      expect(names()).toEqual(expect.arrayContaining(before));
    } finally {
      unmountAll(at);
    }
  });
});

test('a mirror onto FUSE that has nothing to do leaves the times of protected directories', async (context) => {
  needRoot(context);
  needTool(context, 'bindfs');
  makeFiles(at, { 'src/a': 'a', 'real/b/log': '', 'real/c/d/log': '', 'dest/y': '' });
  const [src, dest] = [join(at, 'src'), join(at, 'dest')];
  try {
    execFileSync('bindfs', ['-o', 'nonempty', join(at, 'real'), dest]);
    const mirror = () => copyTree(src, dest, { mirror: true, exclude: 'log' });
    await mirror();
    const times = (): number[] =>
      ['b', 'c', 'c/d'].map((name) => statSync(join(dest, name)).mtimeMs);
    for (const name of ['c/d', 'c', 'b']) utimesSync(join(dest, name), 1e9, 1e9);
    const before = times();
    await setTimeout(1100); // FUSE keeps attributes for a second
    expect(await mirror()).toMatchObject({ deleted: 0, files: 0 });
    await setTimeout(1100);
    expect(times()).toEqual(before);
  } finally {
    unmountAll(at);
  }
});

test('an empty directory of DEST that SRC shows stays', async (context) => {
  needRoot(context);
  needTool(context, 'bindfs');
  makeFiles(at, { 'src/m/y': '', 'src/a': 'a' });
  const empty = join(at, 'dest/d/empty');
  mkdirSync(empty, { recursive: true });
  try {
    execFileSync('bindfs', ['-o', 'nonempty', empty, join(at, 'src/m')]);
    const options = { mirror: true, onError: 'continue' } as const;
    const result = await copyTree(join(at, 'src'), join(at, 'dest'), options);
    expect(result).toMatchObject({ deleted: 0, errors: [{ code: 'ERR_FS_CP_EINVAL' }] });
    expect(existsSync(empty)).toBe(true);
  } finally {
    unmountAll(at);
  }
});

describe('atomic: a mount of SRC that nothing tells', () => {
  /** Mounts one directory over another while it copies to `dest`. */
  async function replace(
    context: Parameters<typeof needTool>[0],
    from: string,
    on: string,
    options: CopyOptions = {},
  ): Promise<{ error: unknown; src: string[]; dest: string[] }> {
    needRoot(context);
    needTool(context, 'bindfs');
    const [src, dest] = [join(at, 'src'), join(at, 'up/dest')];
    try {
      execFileSync('bindfs', ['-o', 'nonempty', join(at, from), join(at, on)]);
      const error = await copyTree(src, dest, { atomic: true, ...options }).then(
        ({ errors }) => errors[0],
        (thrown: unknown) => thrown,
      );
      return { error, src: filesIn(src, []), dest: filesIn(dest, []) };
    } finally {
      unmountAll(at);
    }
  }

  test.for<[string, string, string, CopyOptions]>([
    ['a part of DEST', 'up/dest/b/c', 'src/m', {}],
    ['DEST, and a selection', 'up/dest', 'src/m', { exclude: '*.log' }],
    ['a directory above DEST', 'up', 'src/m', { exclude: '*.log' }],
    ['a part of DEST as SRC', 'up/dest/b', 'src', { exclude: '*.log' }],
  ])('shows %s: nothing is replaced', async ([, from, on, options], context) => {
    makeFiles(at, { 'src/a': 'a', 'src/m/y': '', 'up/dest/top.log': '1' });
    makeFiles(at, { 'up/dest/b/c/x': '2', 'up/dest/b/c/x.log': '3', 'up/dest/b/y': '4' });
    chmodSync(join(at, 'up/dest/b/c'), 0o555);
    const { error, dest } = await replace(context, from, on, options);
    expect(error).toMatchObject({
      code: 'ERR_FASTCP_DEST_PROTECTED',
      message: expect.stringContaining(`by a mount '${join(at, on)}`),
    });
    expect(dest.sort()).toEqual(['b/c/x.log/=3', 'b/c/x/=2', 'b/y/=4', 'top.log/=1']);
    expect(statSync(join(at, 'up/dest/b/c')).mode & 0o777).toBe(0o555);
  });

  /** An ordinary user copies; root has mounted one directory over another. */
  async function replaceAsUser(from: string, on: string) {
    const [src, dest] = [join(at, 'src'), join(at, 'up/dest')];
    execFileSync('chmod', ['755', at]);
    try {
      execFileSync('bindfs', ['-o', 'nonempty', join(at, from), join(at, on)]);
      const options = { atomic: true, onError: 'continue' } as const;
      const { error, result } = await copyInChild({ src, dest, options }, asUser);
      return { error, result, src: filesIn(src, []) };
    } finally {
      unmountAll(at);
    }
  }

  test('shows a directory that its owner has shut', async (context) => {
    needRoot(context);
    needUser(context);
    needTool(context, 'bindfs');
    makeFiles(at, { 'src/m/y': '', 'src/s': 's', 'up/dest/b/c/precious': 'x' });
    execFileSync('chown', ['-R', `${USER}`, join(at, 'src'), join(at, 'up')]);
    chmodSync(join(at, 'up/dest/b'), 0);
    const { error, src } = await replaceAsUser('up/dest/b/c', 'src/m');
    expect(error).toMatchObject({ code: 'ERR_FASTCP_DEST_PROTECTED' });
    expect(src.sort()).toEqual(['m/precious/=x', 's/=s']);
    expect(statSync(join(at, 'up/dest/b')).mode & 0o777).toBe(0);
  });

  test('DEST has a directory that the user cannot write: it is left over', async (context) => {
    needRoot(context);
    needUser(context);
    needTool(context, 'bindfs');
    makeFiles(at, { 'src/m/y': '', 'other/x': 'new', 'up/dest/b/x': 'x' });
    execFileSync('chown', ['-R', `${USER}`, join(at, 'src'), join(at, 'up')]);
    execFileSync('chown', ['0:0', join(at, 'up/dest/b')]);
    const { error, result } = await replaceAsUser('other', 'src/m');
    expect(error).toBeUndefined();
    expect(result.warnings.map(({ code }) => code)).toEqual(['STAGING_LEFT']);
    expect(filesIn(join(at, 'up/dest'), [])).toEqual(['m/x/=new']);
  });

  test('shows another directory: DEST is replaced, though the names are the same', async (context) => {
    makeFiles(at, { 'src/y': '', 'other/a': 'new', 'other/b/c': '' });
    makeFiles(at, { 'up/dest/a': 'old', 'up/dest/b/c': '', 'up/dest/b/d/a': '' });
    const { error, src, dest } = await replace(context, 'other', 'src');
    expect(error).toBeUndefined();
    expect(dest.sort()).toEqual(src.sort());
    expect(dest).toContain('a/=new');
  });
});

test('a mount in SRC that hangs and is excluded is not looked at', async (context) => {
  needRoot(context);
  needTool(context, 'bindfs');
  makeFiles(at, { 'src/a': 'a', 'src/m/y': '', 'other/y': '', 'dest/extra': '', 'dest/d/e': '' });
  const bindfs = spawn('bindfs', ['-f', '-o', 'nonempty', join(at, 'other'), join(at, 'src/m')]);
  try {
    while (!readFileSync('/proc/self/mountinfo', 'utf8').includes(join(at, 'src/m')))
      await setTimeout(20);
    bindfs.kill('SIGSTOP');
    const options = { mirror: true, exclude: '/m' };
    const copying = copyInChild({ src: join(at, 'src'), dest: join(at, 'dest'), options }, [
      ...['timeout', '-s', 'KILL', '20'],
    ]);
    expect((await copying).result).toMatchObject({ files: 1, deleted: 3 });
  } finally {
    bindfs.kill('SIGCONT');
    unmountAll(at);
  }
});

describe('marks prove nothing where an overlay hides how files change', () => {
  test.for<[string, string]>([
    [
      'a layer of FUSE whose ctimes are mtimes',
      `bindfs -o nonempty --ctime-from-mtime low other && ${overlay('other', 'src')}`,
    ],
    ['metacopy', `${overlay('low', 'src', 'up', 'metacopy=on,')} && chmod 600 src/f`],
    ['neither', overlay('low', 'src')],
  ])('%s', async ([, script], context) => {
    needRoot(context);
    if (script.startsWith('bindfs')) needTool(context, 'bindfs');
    makeFiles(at, { 'low/f': 'AAAA', 'src/y': '', 'other/y': '' });
    const old = new Date(2020, 1, 1);
    utimesSync(join(at, 'low/f'), old, old);
    try {
      execFileSync('sh', ['-c', script], { cwd: at });
      const mirror = () => copyTree(join(at, 'src'), join(at, 'dest'), { mirror: true });
      await mirror();
      await mirror();
      writeFileSync(join(at, 'low/f'), 'BBBB');
      utimesSync(join(at, 'low/f'), old, old);
      await setTimeout(1200); // FUSE remembers what it has seen
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
      expect(readFileSync(join(dest, 'a'), 'utf8')).toBe('1');
      // The overlay separates names that were equal before.
      const said = [...warnings, ...errors].map(({ message }) => message);
      if (inodes().size > 1) {
        expect(count).toBeGreaterThan(2);
        expect(said).toEqual([
          expect.stringMatching(/an overlay or another copy gave the name a new file/),
        ]);
        expect(errors.length).toBe('strict' in options ? 1 : 0);
        expect(await mirror()).toMatchObject({ warnings: [], errors: [] });
      } else expect(said).toEqual([]);
      expect(inodes().size).toBe(1);
      expect(readdirSync(dest).sort()).toEqual(names);
    } finally {
      unmountAll(at);
    }
  },
);

test('hard links to files of a lower layer of DEST, by several workers at once', async (context) => {
  needRoot(context);
  needTool(context, 'strace');
  const [src, dest] = [join(at, 'src'), join(at, 'dest')];
  const files = Array.from({ length: 10 }, (_, i) => `${i}`);
  const others = ['x/b', 'x/c', 'x/d', 'x/e'];
  for (const file of files) makeFiles(src, { [`a/${file}`]: file });
  mkdirSync(join(at, 'low'));
  execFileSync('cp', ['-a', join(src, 'a'), join(at, 'low/a')]);
  for (const other of others) mkdirSync(join(src, other), { recursive: true });
  for (const file of files) {
    linkSync(join(at, 'low/a', file), join(at, 'low/a', `${file}.more`));
    for (const other of others) linkSync(join(src, 'a', file), join(src, other, file));
  }
  mkdirSync(dest);
  // The files in `a` come first. Then workers create links to one file before any of them looks at its new number.
  const code = `
    const { copyTree } = require(process.argv[1]);
    const late = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds, true));
    const filter = (src, dest, { path }) => /^x\\/.$/.test(path) ? late(300) : true;
    copyTree(process.argv[2], process.argv[3], { sync: true, preserve: true, filter })
      .then(({ warnings }) => console.log(warnings.map(String).join('')));
  `;
  const slowly = ['strace', '-f', '-qq', '-o', '/dev/null'];
  slowly.push('-e', 'trace=linkat', '-e', 'inject=linkat:delay_exit=30000');
  try {
    execFileSync('sh', ['-c', overlay('low', 'dest')], { cwd: at });
    const child = await run([...slowly, process.execPath, '-e', code, CHILD, src, dest]);
    expect(child).toEqual({ status: 0, stdout: '\n', stderr: '' });
    for (const file of files)
      expect(new Set(['a', ...others].map((one) => statSync(join(dest, one, file)).ino)).size).toBe(
        1,
      );
  } finally {
    unmountAll(at);
  }
});

test('on one overlay an atomic copy tries nothing in the old DEST', async (context) => {
  needRoot(context);
  needTool(context, 'strace');
  makeFiles(at, { 'low/src/a/b': '1', 'over/y': '' });
  const log = join(at, 'log');
  try {
    execFileSync('sh', ['-c', overlay('low', 'over')], { cwd: at });
    makeFiles(at, { 'over/dest/a/b': '2' }); // on the upper layer, so that it can be moved
    const strace = ['strace', '-f', '-qq', '-y', `-o${log}`, '-etrace=mkdir,mkdirat'];
    const [src, dest] = [join(at, 'over/src'), join(at, 'over/dest')];
    const { error } = await copyInChild({ src, dest, options: { atomic: true } }, strace);
    expect(error).toBeUndefined();
    expect(readFileSync(join(at, 'over/dest/a/b'), 'utf8')).toBe('1');
    expect(readFileSync(log, 'utf8')).toMatch(/mkdir.*dest[.]fastcp-/);
    expect(readFileSync(log, 'utf8')).not.toMatch(/dest\/.*[.]fastcp-/);
  } finally {
    unmountAll(at);
  }
});

test('the file system of SRC is in an image in DEST', async (context) => {
  needRoot(context);
  mkdirSync(join(at, 'dest'), { recursive: true });
  mkdirSync(join(at, 'src'));
  const script =
    'truncate -s 8M dest/image && mkfs.ext4 -q dest/image && mount -o loop dest/image src';
  execFileSync('sh', ['-c', script], { cwd: at });
  try {
    makeFiles(at, { 'src/file': '1' });
    const mirror = (options: CopyOptions) =>
      copyTree(join(at, 'src'), join(at, 'dest'), { mirror: true, ...options });
    const message = expect.stringContaining('is stored in');
    await expect(mirror({})).rejects.toMatchObject({ code: PROTECTED, message });
    await mirror({ exclude: 'image' });
    expect(filesIn(join(at, 'dest'), ['image', 'lost+found'])).toEqual(['file/=1']);
  } finally {
    unmountAll(at);
  }
});

test('an overlay that another mount hides is none', async (context) => {
  needRoot(context);
  makeFiles(at, { 'dest/low/x': '1', 'over/file': '2', 'src/m/y': '' });
  try {
    const script = `${overlay('dest/low', 'src/m')} && mount --bind over src/m`;
    execFileSync('sh', ['-c', script], { cwd: at });
    await copyTree(join(at, 'src'), join(at, 'dest'), { mirror: true });
    expect(filesIn(join(at, 'dest'), [])).toEqual(['m/file/=2']);
  } finally {
    unmountAll(at);
  }
});

describe('lists of mounts', () => {
  const mount = (id: string, parent: string, path: string, root = '/', device = '8:1'): Mount => ({
    ...{ id, parent, device, fileSystem: 'ext4', readOnly: false },
    ...{ path: Buffer.from(path), root: Buffer.from(root) },
  });
  const shared = (all: Mount[], from: string, to: string): string[] => {
    const table = new MountTable(all);
    const tree = (directory: Buffer) => ({ directory, places: table.placesIn(directory) });
    const found = sharedBy(table, tree(Buffer.from(from)), tree(Buffer.from(to)));
    return Array.from(found, ({ inOne, inOther }) => `${inOne.join('/')} = ${inOther.join('/')}`);
  };
  test.each<[string, Mount[], string[]]>([
    ['the root has no parent', [mount('1', '0', '/')], []],
    ['the root is its own parent', [mount('1', '1', '/')], []],
    ['a bind mount', [mount('1', '1', '/'), mount('2', '1', '/src/m', '/dest/b')], ['m = b']],
    [
      'the same one twice, one over the other',
      [mount('1', '0', '/'), mount('2', '1', '/src/m', '/x'), mount('3', '2', '/src/m', '/dest/b')],
      ['m = b'],
    ],
    [
      'below another one that hides it',
      [
        mount('1', '0', '/'),
        mount('2', '1', '/src/m/n', '/dest/b'),
        mount('3', '1', '/src/m', '/x'),
      ],
      [],
    ],
    ['another device', [mount('1', '0', '/'), mount('2', '1', '/src/m', '/dest/b', '8:2')], []],
    [
      'a third directory in both',
      [mount('1', '0', '/'), mount('2', '1', '/src/m', '/x/y'), mount('3', '1', '/dest/n', '/x')],
      ['m = n/y'],
    ],
  ])('%s', (_, all, expected) => {
    expect(shared(all, '/src', '/dest')).toEqual(expected);
  });

  test('thousands of mounts', () => {
    const all = [mount('1', '0', '/')];
    for (let index = 2; index < 4000; index++)
      all.push(mount(`${index}`, '1', `/${index % 2 ? 'src' : 'dest'}/${index}`, `/${index >> 1}`));
    expect(shared(all, '/src', '/dest')).toHaveLength(1999);
    expect(new MountTable(all).movedWith(Buffer.from('/src'))).toHaveLength(1999);
  });

  test.each<[string, Mount[], string[]]>([
    ['none', [mount('1', '0', '/'), mount('2', '1', '/other')], []],
    [
      'DEST itself, and below it',
      [mount('1', '0', '/'), mount('2', '1', '/dest'), mount('3', '2', '/dest/a')],
      ['2', '3'],
    ],
    [
      'one in DEST’s tree that another one hides',
      [mount('1', '0', '/'), mount('2', '1', '/dest/a/b'), mount('3', '1', '/dest/a')],
      ['3', '2'],
    ],
    [
      'one that is hidden from above DEST stays where it is',
      [
        mount('1', '0', '/'),
        mount('2', '1', '/dest/a', '/', '8:2'),
        mount('3', '1', '/', '/', '8:3'),
      ],
      [],
    ],
    [
      'by another path',
      [mount('1', '0', '/'), mount('2', '1', '/view', '/dest'), mount('3', '2', '/view/a')],
      ['3'],
    ],
  ])('moved with DEST: %s', (_, all, moved) => {
    const found = new MountTable(all).movedWith(Buffer.from('/dest')).map(({ id }) => id);
    expect(found).toEqual(moved);
  });

  test('without numbers and parents, as on macOS', () => {
    const all = ['/', '/System/Volumes/Data', '/Volumes/disk'].map((path) => ({
      ...{ path: Buffer.from(path), fileSystem: 'apfs', readOnly: false },
    }));
    const table = new MountTable(all);
    expect(table.lookup(Buffer.from('/Volumes/disk/a'))).toBe(all[2]);
    expect(table.lookup(Buffer.from('/Users/me'))).toBe(all[0]);
    expect(table.movedWith(Buffer.from('/Volumes'))).toEqual([all[2]]);
    expect(table.movedWith(Buffer.from('/Users/me'))).toEqual([]);
    expect(table.placesIn(Buffer.from('/Volumes'))).toEqual([]);
  });
});

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
      // Its container would be beside DEST.
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

  test('one has a mount from the DEST of another', async (context) => {
    needRoot(context);
    makeFiles(at, { 'a/own': '1', 'b/m/x': '', 'dest/a/sub/file': '2' });
    await whileMounted(['--bind', join(at, 'dest/a/sub')], join(at, 'b/m'), async () => {
      const sources = [join(at, 'a'), join(at, 'b')];
      const copy = copyTree(sources, `${at}/dest/`, { mirror: true });
      await expect(copy).rejects.toMatchObject({ code: PROTECTED, path: join(at, 'b') });
    });
    expect(filesIn(join(at, 'dest'), [])).toEqual(['a/sub/file/=2']);
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

  // There a directory has another device number than where it really is.
  test.for<[string, string, string, CopyOptions]>([
    [overlay('low', 'over'), 'over', 'low/dest', {}],
    [overlay('low', 'over'), 'over', 'low/dest', { sync: true, preserve: true }],
    [overlay('low', 'over'), 'over', 'low/sub/dest', {}],
    [overlay('low', 'over'), 'over', 'low/new/dest', {}],
    [overlay('low', 'over'), 'over', 'up/dest', {}],
    [overlay('low', 'over', 'src/up'), 'src', 'over/dest', {}],
    [overlay('low', 'over', 'src/up'), 'src', 'over/dest', { sync: true }],
    ['bindfs low over', 'over', 'low/dest', {}],
    ['bindfs low over', 'over', 'low/dest', { mirror: true }],
    ['bindfs low over', 'low', 'over/dest', {}],
  ])('ends with an error: %s, %s to %s, %j', async ([mount, from, to, options], context) => {
    needRoot(context);
    if (mount.startsWith('bindfs')) needTool(context, 'bindfs');
    makeFiles(at, { 'low/f': '1', 'low/sub/f': '2', 'src/up/f': '3', 'src/f': '4' });
    for (const path of ['up', 'over']) mkdirSync(join(at, path));
    try {
      execFileSync('sh', ['-c', mount], { cwd: at });
      const { errors, directories } = await copyTree(join(at, from), join(at, to), {
        ...options,
        ...{ onError: 'continue', signal: AbortSignal.timeout(5000) },
      });
      expect(errors.length).toBeGreaterThan(0);
      expect(directories).toBeLessThan(20);
      const left = execFileSync('find', [at, '-name', '.fastcp-*'], { encoding: 'utf8' });
      expect(left).toBe('');
    } finally {
      unmountAll(at);
    }
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

function isOne(path: string, other: string): boolean {
  const one = statSync(path, { throwIfNoEntry: false });
  const two = statSync(other);
  return one?.dev === two.dev && one.ino === two.ino;
}

/** Returns whether the kernel accepts these layers. Either may be in the other. */
function mountOverlay(lower: string, upper: string, on: string): boolean {
  const room = `${upper}.work`;
  mkdirSync(room, { recursive: true });
  const layers = `lowerdir=${lower},upperdir=${upper},workdir=${room}`;
  const { status } = spawnSync('mount', ['-t', 'overlay', 'overlay', '-o', layers, on]);
  return status === 0;
}

const cases = size(5, 40);
console.info(
  `mounts: ${cases} cases, FASTCP_SEED=${seed}${hasTool('bindfs') ? '' : ', without FUSE: bindfs is not installed'}`,
);

test('random mounts', { timeout: 60_000 + cases * 1000 }, async (context) => {
  needRoot(context);
  const outcomes = new Set<string>();
  for (let index = 0; index < cases; index++) {
    const random = new Random(seed + index);
    const place = join(at, `${index}`);
    const hasFuse = random.chance(30) && hasTool('bindfs');
    const names = ['a', 'b', 'c'];
    const directories = ['src', 'dest', 'out'].flatMap((root) => [
      root,
      ...names.flatMap((one) => [`${root}/${one}`, ...names.map((two) => `${root}/${one}/${two}`)]),
    ]);
    for (const directory of directories) {
      if (directory === 'src' || directory === 'dest' || random.chance(60))
        makeFiles(place, { [`${directory}/f${random.below(3)}`]: `${random.below(1e6)}` });
    }
    const there = directories.filter((directory) => existsSync(join(place, directory)));
    const mounted: string[] = [];
    try {
      for (let count = 1 + random.below(2); count > 0; count--) {
        const [from, on] = [random.pick(there), random.pick(there)];
        if (!existsSync(join(place, from)) || !existsSync(join(place, on))) continue;
        const [fromPath, onPath] = [join(place, from), join(place, on)];
        const other = random.pick(there);
        mkdirSync(onPath, { recursive: true });
        // Not nested: a mount that contains itself hangs. Nor a part of SRC in DEST, which fastcp does not notice.
        const isTold = (from.startsWith('dest') && on.startsWith('src')) || from === 'src';
        if (hasFuse && mounted.length === 0 && isTold && !on.startsWith(from)) {
          if (spawnSync('bindfs', ['-o', 'nonempty', fromPath, onPath]).status === 0) {
            mounted.push(`FUSE: ${from} on ${on}`);
            break;
          }
        }
        if (random.chance(60)) {
          execFileSync('mount', ['--bind', fromPath, onPath]);
          mounted.push(`${from} on ${on}`);
        } else if (mountOverlay(fromPath, join(place, other), onPath)) {
          mounted.push(`overlay of ${from}, ${other} above it, on ${on}`);
        }
      }
      // Mounts of FUSE that are excluded are not looked at.
      const isFuse = mounted.join().includes('FUSE');
      const excluded = random.chance(50) && !isFuse ? [random.pick(names)] : [];
      const mirror = random.chance(70);
      const atomic = !mirror && random.chance(80);
      const options: CopyOptions = {
        mirror,
        atomic,
        signal: AbortSignal.timeout(10_000), // for one that never ends
        onError: 'continue',
        exclude: excluded,
        ...(random.chance(20) && { oneFileSystem: true }),
        ...(mirror && random.chance(30) && { deleteExcluded: true }),
      };
      // Files that are excluded must not go either, unless DEST itself is what is excluded, or is in it.
      const isDest = (name: string): boolean =>
        names.some((other) =>
          [name, `${other}/${name}`, `${name}/${other}`].some((path) =>
            isOne(join(place, 'src', path), join(place, 'dest')),
          ),
        );
      const isSimple = options.deleteExcluded && !mounted.join().includes('overlay');
      const keeps = isSimple ? excluded.filter(isDest) : excluded;
      const kept = atomic ? [] : keeps;
      // SRC's file may replace one that FUSE shows in SRC.
      const filesNow = (): string[] =>
        filesIn(join(place, 'src'), kept).map((file) => (isFuse ? file.replace(/=.*/, '') : file));
      const before = filesNow();
      const outcome = await copyTree(join(place, 'src'), join(place, 'dest'), options).then(
        ({ errorCount }) => (errorCount > 0 ? 'errors' : 'copied'),
        ({ code, name }) => String(name === 'TimeoutError' ? name : code),
      );
      outcomes.add(outcome);
      expect(outcome, `FASTCP_SEED=${seed + index}: ${mounted}`).not.toBe('TimeoutError');
      if (!mirror && !atomic) continue;
      // A copy may add to a directory of SRC that DEST also shows, but takes nothing away.
      const after = new Set(filesNow());
      const lost = before.filter((file) => !after.has(file));
      expect(
        lost,
        `FASTCP_SEED=${seed + index}: ${mounted}, ${JSON.stringify(options)}: ${outcome}`,
      ).toEqual([]);
    } finally {
      unmountAll(place);
    }
  }
  if (cases >= 40)
    expect([...outcomes].sort()).toEqual(expect.arrayContaining(['copied', PROTECTED]));
});
