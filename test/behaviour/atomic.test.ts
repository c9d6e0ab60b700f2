import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { copyTree } from '../../lib/index.js';
import type { CopyEvent, CopyOptions } from '../../lib/types.js';
import { digest, hiddenIn, hiddenTrees, makeUniform } from '../support/atomic.js';
import { COMMAND, copyInChild, type Ended, run } from '../support/child.js';
import { differences, readTree } from '../support/compare.js';
import {
  type FileSystemName,
  unmountAll,
  useFileSystem,
  whileMounted,
} from '../support/filesystems.js';
import { holding } from '../support/filter.js';
import { buildShim, faultLog, withFaults } from '../support/shim.js';
import { makeFiles, makeSocket } from '../support/trees.js';
import { asUser, needUser, USER } from '../support/user.js';
import { needRoot, needTool, skip, workDirectory } from '../support/work.js';

// DEST is replaced whole, or not at all. Killed processes and full disks: atomic-faults.test.ts

const work = workDirectory('atomic');
let number = 0;
let at: string;
let src: string;
let dest: string;

beforeEach(() => {
  at = join(work, `${number++}`);
  mkdirSync(at);
  [src, dest] = [join(at, 'src'), join(at, 'dest')];
});

const content = (...path: string[]): string => readFileSync(join(...path), 'utf8');

/** What must hold when DEST was not replaced. */
function expectUntouched(before: string): void {
  expect(digest(dest)).toBe(before);
  expect(hiddenIn(at)).toEqual([]);
}

describe('replaces', () => {
  test('whole: what only the old one had is gone', async () => {
    makeFiles(src, { a: 'new', 'sub/b': 'new' });
    makeFiles(dest, { a: 'old', 'sub/only old': 'old', 'gone/x': 'old' });
    chmodSync(src, 0o711);
    const result = await copyTree(src, dest, { atomic: true });
    expect(differences(src, dest)).toEqual([]);
    expect(statSync(dest).mode & 0o7777).toBe(0o711);
    expect(result).toMatchObject({
      files: 2,
      directories: 2,
      replaced: true,
      warnings: [],
      errors: [],
    });
    expect(readdirSync(at).sort()).toEqual(['dest', 'src']);
  });

  test.each(['0700', '0755'])('and has its final mode from its creation: %s', async (mode) => {
    const modes: number[] = [];
    const filter = (): boolean => {
      modes.push(...hiddenTrees(at).map((name) => statSync(join(at, name)).mode & 0o777));
      return true;
    };
    makeFiles(src, { file: 'new' });
    chmodSync(src, mode);
    await copyTree(src, dest, { atomic: true, filter });
    expect(modes).toEqual([Number.parseInt(mode, 8)]);
  });

  test('a large file while another copy replaces it too: each finds only its own', async () => {
    makeFiles(at, { dest: 'old' });
    const files = ['one', 'other'].map((name) => {
      writeFileSync(join(at, name), Buffer.alloc(64 << 20, name));
      return join(at, name);
    });
    const results = await Promise.all(files.map((file) => copyTree(file, dest, { atomic: true })));
    expect(results).toMatchObject([{ warnings: [] }, { warnings: [] }]);
    expect(files.some((file) => readFileSync(file).equals(readFileSync(dest)))).toBe(true);
    expect(hiddenIn(at)).toEqual([]);
  });

  test.each([true, 'two-step'] as const)('nothing, where there is no DEST: %s', async (atomic) => {
    makeFiles(src, { a: 'new' });
    await copyTree(src, dest, { atomic });
    expect(differences(src, dest)).toEqual([]);
    expect(readdirSync(at).sort()).toEqual(['dest', 'src']);
  });

  test('and makes missing parents', async () => {
    makeFiles(src, { a: 'new' });
    await copyTree(src, join(at, 'some/where'), { atomic: true });
    expect(differences(src, join(at, 'some/where'))).toEqual([]);
    expect(readdirSync(join(at, 'some'))).toEqual(['where']);
  });

  test('only what has the name of SRC, where DEST ends in a slash', async () => {
    makeFiles(src, { a: 'new' });
    makeFiles(dest, { 'src/a': 'old', 'src/b': 'old', other: 'stays' });
    await copyTree(src, `${dest}/`, { atomic: true });
    expect([...readTree(dest).keys()].sort()).toEqual(['', 'other', 'src', 'src/a']);
    expect(content(dest, 'src/a')).toBe('new');
    expect(readdirSync(dest).sort()).toEqual(['other', 'src']);
  });

  test('a file, or a link', async () => {
    makeFiles(at, { file: 'new', dest: 'old' });
    await copyTree(join(at, 'file'), dest, { atomic: true });
    expect(content(dest)).toBe('new');
    symlinkSync('file', join(at, 'link'));
    await copyTree(join(at, 'link'), dest, { atomic: true });
    expect(readdirSync(at).sort()).toEqual(['dest', 'file', 'link']);
    expect(content(dest)).toBe('new');
  });

  test.each(['n'.repeat(255), 'é'.repeat(127), '.', 'sub/..', 'x.fastcp-0123456789abcdef'])(
    'DEST with the name %s',
    async (name) => {
      makeFiles(src, { a: 'new' });
      makeFiles(join(at, 'in'), { 'sub/x': 'old' });
      await copyTree(src, `${at}/in/${name}`, { atomic: true });
      expect(differences(src, join(at, 'in', name))).toEqual([]);
      expect(existsSync(join(at, 'in/sub'))).toBe(!['.', 'sub/..'].includes(name));
      expect(hiddenIn(at)).toEqual([]);
    },
  );

  test('a tree that is read-only, by one that is, for its owner', async (context) => {
    needUser(context);
    makeFiles(src, { a: 'new', 'sub/b': 'new' });
    makeFiles(dest, { a: 'old', 'sub/b': 'old' });
    execFileSync('sh', ['-c', 'chmod 555 src src/sub dest/sub; chmod 111 dest'], { cwd: at });
    execFileSync('chown', ['-R', `${USER}`, at]);
    for (const _ of [1, 2]) {
      const { error, result } = await copyInChild({ src, dest, options: { atomic: true } }, asUser);
      expect(error).toBeUndefined();
      expect(result.warnings).toEqual([]);
      expect(differences(src, dest)).toEqual([]);
      expect(hiddenIn(at)).toEqual([]);
    }
  });

  test('with everything on disk', async (context) => {
    needTool(context, 'strace');
    makeFiles(src, { a: 'new' });
    makeFiles(dest, { a: 'old' });
    const log = join(at, 'log');
    const words = ['strace', '-f', '-y', '-qq', '-o', log, '-e', 'trace=fsync,renameat2'];
    await copyInChild({ src, dest, options: { atomic: true, fsync: true } }, words);
    const calls = content(log).match(/fsync\(\d+<.*?>\) += 0|RENAME_EXCHANGE\) += 0/g) ?? [];
    const said = calls.map((call) => /<(.*)>/.exec(call)?.[1]?.replace(/\.fastcp-\w+/, '') ?? call);
    expect(said).toEqual([
      'RENAME_EXCHANGE) = 0', // tried
      `${at}/.dest/a`,
      `${at}/.dest`,
      'RENAME_EXCHANGE) = 0',
      at,
    ]);
  });
});

