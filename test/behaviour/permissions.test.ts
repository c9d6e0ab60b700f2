import { execFileSync } from 'node:child_process';
import { chmodSync, lstatSync, mkdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { copyTree } from '../../lib/index.js';
import type { CopyOptions } from '../../lib/types.js';
import { COMMAND, copyInChild, run } from '../support/child.js';
import { readTree } from '../support/compare.js';
import { makeFiles } from '../support/trees.js';
import { asUser, needUser, USER } from '../support/user.js';
import { isRoot, needRoot, needTool, workDirectory } from '../support/work.js';

// What an ordinary user may not read or write.

const work = workDirectory('permissions');
let at: string;
let number = 0;

beforeEach(() => {
  at = `${work}/${number++}`;
  execFileSync('mkdir', ['-m', '777', at]);
});

const make = (command: string): void => {
  execFileSync('sh', ['-ec', `umask 022; ${command}`], { cwd: at });
};

const absolute = (name: string): string => `${at}/${name}`;

const prepare = (): void => {
  make('mkdir -p src/sub src/closed/x; echo 1 > src/ok; echo 2 > src/secret; echo 3 > src/sub/ok');
  make('chmod 0 src/closed; chmod 600 src/secret');
  execFileSync('chown', ['-R', '0:0', absolute('src')]);
};

test('stop: the first error rejects', async (context) => {
  needRoot(context);
  needUser(context);
  prepare();
  const { error } = await copyInChild({ src: absolute('src'), dest: absolute('dest') }, asUser);
  const path = expect.stringMatching(/src\/(closed|secret)$/);
  expect(error).toMatchObject({ code: 'EACCES', syscall: 'open', errno: -13, path });
  expect(error?.message).toContain(`open '${error?.path}' -> '${error?.dest}'`);
});

describe('command line: the error tells what was denied', () => {
  test.for<[string[], string]>([
    [
      ['src/secret', 'new'],
      "copy 'src/secret' to 'new': permission denied: the source cannot be read",
    ],
    [
      ['src/closed', 'new'],
      "copy 'src/closed' to 'new': permission denied: the source cannot be read",
    ],
    [
      ['src/ok', 'src/new'],
      "copy 'src/ok' to 'src/new': permission denied: the destination cannot be written",
    ],
    [
      ['src/sub', 'src/new'],
      "copy 'src/sub' to 'src/new': permission denied: the destination cannot be written",
    ],
    [['src/ok', 'src/n/new'], "create 'src/n': permission denied"],
    [
      ['src/ok', 'src/closed/new'],
      "copy 'src/closed/new': permission denied: the destination cannot be looked at",
    ],
    [
      ['-a', '--strict', 'src/ok', 'new'],
      "copy 'src/ok' to 'new': operation not permitted: the owner cannot be set",
    ],
  ])('%j', async ([words, expected], context) => {
    needRoot(context);
    needUser(context);
    prepare();
    const { status, stderr } = await run([...asUser, process.execPath, COMMAND, ...words], at);
    expect(status).toBe(1);
    expect(stderr.split('\n')[0]).toBe(`fastcp: cannot ${expected}`);
  });
});

test("metadata of another user's directory: each loss counts once", async (context) => {
  needRoot(context);
  needUser(context);
  make('mkdir -p src/foreign dest/foreign; echo n > src/foreign/n; chmod 777 dest/foreign');
  execFileSync('chown', ['-R', `${USER}:${USER}`, absolute('src')]);
  execFileSync('chown', [`${USER}:${USER}`, absolute('dest')]);
  const options = { mirror: true, preserve: true, onError: 'continue' } as const;
  const request = { src: absolute('src'), dest: absolute('dest'), options };
  const { result } = await copyInChild(request, asUser);
  const counts = result.warnings.map(({ code, count }) => [code, count]);
  expect(counts).toEqual([
    ['MODE_NOT_PRESERVED', 1],
    ['TIMESTAMPS_NOT_PRESERVED', 1],
    ['OWNERSHIP_NOT_PRESERVED', 1],
  ]);
});

test('continue: the rest is copied', async (context) => {
  needRoot(context);
  needUser(context);
  prepare();
  const request = { src: absolute('src'), dest: absolute('dest') };
  const options = { onError: 'continue' as const };
  const { error, result } = await copyInChild({ ...request, options }, asUser);
  expect(error).toBeUndefined();
  expect(result).toMatchObject({ files: 2, directories: 2, errorCount: 2 });
  const paths = result.errors.map(({ code, path }) => [code, path?.slice(at.length)]);
  expect(paths.sort()).toEqual([
    ['EACCES', '/src/closed'],
    ['EACCES', '/src/secret'],
  ]);
  expect([...readTree(absolute('dest')).keys()].sort()).toEqual(['', 'ok', 'sub', 'sub/ok']);
});

test('a directory that may not be written to', async (context) => {
  needRoot(context);
  needUser(context);
  make(`mkdir -p src/a; touch src/a/f; mkdir -m 755 dest; echo old > dest/f; echo new > src/f`);
  const before = readTree(absolute('dest'));
  const request = { src: absolute('src'), dest: absolute('dest') };
  const { error } = await copyInChild(request, asUser);
  expect(error).toMatchObject({ code: 'EACCES', syscall: expect.stringMatching(/open|mkdir/) });
  expect(readTree(absolute('dest'))).toEqual(before);
  const { error: new_ } = await copyInChild({ ...request, dest: absolute('dest/x/y') }, asUser);
  expect(new_).toMatchObject({ code: 'EACCES', syscall: 'mkdir', path: absolute('dest/x') });
});

describe('a directory of one’s own in DEST whose mode keeps its owner out', {
  tags: ['all'],
}, () => {
  const modes = [0o000, 0o100, 0o300, 0o400, 0o600];
  const rows = modes.flatMap((mode) =>
    (['closed', '.'] as const).map((where) => [mode.toString(8), where] as const),
  );
  /** One file is new, one the same, and one of DEST's alone, as are two directories. */
  const makeBoth = (mode: string, where: string): void => {
    make(`mkdir -p src/closed/sub; echo new > src/closed/new; echo same > src/closed/same
      touch -d 2001-01-01 src/closed/same; echo in > src/closed/sub/in; chmod 750 src/closed
      cp -a src dest; rm dest/closed/new; mkdir -p dest/closed/gone/deeper`);
    make('touch dest/closed/extra dest/closed/gone/deeper/file');
    if (isRoot) execFileSync('chown', ['-R', `${USER}:${USER}`, absolute('src'), absolute('dest')]);
    make(`chmod ${mode} dest/${where}`);
  };
  const inode = (): number => lstatSync(absolute('dest/closed/same')).ino;
  const modeOf = (path: string): string => (lstatSync(absolute(path)).mode & 0o7777).toString(8);

  test.for(rows)(
    'mirror, mode %s, %s: one run is enough, unless a repository may be hidden',
    async ([mode, where], context) => {
      needUser(context);
      needRoot(context);
      makeBoth(mode, where);
      const before = inode();
      const options: CopyOptions = { mirror: true, onError: 'continue' };
      const request = { src: absolute('src'), dest: absolute('dest'), options };
      const { error, result } = await copyInChild(request, asUser);
      if (where === '.' && (Number.parseInt(mode, 8) & 0o100) === 0) {
        expect(error).toMatchObject({ code: 'EACCES', path: absolute('dest') });
        expect(modeOf('dest')).toBe(mode);
        return;
      }
      expect(result).toMatchObject({ errors: [], files: 1, unchanged: 2, deleted: 4 });
      expect(readTree(absolute('dest'))).toEqual(
        new Map(
          [...readTree(absolute('src'))].map(([name, entry]) => [
            name,
            { ...entry, inode: expect.any(BigInt) },
          ]),
        ),
      );
      expect(inode()).toBe(before);
      const again = await copyInChild(request, asUser);
      expect(again.result).toMatchObject({ errors: [], files: 0, unchanged: 3, deleted: 0 });
    },
  );

  test.for(rows)(
    'update, no modes preserved, mode %s, %s: it has its own mode again',
    async ([mode, where], context) => {
      needUser(context);
      needRoot(context);
      makeBoth(mode, where);
      const before = inode();
      const options: CopyOptions = { sync: true, preserve: ['timestamps'] };
      const request = { src: absolute('src'), dest: absolute('dest'), options };
      const { error, result } = await copyInChild(request, asUser);
      expect(error).toBeUndefined();
      expect(result).toMatchObject({ files: 1, unchanged: 2, deleted: 0 });
      expect(modeOf(`dest/${where}`)).toBe(mode);
      expect(inode()).toBe(before);
    },
  );

  test.for<[call: string, options: CopyOptions]>([
    ['fsetxattr', { preserve: true }],
    ['fsetxattr', { preserve: ['xattrs'] }],
    ['fsetxattr', { preserve: ['xattrs', 'timestamps'], fsync: true }],
    ['flistxattr', { preserve: ['mode', 'xattrs'] }],
    ['utimensat', { preserve: ['timestamps'] }],
  ])('it has its mode again if %s fails at its end: %o', async ([call, options], context) => {
    for (const need of [needUser, needRoot]) need(context);
    for (const tool of ['strace', 'setfattr']) needTool(context, tool);
    makeBoth('550', 'closed');
    execFileSync('setfattr', ['-n', 'user.a', '-v', 'b', absolute('src/closed')]);
    const words = ['strace', '-f', '-qq', '-o', '/dev/null', '-P', absolute('dest/closed')];
    words.push('-P', absolute('src/closed'), '-e', `inject=${call}:error=EIO`, ...asUser);
    const more: CopyOptions = { sync: true, strict: true, onError: 'continue' };
    const request = { src: absolute('src'), dest: absolute('dest') };
    const { result } = await copyInChild({ ...request, options: { ...options, ...more } }, words);
    expect(result.errors).toMatchObject([{ code: 'EIO', path: absolute('src/closed') }]);
    expect(result.files).toBe(1);
    expect(modeOf('dest/closed')).toBe('550');
  });

  test('without modes, ACLs are not preserved either: nobody gets more than before, or than the umask and a default ACL give', async (context) => {
    needTool(context, 'setfacl');
    for (const name of ['with', 'plain']) {
      makeFiles(absolute('.'), { [`acl src/${name}/f`]: 'new', [`acl dest/${name}/f`]: 'old' });
      chmodSync(absolute(`acl dest/${name}/f`), 0o600);
      chmodSync(absolute(`acl dest/${name}`), 0o700);
    }
    for (const name of ['with', 'with/f'])
      execFileSync('setfacl', ['-m', 'u:4321:rx', absolute(`acl src/${name}`)]);
    mkdirSync(absolute('acl share'));
    execFileSync('setfacl', ['-d', '-m', 'u::rwx,u:4321:rwx,g::---,o::---', absolute('acl share')]);
    for (const more of [{}, { sync: true }]) {
      const options: CopyOptions = { preserve: ['xattrs', 'timestamps'], ...more };
      await copyTree(absolute('acl src'), absolute('acl dest'), options);
      for (const name of ['with', 'plain'])
        expect([modeOf(`acl dest/${name}`), modeOf(`acl dest/${name}/f`)]).toEqual(['700', '600']);
      await copyTree(absolute('acl src'), absolute('acl share/dest'), options);
      const list = execFileSync('getfacl', ['-cn', absolute('acl share/dest/with/f')]);
      expect(`${list}`).toContain('group::---');
    }
  });

  test('a setgid that is lost by opening it up is told once, also after an error', async (context) => {
    for (const need of [needUser, needRoot]) need(context);
    for (const tool of ['strace', 'setfattr']) needTool(context, tool);
    makeBoth('2555', 'closed');
    execFileSync('chgrp', [`${USER - 1}`, absolute('dest/closed')]);
    execFileSync('chmod', ['2555', absolute('dest/closed')]);
    execFileSync('setfattr', ['-n', 'user.a', '-v', 'b', absolute('src/closed')]);
    const words = ['strace', '-f', '-qq', '-o', '/dev/null', '-P', absolute('dest/closed')];
    words.push('-e', 'inject=fsetxattr:error=EIO', ...asUser);
    const options: CopyOptions = { sync: true, preserve: ['xattrs'], onError: 'continue' };
    const request = { src: absolute('src'), dest: absolute('dest'), options };
    const { result } = await copyInChild(request, words);
    expect(result.errors).toMatchObject([{ code: 'EIO' }]);
    expect(result.warnings).toMatchObject([{ code: 'MODE_NOT_PRESERVED', count: 1 }]);
    expect(modeOf('dest/closed')).toBe('555');
  });

  test('a dry run changes no mode, and says what it cannot list', async (context) => {
    needUser(context);
    needRoot(context);
    makeBoth('0', 'closed');
    const options: CopyOptions = { mirror: true, dryRun: true, onError: 'continue' };
    const request = { src: absolute('src'), dest: absolute('dest'), options };
    const { result } = await copyInChild(request, asUser);
    expect(result.errors).toMatchObject([{ code: 'EACCES', path: absolute('dest/closed') }]);
    expect(modeOf('dest/closed')).toBe('0');
  });

  const options: CopyOptions[] = [{}, { update: true }, { force: false }, { hardLink: true }];
  // A dry run does not try to write, so it does not know that a directory forbids that alone.
  const cases = [0, 0o300, 0o400, 0o600].flatMap((mode) =>
    options.map((some) => [mode.toString(8), some] as const),
  );
  test.for(cases)(
    'a dry run gives the errors of the real one: mode %s, %o',
    async ([mode, some], context) => {
      needUser(context);
      needRoot(context);
      makeBoth(mode, 'closed');
      const errors = [];
      for (const dryRun of [true, false]) {
        const how: CopyOptions = { ...some, dryRun, onError: 'continue' };
        const request = { src: absolute('src'), dest: absolute('dest'), options: how };
        const { result } = await copyInChild(request, asUser);
        const { files, hardLinks } = result;
        errors.push([
          result.errors.map(({ code, path }) => `${code} ${path}`).sort(),
          files,
          hardLinks,
        ]);
      }
      expect(errors[0]).toEqual(errors[1]);
    },
  );
});

test('a directory that somebody else makes meanwhile is opened up by whoever was to make it', async (context) => {
  needRoot(context);
  needUser(context);
  needTool(context, 'strace');
  make('mkdir -p src/a dest; echo 1 > src/a/f');
  execFileSync('chown', ['-R', `${USER}:${USER}`, at]);
  const slow = ['strace', '-f', '-qq', '-o', '/dev/null'];
  slow.push('-e', 'trace=mkdirat', '-e', 'inject=mkdirat:delay_enter=800000');
  const options = { sync: true, include: ['a/f'], preserve: false };
  const copying = copyInChild({ src: absolute('src'), dest: absolute('dest'), options }, [
    ...slow,
    ...asUser,
  ]);
  await sleep(600);
  make('mkdir dest/a');
  execFileSync('chown', [`${USER}:${USER}`, absolute('dest/a')]);
  execFileSync('chmod', ['600', absolute('dest/a')]);
  expect((await copying).result).toMatchObject({ files: 1, errorCount: 0 });
  expect(lstatSync(absolute('dest/a')).mode & 0o777).toBe(0o600);
});

test('attributes change, and no mode is wider for others meanwhile', async (context) => {
  needRoot(context);
  needUser(context);
  for (const tool of ['strace', 'setfacl', 'setfattr']) needTool(context, tool);
  make('mkdir src dest; echo 1 > src/f; cp -p src/f dest/f; setfattr -n user.bar -v x src/f');
  make('setfacl -m u:1:rw,g::---,m::rw,o::--- dest/f; chmod 400 src/f; chmod u-w dest/f');
  execFileSync('chown', ['-R', `${USER}:${USER}`, at]);
  const log = absolute('strace');
  const words = ['strace', '-f', '-qq', '-o', log, '-e', 'trace=chmod,fchmod,fchmodat', ...asUser];
  const options = { sync: true, preserve: true };
  await copyInChild({ src: absolute('src'), dest: absolute('dest'), options }, words);
  const modes = [...readFileSync(log, 'utf8').matchAll(/chmod.*, 0([0-7]+)\)/g)].map(([, mode]) =>
    Number.parseInt(mode ?? '', 8),
  );
  expect(modes.length).toBeGreaterThan(1);
  expect(modes.filter((mode) => (mode & 0o077) !== 0)).toEqual([]);
  expect(lstatSync(absolute('dest/f')).mode & 0o777).toBe(0o400);
});

