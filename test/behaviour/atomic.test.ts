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
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { copyTree } from '../../lib/index.js';
import type { CopyEvent, CopyOptions } from '../../lib/types.js';
import { containers, digest, makeUniform } from '../support/atomic.js';
import { COMMAND, copyInChild, type Ended, run } from '../support/child.js';
import { differences, readTree } from '../support/compare.js';
import { unmountAll, useFileSystem, whileMounted } from '../support/filesystems.js';
import { holding } from '../support/filter.js';
import { buildShim, faultLog, withFaults } from '../support/shim.js';
import { makeFiles, makeSocket } from '../support/trees.js';
import { asUser, needUser, USER } from '../support/user.js';
import { needRoot, needTool, workDirectory } from '../support/work.js';

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
  expect(containers(at)).toEqual([]);
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

  test('and lets nobody else look inside before', async () => {
    const modes: number[] = [];
    const filter = (): boolean => {
      modes.push(...containers(at).map((name) => statSync(join(at, name)).mode & 0o777));
      return true;
    };
    makeFiles(src, { file: 'new' });
    await copyTree(src, dest, { atomic: true, filter });
    expect(modes).toEqual([0o700]);
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
      expect(containers(at)).toEqual([]);
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
      expect(containers(at)).toEqual([]);
    }
  });

  test('no read-only tree that cannot be opened, whose mode stays', async (context) => {
    needUser(context);
    needTool(context, 'strace');
    makeFiles(src, { a: 'new' });
    makeFiles(dest, { a: 'old' });
    execFileSync('sh', ['-c', 'chmod 555 src dest'], { cwd: at });
    execFileSync('chown', ['-R', `${USER}`, at]);
    const before = digest(dest);
    const fault = ['-P', dest, '-e', 'inject=openat:error=EMFILE'];
    const words = [...asUser, 'strace', '-f', '-qq', '-o', join(at, 'log'), ...fault];
    const { error } = await copyInChild({ src, dest, options: { atomic: true } }, words);
    expect(content(at, 'log')).toContain('(INJECTED)');
    expect(error).toMatchObject({ code: 'EMFILE', dest });
    expectUntouched(before); // its mode included
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
      `${at}/.dest/tree/a`,
      `${at}/.dest/tree`,
      'RENAME_EXCHANGE) = 0',
      at,
    ]);
  });
});

test.for([false, true])(
  'DEST does not keep its timestamps, strict: %s',
  async (strict, context) => {
    needTool(context, 'strace');
    makeFiles(src, { a: 'new' });
    makeFiles(dest, { a: 'old' });
    // Once it stands in its place, the path is DEST's.
    const fault = ['-P', dest, '-e', 'inject=utimensat:error=EPERM'];
    const strace = ['strace', '-f', '-qq', '-o', join(at, 'log'), ...fault];
    const words = ['--atomic', '--preserve=timestamps', ...(strict ? ['--strict'] : []), '--json'];
    const { status, stdout } = await run([
      ...strace,
      process.execPath,
      COMMAND,
      ...words,
      src,
      dest,
    ]);
    expect(content(at, 'log')).toContain('(INJECTED)');
    const result = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
    const lost = { path: src, message: expect.stringContaining('EPERM') };
    expect(status).toBe(strict ? 1 : 0);
    expect(result).toMatchObject({
      replaced: true,
      errors: strict ? [{ ...lost, code: 'EPERM', dest }] : [],
      warnings: strict ? [] : [{ ...lost, code: 'TIMESTAMPS_NOT_PRESERVED', count: 1 }],
    });
    expect(content(dest, 'a')).toBe('new');
    expect(containers(at)).toEqual([]);
  },
);

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

  test.for<CopyOptions>([{ atomic: true, exclude: 'secret' }, { mirror: true }])(
    'SRC is bound from a directory in DEST: %o',
    async (options, context) => {
      needRoot(context);
      makeFiles(dest, { 'x/source/secret': 's', 'x/source/file': 'f', other: 'o' });
      const bound = join(at, 'bound');
      mkdirSync(bound);
      await whileMounted(['--bind', join(dest, 'x/source')], bound, async () => {
        const before = [...readTree(at)];
        for (const from of [bound, `${bound}/`])
          await expect(copyTree(from, dest, options)).rejects.toMatchObject({
            code: 'ERR_FASTCP_DEST_PROTECTED',
            message: expect.stringContaining('by a bind mount'),
          });
        expect([...readTree(at)]).toEqual(before);
      });
    },
  );

  test.for<CopyOptions>([{ atomic: true }, { mirror: true }])(
    'a directory of DEST is bound into SRC: %o',
    async (options, context) => {
      needRoot(context);
      makeFiles(dest, { 'sub/precious': 'p' });
      for (const part of ['.', 'sub']) {
        const bound = join(src, 'in');
        mkdirSync(bound, { recursive: true });
        await whileMounted(['--bind', join(dest, part)], bound, async () => {
          await expect(copyTree(src, dest, options)).rejects.toMatchObject({
            code: 'ERR_FASTCP_DEST_PROTECTED',
          });
          expect(content(dest, 'sub/precious')).toBe('p');
        });
      }
    },
  );

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
    expect(error).toMatchObject({ ...refusal('EACCES'), syscall: 'mkdir' });
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
  expect(containers(at)).toEqual([]);
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
  const [left = ''] = containers(at);
  expect(result.warnings).toMatchObject([{ code: 'STAGING_LEFT', path: join(at, left) }]);
  expect(content(at, left, 'tree/theirs/file')).toBe('old');
  expect(differences(src, dest)).toEqual([]);
});

