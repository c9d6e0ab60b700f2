// A file is left alone only where its copy is known to be what the file is. All files in these trees have one
// size and one fixed mtime, as npm, Yarn and Nix write them, so neither says anything.
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, type TestContext, test } from 'vitest';
import { exchange } from '../../lib/bridge/native.js';
import { compareTrees, copyTree } from '../../lib/index.js';
import type { CopyOptions, CopyResult } from '../../lib/types.js';
import { Random } from '../selection/support/random.js';
import { copyInChild } from '../support/child.js';
import {
  type FileSystemName,
  fileSystemNames,
  useFileSystem,
  whileMounted,
} from '../support/filesystems.js';
import { seed, size } from '../support/form.js';
import { asUser, needUser, USER } from '../support/user.js';
import { needRoot, needTool, workDirectory } from '../support/work.js';

const work = workDirectory('unchanged');
let number = 0;
let room: string;
let src: string;
let dest: string;
beforeEach(() => {
  room = join(work, `${number++}`);
  mkdirSync(room);
  src = join(room, 'src');
  dest = join(room, 'dest');
});

const fixed = 499_162_500; // 1985-10-26, npm's

/** Writes a file of the one size and time; the letter is all that tells it from others. */
function write(path: string, letter: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, letter.repeat(8));
  utimesSync(path, fixed, fixed);
}

function mkdirAt(path: string): string {
  mkdirSync(path);
  return path;
}

function make(root: string, files: Record<string, string>): void {
  for (const [path, letter] of Object.entries(files)) write(join(root, path), letter);
}

/** Files, symlinks and directories below a directory, with their contents. */
function contents(root: string, below = ''): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(join(root, below), { withFileTypes: true })) {
    const path = join(below, entry.name);
    if (entry.isDirectory()) Object.assign(found, { [path]: '/' }, contents(root, path));
    else if (entry.isSymbolicLink()) found[path] = `-> ${readlinkSync(join(root, path))}`;
    else found[path] = readFileSync(join(root, path), 'latin1');
  }
  return found;
}

/** Creates a file system in a file, to be mounted with `-o loop`. */
function makeImage(context: TestContext, type: string, ...flags: string[]): string {
  needTool(context, `mkfs.${type}`);
  const image = join(room, 'image');
  writeFileSync(image, '');
  truncateSync(image, 320 * 2 ** 20);
  // ext4 with inodes of 128 bytes warns of 2038.
  execFileSync(`mkfs.${type}`, ['-q', ...flags, image], { stdio: 'pipe' });
  return image;
}

/** Until then what is changed has the time of what was just changed. */
const tick = (): Promise<void> => sleep(20);

const mirror = (from: string, options: CopyOptions = {}): Promise<CopyResult> =>
  copyTree(from, dest, { mirror: true, ...options });

/** The files of DEST that a mirror reads, by its system calls, and how many files DEST has. */
async function readFiles(
  context: TestContext,
  options: CopyOptions = {},
): Promise<[string[], number]> {
  needTool(context, 'strace');
  needRoot(context);
  const log = join(room, 'strace');
  const words = ['strace', '-f', '-qq', '-y', '-o', log, '-e', 'trace=pread64'];
  await copyInChild({ src, dest, options: { mirror: true, ...options } }, words);
  const read = readFileSync(log, 'utf8').matchAll(new RegExp(`<${dest}/([^>]*)>`, 'g'));
  const files = Object.values(contents(dest)).filter((content) => content !== '/');
  return [[...new Set(Array.from(read, ([, path = '']) => path))].sort(), files.length];
}

/** Whether a run reads a file of DEST. */
async function readsContents(context: TestContext): Promise<boolean> {
  return (await readFiles(context))[0].length > 0;
}

const swap = (one: string, other: string): void => {
  renameSync(one, `${one}.away`);
  renameSync(other, one);
  renameSync(`${one}.away`, other);
};

/** In one system call, which on some file systems leaves the files' ctimes alone. */
const exchangeNames = (one: string, other: string): void => {
  expect(exchange(Buffer.from(one), Buffer.from(other))).toBe(0);
};

describe('a copy that was not made from this source', () => {
  test('directories that were exchanged', async () => {
    make(src, { 'one/file': '1', 'two/file': '2', 'one/deep/er': '3', 'two/deep/er': '4' });
    await tick();
    await mirror(src);
    swap(join(src, 'one'), join(src, 'two'));
    await mirror(src);
    expect(contents(dest)).toEqual(contents(src));
    swap(join(src, 'one/deep'), join(src, 'two/deep'));
    await copyTree(src, dest, { sync: true });
    expect(contents(dest)).toEqual(contents(src));
  });

  test('what symlinks lead to, with dereference', async () => {
    make(room, { 'versions/1/f': '1', 'versions/2/f': '2' });
    mkdirSync(src);
    symlinkSync('../versions/1', join(src, 'dir'));
    symlinkSync('../versions/1/f', join(src, 'file'));
    await tick();
    const options = { dereference: true };
    await mirror(src, options);
    swap(join(room, 'versions/1'), join(room, 'versions/2'));
    await mirror(src, options);
    expect(contents(dest)).toEqual({ dir: '/', 'dir/f': '22222222', file: '22222222' });
  });

  test('what is mounted in the source', async (context) => {
    needRoot(context);
    make(src, { 'dir/file': '1', other: '1' });
    make(room, { 'mounted/file': '2' });
    await tick();
    await mirror(src);
    await whileMounted(['--bind', join(room, 'mounted')], join(src, 'dir'), async () => {
      await mirror(src);
      expect(readFileSync(join(dest, 'dir/file'), 'latin1')).toBe('22222222');
    });
    await mirror(src);
    expect(contents(dest)).toEqual(contents(src));
  });
});