describe.each<FileSystemName>(['tmpfs', 'ext4', 'xfs', 'btrfs', 'overlay'])('on %s', (name) => {
  const mounted = useFileSystem(work, name, { size: '512M' });

  test.for([false, true])(
    "DEST keeps SRC's timestamps, it existed: %s",
    async (isThere, context) => {
      const target = join(mounted(context), 'dest');
      makeFiles(src, { a: 'new' });
      if (isThere) makeFiles(target, { a: 'old' });
      utimesSync(src, 1e9, 1e9);
      await copyTree(src, target, { atomic: true, preserve: ['timestamps'] });
      expect(statSync(target).mtimeMs).toBe(1e12);
      rmSync(target, { recursive: true });
    },
  );
});

describe('messages and events name DEST, not where it is made', () => {
  test('entries', async () => {
    makeFiles(src, { a: 'new', 'sub/b': 'new' });
    const events: CopyEvent[] = [];
    for await (const event of copyTree(src, dest, { atomic: true, entries: true })) {
      events.push(event);
    }
    const dests = events.flatMap((event) => (event.type === 'entry' ? [event.dest] : []));
    expect(dests.sort()).toEqual([dest, `${dest}/a`, `${dest}/sub`, `${dest}/sub/b`]);
  });

  test('errors', async () => {
    makeFiles(src, { a: 'new' });
    symlinkSync('nowhere', join(src, 'dangling'));
    await expect(copyTree(src, dest, { atomic: true, dereference: true })).rejects.toMatchObject({
      code: 'ENOENT',
      dest: join(dest, 'dangling'),
      message: expect.not.stringContaining('.fastcp-'),
    });
  });
});

describe('leaves DEST as it was', () => {
  let before: string;
  beforeEach(() => {
    makeFiles(src, { a: 'new', 'sub/b': 'new' });
    makeFiles(dest, { a: 'old', 'sub/c': 'old' });
    before = digest(dest);
  });

  test.each(['stop', 'continue'] as const)('after an error, onError %s', async (onError) => {
    symlinkSync('nowhere', join(src, 'dangling'));
    const options = { atomic: true, dereference: true, onError } as const;
    const result = await copyTree(src, dest, options).catch((error) => error.result);
    expect(result).toMatchObject({ replaced: false, errors: [{ code: 'ENOENT' }] });
    expectUntouched(before);
  });

  test('and makes none, where there was none', async () => {
    symlinkSync('nowhere', join(src, 'dangling'));
    rmSync(dest, { recursive: true });
    await copyTree(src, dest, { atomic: true, dereference: true }).catch(() => {});
    expect(readdirSync(at)).toEqual(['src']);
  });

  test('when it is aborted', async () => {
    makeUniform(src, 'more', 3000);
    const controller = new AbortController();
    const job = copyTree(src, dest, { atomic: true, signal: controller.signal });
    await vi.waitUntil(() => job.result.files > 100, { interval: 1 });
    controller.abort('enough');
    await expect(job).rejects.toBe('enough');
    expectUntouched(before);
  });

  test('when the filter throws, even an error of a system call', async () => {
    let thrown: unknown;
    const filter = () => {
      try {
        return statSync(join(at, 'nothing')).isFile();
      } catch (error) {
        thrown = error;
        throw error;
      }
    };
    const error = await copyTree(src, dest, { atomic: true, filter }).catch((failed) => failed);
    expect(error).toBe(thrown);
    expectUntouched(before);
  });

  test('in a dry run', async () => {
    const result = await copyTree(src, dest, { atomic: true, dryRun: true });
    expect(result.files).toBe(2);
    expectUntouched(before);
  });

  test('where SRC is a socket', async () => {
    makeSocket(join(at, 'socket'));
    rmSync(dest, { recursive: true });
    const copying = copyTree(join(at, 'socket'), dest, { atomic: true });
    await expect(copying).rejects.toMatchObject({ code: 'ERR_FS_CP_SOCKET' });
    expect(readdirSync(at).sort()).toEqual(['socket', 'src']);
  });

  test('and says so on the command line', async () => {
    symlinkSync('nowhere', join(src, 'dangling'));
    const words = [process.execPath, COMMAND, '-L', '--atomic', 'src', 'dest'];
    const { status, stdout, stderr } = await run(words, at);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(
      /: no such file or directory: it is a symlink that leads nowhere\nfastcp: not complete: dest was left as it was\n$/,
    );
    expectUntouched(before);
  });
});

