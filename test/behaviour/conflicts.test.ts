import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
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
import { asUser, needUser, USER } from '../support/user.js';
import { isRoot, needRoot, needTool, workDirectory } from '../support/work.js';

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

describe('what somebody else renames to names of a new directory is no collision', () => {
  // Whether DEST takes names for the same is asked by a directory in it; where that is refused, by a listing.
  test.for([true, false])('asked: %s', async (asked, context) => {
    needTool(context, 'strace');
    const names = Array.from({ length: 20 }, (_, i) => `${i}`);
    makeFiles(src, Object.fromEntries(names.map((name) => [`directory/${name}`, 'new'])));
    const directory = join(dest, 'directory');
    const log = join(at, 'log');
    // Listings take their time, so that there is some for renames before and during them.
    const faults = ['inject=getdents64:delay_enter=30000'];
    if (!asked) faults.push('inject=mkdirat:error=EPERM');
    const strace = [
      'strace',
      '-f',
      '-qq',
      '-y',
      '-o',
      log,
      '-P',
      join(src, 'directory'),
      '-P',
      directory,
    ];
    for (const fault of faults) strace.push('-e', fault);
    let ended = false;
    const options = { concurrency: 1 }; // However many cores there are, it takes as long.
    const job = copyInChild({ src, dest, options }, strace).finally(() => {
      ended = true;
    });
    // So many others that a listing takes several calls, with ours in the last one on tmpfs.
    const others = Array.from({ length: 400 }, (_, i) => `other ${i}`);
    let rounds = 0;
    while (!ended) {
      await sleep(rounds ? 100 : 1);
      if (!existsSync(directory)) continue;
      rounds++;
      for (const name of [...names, ...others]) {
        writeFileSync(join(at, 'theirs'), 'theirs');
        renameSync(join(at, 'theirs'), join(directory, name));
      }
    }
    const { error, result } = await job;
    expect(error).toBeUndefined();
    expect(result.files).toBe(20);
    expect(readdirSync(directory).sort()).toEqual([...names, ...others].sort());
    const calls = readFileSync(log, 'utf8');
    const replaced = calls.split('renameat(').length - 1;
    const listings = calls.split(`<${directory}>, ".", `).length - 1;
    expect(replaced).toBeGreaterThan(0);
    // A listing for each name would make a wide directory slow.
    if (asked) expect(listings).toBe(0);
    else expect(listings).toBeGreaterThanOrEqual(replaced);
  });
});