describe('what others did in DEST', () => {
  test.for<[name: string, change: (one: string, other: string) => void]>([
    ['a file was written', (one) => write(one, 'x')],
    ['two files were exchanged', swap],
    ['a file was moved over another', (one, other) => renameSync(one, other)],
    [
      'a file became one more name of another',
      (one, other) => {
        rmSync(one);
        linkSync(other, one);
      },
    ],
    [
      'a file was copied over another, with its times',
      (one, other) => {
        copyFileSync(one, other);
        utimesSync(other, fixed, fixed);
      },
    ],
    ['directories were exchanged', (one, other) => swap(dirname(one), dirname(other))],
    [
      'a directory was copied over another, with its mark',
      (one, other) => {
        rmSync(dirname(other), { recursive: true });
        execFileSync('cp', ['-a', dirname(one), dirname(other)]);
      },
    ],
  ])('%s', async ([, change]) => {
    make(src, { 'a/one': '1', 'b/other': '2', 'a/other': '3', 'b/one': '4' });
    await tick();
    // At once: DEST's clock of changes may lag behind.
    for (let i = 0; i < 20; i++) {
      await mirror(src);
      change(join(dest, 'a/one'), join(dest, 'b/other'));
      await mirror(src);
      expect(contents(dest)).toEqual(contents(src));
    }
  });
});

test.for<[number, number]>([
  [0, 300_000],
  [100, 1_000_000],
  [4096, 100_000],
  [4096, 5000],
  [300_000, 4096],
])('a hole of another size: %i, and %i in DEST', async ([size, before]) => {
  make(src, { 'a/hole': '' });
  await mirror(src);
  truncateSync(join(src, 'a/hole'), size);
  truncateSync(join(dest, 'a/hole'), before);
  expect((await compareTrees(src, dest)).differences).toHaveLength(1);
  for (const path of [src, dest]) utimesSync(join(path, 'a/hole'), fixed, fixed);
  await mirror(src);
  expect(statSync(join(dest, 'a/hole')).size).toBe(size);
});

test('a mirror with quickCheck leaves no marks, one without does', async (context) => {
  needTool(context, 'getfattr');
  make(src, { 'a/f': '1', 'b/f': '1' });
  const marks = () =>
    execFileSync('getfattr', ['-R', '-d', dest], { encoding: 'utf8' }).match(/user\.fastcp/g);
  await mirror(src, { quickCheck: true });
  expect(marks()).toBeNull();
  await mirror(src, {});
  expect(marks()?.length).toBeGreaterThan(0);
});

describe('a copy of another length, under the mtime of its source', () => {
  const sync: CopyOptions[] = [
    { mirror: true },
    { sync: true },
    { sync: true, checksum: true },
    { sync: true, quickCheck: true },
    { mirror: true, quickCheck: true, preserve: true },
  ];
  test.for(sync)('%j', async (options) => {
    const lengths = { shorter: 4, empty: 0, longer: 12 };
    make(src, Object.fromEntries(Object.keys(lengths).map((name) => [`a/${name}`, '1'])));
    await tick();
    await mirror(src);
    for (const [name, length] of Object.entries(lengths)) {
      writeFileSync(join(dest, 'a', name), '1'.repeat(length));
      utimesSync(join(dest, 'a', name), fixed, fixed);
    }
    expect(await copyTree(src, dest, options)).toMatchObject({ files: 3, skipped: 0 });
    expect(contents(dest)).toEqual(contents(src));
  });
});