describe('refuses', () => {
  beforeEach(() => {
    makeFiles(src, { a: 'new' });
  });

  const refusal = (code: string) => ({ code, dest, message: expect.stringContaining(dest) });

  test.each([
    ['a link to a directory', 'mkdir x; ln -s x dest', 'ERR_FASTCP_DEST_IS_LINK'],
    ['a link to nothing', 'ln -s x dest', 'ERR_FASTCP_DEST_IS_LINK'],
    ['a file', 'echo x > dest', 'ERR_FS_CP_DIR_TO_NON_DIR'],
    ['a directory that SRC is in', 'mkdir dest; mv src dest/src', 'ERR_FASTCP_DEST_PROTECTED'],
    [
      'one that SRC is deep in',
      'mkdir -p dest/x/y; mv src dest/x/y/src',
      'ERR_FASTCP_DEST_PROTECTED',
    ],
  ])('%s', async (_, command, code) => {
    execFileSync('sh', ['-ec', command], { cwd: at });
    const before = [...readTree(at)];
    const from = [src, join(dest, 'src'), join(dest, 'x/y/src')].find(existsSync) ?? '';
    // Nothing is selected either, but that is not the first problem.
    for (const how of [{}, { dryRun: true }, { dryRun: true, exclude: '*' }]) {
      const copying = copyTree(from, dest, { atomic: true, ...how });
      await expect(copying).rejects.toMatchObject(refusal(code));
    }
    expect([...readTree(at)]).toEqual(before);
  });

  test.each<[string, CopyOptions]>([
    ['include', { include: 'nothing-has-this-name' }],
    ['exclude', { exclude: '*' }],
    ['filter', { filter: (_src, _dest, { path }) => path === '' }],
  ])('a selection that selects nothing: %s', async (_, options) => {
    makeFiles(dest, { precious: 'old' });
    const before = [...readTree(at)];
    for (const dryRun of [true, false]) {
      const copying = copyTree(src, dest, { atomic: true, dryRun, ...options });
      await expect(copying).rejects.toMatchObject(refusal('ERR_FASTCP_DEST_PROTECTED'));
    }
    expect([...readTree(at)]).toEqual(before);
  });

  test.each(['.git', '.hg', '.svn'])(
    'a repository in DEST that SRC does not have: %s',
    async (name) => {
      makeFiles(dest, { [`${name}/HEAD`]: 'x', file: 'old' });
      const before = [...readTree(at)];
      for (const dryRun of [true, false]) {
        const copying = copyTree(src, dest, { atomic: true, dryRun });
        await expect(copying).rejects.toMatchObject({ code: 'ERR_FASTCP_DEST_PROTECTED' });
      }
      expect([...readTree(at)]).toEqual(before);
      makeFiles(src, { [`${name}/HEAD`]: 'y' });
      expect(await copyTree(src, dest, { atomic: true })).toMatchObject({ replaced: true });
    },
  );

  test('SRC in DEST by a bind mount', async (context) => {
    needRoot(context);
    execFileSync('sh', ['-ec', 'mkdir -p dest/a/b; mkdir mounted'], { cwd: at });
    await whileMounted(['--bind', dest], join(at, 'mounted'), async () => {
      const copy = copyTree(join(at, 'mounted/a/b'), dest, { atomic: true });
      await expect(copy).rejects.toMatchObject(refusal('ERR_FASTCP_DEST_PROTECTED'));
    });
    expect(existsSync(join(dest, 'a/b'))).toBe(true);
  });

  test('SRC is bound from a directory in DEST: it stays, with a warning', async (context) => {
    needRoot(context);
    makeFiles(dest, { 'x/source/secret': 's', 'x/source/file': 'f', other: 'o' });
    const bound = join(at, 'bound');
    mkdirSync(bound);
    await whileMounted(['--bind', join(dest, 'x/source')], bound, async () => {
      const { warnings } = await copyTree(bound, dest, { atomic: true, exclude: 'secret' });
      expect(warnings).toMatchObject([{ code: 'STAGING_LEFT' }]);
      expect(readdirSync(bound).sort()).toEqual(['file', 'secret']);
    });
  });

  test('a mount in DEST that only another path shows: what is mounted stays, with a warning', async (context) => {
    needRoot(context);
    makeFiles(at, { 'other/precious': 'x', 'dest/on/y': 'y', 'view/y': 'y' });
    try {
      for (const [from, on] of [
        [at, 'view'],
        [join(at, 'other'), 'dest/on'],
      ] as const)
        execFileSync('mount', ['--bind', from, join(at, on)]);
      for (const one of [join(at, 'view/dest'), dest]) {
        const { warnings } = await copyTree(src, one, { atomic: true });
        expect(warnings).toMatchObject([{ code: 'STAGING_LEFT' }]);
        expect(content(at, 'other/precious')).toBe('x');
      }
    } finally {
      unmountAll(at);
    }
  });

  test('SRC is bound from the old tree meanwhile: it stays, with a warning', async (context) => {
    needRoot(context);
    makeFiles(dest, { 'x/source/file': 'f', other: 'o' });
    const bound = join(at, 'bound');
    makeFiles(bound, { before: 'b' });
    const mount = () => execFileSync('mount', ['--bind', join(dest, 'x/source'), bound]);
    let mounted = false;
    const filter = (from: string) => {
      if (!mounted && from.endsWith('before')) {
        mount();
        mounted = true;
      }
      return true;
    };
    try {
      const { warnings } = await copyTree(bound, dest, { atomic: true, filter });
      expect(warnings).toMatchObject([{ code: 'STAGING_LEFT' }]);
      expect(readdirSync(bound)).toEqual(['file']);
    } finally {
      execFileSync('umount', [bound]);
    }
  });

  test('a directory by a file', async () => {
    mkdirSync(dest);
    const copy = copyTree(join(src, 'a'), dest, { atomic: true });
    await expect(copy).rejects.toMatchObject(refusal('ERR_FS_CP_NON_DIR_TO_DIR'));
  });

  test.for([
    ['a mount point', ['-t', 'tmpfs', 'tmpfs'], ''],
    ['a bind mount', ['--bind', '@'], ''],
    ['a directory with a mount in it', ['--bind', '@'], 'a b'],
  ] as const)('%s', async ([, args, name], context) => {
    needRoot(context);
    const [other, on] = [join(at, 'other'), join(dest, name)];
    makeFiles(other, { precious: 'x' });
    mkdirSync(on, { recursive: true });
    const words = args.map((word) => (word === '@' ? other : word));
    await whileMounted(words, on, async () => {
      const before = digest(at);
      const copy = copyTree(src, dest, { atomic: 'two-step' });
      await expect(copy).rejects.toMatchObject(refusal('ERR_FASTCP_MOUNT_POINT'));
      expect(digest(at)).toBe(before);
    });
  });

  test('a parent that may not be written to, and names DEST', async (context) => {
    needUser(context);
    mkdirSync(dest);
    const { error } = await copyInChild({ src, dest, options: { atomic: true } }, asUser);
    expect(error).toMatchObject({ ...refusal('EACCES'), syscall: 'open' });
  });
});

