import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { copyTree } from '../../lib/index.js';
import type { CopyOptions } from '../../lib/types.js';
import { copyInChild } from '../support/child.js';
import { differences, leftovers, readTree, type Tree } from '../support/compare.js';
import { useFileSystem, whileMounted } from '../support/filesystems.js';
import { makeFiles, makeSocketCommand } from '../support/trees.js';
import { needRoot, needTool, workDirectory } from '../support/work.js';

// What happens where DEST has an entry already: force, errorOnExist, and kind against kind.

const work = workDirectory('conflicts');
let at: string;
let src: string;
let dest: string;
let number = 0;

beforeEach(() => {
  at = join(work, `${number++}`);
  src = join(at, 'src');
  dest = join(at, 'dest');
  // Outside DEST, and what nothing in it may change.
  makeFiles(at, { 'outside/kept': 'kept', 'outside/entry/kept': 'kept' });
  mkdirSync(src);
  mkdirSync(dest);
});

const kinds = {
  file: 'printf new > entry; chmod 640 entry',
  symlink: 'ln -s target entry',
  fifo: 'mkfifo -m 604 entry',
  directory: 'mkdir entry; printf new > entry/child; ln -s t entry/link',
};

const present = {
  'a file': 'printf old > entry; chmod 444 entry',
  'a link to a file': 'ln -s ../outside/kept entry',
  'a link outside': 'ln -s ../outside entry',
  'a dangling link': 'ln -s ../nowhere entry',
  'a FIFO': 'mkfifo entry',
  'a socket': makeSocketCommand('entry'),
  'a linked file': 'ln ../outside/kept entry',
  'a directory': 'mkdir entry; printf old > entry/child; printf old > entry/other',
  'an empty directory': 'mkdir entry',
};

const rules = {
  default: {},
  'no force': { force: false },
  'error on exist': { force: false, errorOnExist: true },
  'force, error on exist': { force: true, errorOnExist: true },
} satisfies Record<string, CopyOptions>;

type Outcome = 'replaced' | 'kept' | 'skipped' | 'merged' | `ERR_${string}`;

/** The whole rule, told once more. */
function expectedOutcome(kind: string, there: string, rule: keyof typeof rules): Outcome {
  const directoryThere = there.endsWith('directory');
  const special = there === 'a FIFO' || there === 'a socket';
  if (kind === 'directory' && special) return 'ERR_FASTCP_DEST_IS_SPECIAL';
  if (kind === 'directory') return directoryThere ? 'merged' : 'ERR_FS_CP_DIR_TO_NON_DIR';
  if (rule === 'no force') return 'skipped';
  if (directoryThere) return 'ERR_FS_CP_NON_DIR_TO_DIR';
  if (rule === 'error on exist') return 'ERR_FS_CP_EEXIST';
  if (there === 'a FIFO' && kind === 'fifo') return 'kept';
  return special ? 'ERR_FASTCP_DEST_IS_SPECIAL' : 'replaced';
}

const rows = Object.keys(rules).flatMap((rule) =>
  Object.keys(kinds).flatMap((kind) =>
    Object.keys(present).map((there) => {
      const outcome = expectedOutcome(kind, there, rule as keyof typeof rules);
      return [rule, kind, there, outcome] as [
        keyof typeof rules,
        keyof typeof kinds,
        keyof typeof present,
        Outcome,
      ];
    }),
  ),
);

const make = (directory: string, command: string): void => {
  execFileSync('sh', ['-ec', `umask 022; ${command}`], { cwd: directory });
};

/** All but allocation, and which inode each name is. */
const look = (root: string): Tree =>
  new Map([...readTree(root)].map(([name, entry]) => [name, { ...entry, allocated: 0n }]));