describe('what the mark cannot have seen', () => {
  describe('within one second, where a file system counts whole ones', { tags: ['all'] }, () => {
    test.for(['src', 'dest'])('in %s', async (where, context) => {
      needRoot(context);
      const image = makeImage(context, 'ext4', '-I', '128');
      const disk = mkdirAt(join(room, 'disk'));
      await whileMounted(['-o', 'loop', image], disk, async () => {
        if (where === 'src') src = join(disk, 'src');
        else dest = join(disk, 'dest');
        make(src, { 'a/file': '1', 'a/other': '1' });
        const changed = join(where === 'src' ? src : dest, 'a/file');
        const second = (): number => Math.floor(Date.now() / 1000);
        for (let hits = 0, tries = 0; hits < 3; tries++) {
          expect(tries, 'a mirror takes most of a second').toBeLessThan(20);
          await sleep(1000 - (Date.now() % 1000)); // all of it within what now begins
          const began = second();
          write(changed, '1');
          await mirror(src);
          write(changed, `${2 + (tries % 7)}`);
          if (second() === began) hits++;
          await mirror(src);
          expect(contents(dest)).toEqual(contents(src));
        }
      });
    });
  });

  // A change between the snapshot that a run copies and that run is older than the run, and first shown by the next one.
  describe(`in snapshots of a volume, one after the other in one place, seed ${seed}`, {
    tags: ['all'],
  }, () => {
    test.for(['ext4', 'xfs', 'btrfs', 'f2fs'])('%s', async (type, context) => {
      needRoot(context);
      const image = makeImage(context, type);
      const snapshot = join(room, 'snapshot');
      const disk = mkdirAt(join(room, 'disk'));
      src = join(disk, 'src');
      const random = new Random(seed);
      const names = ['a', 'b', 'c', 'below/d', 'below/e', 'empty/f'];
      const anyPath = (): string => join(src, random.pick(names));
      const change = (most: number): Promise<void> =>
        whileMounted(['-o', 'loop', image], disk, async () => {
          for (let i = random.below(most); i > 0; i--) {
            if (random.chance(60)) write(anyPath(), `${random.below(10)}`);
            else swap(join(src, 'a'), join(src, random.pick(names.slice(1, 5))));
          }
        });
      await whileMounted(['-o', 'loop', image], disk, async () => {
        for (const name of names) if (name !== 'empty/f') write(join(src, name), 'x');
        mkdirSync(join(src, 'empty'));
      });
      write(join(dest, 'empty/f'), 'y'); // stays until SRC has it, in a copy that only syncs
      for (let round = 0; round < 6; round++) {
        await change(3);
        execFileSync('cp', ['--sparse=always', image, snapshot]);
        await change(4);
        await whileMounted(['-o', 'loop', snapshot], disk, async () => {
          const shown = contents(src);
          await (round < 3 ? copyTree(src, dest, { sync: true }) : mirror(src));
          const copied = contents(dest);
          if (round < 3) shown['empty/f'] ??= copied['empty/f'] ?? '';
          expect(copied, `round ${round}`).toEqual(shown);
        });
      }
    });
  });

  test('in snapshots: what changed between a snapshot and the copy of it', async (context) => {
    needRoot(context);
    const image = makeImage(context, 'ext4');
    const snapshot = join(room, 'snapshot');
    const disk = mkdirAt(join(room, 'disk'));
    src = join(disk, 'src');
    const change = (text: string) =>
      whileMounted(['-o', 'loop', image], disk, async () => write(join(src, 'a'), text));
    await change('1');
    for (const [now, next] of [
      ['1', '2'],
      ['2', '3'],
      ['3', '4'],
    ] as const) {
      execFileSync('cp', ['--sparse=always', image, snapshot]);
      await change(next);
      await whileMounted(['-o', 'loop', snapshot], disk, async () => {
        await mirror(src);
        expect(contents(dest)).toEqual({ a: now.repeat(8) });
      });
    }
  });

  test('in snapshots, beside a symlink to a file that lives on', async (context) => {
    needRoot(context);
    const image = makeImage(context, 'ext4');
    const snapshot = join(room, 'snapshot');
    const disk = mkdirAt(join(room, 'disk'));
    src = join(disk, 'src');
    const live = join(room, 'live');
    await whileMounted(['-o', 'loop', image], disk, async () => {
      write(join(src, 'a'), '1');
      symlinkSync(live, join(src, 'link'));
    });
    execFileSync('cp', ['--sparse=always', image, snapshot]);
    await whileMounted(['-o', 'loop', image], disk, async () => write(join(src, 'a'), '2'));
    write(live, 'x'); // after both changes
    for (const shown of [snapshot, image]) {
      await whileMounted(['-o', 'loop', shown], disk, async () => {
        await mirror(src, { dereference: true });
        expect(readFileSync(join(dest, 'a'))).toEqual(readFileSync(join(src, 'a')));
      });
    }
  });

  const ntfs = useFileSystem(work, 'ntfs', { size: '64M' });

  test('what is changed by the clock of another host, as FUSE may serve', async (context) => {
    src = join(ntfs(context), 'src');
    make(src, { 'a/file': '1' });
    await tick();
    await mirror(src);
    await tick();
    expect(await readsContents(context)).toBe(true);
  });

  test('a file that is mounted over one of SRC, which a checksum finds', async (context) => {
    needRoot(context);
    make(room, { other: '2' });
    await tick();
    make(src, { 'a/file': '1' });
    await tick();
    await mirror(src);
    await whileMounted(['--bind', join(room, 'other')], join(src, 'a/file'), async () => {
      expect(await mirror(src)).toMatchObject({ files: 0 });
      expect(await mirror(src, { checksum: true })).toMatchObject({ files: 1 });
      expect(contents(dest)).toEqual(contents(src));
    });
  });

  const get = (name: string, path: string): string =>
    execFileSync('getfattr', ['--absolute-names', '-n', name, '--only-values', path], {
      encoding: 'utf8',
    });

  test('attributes that are hidden from an ordinary user', async (context) => {
    needUser(context);
    needRoot(context);
    needTool(context, 'setfattr');
    make(src, { 'a/file': '1' });
    execFileSync('setfattr', ['-n', 'trusted.k', '-v', 'hidden', join(src, 'a/file')]);
    execFileSync('chown', ['-R', `${USER}:${USER}`, room]);
    await tick();
    const options = { preserve: true, sync: true };
    await copyInChild({ src, dest, options }, asUser);
    await copyTree(src, dest, options);
    expect(get('trusted.k', join(dest, 'a/file'))).toBe('hidden');
  });

  test('an attribute that was lost under another name of the file', async (context) => {
    needUser(context);
    needRoot(context);
    needTool(context, 'setfattr');
    make(src, { 'a/f': '1', 'b/other': '2' });
    linkSync(join(src, 'a/f'), join(src, 'b/f'));
    const capability = '0sAQAAAgAgAAAAAAAAAAAAAAAAAAA=';
    execFileSync('setfattr', ['-n', 'security.capability', '-v', capability, join(src, 'a/f')]);
    execFileSync('chown', ['-R', '--no-dereference', `${USER}:${USER}`, room]);
    execFileSync('setfattr', ['-n', 'security.capability', '-v', capability, join(src, 'a/f')]);
    await tick();
    const options: CopyOptions = { preserve: true, sync: true };
    await copyInChild({ src, dest, options }, asUser);
    await copyTree(src, dest, { ...options, exclude: ['a'] });
    expect(get('security.capability', join(dest, 'b/f'))).not.toBe('');
  });
});