test('a second copy does not take for left over what the first one still works in', async () => {
  makeFiles(src, { a: 'new', 'sub/b': 'new' });
  const { filter, begun, goOn } = holding();
  const first = copyTree(src, dest, { atomic: true, filter });
  await begun;
  const working = containers(at);
  expect(working).toHaveLength(1);
  expect(await copyTree(src, dest, { atomic: true })).toMatchObject({ files: 2, errorCount: 0 });
  expect(containers(at)).toEqual(working);
  goOn();
  expect(await first).toMatchObject({ files: 2, errorCount: 0, warnings: [] });
  expect(differences(src, dest)).toEqual([]);
  expect(containers(at)).toEqual([]);
});

test('a directory that another copy made in the place of what was left over is left alone', async () => {
  makeFiles(src, { a: 'new' });
  const left = join(at, '.dest.fastcp-0123456789abcdef');
  makeFiles(left, { 'tree/file': 'left' });
  const log = join(at, 'log');
  const words = withFaults({
    shim: buildShim(at),
    root: at,
    log,
    // When it is open, and not locked yet.
    faults: 'flock:run:1:1:0123456789abcdef',
    script: `rm -r "${left}"; mkdir -p "${left}/tree"; echo theirs > "${left}/tree/file"`,
  });
  const { error } = await copyInChild({ src, dest, options: { atomic: true } }, words);
  expect(error).toBeUndefined();
  expect(faultLog(log)).toHaveLength(1);
  expect(content(left, 'tree/file')).toBe('theirs\n');
  expect(content(dest, 'a')).toBe('new');
});

test('killed while it tries whether the file system can exchange: DEST stays', async (context) => {
  needTool(context, 'strace');
  makeFiles(src, { a: 'new' });
  symlinkSync('nowhere', join(src, 'dangling'));
  makeFiles(dest, { a: 'old' });
  const command = [process.execPath, COMMAND, '-q', '--atomic', '-L', src, dest];
  const kill = 'inject=renameat2:signal=SIGKILL:when=1';
  await run(['strace', '-f', '-qq', '-o', join(at, 'log'), '-e', kill, ...command]);
  expect(containers(at)).toHaveLength(1);
  expect(await run(command)).toMatchObject({ status: 1 });
  expect(readdirSync(dest)).toEqual(['a']);
  expect(containers(at)).toEqual([]);
});