test('what cannot be removed of the old tree does not end the copy, and the warning says no such thing', async (context) => {
  needTool(context, 'strace');
  makeFiles(src, { a: 'new' });
  makeFiles(dest, { a: 'old' });
  const strace = [
    'strace',
    '-f',
    '-qq',
    '-o',
    join(at, 'log'),
    '-e',
    'inject=unlinkat:error=ENOSPC',
  ];
  const { result } = await copyInChild({ src, dest, options: { atomic: true } }, strace);
  expect(result.replaced).toBe(true);
  expect(result.warnings).toMatchObject([{ code: 'STAGING_LEFT' }]);
  expect(result.warnings[0]?.message).toMatch(/ENOSPC: (?!.*ended the copy)/);
});

test('another program goes on filling the old tree for a moment: nothing of it is left', async () => {
  makeFiles(src, { fresh: '' });
  makeFiles(dest, Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`a/old ${i}`, ''])));
  const fill = `
    const fs = require('node:fs');
    const dest = process.argv[1];
    process.chdir(dest + '/a');
    process.stdout.write('waits');
    for (const end = performance.now() + 10000; performance.now() < end; )
      if (fs.existsSync(dest + '/fresh')) break;
    const end = performance.now() + 100;
    for (let i = 0; performance.now() < end; i++) try { fs.writeFileSync('f' + i, ''); } catch { break }`;
  const filling = spawn(process.execPath, ['-e', fill, dest]);
  const ended = once(filling, 'close');
  await once(filling.stdout, 'data');
  const { warnings } = await copyTree(src, dest, { atomic: true });
  expect(warnings).toEqual([]);
  expect(hiddenIn(at)).toEqual([]);
  expect(await ended).toEqual([0, null]);
  expect(differences(src, dest)).toEqual([]);
});

test('an old tree that may not be removed is left, with a warning', async (context) => {
  needUser(context);
  makeFiles(src, { a: 'new' });
  makeFiles(dest, { 'theirs/file': 'old' });
  execFileSync('chown', [`${USER}`, at, dest]);
  const { error, result } = await copyInChild({ src, dest, options: { atomic: true } }, asUser);
  expect(error).toBeUndefined();
  const [left = ''] = hiddenTrees(at);
  expect(result.warnings).toMatchObject([{ code: 'STAGING_LEFT', path: join(at, left) }]);
  expect(content(at, left, 'theirs/file')).toBe('old');
  expect(differences(src, dest)).toEqual([]);
});

test('a second copy does not take for left over what the first one still works in', async () => {
  makeFiles(src, { a: 'new', 'sub/b': 'new' });
  const { filter, begun, goOn } = holding();
  const first = copyTree(src, dest, { atomic: true, filter });
  await begun;
  const working = hiddenIn(at);
  expect(working).toHaveLength(2);
  expect(await copyTree(src, dest, { atomic: true })).toMatchObject({ files: 2, errorCount: 0 });
  expect(hiddenIn(at)).toEqual(working);
  goOn();
  expect(await first).toMatchObject({ files: 2, errorCount: 0, warnings: [] });
  expect(differences(src, dest)).toEqual([]);
  expect(hiddenIn(at)).toEqual([]);
});

test('what another copy removed before it could be locked, and made again, is left alone', async () => {
  makeFiles(src, { a: 'new' });
  const left = join(at, '.dest.fastcp-0123456789abcdef');
  makeFiles(at, { [basename(left)]: 'left', [`${basename(left)}.lock`]: '' });
  const log = join(at, 'log');
  const words = withFaults({
    shim: buildShim(at),
    root: at,
    log,
    // When the lock is open, and not taken yet.
    faults: 'flock:run:1:1:0123456789abcdef',
    script: `rm "${left}" "${left}.lock"; echo theirs > "${left}"`,
  });
  const { error } = await copyInChild({ src, dest, options: { atomic: true } }, words);
  expect(error).toBeUndefined();
  expect(faultLog(log)).toHaveLength(1);
  expect(content(left)).toBe('theirs\n');
  expect(content(dest, 'a')).toBe('new');
});