test.each([
  ['new', false],
  ['there already', true],
])(
  'a file that is changed after its first name was copied, before its second one: %s',
  async (_, existed) => {
    write(join(src, 'first/f'), 'A');
    mkdirSync(join(src, 'deep/second'), { recursive: true });
    linkSync(join(src, 'first/f'), join(src, 'deep/second/f'));
    const mirror: CopyOptions = { mirror: true, preserve: ['timestamps', 'hardLinks'] };
    if (existed) {
      await copyTree(src, dest, mirror);
      write(join(src, 'first/f'), 'B');
    }
    const old = existed ? 'B' : 'A';
    const filter: CopyOptions['filter'] = async (_src, _dest, { path }) => {
      if (path !== 'deep/second') return true;
      await expect.poll(() => contents(dest)['first/f']).toBe(old.repeat(8));
      await sleep(20);
      write(join(src, 'first/f'), 'C');
      await sleep(20);
      return true;
    };
    await copyTree(src, dest, { ...mirror, filter, concurrency: 2 });
    await copyTree(src, dest, mirror);
    await copyTree(src, dest, mirror);
    expect(contents(dest)).toEqual(contents(src));
  },
);

test('a hard link to a file that quickCheck took for equal is no proof', async () => {
  // In some of the pairs, whatever the order of listings, the name that DEST has comes first.
  const pairs = Array.from({ length: 12 }, (_, i) => [`a${i}/one`, `b${i}/two`] as const);
  for (const [one, two] of pairs) {
    make(src, { [one]: '1' });
    make(dest, { [one]: '2' });
    mkdirSync(dirname(join(src, two)));
    linkSync(join(src, one), join(src, two));
  }
  await tick();
  await mirror(src, { quickCheck: true, preserve: true, concurrency: 1 });
  const linked = pairs.filter(([, two]) => contents(dest)[two] === '22222222');
  // Only these directories, so that nothing else renews the ctime of the file.
  for (const [, two] of pairs) {
    const directory = dirname(two);
    await copyTree(join(src, directory), join(dest, directory), { mirror: true });
    expect(contents(dest)[two]).toBe('11111111');
  }
  expect(linked).not.toEqual([]);
});

test('a directory that oneFileSystem skipped is no proof', async (context) => {
  needRoot(context);
  make(dest, { 'mounted/file': '2' });
  mkdirSync(join(src, 'mounted'), { recursive: true });
  await whileMounted(['-t', 'tmpfs', 'tmpfs'], join(src, 'mounted'), async () => {
    make(src, { 'mounted/file': '1' });
    await tick();
    await mirror(src, { oneFileSystem: true });
    expect(contents(dest)['mounted/file']).toBe('22222222');
    await mirror(src);
    expect(contents(dest)['mounted/file']).toBe('11111111');
  });
});