test.each(rows)('%s: %s over %s: %s', async (rule, kind, there, outcome) => {
  make(src, `${kinds[kind]}; printf beside > beside`);
  make(dest, present[there]);
  const outside = look(join(at, 'outside'));
  const before = look(dest);
  const options = { ...rules[rule], onError: 'continue' } as const;
  const result = await copyTree(src, dest, options);

  expect(look(join(at, 'outside'))).toEqual(outside);
  expect(leftovers(dest)).toEqual([]);
  expect(readFileSync(join(dest, 'beside'), 'utf8')).toBe('beside');
  const after = look(dest);
  if (outcome === 'replaced' || outcome === 'kept') {
    expect(differences(src, dest)).toEqual([]);
    expect(result).toMatchObject({ errorCount: 0, unchanged: outcome === 'kept' ? 1 : 0 });
    const [inode, old] = [after, before].map((tree) => tree.get('entry')?.inode);
    expect(inode === old).toBe(outcome === 'kept');
    return;
  }
  if (outcome === 'merged') {
    const children = rule === 'default' || rule.startsWith('force') ? 'new' : 'old';
    const expected = there === 'a directory' ? children : 'new';
    expect(readFileSync(join(dest, 'entry/child'), 'utf8')).toBe(expected);
    expect(readlinkSync(join(dest, 'entry/link'))).toBe('t');
    if (there === 'a directory')
      expect(readFileSync(join(dest, 'entry/other'), 'utf8')).toBe('old');
    if (expected === 'new') expect(result.errorCount).toBe(0);
    return;
  }
  for (const name of ['', 'beside']) {
    before.delete(name);
    after.delete(name);
  }
  expect(after).toEqual(before);
  expect(result).toMatchObject(
    outcome === 'skipped' ? { skipped: 1, errorCount: 0 } : { skipped: 0, errorCount: 1 },
  );
  if (outcome === 'skipped') return;
  const [path, destination] = [join(src, 'entry'), join(dest, 'entry')];
  const message = `cp '${path}' -> '${destination}'`;
  expect(result.errors).toMatchObject([
    {
      code: outcome,
      syscall: 'cp',
      path,
      dest: destination,
      message: expect.stringContaining(message),
    },
  ]);
});

describe('as SRC and DEST themselves', () => {
  test.each(rows.filter(([rule]) => rule === 'default' || rule === 'error on exist'))(
    '%s: %s over %s',
    async (rule, kind, there, outcome) => {
      make(src, kinds[kind]);
      make(dest, present[there]);
      const outside = look(join(at, 'outside'));
      const [from, to] = [join(src, 'entry'), join(dest, 'entry')];
      const copy = copyTree(from, to, rules[rule]);
      if (kind !== 'directory' && kind !== 'symlink' && there === 'a link outside') {
        await expect(copy).rejects.toMatchObject({ code: 'ERR_FS_CP_NON_DIR_TO_DIR' });
        expect(readlinkSync(to)).toBe('../outside');
        expect(look(join(at, 'outside'))).toEqual(outside);
        return;
      }
      if (kind === 'directory' && there === 'a link outside') {
        await copy; // DEST's own link is followed
        expect(readlinkSync(to)).toBe('../outside');
        expect(readFileSync(join(at, 'outside/child'), 'utf8')).toBe('new');
        return;
      }
      if (kind === 'directory' && there === 'a dangling link') {
        await expect(copy).rejects.toMatchObject({ path: from, dest: to });
        expect(readlinkSync(to)).toBe('../nowhere');
        expect(readdirSync(at).sort()).toEqual(['dest', 'outside', 'src']);
        return;
      }
      if (outcome.startsWith('ERR')) await expect(copy).rejects.toMatchObject({ code: outcome });
      else if (outcome === 'merged' && rule === 'error on exist' && there === 'a directory') {
        await expect(copy).rejects.toMatchObject({ code: 'ERR_FS_CP_EEXIST' });
      } else await copy;
      if (outcome === 'replaced' && kind === 'symlink') expect(readlinkSync(to)).toBe('target');
      if (outcome === 'replaced' && kind === 'file') expect(readFileSync(to, 'utf8')).toBe('new');
      if (outcome === 'replaced' && kind === 'fifo') expect(lstatSync(to).isFIFO()).toBe(true);
      expect(look(join(at, 'outside'))).toEqual(outside);
      expect(leftovers(dest)).toEqual([]);
    },
  );
});