test.each(['mkdir', 'ln -s "$PWD/elsewhere"'])(
  'another user makes the hidden tree first, by %s: the copy fails, and writes nothing there',
  async (make) => {
    makeFiles(at, { 'src/a': 'new', 'elsewhere/b': 'b' });
    const log = join(at, 'log');
    const script = `cd "${at}"; for lock in .dest.fastcp-*.lock; do ${make} "\${lock%.lock}"; done`;
    const faults = 'flock:run:1:1:.dest.fastcp-';
    const words = withFaults({ shim: buildShim(at), root: at, log, faults, script });
    const { error } = await copyInChild({ src, dest, options: { atomic: true } }, words);
    expect(faultLog(log)).toHaveLength(1);
    expect(error).toMatchObject({ code: 'ERR_FS_CP_EEXIST' });
    expect(readdirSync(join(at, 'elsewhere'))).toEqual(['b']);
    expect(existsSync(dest)).toBe(false);
    expect(hiddenIn(at)).toEqual([]);
  },
);

test('killed while it tries whether the file system can exchange: DEST stays', async (context) => {
  needTool(context, 'strace');
  makeFiles(src, { a: 'new' });
  symlinkSync('nowhere', join(src, 'dangling'));
  makeFiles(dest, { a: 'old' });
  const command = [process.execPath, COMMAND, '-q', '--atomic', '-L', src, dest];
  const kill = 'inject=renameat2:signal=SIGKILL:when=1';
  await run(['strace', '-f', '-qq', '-o', join(at, 'log'), '-e', kill, ...command]);
  expect(hiddenIn(at)).toHaveLength(3);
  expect(await run(command)).toMatchObject({ status: 1 });
  expect(readdirSync(dest)).toEqual(['a']);
  expect(hiddenIn(at)).toEqual([]);
});

test("others' entries of such names are left alone, and what killed copies have left is removed", async () => {
  makeFiles(src, { a: 'new' });
  const left = (digit: string, more = '', lock = `${more}.lock`) => {
    const name = `.dest.fastcp-${digit.repeat(16)}${more}`;
    if (lock) writeFileSync(join(at, `.dest.fastcp-${digit.repeat(16)}${lock}`), '');
    makeFiles(at, { [`${name}/file`]: digit });
    return name;
  };
  const mine = [left('0'), left('1', '.old', '.lock')];
  makeFiles(at, {
    '.dest.fastcp-2222222222222222': 'a file',
    '.dest.fastcp-2222222222222222.lock': '',
  });
  // Without a lock, with a lock of another user or one that is no file, beside other names.
  const precious = [left('3', '', ''), left('4', '', '.locked'), left('5')];
  const lock = (digit: string) => join(at, `.dest.fastcp-${digit.repeat(16)}.lock`);
  if (process.getuid?.() === 0) execFileSync('chown', [`${USER}`, lock('5')]);
  else rmSync(lock('5'));
  precious.push(left('6', '', ''), left('7', '', ''));
  symlinkSync('src/a', lock('6'));
  mkdirSync(lock('7'));
  makeFiles(at, { '.dest.fastcp-x/file': 'x', '.dest.fastcp-x.lock': '' });
  await copyTree(src, dest, { atomic: true });
  for (const name of mine) expect(existsSync(join(at, name))).toBe(false);
  expect(hiddenIn(at).filter((name) => /([012])\1{15}/.test(name))).toEqual([]);
  for (const name of precious) expect(readdirSync(join(at, name))).toEqual(['file']);
  expect(content(at, '.dest.fastcp-x/file')).toBe('x');
  expect(content(src, 'a')).toBe('new');
});

test('while there is no DEST, an old tree stays, and an unfinished new one is removed', async () => {
  symlinkSync('nowhere', src);
  const [a, b] = ['.dest.fastcp-aaaaaaaaaaaaaaaa', '.dest.fastcp-bbbbbbbbbbbbbbbb'];
  const old = '.dest.fastcp-bbbbbbbbbbbbbbbb.old';
  makeFiles(at, {
    [`${a}/x`]: '',
    [`${b}/x`]: '',
    [`${old}/x`]: '',
    [`${a}.lock`]: '',
    [`${b}.lock`]: '',
  });
  const copy = (from: string) => copyTree(from, dest, { atomic: true, dereference: true });
  await copy(src).catch(() => {});
  makeFiles(at, { 'other/file': '', 'other/sub/file': '' });
  symlinkSync('nowhere', join(at, 'other/dangling'));
  await expect(copy(join(at, 'other'))).rejects.toMatchObject({ code: 'ENOENT' });
  expect(hiddenIn(at).sort()).toEqual([b, `${b}.lock`, old]);
  rmSync(join(at, 'other/dangling'));
  await copy(join(at, 'other'));
  expect(hiddenIn(at)).toEqual([]);
});