describe('proven on another file system', () => {
  test('what lies beside a symlink that is followed', async (context) => {
    make(src, { 'a/file': '1', 'a/other': '1' });
    const over = mkdirAt(join(room, 'over'));
    await whileMounted(['-t', 'tmpfs', 'tmpfs'], over, async () => {
      make(over, { file: '2' });
      symlinkSync(join(over, 'file'), join(src, 'a/link'));
      await tick();
      await mirror(src, { dereference: true });
      const [read, all] = await readFiles(context, { dereference: true });
      expect([read, all]).toEqual([['a/link'], 3]);
    });
  });

  test('a file in a layer of an overlay, on whatever device', async (context) => {
    needRoot(context);
    const lower = mkdirAt(join(room, 'lower'));
    await whileMounted(['-t', 'tmpfs', 'tmpfs'], lower, async () => {
      make(lower, { 'a/file': '1' });
      const layers = ['upper', 'scratch'].map((name) => mkdirAt(join(room, name)));
      const options = `xino=off,lowerdir=${lower},upperdir=${layers[0]},workdir=${layers[1]}`;
      await whileMounted(['-t', 'overlay', '-o', options, 'x'], mkdirAt(src), async () => {
        write(join(src, 'a/new'), '2');
        await tick();
        await mirror(src);
        expect(await readFiles(context)).toEqual([[], 2]);
      });
    });
  });
});

describe('names that were exchanged in one call', () => {
  // Such a run sets the mtime of DEST's directory, which alone shows the exchange on XFS.
  test.for(
    fileSystemNames.flatMap((name) => [
      [name, 'this source', { exclude: ['one', 'two'] }],
      [name, 'another source', { exclude: ['one', 'two'] }],
      [name, 'this source', { quickCheck: true }],
      // Some of them have `a` or an entry of it, and others do not.
      ...[1, 2, 3, 4, 5, 6].map((part) => [name, 'this source', { shard: `${part}/6` }]),
    ]) as [FileSystemName, string, CopyOptions][],
  )('a run that proves nothing does not hide it: %s, %s, %j', async (row, context) => {
    const [name, source, options] = row;
    const disk = mounts.get(name)?.(context) ?? '';
    const place = join(disk, `hidden ${source} ${JSON.stringify(options).replace('/', ' of ')}`);
    [src, dest] = [`${place} src`, `${place} dest`];
    const other = `${src} other`;
    for (const root of [src, other]) make(root, { 'a/one': '1', 'a/two': '2' });
    await tick();
    await mirror(src);
    exchangeNames(join(dest, 'a/one'), join(dest, 'a/two'));
    await tick();
    await copyTree(source === 'this source' ? src : other, dest, { sync: true, ...options });
    await mirror(src);
    expect(contents(dest)).toEqual(contents(src));
  });

  test.for(fileSystemNames)('%s', async (name, context) => {
    const disk = mounts.get(name)?.(context) ?? '';
    [src, dest] = [join(disk, 'exchange src'), join(disk, 'exchange dest')];
    make(src, { 'a/one': '1', 'a/two': '2', 'b/three': '3', 'b/four': '4' });
    await tick();
    await mirror(src);
    for (const root of [src, dest, src, dest]) {
      for (const [one, other] of [
        ['a/one', 'a/two'],
        ['a/one', 'b/three'],
      ] as const) {
        exchangeNames(join(root, one), join(root, other));
        await tick();
        await copyTree(src, dest, { sync: true, preserve: ['timestamps'] });
        expect(contents(dest)).toEqual(contents(src));
        await mirror(src);
        expect(contents(dest)).toEqual(contents(src));
      }
    }
  });

  test('layers of an overlay that were exchanged', async (context) => {
    needRoot(context);
    make(room, { 'top/lib/new': 'n', 'one/lib/p': '1', 'other/lib/p': '2' });
    mkdirSync(src);
    await tick();
    for (const layer of ['one', 'other', 'one']) {
      const layers = `lowerdir=${join(room, 'top')}:${join(room, layer)}`;
      await whileMounted(['-t', 'overlay', 'overlay', '-o', layers], src, async () => {
        await mirror(src);
        expect(contents(dest)).toEqual(contents(src));
      });
    }
  });

  test('a layer of an overlay that DEST is', async (context) => {
    needRoot(context);
    make(src, { 'lib/p': '1' });
    make(room, { 'one/lib/p': '1', 'other/lib/p': '2' });
    const [upper, scratch] = [join(room, 'upper'), join(room, 'scratch')];
    for (const directory of [dest, upper, scratch]) mkdirSync(directory);
    await tick();
    for (const layer of ['one', 'other']) {
      const layers = `lowerdir=${join(room, layer)},upperdir=${upper},workdir=${scratch}`;
      await whileMounted(['-t', 'overlay', 'overlay', '-o', layers], dest, async () => {
        await mirror(src);
        expect(contents(dest)).toEqual(contents(src));
      });
    }
  });
});

describe('hard links that only DEST has', () => {
  test.for<CopyOptions>([
    { mirror: true },
    { sync: true, preserve: true },
    { mirror: true, checksum: true },
  ])('are broken: %j', async (options) => {
    make(src, { 'a/one': '1', 'a/two': '1', 'b/three': '1' });
    linkSync(join(src, 'a/one'), join(src, 'b/linked'));
    await tick();
    await copyTree(src, dest, options);
    for (const name of ['a/two', 'b/three']) {
      rmSync(join(dest, name));
      linkSync(join(dest, 'a/one'), join(dest, name));
    }
    await copyTree(src, dest, options);
    const inodes = ['a/one', 'a/two', 'b/three'].map((name) => lstatSync(join(dest, name)).ino);
    expect(new Set(inodes).size).toBe(3);
    expect(contents(dest)).toEqual(contents(src));
    if (!options.preserve) return;
    const { differences } = await compareTrees(src, dest, { preserve: true });
    expect(differences).toEqual([]);
  });
});