describe('nobody gets in meanwhile who may not in the end', { tags: ['all'] }, () => {
  const list = (path: string): string =>
    execFileSync('getfacl', ['--omit-header', '--numeric', '--absolute-names', path], {
      encoding: 'utf8',
    });
  interface State {
    owners: string;
    list: string;
    bits: number;
  }
  const state = (path: string): State | undefined => {
    try {
      const { uid, gid, mode, ctimeMs } = lstatSync(path);
      const found = { owners: `${uid}:${gid}`, list: list(path), bits: mode & 0o777 };
      return lstatSync(path).ctimeMs === ctimeMs ? found : undefined; // else of two states
    } catch {
      return undefined; // it is not there yet
    }
  };
  const same = (a: State, b: State): boolean => a.owners === b.owners && a.list === b.list;

  test.for<[name: string, make: string, options: CopyOptions, paths: string[]]>([
    [
      'a list that DEST hands on',
      'mkdir -p src dest; for i in 1 2 3; do echo 1 > src/$i; done; mkfifo src/p; chmod 660 src/*; setfacl -d -m u:1000:rwx dest',
      { preserve: true },
      ['1', '2', '3', 'p'],
    ],
    [
      'a group that DEST hands on',
      'mkdir -p src/secret dest; echo 1 > src/secret/f; chown -R 0:4321 src; chmod 770 src/secret; chown 0:1234 dest; chmod 2775 dest',
      { preserve: ['mode', 'ownership'] },
      ['secret', 'secret/f'],
    ],
    [
      'a list with less for the group than the mode shows',
      'mkdir -p src/secret; echo 1 > src/secret/f; chmod 770 src/secret; setfacl -m u:1000:rwx,g::---,m::rwx src/secret',
      { preserve: true },
      ['secret', 'secret/f'],
    ],
    [
      'a file that gets another owner in place',
      'mkdir -p src dest; echo 1 > src/f; cp -p src/f dest/f; chown 1000:4321 src/f; chmod 600 src/f; chmod 660 dest/f',
      { preserve: true, sync: true },
      ['f'],
    ],
    [
      'a directory that gets another owner in place',
      'mkdir -p src/d dest/d; echo 1 > src/d/f; chown 1000:4321 src/d; chmod 700 src/d; chmod 770 dest/d',
      { preserve: true, sync: true },
      ['d'],
    ],
    [
      'a file that loses a list in place',
      'mkdir -p src dest; echo 1 > src/f; cp -p src/f dest/f; chmod 640 src/f; setfacl -m u:1000:rw,g::---,m::rw dest/f',
      { preserve: true, sync: true },
      ['f'],
    ],
  ])('%s', async ([, script, options, paths], context) => {
    needRoot(context);
    for (const tool of ['strace', 'setfacl']) needTool(context, tool);
    make(script);
    const calls =
      'mkdirat,mknodat,fchown,fchownat,fchmod,fchmodat,fsetxattr,setxattr,fremovexattr,removexattr,copy_file_range,renameat,getdents64';
    const words = ['strace', '-f', '-qq', '-o', '/dev/null', '-e', `trace=${calls}`];
    words.push('-e', `inject=${calls}:delay_enter=40000:delay_exit=40000`);
    const whole = paths.map((path) => absolute(`dest/${path}`));
    const before = whole.map(state);
    const samples = whole.map(() => [] as State[]);
    let copying = true;
    const watching = (async () => {
      while (copying) {
        whole.forEach((path, i) => {
          const found = state(path);
          if (found) samples[i]?.push(found);
        });
        await sleep(1);
      }
    })();
    const { error } = await copyInChild(
      { src: absolute('src'), dest: absolute('dest'), options },
      words,
    );
    copying = false;
    await watching;
    expect(error).toBeUndefined();
    whole.forEach((path, i) => {
      const final = state(path) as State;
      const between = samples[i]?.filter(
        (found) => !same(found, final) && !(before[i] && same(found, before[i])),
      );
      const open = between?.filter(({ bits }) => (bits & 0o077) !== 0);
      expect(open, `${path} in between`).toEqual([]);
    });
    expect(samples.flat().length, 'looks while it was copied').toBeGreaterThan(3);
  });
});