describe('a repository that comes into DEST while it is copied stays', () => {
  const selections: Record<string, CopyOptions> = {
    'SRC has none': {},
    'it is excluded': { exclude: ['.git'] },
    'with gitignore': { gitignore: true },
    'the filter excludes it': { filter: (_src, _dest, { name }) => name !== '.git' },
  };
  const kinds = Object.entries(selections).flatMap(([what, options]) =>
    (['absent', 'present'] as const).map((before) => ({ what, options, before })),
  );
  test.for(kinds)('$what, DEST was $before', async ({ what, options, before }) => {
    makeFiles(src, { a: 'new' });
    if (what !== 'SRC has none') execFileSync('git', ['init', '-q', src]);
    if (before === 'present') makeFiles(dest, { old: 'old' });
    const filter: CopyOptions['filter'] = (...entry) => {
      if (entry[2].name === 'a') makeFiles(dest, { '.git/HEAD': 'x', work: 'work' });
      return options.filter?.(...entry) ?? true;
    };
    for (const atomic of [true, 'two-step'] as const) {
      const copy = copyTree(src, dest, { ...options, atomic, filter });
      await expect(copy).rejects.toMatchObject({ code: 'ERR_FASTCP_DEST_PROTECTED' });
      expect(copy.result.replaced).toBe(false);
      expect(content(dest, 'work')).toBe('work');
      expect(hiddenIn(at)).toEqual([]);
      rmSync(join(dest, '.git'), { recursive: true });
    }
  });

  test('it may be replaced by that of SRC', async () => {
    execFileSync('git', ['init', '-q', src]);
    makeFiles(src, { a: 'new' });
    const filter: CopyOptions['filter'] = (_src, _dest, { name }) => {
      if (name === 'a') makeFiles(dest, { '.git/HEAD': 'x' });
      return true;
    };
    await copyTree(src, dest, { atomic: true, filter });
    expect(differences(src, dest)).toEqual([]);
  });
});