describe('a mark says nothing about', () => {
  test('what was not selected', async () => {
    make(src, { 'a/kept.log': 'n', 'a/file': '1' });
    make(dest, { 'a/kept.log': 'o', 'a/file': '1' });
    await tick();
    await mirror(src, { exclude: ['**/*.log'] });
    expect(readFileSync(join(dest, 'a/kept.log'), 'latin1')).toBe('oooooooo');
    await mirror(src);
    expect(contents(dest)).toEqual(contents(src));
  });

  test('what a quick check took for the same', async () => {
    make(src, { 'a/file': '1' });
    make(dest, { 'a/file': '0' });
    await tick();
    expect(await mirror(src, { quickCheck: true })).toMatchObject({ files: 0, unchanged: 1 });
    expect(await mirror(src)).toMatchObject({ files: 1 });
    expect(contents(dest)).toEqual(contents(src));
  });

  test('what failed', async (context) => {
    needRoot(context);
    make(src, { 'a/file': 'n', 'a/other': '1' });
    make(dest, { 'a/file': 'o' });
    await tick();
    // A mount keeps the file from being replaced, and leaves its ctime alone.
    const file = join(dest, 'a/file');
    await whileMounted(['--bind', file], file, async () => {
      const result = await mirror(src, { onError: 'continue' });
      expect(result).toMatchObject({ errorCount: 1, files: 1 });
    });
    expect(await mirror(src)).toMatchObject({ files: 1 });
    expect(contents(dest)).toEqual(contents(src));
  });

  test('what another shard has to do', async () => {
    const files = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`a/${i}`, 'n']));
    make(src, files);
    make(dest, Object.fromEntries(Object.keys(files).map((name) => [name, 'o'])));
    await tick();
    await copyTree(src, dest, { sync: true, shard: '1/2' });
    await copyTree(src, dest, { sync: true });
    expect(contents(dest)).toEqual(contents(src));
  });

  test('what another copy wrote meanwhile', async () => {
    const other = join(room, 'other');
    const files = Array.from({ length: 400 }, (_, i) => `a/${i}`);
    make(src, Object.fromEntries(files.map((name) => [name, 's'])));
    make(other, Object.fromEntries(files.map((name) => [name, 'o'])));
    await tick();
    for (let i = 0; i < 5; i++) {
      // Not mirrors: each would remove what the other is about to rename.
      await Promise.all([src, other].map((from) => copyTree(from, dest, { sync: true })));
      const from = i % 2 === 0 ? src : other;
      await mirror(from);
      expect(contents(dest)).toEqual(contents(from));
    }
  });
});

describe('the mark', () => {
  test('saves reading, until somebody changes something', async (context) => {
    make(src, { 'a/one': '1', 'a/two': '2' });
    await tick();
    await mirror(src);
    expect(await readsContents(context)).toBe(false);
    write(join(src, 'a/one'), '3');
    expect(await readsContents(context)).toBe(true);
    expect(await readsContents(context)).toBe(false);
    expect(contents(dest)).toEqual(contents(src));
  });

  test('is read where the owner may not read', async (context) => {
    needUser(context);
    needTool(context, 'strace');
    make(src, { 'a/one': '1' });
    execFileSync('chown', ['-R', `${USER}:${USER}`, room]);
    await tick();
    await copyInChild({ src, dest, options: { sync: true } }, asUser);
    execFileSync('chmod', ['300', join(dest, 'a')]);
    const log = join(room, 'strace');
    const words = ['strace', '-f', '-qq', '-y', '-o', log, '-e', 'trace=pread64', ...asUser];
    await copyInChild({ src, dest, options: { sync: true, preserve: false } }, words);
    expect(readFileSync(log, 'utf8')).not.toContain(`<${dest}/`);
    expect(lstatSync(join(dest, 'a')).mode & 0o777).toBe(0o300);
  });

  test('is read through a directory that may not be written', async (context) => {
    make(src, { 'a/one': '1' });
    execFileSync('chmod', ['555', join(src, 'a')]);
    await tick();
    await mirror(src);
    expect(await readsContents(context)).toBe(false);
  });

  const marks = (path: string): string =>
    execFileSync('getfattr', ['-m', 'fastcp', '--absolute-names', path], { encoding: 'utf8' });

  test('is not copied, and proves nothing that a copy without sync wrote', async (context) => {
    needTool(context, 'getfattr');
    make(src, { 'a/one': '1' });
    await mirror(src);
    expect(marks(join(dest, 'a'))).toContain('user.fastcp.mark');
    const copy = join(room, 'copy');
    await copyTree(dest, copy, { preserve: true });
    expect(marks(join(copy, 'a'))).toBe('');
    await copyTree(src, dest, { dryRun: true });
    expect(marks(join(dest, 'a'))).toContain('user.fastcp.mark');
    const other = join(room, 'other');
    make(other, { 'a/one': '2' });
    await copyTree(other, dest, { preserve: true });
    expect(marks(join(dest, 'a'))).toContain('user.fastcp.mark');
    await mirror(src);
    expect(contents(dest)).toEqual(contents(src));
  });

  test('is not written in a dry run, nor by a plain copy', async (context) => {
    needTool(context, 'getfattr');
    make(src, { 'a/one': '1' });
    make(dest, { 'a/one': '1' });
    await mirror(src, { dryRun: true });
    expect(marks(join(dest, 'a'))).toBe('');
    await copyTree(src, join(room, 'plain'));
    expect(marks(join(room, 'plain/a'))).toBe('');
  });
});