test("others' directories of that name are left alone", async () => {
  makeFiles(src, { a: 'new' });
  const theirs = '.dest.fastcp-0123456789abcdef';
  makeFiles(join(at, theirs), { file: 'precious' });
  makeFiles(at, { '.dest.fastcp-0123456789abcdee': 'a file', '.dest.fastcp-x/file': 'x' });
  symlinkSync(theirs, join(at, '.dest.fastcp-0123456789abcdff'));
  if (process.getuid?.() === 0) execFileSync('chown', [`${USER}`, join(at, theirs)]);
  const mine = join(at, '.dest.fastcp-00000000000000aa');
  makeFiles(mine, { 'tree/file': 'left', 'old/file': 'left' });
  // Of the same owner, and with something in it that no copy leaves.
  const precious = ['file', 'tree/file', 'lock/file', 'old-1/file', '.hidden'].map((name, i) => {
    const directory = join(at, `.dest.fastcp-000000000000000${i}`);
    makeFiles(directory, { [name]: 'precious', 'own/file': 'precious' });
    return [join(directory, name), join(directory, 'own/file')];
  });
  await copyTree(src, dest, { atomic: true });
  expect(existsSync(mine)).toBe(false);
  for (const path of precious.flat()) expect(readFileSync(path, 'utf8')).toBe('precious');
  expect(readFileSync(join(at, theirs, 'file'), 'utf8')).toBe('precious');
  expect(containers(at)).toHaveLength(precious.length + 4);
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
      expect(containers(at)).toEqual([]);
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
      message: expect.stringContaining('--atomic=two-step'),
    });
    expect(error).not.toHaveProperty('result.files', 1);
    expect(content(dest, 'a')).toBe('old');
    expect(containers(at)).toEqual([]);
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
    expect(containers(at)).toEqual([]);
  });

  test('a directory of a lower layer of an overlay: the error says how to change it, and it stays', async (context) => {
    const directory = overlay(context);
    makeFiles(src, { a: 'new' });
    const target = join(directory, 'dest');
    const before = digest(target);
    for (const atomic of [true, 'two-step'] as const) {
      await expect(copyTree(src, target, { atomic })).rejects.toMatchObject({
        code: 'EXDEV',
        message: expect.stringContaining('--mirror'),
        result: { files: 1, replaced: false },
      });
      expect(digest(target)).toBe(before);
      expect(readdirSync(directory)).toEqual(['dest']);
    }
    await copyTree(src, target, { mirror: true });
    expect(differences(src, target)).toEqual([]);
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
    expect(containers(at)).toEqual([]);
  });

  test('neither the second step nor the way back is possible: both trees are kept until a copy succeeds', async (context) => {
    needTool(context, 'strace');
    const { status, stderr } = await twoSteps('error=EIO:when=2+');
    const [left = ''] = containers(at);
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^fastcp: cannot copy .*: i\/o error, after the old tree was moved .*\n$/,
    );
    expect(stderr).toContain(`'${join(at, left)}'`);
    expect(digest(dest)).toBe('missing');
    await expectBothTreesToStay(left);
  });

  /** The command, of which a copy with `-L` fails. */
  async function failing(): Promise<Ended> {
    const broken = join(at, 'broken');
    makeFiles(broken, { x: 'x' });
    symlinkSync('nowhere', join(broken, 'dangling'));
    return run([process.execPath, COMMAND, '-L', '--atomic', broken, dest]);
  }

  /** DEST is missing, and the container has both trees, until a copy to DEST succeeds. */
  async function expectBothTreesToStay(left: string): Promise<void> {
    const expectBoth = (): void => {
      expect(content(at, left, 'old/b')).toBe('old');
      expect(content(at, left, 'tree/a')).toBe('new');
      expect(containers(at)).toEqual([left]);
    };
    expectBoth();
    const restored = copyTree(dest, join(at, 'restored'));
    await expect(restored).rejects.toMatchObject({
      code: 'ENOENT',
      message: expect.stringContaining(`'${join(at, left)}' has the old tree`),
    });
    const { status, stderr } = await failing();
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringMatching(/^fastcp: cannot copy .*\n.*dest'? was not created\n$/),
    });
    expectBoth();
    await copyTree(src, dest, { atomic: true });
    expect(differences(src, dest)).toEqual([]);
    expect(containers(at)).toEqual([]);
  }

  test('killed before DEST is moved away: the next run removes the new tree, and what changed in DEST stays', async (context) => {
    needTool(context, 'strace');
    await twoSteps('signal=SIGKILL:when=1');
    expect(containers(at)).toHaveLength(1);
    makeFiles(dest, { b: 'changed' });
    const { status, stderr } = await failing();
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringMatching(
        /^fastcp: cannot copy .*\n.*: '?.*dest'? was left as it was\n$/,
      ),
    });
    expect([content(dest, 'a'), content(dest, 'b')]).toEqual(['old', 'changed']);
    expect(containers(at)).toEqual([]);
  });

  test('killed between the two steps: both trees are kept until a copy succeeds', async (context) => {
    needTool(context, 'strace');
    await twoSteps('signal=SIGKILL:when=2');
    expect(digest(dest)).toBe('missing');
    const [left = ''] = containers(at);
    await expectBothTreesToStay(left);
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
      const isMoved = () => containers(at).some((name) => existsSync(join(at, name, 'old')));
      while (!ended && !isMoved()) await setTimeout(10);
      execFileSync('sh', ['-ec', script], { cwd: at });
      const came = lstatSync(dest).ino;
      const { status, stderr } = await copied;
      expect(status).toBe(1);
      const [left = ''] = containers(at);
      expect(stderr).toContain(`'${join(at, left)}' has the old tree and the new one`);
      expect(lstatSync(dest).ino).toBe(came);
      expect(content(at, left, 'old/b')).toBe('old');
      expect(content(at, left, 'tree/a')).toBe('new');
    },
  );

  test.for([
    { mode: 0o777, why: 'needs write permission in it' },
    { mode: 0o1777, why: 'another user owns it in a sticky directory' },
  ])(
    'a DEST of another user, in a directory of mode $mode: the error says why',
    async ({ mode, why }, context) => {
      needRoot(context);
      needUser(context);
      makeFiles(src, { a: 'new' });
      makeFiles(dest, { a: 'old' });
      chmodSync(at, mode);
      for (const how of ['--atomic', '--atomic=two-step']) {
        const command = [process.execPath, COMMAND, '-q', how, src, dest];
        const { status, stderr } = await run([...asUser, ...command]);
        expect(status).toBe(1);
        expect(stderr).toContain(why);
        expect(content(dest, 'a')).toBe('old');
        expect(containers(at)).toEqual([]);
      }
    },
  );

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
    const tree = () => join(at, containers(at)[0] ?? 'none', 'tree');
    // The directory's time is set last.
    const isWhole = () => lstatSync(tree(), { throwIfNoEntry: false })?.mtimeMs === 1e12;
    while (runs && !isWhole()) await setTimeout(5);
    rmSync(tree(), { recursive: true });
    const { status, stderr } = await copied;
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(/has removed/) });
    expect(content(dest, 'a')).toBe('old');
    expect(containers(at)).toEqual([]);
  });
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
        expect(readdirSync(mapped).length).toBeLessThanOrEqual(2);
        expect(stderr).toContain(`${join(mapped, '.d.fastcp-')}*`);
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