describe('two names that are one in DEST, which lists it in small letters', () => {
  const ntfs = useFileSystem(work, 'ntfs', { size: '64M' });
  const pairs = [
    ['Directory/', 'directORY/'],
    ['Directory/', 'directORY/'],
    ['what', 'What/'],
  ];

  test.for(pairs)('%s and %s', async (names, context) => {
    for (const name of names) {
      makeFiles(src, { [name.endsWith('/') ? `sub/${name}in` : `sub/${name}`]: name });
    }
    const to = join(ntfs(context), `${number}`);
    const { errors } = await copyTree(src, to, { onError: 'continue' });
    expect(errors).toMatchObject([{ code: 'ERR_FASTCP_NAME_COLLISION' }]);
    expect(existsSync(join(to, 'sub', names[0] ?? ''))).toBe(true);
    expect(leftovers(to)).toEqual([]);
  });

  test.for([...pairs, ['file', 'File'], ['File', 'file']])(
    '%s and %s, in a directory that exists',
    async (names, context) => {
      for (const name of names) {
        makeFiles(src, { [name.endsWith('/') ? `sub/${name}in` : `sub/${name}`]: name });
      }
      const to = join(ntfs(context), `${number}`);
      mkdirSync(join(to, 'sub'), { recursive: true });
      for (const options of [{}, { sync: true }, { mirror: true }]) {
        const { errors } = await copyTree(src, to, { ...options, onError: 'continue' });
        // fastcp cannot know which of the two is there, so later copies report both.
        const codes = new Set(errors.map(({ code }) => code));
        expect([...codes]).toEqual(['ERR_FASTCP_NAME_COLLISION']);
        expect(readdirSync(join(to, 'sub')).length).toBe(1);
      }
      expect(leftovers(to)).toEqual([]);
    },
  );

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
  const files = ['../hop', '../dest/k/out'];
  const targets = ['../dest/k', '../dest/k/f', '../dest/k/deep/../deep', ...files];
  const whole: CopyOptions[] = [{ mirror: true }, { atomic: true }, { atomic: 'two-step' }];
  const withOptions = (them: string[], all: CopyOptions[]) =>
    them.flatMap((target) => all.map((options) => ({ target, ...options })));
  test.for([
    ...withOptions(targets, whole),
    ...withOptions(files, [{ mirror: true, dereference: true }]),
  ])(
    'to a directory that would be replaced or deleted, into it, or through it: %o',
    async ({ target, ...options }) => {
      makeFiles(dest, { 'k/f': 'x', 'k/deep/g': 'y' });
      symlinkSync('../../outside/kept', join(dest, 'k/out'));
      symlinkSync('dest/k/deep/g', join(at, 'hop'));
      symlinkSync(target, join(src, 'k'));
      const before = look(join(dest, 'k'));
      for (const dryRun of [true, false]) {
        const { errors } = await copyTree(src, dest, { ...options, dryRun, onError: 'continue' });
        expect(errors.map(({ code }) => code)).toEqual(['ERR_FS_CP_EINVAL']);
      }
      expect(look(join(dest, 'k'))).toEqual(before);
    },
  );

  test.for(
    ['k/locked', 'locked/k'].flatMap((path) => whole.map((options) => ({ path, ...options }))),
  )('by an ordinary user, where DEST denies a look: %o', async ({ path, ...options }, context) => {
    needUser(context);
    const [top = ''] = path.split('/');
    makeFiles(dest, { [`${path}/f`]: 'x' });
    symlinkSync(`dest/${path}/f`, join(at, 'hop'));
    mkdirSync(join(src, 'locked'));
    symlinkSync(join(at, 'hop'), join(src, top === 'k' ? 'k' : 'locked/k'));
    if (isRoot) execFileSync('chown', ['-hR', `${USER}:${USER}`, at]);
    chmodSync(join(dest, top === 'k' ? path : top), 0);
    const how = { ...options, onError: 'continue' } as const;
    const { result } = await copyInChild({ src, dest, options: how }, asUser);
    expect(result.errors).toMatchObject([{ code: 'ERR_FS_CP_EINVAL' }]);
    execFileSync('chmod', ['-R', 'u+rwx', dest]);
    expect(readFileSync(join(dest, path, 'f'), 'utf8')).toBe('x');
  });

  test.for(whole)('from a mount that follows no symlinks: %o', async (options, context) => {
    needRoot(context);
    makeFiles(dest, { 'k/f': 'x' });
    const mount = ['-t', 'tmpfs', '-o', 'nosymfollow', 'tmpfs'];
    await whileMounted(mount, src, async () => {
      symlinkSync('../dest/k/f', join(src, 'k'));
      const { errors } = await copyTree(src, dest, { ...options, onError: 'continue' });
      expect(errors).toMatchObject([{ code: 'ERR_FS_CP_EINVAL' }]);
    });
    expect(readFileSync(join(dest, 'k/f'), 'utf8')).toBe('x');
  });

  test('from such a mount to a hard link in SRC: it stays right', async (context) => {
    needRoot(context);
    const mount = ['-t', 'tmpfs', '-o', 'nosymfollow', 'tmpfs'];
    await whileMounted(mount, at, async () => {
      makeFiles(src, { 'v/lib': 'x' });
      mkdirSync(dest);
      linkSync(join(src, 'v/lib'), join(dest, 'k'));
      symlinkSync('v/lib', join(src, 'k'));
      await copyTree(src, dest);
      expect(readlinkSync(join(dest, 'k'))).toBe('v/lib');
    });
  });

  test.for(
    whole
      .filter(({ atomic }) => atomic)
      .flatMap((options) => [
        { target: '../../outside/kept', old: '../outside', ...options },
        { target: '../v/kept', old: '../src/v', ...options },
        { target: undefined, old: '../src/d', ...options, symlink: true },
      ]),
  )(
    'behind a symlink that leads out of DEST, and alone is replaced: %o',
    async ({ target, old, ...options }) => {
      makeFiles(src, { 'v/kept': 'kept', 'd/file': '' });
      if (target) symlinkSync(target, join(src, 'd/kept'));
      else makeFiles(src, { 'd/kept': 'kept' });
      symlinkSync(old, join(dest, 'd'));
      for (const dryRun of [true, false]) await copyTree(src, dest, { ...options, dryRun });
      expect(lstatSync(join(dest, 'd/kept')).isSymbolicLink()).toBe(true);
      expect(readFileSync(join(dest, 'd/kept'), 'utf8')).toBe('kept');
    },
  );

  test.for(
    whole
      .filter(({ atomic }) => atomic)
      .flatMap((options) => ['', 'dest', 'dest/e'].map((mounted) => ({ mounted, ...options }))),
  )(
    'behind a symlink in DEST that leads into DEST, perhaps by a bind mount: %o',
    async ({ mounted, ...options }, context) => {
      makeFiles(dest, { 'e/kept': 'x' });
      makeFiles(at, { 'view/e/x': '' });
      const to = { '': 'e', dest: '../view/e', 'dest/e': '../view' }[mounted] ?? '';
      symlinkSync(to, join(dest, 'd'));
      mkdirSync(join(src, 'd'));
      symlinkSync('../../dest/e/kept', join(src, 'd/kept'));
      const check = async () => {
        const { errors } = await copyTree(src, dest, { ...options, onError: 'continue' });
        expect(errors).toMatchObject([{ code: 'ERR_FS_CP_EINVAL' }]);
        expect(readFileSync(join(dest, 'e/kept'), 'utf8')).toBe('x');
      };
      if (!mounted) return check();
      needRoot(context);
      await whileMounted(['--bind', join(at, mounted)], join(at, 'view'), check);
    },
  );

  test.for(whole.filter(({ atomic }) => atomic))(
    'to its own place, by a symlink in DEST that leads out: %o',
    async (options) => {
      symlinkSync('../outside', join(dest, 'd'));
      mkdirSync(join(src, 'd'));
      symlinkSync('../../dest/d/kept', join(src, 'd/kept'));
      const { errors } = await copyTree(src, dest, { ...options, onError: 'continue' });
      expect(errors).toMatchObject([{ code: 'ERR_FS_CP_EINVAL' }]);
      expect(readFileSync(join(dest, 'd/kept'), 'utf8')).toBe('kept');
      rmSync(join(src, 'd/kept'));
      makeFiles(src, { 'd/new': 'new' });
      symlinkSync(join(dest, 'd/new'), join(src, 'd/kept'));
      await copyTree(src, dest, options);
      expect(readFileSync(join(dest, 'd/kept'), 'utf8')).toBe('new');
      rmSync(join(dest, 'd'), { recursive: true });
      symlinkSync('../outside', join(dest, 'd'));
      rmSync(join(src, 'd/kept'));
      symlinkSync('../../dest/d/kept/below', join(src, 'd/kept'));
      const again = await copyTree(src, dest, { ...options, onError: 'continue' });
      expect(again.errors).toMatchObject([{ code: 'ERR_FS_CP_EINVAL' }]);
    },
  );

  test('where none leads there, it takes the place of what DEST has', async () => {
    makeFiles(at, { file: '' });
    // As many as Linux follows, after SRC's own.
    mkdirSync(join(at, 'chain'));
    symlinkSync('../dest/too many/x', join(at, 'chain/1'));
    for (let i = 2; i <= 40; i++) symlinkSync(`${i - 1}`, join(at, `chain/${i}`));
    const opened = openSync(join(at, 'file'), 'r');
    rmSync(join(at, 'file')); // the symlink of /proc consists of a path that does not exist
    for (const [name, target, existing = `${name}/x`] of [
      ['gone', `/proc/self/fd/${opened}`],
      ['missing', 'nothing/../../dest/missing/x'],
      ['loop', 'loop'],
      ['too many', '../chain/40'],
      ['elsewhere', '..//src/./../dest/../src'],
      ['below a file', '../dest/below a file/x', 'below a file'],
      ['no directory', '../dest/no directory/', 'no directory'],
      ['through a file', '../outside/kept/../../dest/through a file'],
    ] as const) {
      makeFiles(dest, { [existing]: '' });
      symlinkSync(target, join(src, name));
    }
    const { symlinks, deleted } = await copyTree(src, dest, { mirror: true });
    closeSync(opened);
    expect({ symlinks, deleted }).toEqual({ symlinks: 8, deleted: 12 });
    expect(readlinkSync(join(dest, 'loop'))).toBe('loop');
  });

  test('the way to SRC itself may go through what an atomic copy replaces', async () => {
    makeFiles(at, { 'src/file': 'new', 'dest/file/old': '', 'dest/link/old': '' });
    symlinkSync('../outside', join(src, 'link'));
    await copyTree(`${dest}/link/../../src`, dest, { atomic: true });
    expect(readFileSync(join(dest, 'file'), 'utf8')).toBe('new');
    expect(readlinkSync(join(dest, 'link'))).toBe('../outside');
  });

  test.for(['dest/d/', 'hop/', 'dest/b/../../src'])(
    'the way to SRC, by %s, goes through what a mirror deletes',
    async (way) => {
      makeFiles(dest, { 'a/k': 'x', 'b/c': 'y' });
      symlinkSync('../src', join(dest, 'd'));
      symlinkSync('dest/d', join(at, 'hop'));
      symlinkSync(join(dest, 'a/k'), join(src, 'a'));
      for (let i = 0; i < 30; i++) {
        makeFiles(join(src, `${i}/t`), { '.gitignore': 'ignored', ignored: '', file: '' });
        makeFiles(join(dest, `${i}/t`), { ignored: 'mine' });
      }
      makeFiles(src, { secret: 'new' });
      makeFiles(dest, { secret: 'old' });
      const named = `${at}/${way}`.replace(/\/$/, '');
      const { errors, files } = await copyTree(`${at}/${way}`, dest, {
        mirror: true,
        gitignore: true,
        onError: 'continue',
        filter: (path) => path !== join(named, 'secret'),
      });
      expect(errors).toMatchObject([{ code: 'ERR_FS_CP_EINVAL', path: `${named}/a` }]);
      expect(files).toBe(60);
      expect(readFileSync(join(dest, 'secret'), 'utf8')).toBe('old');
      for (let i = 0; i < 30; i++)
        expect(readFileSync(join(dest, `${i}/t/ignored`), 'utf8')).toBe('mine');
      expect(readFileSync(join(dest, 'a/k'), 'utf8')).toBe('x');
    },
  );

  test('the way to one SRC goes through what the mirror of another deletes', async () => {
    makeFiles(at, { 'other/x': '', 'dest/other/x': '' });
    for (let i = 0; i < 100; i++) {
      makeFiles(join(src, `${i}/t`), { '.gitignore': 'ignored', file: '' });
      makeFiles(join(dest, `src/${i}/t`), { ignored: 'mine' });
    }
    symlinkSync('../../src', join(dest, 'other/src'));
    const sources = [join(at, 'other'), join(dest, 'other/src/')];
    await copyTree(sources, dest, { mirror: true, gitignore: true });
    for (let i = 0; i < 100; i++)
      expect(readFileSync(join(dest, `src/${i}/t/ignored`), 'utf8')).toBe('mine');
    expect(existsSync(join(dest, 'other/src'))).toBe(false);
  });

  test('the way to SRC goes through the old DEST: its timestamps are found', async () => {
    mkdirSync(join(src, 'way'));
    utimesSync(join(src, 'way'), 1, 1);
    utimesSync(src, 2, 2);
    symlinkSync('../src', join(dest, 'way'));
    await copyTree(join(dest, 'way/'), dest, { atomic: true, preserve: ['timestamps'] });
    expect(lstatSync(dest).mtimeMs).toBe(2000);
    expect(readdirSync(dest)).toEqual(['way']);
  });

  test('a SRC below another one, which a mirror reads by its real path, keeps its name', async () => {
    makeFiles(src, { f: '', 'sub/skip': '', 'sub/kept': '' });
    makeFiles(at, { 'hop/x': '', 'dest/hop/x': '' });
    const way = join(dest, 'hop/way');
    symlinkSync('../../src', way);
    const seen: string[] = [];
    await copyTree([join(at, 'hop'), `${way}/`, join(src, 'sub'), src], dest, {
      mirror: true,
      filter: (path) => seen.push(path.replace(/\/$/, '')) > 0,
    });
    const below = (root: string, names: string[]) => names.map((one) => join(root, one));
    const all = ['', 'f', 'sub', 'sub/kept', 'sub/skip'];
    const expected = [
      ...below(join(at, 'hop'), ['', 'way', 'x']),
      ...below(way, all),
      ...below(join(src, 'sub'), ['', 'kept', 'skip']),
      ...below(src, all),
    ];
    expect(seen.toSorted()).toEqual(expected.toSorted());
  });

  test('the way to a SRC that is a file, or a symlink, goes through what a mirror replaces', async () => {
    makeFiles(at, { 'other/d/file': 'wrong', 'outside/file': 'right', 'dest/other/x': '' });
    makeFiles(
      join(at, 'other/d'),
      Object.fromEntries(Array.from({ length: 200 }, (_, i) => [i, ''])),
    );
    symlinkSync('file', join(at, 'outside/link'));
    symlinkSync('wrong', join(at, 'other/d/link'));
    symlinkSync('../../outside', join(dest, 'other/d'));
    const sources = ['other', 'dest/other/d/file', 'dest/other/d/link'].map((one) => join(at, one));
    await copyTree(sources, dest, { mirror: true });
    expect(readFileSync(join(dest, 'file'), 'utf8')).toBe('right');
    expect(readlinkSync(join(dest, 'link'))).toBe('file');
    expect(readFileSync(join(dest, 'other/d/file'), 'utf8')).toBe('wrong');
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

describe('symlinks to a hard link of the file that they would replace', () => {
  const variants: CopyOptions[] = [
    {},
    { hardLink: true },
    { sync: true },
    { mirror: true },
    { hardLink: true, mirror: true },
    { atomic: true },
    { hardLink: true, atomic: true },
    { backup: 'existing' },
  ];

  test.for(variants)('in SRC: %o', async (options) => {
    makeFiles(src, { 'v/lib.so.1': 'x' });
    linkSync(join(src, 'v/lib.so.1'), join(dest, 'lib.so'));
    symlinkSync('v/lib.so.1', join(src, 'lib'));
    symlinkSync('lib', join(src, 'lib.so'));
    await copyTree(src, dest, options);
    expect(readlinkSync(join(dest, 'lib.so'))).toBe('lib');
    expect(readFileSync(join(dest, 'lib.so'), 'utf8')).toBe('x');
  });

  test.for(variants)('in DEST, where another one would replace it: %o', async (options) => {
    makeFiles(dest, { 'x/a': 'x', 'y/only in DEST': '' });
    linkSync(join(dest, 'x/a'), join(dest, 'y/b'));
    for (const [from, to] of [
      ['x/a', 'y/b'],
      ['y/b', 'x/a'],
    ] as const) {
      mkdirSync(join(src, from, '..'));
      symlinkSync(join(dest, to), join(src, from));
    }
    const { errors } = await copyTree(src, dest, { ...options, onError: 'continue' });
    expect(errors.map(({ code }) => code)).toEqual(['ERR_FS_CP_EINVAL', 'ERR_FS_CP_EINVAL']);
    for (const name of ['x/a', 'y/b']) expect(readFileSync(join(dest, name), 'utf8')).toBe('x');
  });

  test.for(variants)('in DEST, at the very name that it would replace: %o', async (options) => {
    makeFiles(at, { other: 'x' });
    linkSync(join(at, 'other'), join(dest, 'k'));
    symlinkSync('way', join(src, 'k'));
    symlinkSync(join(dest, 'k'), join(src, 'way'));
    const { errors } = await copyTree(src, dest, { ...options, onError: 'continue' });
    expect(errors).toMatchObject([{ code: 'ERR_FS_CP_EINVAL', path: join(src, 'k') }]);
    expect(readFileSync(join(dest, 'k'), 'utf8')).toBe('x');
  });

  test.for([
    ['a directory', 'other', 'other/y'],
    ['a file', 'other/y', 'y'],
  ])('in the DEST of another SRC, %s, which lies in this one', async ([, name = '', to = '']) => {
    const other = join(at, name);
    const into = join(src, 'into');
    makeFiles(into, { 'src/x': 'x' });
    makeFiles(at, { [`other/${name === 'other' ? 'z' : 'y'}`]: '' });
    mkdirSync(join(into, 'other'));
    linkSync(join(into, 'src/x'), join(into, to));
    symlinkSync(join(into, to), join(src, 'x'));
    // A mirror may first delete the file that the symlink leads to, and any copy replace it: not by an older one.
    if (name !== 'other') utimesSync(other, 1, 1);
    utimesSync(join(into, 'src/x'), 2, 2);
    const options = { update: true, exclude: ['into'], onError: 'continue' } as const;
    const { errors } = await copyTree([src, other], into, options);
    expect(errors).toMatchObject([{ code: 'ERR_FS_CP_EINVAL', path: join(src, 'x') }]);
    expect(readFileSync(join(into, 'src/x'), 'utf8')).toBe('x');
  });

  test('in SRC, and what another SRC replaces is one more of its names', async () => {
    const other = join(at, 'other');
    makeFiles(src, { 'v/lib': 'x' });
    makeFiles(at, { other: 'o', 'dest/src/y': '' });
    for (const name of ['src/x', 'other']) linkSync(join(src, 'v/lib'), join(dest, name));
    symlinkSync('v/lib', join(src, 'x'));
    await copyTree([src, other], dest);
    expect(readFileSync(join(dest, 'src/x'), 'utf8')).toBe('x');
    expect(readlinkSync(join(dest, 'src/x'))).toBe('v/lib');
    expect(readFileSync(join(dest, 'other'), 'utf8')).toBe('o');
  });

  test.for([
    ['v', 'v/b'],
    ['v/b', 'v/b'],
    ['v', 'v/a'],
  ] as const)('in DEST, which a mount shows in SRC at %s: to %s', async ([shown, to], context) => {
    needRoot(context);
    makeFiles(dest, { 'v/a': 'x' });
    linkSync(join(dest, 'v/a'), join(dest, 'v/b'));
    makeFiles(src, { 'v/c': 'new', 'mounted/v/b': '' });
    symlinkSync(join('../mounted', to), join(src, 'v/b'));
    const args = ['--bind', join(dest, shown)];
    await whileMounted(args, join(src, 'mounted', shown), async () => {
      const { errors } = await copyTree(src, dest, { exclude: ['mounted'], onError: 'continue' });
      expect(errors).toMatchObject([{ code: 'ERR_FS_CP_EINVAL', path: join(src, 'v/b') }]);
    });
    expect(readFileSync(join(dest, 'v/b'), 'utf8')).toBe('x');
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