const mounts = new Map(fileSystemNames.map((name) => [name, useFileSystem(work, name)]));

describe('times that are not the same', () => {
  const set = (path: string, time: string): void => {
    execFileSync('touch', ['-d', time, path]);
  };
  const mtime = (path: string): bigint => lstatSync(path, { bigint: true }).mtimeNs;

  test.for(fileSystemNames)('are set, to the nanosecond: %s', async (name, context) => {
    const disk = mounts.get(name)?.(context) ?? '';
    [src, dest] = [join(disk, 'times src'), join(disk, 'times dest')];
    make(src, { a: '1' });
    set(join(src, 'a'), '2001-02-03 04:05:07.123456789Z');
    await mirror(src);
    for (const other of ['07', '06', '07.123456', '07.1234567', '07.123456788', '08']) {
      set(join(dest, 'a'), `2001-02-03 04:05:${other}Z`);
      expect(await mirror(src, { dryRun: true }), other).toMatchObject({ unchanged: 1 });
      await mirror(src);
      expect(mtime(join(dest, 'a')), other).toBe(mtime(join(src, 'a')));
    }
  });

  test('but not again and again where the file system counts seconds', async (context) => {
    needRoot(context);
    const image = makeImage(context, 'ext4', '-I', '128');
    const disk = mkdirAt(join(room, 'disk'));
    await whileMounted(['-o', 'loop', image], disk, async () => {
      dest = join(disk, 'dest');
      make(src, { 'a/file': '1', 'a/b/other': '2' });
      set(join(src, 'a/file'), '2001-02-03 04:05:07.123456789Z');
      await mirror(src);
      const entries: string[] = [];
      const job = copyTree(src, dest, { mirror: true, entries: true });
      for await (const event of job) if (event.type === 'entry') entries.push(event.action);
      expect(new Set(entries)).toEqual(new Set(['skip']));
      // Within one second nothing is proven.
      write(join(src, 'a/b/other'), '3');
      await mirror(src);
      expect(readFileSync(join(dest, 'a/b/other'), 'latin1')).toBe('33333333');
      set(join(dest, 'a/file'), '2001-02-03 04:05:06Z');
      await mirror(src);
      expect(mtime(join(dest, 'a/file'))).toBe(981_173_107_000_000_000n);
    });
  });
});

/** Three sources, two copies, and all that may happen to them between runs. */
class World {
  readonly sources: string[];
  readonly copies: string[];
  readonly #random: Random;

  constructor(
    readonly root: string,
    random: Random,
  ) {
    this.#random = random;
    this.sources = ['s0', 's1', 's2'].map((name) => join(root, name));
    this.copies = ['d0', 'd1'].map((name) => join(root, name));
    for (const source of this.sources) {
      mkdirSync(source, { recursive: true });
      for (let i = 0; i < 25; i++) this.#add(source);
    }
  }

  #letter = (): string => this.#random.pick([...'abc']);

  #paths(root: string, kind: 'file' | 'directory'): string[] {
    return readdirSync(root, { withFileTypes: true, recursive: false }).flatMap((entry) => {
      const path = join(root, entry.name);
      if (!entry.isDirectory()) return kind === 'file' && entry.isFile() ? [path] : [];
      return [...(kind === 'directory' ? [path] : []), ...this.#paths(path, kind)];
    });
  }

  #directory(root: string): string {
    const all = [root, root, ...this.#paths(root, 'directory')];
    return this.#random.pick(all);
  }

