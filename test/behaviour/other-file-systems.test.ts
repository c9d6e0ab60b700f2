import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { type CopyOptions, copyTree, doctor } from '../../lib/index.js';
import { useMount } from '../support/filesystems.js';
import { makeFiles } from '../support/trees.js';
import { workDirectory } from '../support/work.js';

// File systems on which a copy ends now and then: of other systems, of old disks, in user space, that nobody can write
// to. docs/doctor.md has the table. The usual ones have tests of their own: filesystems.test.ts.

const work = workDirectory('other-file-systems');
const src = join(work, 'src');
const run = (file: string, ...args: string[]): string =>
  execFileSync(file, args, { stdio: 'pipe', encoding: 'utf8' });

interface Row {
  needs: string[];
  /** Makes the image, which has 128 MiB if it exists, and mounts it. */
  mount: (image: string, directory: string) => void;
  /** What the file system lacks. */
  lacks: ('exchange' | 'marks' | 'modes' | 'symlinks')[];
  /** Case does not matter. */
  folds?: true;
}

const onLoop =
  (maker: string[], type: string[] = []) =>
  (image: string, directory: string): void => {
    writeFileSync(image, '');
    truncateSync(image, 128 * 2 ** 20);
    const [file = '', ...flags] = maker;
    run(file, ...flags, image);
    run('mount', ...type, '-o', 'loop', image, directory);
  };

const rows: Record<string, Row> = {
  ext2: { needs: ['mkfs.ext2'], mount: onLoop(['mkfs.ext2', '-q', '-F']), lacks: [] },
  // whole seconds
  'ext4 with inodes of 128 bytes': {
    needs: ['mkfs.ext4'],
    mount: onLoop(['mkfs.ext4', '-q', '-F', '-I', '128']),
    lacks: [],
  },
  'NTFS by ntfs-3g': {
    needs: ['mkfs.ntfs', 'mount.ntfs-3g'],
    mount: onLoop(['mkfs.ntfs', '-q', '-F'], ['-t', 'ntfs-3g']),
    lacks: ['exchange', 'marks', 'modes'],
  },
  'exFAT by exfat-fuse': {
    needs: ['mkfs.exfat', 'mount.exfat-fuse'],
    mount: onLoop(['mkfs.exfat'], ['-t', 'exfat-fuse']),
    lacks: ['exchange', 'marks', 'modes', 'symlinks'],
    folds: true,
  },
  'FUSE without extended attributes': {
    needs: ['bindfs'],
    mount: (image, directory) => {
      mkdirSync(image);
      run('bindfs', '--xattr-none', image, directory);
    },
    lacks: ['exchange', 'marks'],
  },
};

const readOnly: Record<string, Row> = {
  squashfs: {
    needs: ['mksquashfs'],
    mount: (image, directory) => {
      run('mksquashfs', src, image, '-quiet', '-no-progress');
      run('mount', '-o', 'loop', image, directory);
    },
    lacks: [],
  },
  erofs: {
    needs: ['mkfs.erofs'],
    mount: (image, directory) => {
      run('mkfs.erofs', image, src);
      run('mount', '-o', 'loop', image, directory);
    },
    lacks: [],
  },
};

beforeAll(() => {
  makeFiles(src, {
    'a file': 'x',
    'one/two/three': 'y',
    empty: '',
    'large/300 KiB': 'z'.repeat(3e5),
  });
  for (let i = 0; i < 100; i++) writeFileSync(join(src, 'one', `${i}`), `${i}`);
  writeFileSync(join(src, 'script'), '#!/bin/sh\n', { mode: 0o755 });
  writeFileSync(join(src, 'holes'), 'begin');
  truncateSync(join(src, 'holes'), 2 ** 20);
  mkdirSync(join(src, 'nothing'));
  // Not at a whole second, nor at an even one.
  utimesSync(join(src, 'a file'), 1_000_000_001.123, 1_000_000_001.123);
});

function useRow(name: string, { needs, mount }: Row): ReturnType<typeof useMount> {
  const directory = join(work, name);
  return useMount(directory, needs, () => mount(`${directory}.image`, directory));
}

const expectSame = (one: string, other: string): void => {
  expect(run('diff', '--recursive', '--no-dereference', one, other)).toBe('');
};
const listing = (directory: string, format: string): string[] =>
  run('find', directory, '-printf', `%P ${format}\n`).split('\n').sort();