describe('where the file system cannot exchange', () => {
  const overlay = useFileSystem(work, 'overlay', {
    lower: (directory) => makeFiles(join(directory, 'dest'), { old: 'old', 'sub/old': 'old' }),
  });
  const noExchange = 'inject=renameat2:error=EINVAL';

  test('anything, it says so before it copies', async (context) => {
    needTool(context, 'strace');
    makeFiles(src, { a: 'new' });
    makeFiles(dest, { a: 'old' });
    const words = ['strace', '-f', '-qq', '-o', join(at, 'log'), '-e', noExchange];
    const { error } = await copyInChild({ src, dest, options: { atomic: true } }, words);
    expect(error).toMatchObject({
      code: 'ERR_FASTCP_NO_EXCHANGE',
      message: expect.stringContaining("atomic: 'two-step'"),
    });
    expect(error).not.toHaveProperty('result.files', 1);
    expect(content(dest, 'a')).toBe('old');
    expect(hiddenIn(at)).toEqual([]);
  });

  test('two steps do it', async (context) => {
    needTool(context, 'strace');
    makeFiles(src, { a: 'new' });
    makeFiles(dest, { a: 'old', b: 'old' });
    const words = ['strace', '-f', '-qq', '-o', join(at, 'log'), '-e', noExchange];
    const { error } = await copyInChild({ src, dest, options: { atomic: 'two-step' } }, words);
    expect(error).toBeUndefined();
    expect(content(at, 'log')).toContain('(INJECTED)');
    expect(differences(src, dest)).toEqual([]);
    expect(hiddenIn(at)).toEqual([]);
  });

  test('a directory of a lower layer of an overlay: the error says how to change it, and it stays', async (context) => {
    const directory = overlay(context);
    makeFiles(src, { a: 'new' });
    const target = join(directory, 'dest');
    const before = digest(target);
    for (const atomic of [true, 'two-step'] as const) {
      await expect(copyTree(src, target, { atomic })).rejects.toMatchObject({
        code: 'EXDEV',
        message: expect.stringMatching(/the destination cannot be moved; mirror changes it/),
        result: { files: 1, replaced: false },
      });
      expect(digest(target)).toBe(before);
      expect(readdirSync(directory)).toEqual(['dest']);
    }
    await copyTree(src, target, { mirror: true });
    expect(differences(src, target)).toEqual([]);
  });

  test('the same error on another file system: nothing is said of an overlay', async (context) => {
    needTool(context, 'strace');
    makeFiles(src, { a: 'new' });
    makeFiles(dest, { a: 'old' });
    const refused = 'inject=renameat2:error=EXDEV:when=2'; // the first one tries whether it can
    const words = ['strace', '-f', '-qq', '-o', join(at, 'log'), '-e', refused];
    const { error } = await copyInChild({ src, dest, options: { atomic: true } }, words);
    expect(error).toMatchObject({
      code: 'EXDEV',
      message: expect.stringMatching(/: the destination cannot be moved; mirror changes it/),
    });
    expect(content(dest, 'a')).toBe('old');
  });

  /** The command with two steps, of which a rename goes wrong: DEST away, the new one to DEST, DEST back. */
  async function twoSteps(fault: string): Promise<Ended> {
    makeFiles(src, { a: 'new' });
    makeFiles(dest, { a: 'old', b: 'old' });
    const faults = [`inject=rename:${fault}`, noExchange].flatMap((each) => ['-e', each]);
    const strace = ['strace', '-f', '-qq', '-o', join(at, 'log'), ...faults];
    const command = [process.execPath, COMMAND, '-q', '--atomic=two-step', src, dest];
    // One thread, as strace counts by thread.
    return run(['env', 'UV_THREADPOOL_SIZE=1', ...strace, ...command]);
  }

  const old = { 'dest/a': 'old', 'dest/b': 'old' };

  test.for([
    ['moving DEST away', 'error=EPERM:when=1', 'operation not permitted: .*'],
    ['putting the new one in place', 'error=EIO:when=2', 'i/o error'],
  ] as const)('%s fails: DEST is as it was', async ([, fault, reason], context) => {
    needTool(context, 'strace');
    const { status, stderr } = await twoSteps(fault);
    expect(status).toBe(1);
    expect(stderr).toMatch(
      new RegExp(`^fastcp: cannot copy .* to '${dest}': ${reason}\n.* left as it was\n$`),
    );
    for (const [name, text] of Object.entries(old)) expect(content(at, name)).toBe(text);
    expect(hiddenIn(at)).toEqual([]);
  });

  test('neither the second step nor the way back is possible: both trees are kept until a copy succeeds', async (context) => {
    needTool(context, 'strace');
    const { status, stderr } = await twoSteps('error=EIO:when=2+');
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^fastcp: cannot copy .*: i\/o error, after the old tree was moved .*\n$/,
    );
    for (const left of hiddenTrees(at)) expect(stderr).toContain(`'${join(at, left)}'`);
    expect(digest(dest)).toBe('missing');
    await expectBothTreesToStay();
  });

  /** The command, of which a copy with `-L` fails. */
  async function failing(): Promise<Ended> {
    const broken = join(at, 'broken');
    makeFiles(broken, { x: 'x' });
    symlinkSync('nowhere', join(broken, 'dangling'));
    return run([process.execPath, COMMAND, '-L', '--atomic', broken, dest]);
  }

  function expectBoth(): void {
    const [tree = '', old = ''] = hiddenTrees(at).sort();
    expect(hiddenTrees(at)).toHaveLength(2);
    expect(content(at, old, 'b')).toBe('old');
    expect(content(at, tree, 'a')).toBe('new');
  }

  /** DEST is missing, and both trees are hidden, until a copy to DEST succeeds. */
  async function expectBothTreesToStay(): Promise<void> {
    expectBoth();
    const { status, stderr } = await failing();
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringMatching(/^fastcp: cannot copy .*\n.*dest'? was not created\n$/),
    });
    expectBoth();
    await copyTree(src, dest, { atomic: true });
    expect(differences(src, dest)).toEqual([]);
    expect(hiddenIn(at)).toEqual([]);
  }

  test('killed before DEST is moved away: the next run removes the new tree, and what changed in DEST stays', async (context) => {
    needTool(context, 'strace');
    await twoSteps('signal=SIGKILL:when=1');
    expect(hiddenTrees(at)).toHaveLength(1);
    makeFiles(dest, { b: 'changed' });
    const { status, stderr } = await failing();
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringMatching(
        /^fastcp: cannot copy .*\n.*: '?.*dest'? was left as it was\n$/,
      ),
    });
    expect([content(dest, 'a'), content(dest, 'b')]).toEqual(['old', 'changed']);
    expect(hiddenIn(at)).toEqual([]);
  });

  test('killed between the two steps: both trees are kept until a copy succeeds', async (context) => {
    needTool(context, 'strace');
    await twoSteps('signal=SIGKILL:when=2');
    expect(digest(dest)).toBe('missing');
    await expectBothTreesToStay();
  });

  test.for([
    ['a repository', 'mkdir -p dest/.git; echo own > dest/.git/HEAD'],
    ['a directory with files', 'mkdir dest; echo own > dest/own'],
  ] as const)(
    '%s comes to DEST between the two steps: it stays, and both trees are kept',
    async ([, script], context) => {
      needTool(context, 'strace');
      let ended = false;
      const copied = twoSteps('delay_exit=3000000:when=1').finally(() => {
        ended = true;
      });
      const isMoved = () => hiddenIn(at).some((name) => name.endsWith('.old'));
      while (!ended && !isMoved()) await setTimeout(10);
      execFileSync('sh', ['-ec', script], { cwd: at });
      const came = lstatSync(dest).ino;
      const { status, stderr } = await copied;
      expect(status).toBe(1);
      const [, old = ''] = hiddenTrees(at).sort();
      expect(stderr).toContain(`'${join(at, old)}' is the old tree`);
      expect(lstatSync(dest).ino).toBe(came);
      expectBoth();
    },
  );

  test.for(['--atomic', '--atomic=two-step'])(
    'a DEST of another user in a sticky directory, %s: the error says why',
    async (how, context) => {
      needRoot(context);
      needUser(context);
      makeFiles(src, { a: 'new' });
      makeFiles(dest, { a: 'old' });
      chmodSync(at, 0o1777);
      const { status, stderr } = await run([
        ...asUser,
        process.execPath,
        COMMAND,
        '-q',
        how,
        src,
        dest,
      ]);
      expect(status).toBe(1);
      expect(stderr).toContain('another user owns it in a sticky directory');
      expect(content(dest, 'a')).toBe('old');
      expect(hiddenIn(at)).toEqual([]);
    },
  );

  test('a DEST of another user, in a directory where anybody may rename: it is replaced, and the old tree is left', async (context) => {
    needUser(context);
    makeFiles(src, { a: 'new' });
    makeFiles(dest, { a: 'old' });
    chmodSync(at, 0o777);
    const { result } = await copyInChild({ src, dest, options: { atomic: true } }, asUser);
    const [left = ''] = hiddenTrees(at);
    expect(result).toMatchObject({ replaced: true, warnings: [{ code: 'STAGING_LEFT' }] });
    expect(content(dest, 'a')).toBe('new');
    expect(content(at, left, 'a')).toBe('old');
  });

  test('another program removes the new tree: that is an error, and DEST is the old one', async (context) => {
    needTool(context, 'strace');
    makeFiles(src, { a: 'new' });
    makeFiles(dest, { a: 'old' });
    utimesSync(src, 1e9, 1e9);
    // Time between the copy and its placing, which looks for mounts again.
    const slow = ['-P', '/proc/self/mountinfo', '-e', 'inject=openat:delay_exit=1500000'];
    const strace = ['strace', '-f', '-qq', '-o', join(at, 'log'), '-e', 'trace=openat', ...slow];
    let runs = true;
    const copied = run([...strace, process.execPath, COMMAND, '-p', '--atomic', src, dest]).finally(
      () => {
        runs = false;
      },
    );
    const tree = () => join(at, hiddenTrees(at)[0] ?? 'none');
    // The directory's time is set last.
    const isWhole = () => lstatSync(tree(), { throwIfNoEntry: false })?.mtimeMs === 1e12;
    while (runs && !isWhole()) await setTimeout(5);
    rmSync(tree(), { recursive: true });
    const { status, stderr } = await copied;
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(/has removed/) });
    expect(content(dest, 'a')).toBe('old');
    expect(hiddenIn(at)).toEqual([]);
  });
});