  #add(root: string): void {
    const path = join(this.#directory(root), `n${this.#random.below(6)}`);
    if (existsSync(path)) return;
    if (this.#random.chance(25)) mkdirSync(path);
    else write(path, this.#letter());
  }

  /** Something that a person, a package manager or a deployment does to a tree. */
  #change(root: string): void {
    const random = this.#random;
    const files = this.#paths(root, 'file');
    const directories = this.#paths(root, 'directory');
    const from = random.pick(this.sources);
    const what = random.below(13);
    if (files.length < 3 || directories.length < 2 || what < 2) {
      this.#add(root);
      return;
    }
    const [one, other] = [random.pick(files), random.pick(files)];
    const [dir, otherDir] = [random.pick(directories), random.pick(directories)];
    const nested = `${otherDir}/`.startsWith(`${dir}/`) || `${dir}/`.startsWith(`${otherDir}/`);
    if (what < 5) write(one, this.#letter());
    else if (what === 5) renameSync(one, other);
    else if (what === 6 && one !== other) random.pick([swap, exchangeNames])(one, other);
    else if (what === 7 && !nested) random.pick([swap, exchangeNames])(dir, otherDir);
    else if (what === 8 && !nested) {
      rmSync(dir, { recursive: true });
      renameSync(otherDir, dir);
    } else if (what === 9) {
      rmSync(one);
      linkSync(other === one ? random.pick(this.#paths(root, 'file')) : other, one);
    } else if (what === 10) {
      // Unpacked beside, and moved in.
      const beside = join(this.root, 'beside');
      cpSync(random.pick([from, this.#directory(from)]), beside, { recursive: true });
      for (const path of this.#paths(beside, 'file')) write(path, this.#letter());
      rmSync(dir, { recursive: true });
      renameSync(beside, dir);
    } else if (what === 11) {
      // With times, xattrs and all: marks too.
      const beside = join(this.root, 'beside');
      execFileSync('cp', ['-a', dir, beside]);
      rmSync(otherDir, { recursive: true });
      if (existsSync(dirname(otherDir))) renameSync(beside, otherDir);
      else rmSync(beside, { recursive: true });
    } else if (what === 12) rmSync(random.pick([one, dir]), { recursive: true });
  }

  /** A run after which DEST may differ. It must not hide anything from the next one. */
  #unfinished(from: string, to: string, options: CopyOptions): () => Promise<unknown> {
    const random = this.#random;
    const other = random.pick(this.sources);
    const shards = 1 + random.below(6);
    const shard = `${1 + random.below(shards)}/${shards}`;
    const milliseconds = random.below(4);
    const run = (src: string, more: CopyOptions) => copyTree(src, to, { ...options, ...more });
    const { mirror: _, dereference, exclude = [], ...rest } = options;
    return random.pick([
      () => run(from, { quickCheck: true }),
      () => copyTree(from, to, { ...rest, exclude, sync: true, shard }),
      () => copyTree(from, to, { ...rest, sync: false, preserve: true, force: false }),
      () => copyTree(from, to, { ...rest, sync: false, preserve: true, update: true }),
      () => Promise.allSettled([run(from, {}), run(other, {})]),
      () => run(from, { signal: AbortSignal.timeout(milliseconds) }).catch(() => {}),
    ]);
  }

  async step(): Promise<void> {
    const random = this.#random;
    for (let i = random.below(4); i > 0; i--) {
      const root = random.pick([...this.sources, ...this.sources, ...this.copies]);
      if (existsSync(root)) this.#change(root);
    }
    if (random.chance(8)) swap(this.sources[0] ?? '', this.sources[1] ?? '');
    const [from, to] = [random.pick(this.sources), random.pick(this.copies)];
    const exclude = random.chance(20) ? [`**/n${random.below(6)}`] : [];
    const options: CopyOptions = {
      [random.chance(70) ? 'mirror' : 'sync']: true,
      ...(exclude.length > 0 && { exclude }),
      ...(random.chance(20) && { preserve: true }),
      ...(random.chance(10) && { dereference: true }),
      concurrency: 1 + random.below(3),
      onError: 'continue',
    };
    const unfinished = random.chance(20) && this.#unfinished(from, to, options);
    if (unfinished) {
      await unfinished();
      return;
    }
    await copyTree(from, to, options);
    const [expected, found] = [contents(from), contents(to)];
    for (const [path, content] of Object.entries(expected)) {
      const names = path.split('/');
      if (exclude.some((glob) => names.includes(glob.slice(3)))) continue;
      // A file over a directory that is excluded, or not empty, is an error, and stays.
      if (found[path] === '/' || content === '/') continue;
      if (names.some((_, i) => found[names.slice(0, i).join('/')]?.length === 8)) continue;
      expect(found[path], `${path} in ${JSON.stringify(options)}`).toBe(content);
    }
    if (!options.mirror || exclude.length > 0) return;
    expect(found).toEqual(expected);
    // No two files of SRC are one in DEST.
    const sources = new Map<bigint, bigint>();
    for (const path of options.dereference ? [] : this.#paths(from, 'file')) {
      const source = lstatSync(path, { bigint: true }).ino;
      const copy = lstatSync(join(to, relative(from, path)), { bigint: true }).ino;
      expect(sources.get(copy) ?? source, `${path} in ${JSON.stringify(options)}`).toBe(source);
      sources.set(copy, source);
    }
  }
}

const steps = size(20, 120);

describe(`${steps} random steps, seed ${seed}: nothing is stale`, () => {
  test.for(fileSystemNames)('%s', { timeout: 1_200_000 }, async (name, context) => {
    const disk = mounts.get(name)?.(context) ?? '';
    const world = new World(join(disk, 'world'), new Random(seed));
    for (let step = 0; step < steps; step++) {
      await world.step().catch((error: Error) => {
        error.message = `step ${step}, seed ${seed}: ${error.message}`;
        throw error;
      });
    }
  });
});