describe.each(Object.entries(rows))('to %s', (name, row) => {
  const directoryOf = useRow(name, row);
  const lacks = (what: Row['lacks'][0]): boolean => row.lacks.includes(what);

  test('what doctor says', async (context) => {
    const [found] = (await doctor(directoryOf(context))).directories;
    const works = (what: Row['lacks'][0]): unknown => (lacks(what) ? expect.any(String) : true);
    expect(found?.can).toMatchObject({
      exchange: works('exchange'),
      symlinks: works('symlinks'),
      marks: works('marks'),
    });
  });

  test.for([{}, { preserve: true }])('a copy, twice, %o', async (options, context) => {
    const dest = join(directoryOf(context), `copy ${Object.keys(options)}`);
    for (const _ of [1, 2]) {
      const { warnings } = await copyTree(src, dest, { ...options, verify: true });
      expect(warnings).toEqual([]);
      expectSame(src, dest);
    }
    if (!lacks('modes')) expect(listing(dest, '%m')).toEqual(listing(src, '%m'));
    const seconds = '%Ts';
    if ('preserve' in options) expect(listing(dest, seconds)).toEqual(listing(src, seconds));
  });

  test.for([{}, { preserve: true }])(
    'a mirror, twice: nothing is copied again, %o',
    async (options, context) => {
      const dest = join(directoryOf(context), `mirror ${Object.keys(options)}`);
      makeFiles(dest, { extra: '', 'one/extra': '' });
      const { files } = await copyTree(src, dest, { mirror: true, ...options });
      expect(await copyTree(src, dest, { mirror: true, ...options })).toMatchObject({
        files: 0,
        unchanged: files,
      });
      expectSame(src, dest);
      // The same size, at the same time.
      makeFiles(dest, { 'one/two/three': 'n' });
      const { atime, mtime } = statSync(join(src, 'one/two/three'));
      utimesSync(join(dest, 'one/two/three'), atime, mtime);
      expect(await copyTree(src, dest, { mirror: true, ...options })).toMatchObject({ files: 1 });
      expectSame(src, dest);
    },
  );

  test('atomic', async (context) => {
    const dest = join(directoryOf(context), 'atomic');
    const atomic = lacks('exchange') ? 'two-step' : true;
    if (lacks('exchange')) {
      await expect(copyTree(src, dest, { atomic: true })).rejects.toThrow('cannot exchange');
      expect(existsSync(dest)).toBe(false);
    }
    for (const _ of [1, 2]) {
      await copyTree(src, dest, { atomic });
      expectSame(src, dest);
    }
  });

  test('symlinks', async (context) => {
    const dest = join(directoryOf(context), 'symlinks');
    const from = join(work, `symlinks to ${name}`);
    makeFiles(from, { file: 'x' });
    symlinkSync('file', join(from, 'symlink'));
    const copying = copyTree(from, dest, { onError: 'continue' });
    const { errors } = await copying;
    if (lacks('symlinks'))
      expect(errors).toMatchObject([{ syscall: 'symlink', path: join(from, 'symlink') }]);
    else expectSame(from, dest);
  });
});

const folding = Object.entries(rows).filter(([, { folds }]) => folds);

// Each spelling of a name has an inode number of its own there.
describe.each(folding)('in two spellings, on %s', (name, row) => {
  const directoryOf = useRow(`${name} twice`, row);

  test.for<[string, string, CopyOptions]>([
    ['P/Sub', 'p', { atomic: 'two-step' }],
    ['P/Sub', 'p', { mirror: true }],
    ['p/sub', 'P', { mirror: true }],
    ['p', 'P', {}],
    ['p', 'P/sub/', {}],
    ['P', 'p/SUB/new', {}],
    ['P', 'p', { mirror: true }],
    ['P', 'p', { atomic: 'two-step' }],
  ])('%s to %s is refused, %o', async ([from, to, options], context) => {
    const parent = join(
      directoryOf(context),
      `${from} ${to} ${Object.keys(options)}`.replaceAll('/', ' '),
    );
    makeFiles(parent, { 'P/Sub/file': 'x', 'P/other': 'y' });
    const dest = to.endsWith('/') ? `${join(parent, to)}/` : join(parent, to);
    const refused = /^ERR_FS_CP_EINVAL|^ERR_FASTCP_DEST_PROTECTED/;
    const copying = copyTree(join(parent, from), dest, options);
    await expect(copying).rejects.toMatchObject({ code: expect.stringMatching(refused) });
    expect(listing(parent, '%y')).toEqual([
      '',
      ' d',
      'P d',
      'P/Sub d',
      'P/Sub/file f',
      'P/other f',
    ]);
    expect(readFileSync(join(parent, 'P/Sub/file'), 'utf8')).toBe('x');
  });

  test('a mirror after a change of case in SRC deletes nothing', async (context) => {
    const from = join(work, `case of ${name}`);
    const dest = join(directoryOf(context), 'mirrored');
    makeFiles(from, { 'directory/in': '1', file: '2' });
    await copyTree(from, dest, { mirror: true });
    for (const entry of ['file', 'directory'])
      renameSync(join(from, entry), join(from, entry.toUpperCase()));
    makeFiles(dest, { 'directory/extra': '', extra: '' });
    const first = await copyTree(from, dest, { mirror: true });
    expect(first).toMatchObject({ files: 0, deleted: 2, errorCount: 0 });
    const second = await copyTree(from, dest, { mirror: true });
    expect(second).toMatchObject({ files: 0, unchanged: 2, deleted: 0, errorCount: 0 });
    for (const [entry, content] of Object.entries({ 'directory/in': '1', file: '2' }))
      expect(readFileSync(join(dest, entry), 'utf8')).toBe(content);
  });
});

describe.each(Object.entries(readOnly))('from %s', (name, row) => {
  const directoryOf = useRow(name, row);

  test.for([
    { preserve: true },
    { preserve: true, mirror: true },
    { atomic: true },
    { verify: true },
  ])('%o, twice', async (options, context) => {
    const from = directoryOf(context);
    const dest = join(work, `from ${name} ${JSON.stringify(options)}`);
    for (const _ of [1, 2]) {
      await copyTree(from, dest, options);
      expectSame(from, dest);
      expect(listing(dest, '%m %l')).toEqual(listing(from, '%m %l'));
    }
  });
});