/** Runs a command that may not rename from one directory to another: Landlock's rights of version 2, without REFER. */
const confined = `
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
refer = 1 << 13
rights = 2 * refer - 1
rules = libc.syscall(444, struct.pack('Q', rights), 8, 0)
if rules < 0: sys.exit('no Landlock')
below = struct.pack('=Qi', rights - refer, os.open('/', os.O_PATH))
libc.prctl(38, 1, 0, 0, 0)
if libc.syscall(445, rules, 1, below, 0) or libc.syscall(446, rules, 0): sys.exit('no Landlock')
os.execvp(sys.argv[1], sys.argv[1:])`;

test('in a sandbox that forbids renames between directories, DEST is created and replaced', async (context) => {
  needTool(context, 'python3');
  const sandbox = ['python3', '-c', confined];
  if ((await run([...sandbox, 'true'])).status !== 0) skip(context, 'the kernel has no Landlock');
  makeFiles(src, { a: 'new', 'sub/b': 'new' });
  for (const how of ['--atomic', '--atomic', '--atomic=two-step']) {
    const ended = await run([...sandbox, process.execPath, COMMAND, '-q', how, src, dest]);
    expect(ended).toEqual({ status: 0, stdout: '', stderr: '' });
    expect(differences(src, dest)).toEqual([]);
    expect(hiddenIn(at)).toEqual([]);
    makeFiles(src, { [how]: '' });
    rmSync(join(src, 'a'), { force: true });
  }
});

test('command line: an option with a value after = only', async () => {
  makeFiles(src, { a: 'new' });
  writeFileSync(join(at, 'note'), '');
  for (const option of ['--atomic', '--atomic=two-step']) {
    const { status, stderr } = await run([process.execPath, COMMAND, option, 'src', 'dest'], at);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(differences(src, dest)).toEqual([]);
  }
});

describe('all entries have one owner, as on FAT mounted with uid=', () => {
  /** Mounts a directory of that mode, in which bindfs changes the owners. SRC has a file. */
  async function whileMapped(
    context: Parameters<typeof needTool>[0],
    mode: number,
    words: string[],
    use: (mapped: string) => Promise<void>,
  ): Promise<void> {
    needTool(context, 'bindfs');
    makeFiles(src, { new: 'new' });
    const [under, mapped] = [join(at, 'under'), join(at, 'mapped')];
    for (const path of [under, mapped]) mkdirSync(path);
    chmodSync(under, mode);
    execFileSync('bindfs', [...words, under, mapped]);
    try {
      await use(mapped);
    } finally {
      execFileSync('umount', [mapped]);
    }
  }

  test.for(['atomic', 'two-step'])('%s', async (how, context) => {
    needRoot(context);
    await whileMapped(context, 0o755, [`--force-user=${USER}`], async (mapped) => {
      makeFiles(join(mapped, 'dest'), { old: 'old' });
      const options: CopyOptions = { atomic: how === 'atomic' ? true : 'two-step' };
      const failure = await copyTree(src, join(mapped, 'dest'), options).catch((e: unknown) => e);
      // FUSE passes on no exchange of two names.
      if (how === 'atomic') expect(failure).toMatchObject({ code: 'ERR_FASTCP_NO_EXCHANGE' });
      expect(readdirSync(mapped)).toEqual(['dest']);
      expect(readdirSync(join(mapped, 'dest'))).toEqual(how === 'atomic' ? ['old'] : ['new']);
      // A new DEST needs none, nor does a file.
      for (const [from, to] of [
        ['src', 'fresh'],
        ['src/new', 'file'],
        ['src/new', 'file'],
      ] as const)
        await copyTree(join(at, from), join(mapped, to), options);
      expect(readdirSync(mapped).sort()).toEqual(['dest', 'file', 'fresh']);
    });
  });

  test('a sticky directory, where nothing can be removed: the error names what stays', async (context) => {
    needUser(context);
    needRoot(context);
    await whileMapped(
      context,
      0o1777,
      ['--force-user=daemon', '--perms=a+rwxt'],
      async (mapped) => {
        const dest = join(mapped, 'd');
        const fastcp = [...asUser, process.execPath, COMMAND];
        const { status, stderr } = await run([...fastcp, '--atomic=two-step', src, dest]);
        expect(status).toBe(1);
        const [left = ''] = hiddenTrees(mapped);
        expect(readdirSync(mapped).length).toBeLessThanOrEqual(2);
        expect(stderr).toContain(`not removed: '${join(mapped, left)}'`);
      },
    );
  });

  test('an ordinary user, who cannot open what belongs to another: nothing stays', async (context) => {
    needUser(context);
    needRoot(context);
    await whileMapped(context, 0o777, ['--force-user=daemon'], async (mapped) => {
      const fastcp = [...asUser, process.execPath, COMMAND];
      const { status, stderr } = await run([
        ...fastcp,
        '--atomic=two-step',
        src,
        join(mapped, 'd'),
      ]);
      expect({ status, stderr }).toEqual({
        status: 1,
        stderr: expect.stringMatching(/permission/),
      });
      expect(readdirSync(mapped)).toEqual([]);
      await run([...fastcp, '--doctor', mapped]);
      expect(readdirSync(mapped)).toEqual([]);
    });
  });
});