test('a link deep in DEST leads nothing outside', async () => {
  makeFiles(src, { 'a/entry/kept': 'new', 'a/entry/more': 'new', 'a/x': 'x' });
  make(dest, 'mkdir a; ln -s ../../outside/entry a/entry');
  const outside = look(join(at, 'outside'));
  const result = await copyTree(src, dest, { onError: 'continue' });
  expect(look(join(at, 'outside'))).toEqual(outside);
  expect(result.errors).toMatchObject([{ code: 'ERR_FS_CP_DIR_TO_NON_DIR' }]);
  expect(readlinkSync(join(dest, 'a/entry'))).toBe('../../outside/entry');
  expect(readFileSync(join(dest, 'a/x'), 'utf8')).toBe('x');
});

test('the other name of a replaced file keeps its bytes and its inode', async () => {
  makeFiles(src, { small: 'new', empty: '', large: Buffer.alloc(70 << 20, 'n') });
  make(dest, 'for f in small empty large; do echo old > ../outside/$f; ln ../outside/$f $f; done');
  const outside = look(join(at, 'outside'));
  for (const reflink of ['auto', 'never'] as const) {
    await copyTree(src, dest, { reflink });
    expect(differences(src, dest)).toEqual([]);
    expect(look(join(at, 'outside'))).toEqual(outside);
  }
});

test('the old content stays where its successor fails', async () => {
  makeFiles(src, { file: 'new', 'other/file': 'new' });
  makeFiles(dest, { file: 'old' });
  make(src, 'ln -s / other/link');
  mkdirSync(join(dest, 'other'));
  make(dest, 'mkdir other/file other/link');
  const { errors } = await copyTree(src, dest, { onError: 'continue' });
  expect(errors.map(({ code }) => code)).toEqual(Array(2).fill('ERR_FS_CP_NON_DIR_TO_DIR'));
  expect(leftovers(dest)).toEqual([]);
});

test('twice over links of every sort', async () => {
  make(src, 'mkdir d; ln -s d a; ln -s .. up; ln -s /nowhere b; ln -s ../src c; ln -s e e');
  for (const force of [true, true, false]) {
    const result = await copyTree(src, dest, { force });
    expect(result).toMatchObject(force ? { symlinks: 5, skipped: 0 } : { symlinks: 0, skipped: 5 });
    expect(differences(src, dest)).toEqual([]);
  }
});

describe('two names that are one in DEST, which lists it in small letters', () => {
  const ntfs = useFileSystem(work, 'ntfs', { size: '64M' });
  test.for(['a new directory', 'a directory that exists'])('in %s', async (where, context) => {
    makeFiles(src, { 'sub/Directory/in': '1', 'sub/directORY/in': '2' });
    const to = join(ntfs(context), `${number}`);
    if (where === 'a directory that exists') mkdirSync(join(to, 'sub'), { recursive: true });
    for (const options of [{}, { sync: true }, { mirror: true }]) {
      const { errors } = await copyTree(src, to, { ...options, onError: 'continue' });
      // fastcp cannot know which of the two is there, so later copies report both.
      const codes = new Set(errors.map(({ code }) => code));
      expect([...codes]).toEqual(['ERR_FASTCP_NAME_COLLISION']);
      expect(readdirSync(join(to, 'sub')).length).toBe(1);
    }
    expect(leftovers(to)).toEqual([]);
  });

  test('an older entry with another spelling is replaced', async (context) => {
    makeFiles(join(src, 'sub'), { What: 'new' });
    const to = join(ntfs(context), `${number}`);
    makeFiles(join(to, 'sub'), { wHAT: 'old' });
    expect(await copyTree(src, to)).toMatchObject({ files: 1, errorCount: 0 });
    expect(readFileSync(join(to, 'sub/what'), 'utf8')).toBe('new');
  });

  test('a mirror deletes no entry that has another spelling in DEST', async (context) => {
    const to = join(ntfs(context), `${number}`);
    makeFiles(src, { 'Sub/What': '1', file: '2', 'directory/in': '3' });
    await copyTree(src, to, { mirror: true });
    for (const name of ['file', 'directory'])
      renameSync(join(src, name), join(src, name.toUpperCase()));
    makeFiles(to, { 'sub/extra': '', 'directory/extra': '' });
    const first = await copyTree(src, to, { mirror: true });
    expect(first).toMatchObject({ files: 0, deleted: 2, errorCount: 0 });
    const second = await copyTree(src, to, { mirror: true });
    expect(second).toMatchObject({ files: 0, unchanged: 3, deleted: 0, errorCount: 0 });
    const files = { 'sub/what': '1', file: '2', 'directory/in': '3' };
    for (const [name, content] of Object.entries(files))
      expect(readFileSync(join(to, name), 'utf8')).toBe(content);
  });

  test('names that only look alike are copied', async (context) => {
    const files = { a: '1', 'a.': '2', a_: '3', '\u00e9': '4', 'e\u0301': '5' };
    makeFiles(join(src, 'sub'), files);
    const to = join(ntfs(context), `${number}`);
    expect(await copyTree(src, to)).toMatchObject({ files: 5, errorCount: 0 });
    for (const [name, content] of Object.entries(files)) {
      expect(readFileSync(join(to, 'sub', name), 'utf8')).toBe(content);
    }
  });
});

describe('SRC that lies in DEST is neither replaced nor emptied', () => {
  test('one of several', async () => {
    for (let round = 0; round < 5; round++) {
      for (const root of [src, dest]) rmSync(root, { recursive: true, force: true });
      const [one, two] = [join(src, 'a'), join(dest, 'a/foo')];
      makeFiles(one, { 'foo/0': 'other', 'foo/extra': '' });
      makeFiles(two, Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`${i}`, `${i}`])));
      const before = look(two);
      const { errors } = await copyTree([one, two], `${dest}/`, { onError: 'continue' });
      expect(errors.map(({ code }) => code)).toContain('ERR_FS_CP_EINVAL');
      expect(look(two)).toEqual(before);
      expect(differences(two, join(dest, 'foo'))).toEqual([]);
    }
  });

  const inner = 'ERR_FS_CP_EINVAL';

  test.for<CopyOptions>([
    {},
    { sync: true },
    { concurrency: 1 },
    { force: false },
    { include: '**' },
  ])('by a directory of its own name: %o', async (options) => {
    const from = join(dest, 'x');
    makeFiles(from, Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`f${i}`, 'outer'])));
    makeFiles(join(from, 'x'), { f1: 'inner', f2: 'inner', new: 'inner' });
    const before = look(from);
    const { errors } = await copyTree(from, dest, { ...options, onError: 'continue' });
    expect(errors).toMatchObject([{ code: inner, path: join(from, 'x'), dest: from }]);
    expect(look(from)).toEqual(before);
    expect(readFileSync(join(dest, 'f1'), 'utf8')).toBe('outer');
  });

  // mounts.test.ts tests mirrors.
  test('by a mount of SRC in DEST', async (context) => {
    needRoot(context);
    makeFiles(src, { file: 'x', 'k/inner': 'y' });
    mkdirSync(join(dest, 'k'), { recursive: true });
    const before = look(src);
    await whileMounted(['--bind', src], join(dest, 'k'), async () => {
      const { errors } = await copyTree(src, dest, { onError: 'continue' });
      expect(errors).toMatchObject([{ code: inner, dest: join(dest, 'k') }]);
    });
    expect(look(src)).toEqual(before);
  });
});

describe('symlinks to the files that they would replace: nothing is lost', () => {
  const whole: CopyOptions[] = [{ mirror: true }, { atomic: true }, { atomic: 'two-step' }];
  test.for(
    ['../dest/k', '../hop'].flatMap((target) => whole.map((options) => ({ target, ...options }))),
  )('to a directory that would be replaced or deleted: %o', async ({ target, ...options }) => {
    makeFiles(dest, { 'k/f': 'x' });
    symlinkSync('dest/k', join(at, 'hop'));
    symlinkSync(target, join(src, 'k'));
    for (const dryRun of [true, false]) {
      const { errors } = await copyTree(src, dest, { ...options, dryRun, onError: 'continue' });
      expect(errors.map(({ code }) => code)).toEqual(['ERR_FS_CP_EINVAL']);
    }
    expect(readFileSync(join(dest, 'k/f'), 'utf8')).toBe('x');
  });

  const variants: CopyOptions[] = [
    {},
    { sync: true },
    { mirror: true },
    { backup: 'existing' },
    { symlink: true },
    { preserve: true, dryRun: true },
    { atomic: true },
    { atomic: true, dryRun: true },
  ];
  test.for(variants)('%o', async (options) => {
    const [originals, links] = [join(at, 'originals'), join(at, 'links')];
    makeFiles(originals, { file: 'x', 'directory/inner': 'y', relative: 'z' });
    await copyTree(originals, links, { symlink: true });
    rmSync(join(links, 'relative'));
    symlinkSync('../originals/relative', join(links, 'relative'));
    const before = look(originals);
    const { errors } = await copyTree(links, originals, { ...options, onError: 'continue' });
    expect(errors.map(({ code }) => code)).toEqual(Array(3).fill('ERR_FS_CP_EINVAL'));
    expect(errors[0]?.message).toContain('the symlink leads to the entry that it would replace');
    expect(look(originals)).toEqual(before);
  });
});

test('another copy creates DEST after any look at it', { tags: ['all'] }, async (context) => {
  needTool(context, 'strace');
  makeFiles(src, { 'a/x': 'x' });
  const [to, log] = [join(at, 'new'), join(at, 'log')];
  const slow = ['strace', '-f', '-qq', '-o', log, '-P', to];
  slow.push('-e', 'trace=/^(new)?(l|f)?stat,statx,readlink,readlinkat,openat');
  slow.push('-e', 'inject=all:delay_exit=100000');
  let looks = 0;
  for (let isEarly = true; isEarly; looks++) {
    rmSync(to, { recursive: true, force: true });
    writeFileSync(log, '');
    let isOver = false;
    const copy = copyInChild({ src, dest: to }, slow).finally(() => {
      isOver = true;
    });
    const seen = () => readFileSync(log, 'utf8').split('\n').length - 1;
    while (!isOver && seen() <= looks) await sleep(2);
    isEarly = !isOver && !existsSync(to);
    if (isEarly) mkdirSync(to);
    const { result } = await copy;
    expect(result, `look ${looks}`).toMatchObject({ files: 1, errorCount: 0 });
  }
  expect(looks).toBeGreaterThan(2);
});

test('hundreds of files at once, again and again', async () => {
  const files = Object.fromEntries(
    Array.from({ length: 600 }, (_, i) => [`${i % 7}/${i}`, `${i}`.repeat(i)]),
  );
  makeFiles(src, files);
  for (let round = 0; round < 5; round++) {
    const result = await copyTree(src, dest);
    expect(result).toMatchObject({ files: 600, directories: round === 0 ? 7 : 0, errorCount: 0 });
  }
  expect(differences(src, dest)).toEqual([]);
  expect(leftovers(dest)).toEqual([]);
});

describe('a symlink in the place where a directory lands', () => {
  const outside = (): string => join(dest, '../outside');
  beforeEach(() => {
    makeFiles(src, { file: 'new' });
    makeFiles(outside(), { file: 'precious', other: 'precious' });
  });

  test.for<CopyOptions>([{}, { mirror: true }, { sync: true }, { mirror: true, dryRun: true }])(
    'in DEST it is not followed: %o',
    async (options) => {
      mkdirSync(dest, { recursive: true });
      symlinkSync(outside(), join(dest, 'src'));
      const before = look(outside());
      for (const copy of [
        () => copyTree(src, `${dest}/`, options),
        () => copyTree([src], dest, options),
      ]) {
        await expect(copy()).rejects.toMatchObject({ code: 'ERR_FS_CP_DIR_TO_NON_DIR' });
      }
      expect(look(outside())).toEqual(before);
    },
  );

  test('DEST itself is followed, with and without a slash', async () => {
    rmSync(dest, { recursive: true, force: true });
    symlinkSync(outside(), dest);
    await copyTree(src, dest);
    expect(readFileSync(join(outside(), 'file'), 'utf8')).toBe('new');
    await copyTree(src, `${dest}/`);
    expect(readFileSync(join(outside(), 'src/file'), 'utf8')).toBe('new');
  });
});
