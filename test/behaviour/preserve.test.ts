import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, type TestContext, test } from 'vitest';
import { copyTree } from '../../lib/index.js';
import type { CopyOptions, PreserveKind } from '../../lib/types.js';
import { Random } from '../selection/support/random.js';
import { attributeDifferences, changeAttributes, makeRandomTree } from '../support/attributes.js';
import { copyInChild } from '../support/child.js';
import { differences, readTree } from '../support/compare.js';
import { type FileSystemName, useFileSystem, whileMounted } from '../support/filesystems.js';
import { byEntry } from '../support/filter.js';
import { seed, size } from '../support/form.js';
import { makeFiles } from '../support/trees.js';
import { asUser, needUser, USER } from '../support/user.js';
import { needRoot, needTool, needToolHere, skip, workDirectory } from '../support/work.js';

// What an entry has beside its content.

const work = workDirectory('preserve');
let number = 0;
let src: string;
let dest: string;
beforeEach(() => {
  const directory = join(work, `${number++}`);
  mkdirSync(directory);
  chmodSync(directory, 0o777);
  src = join(directory, 'src');
  dest = join(directory, 'dest');
});

const run = (file: string, ...args: string[]): string => {
  needToolHere(file);
  return execFileSync(file, args, { encoding: 'utf8', stdio: 'pipe' });
};

describe('random trees, everything preserved', () => {
  const disks = size<FileSystemName[]>(['tmpfs'], ['tmpfs', 'ext4', 'xfs', 'btrfs']).map(
    (name) => [name, useFileSystem(work, name)] as const,
  );

  test.for(disks)('%s', async ([, directoryOf], context) => {
    needTool(context, 'setfacl');
    const directory = directoryOf(context);
    for (const seed of [1, 2, 3]) {
      const tree = makeRandomTree(join(directory, `tree ${seed}`), seed, 500);
      // New entries would get an access list here.
      const parent = join(directory, `parent ${seed}`);
      mkdirSync(parent);
      run('setfacl', '-d', '-m', 'u:4321:rwx,g::rwx,o::rwx', parent);
      const copy = join(parent, 'copy');
      const { warnings, files, hardLinks } = await copyTree(tree, copy, { preserve: true });
      expect(warnings).toEqual([]);
      expect(differences(tree, copy)).toEqual([]);
      expect(attributeDifferences(tree, copy)).toEqual([]);
      expect(hardLinks).toBeGreaterThan(20);

      // The counts of a dry run are those of the copy; a second copy changes nothing.
      const dry = await copyTree(tree, join(directory, 'dry'), { preserve: true, dryRun: true });
      expect(dry).toMatchObject({ files, hardLinks });
      await copyTree(tree, copy, { preserve: true });
      expect(attributeDifferences(tree, copy)).toEqual([]);
    }
  });

  const steps = size(3, 15);

  test.for(disks)(
    `%s: ${steps} times changed on both sides and mirrored, seed ${seed}`,
    { timeout: 1_200_000 },
    async ([, directoryOf], context) => {
      needTool(context, 'setfacl');
      const directory = directoryOf(context);
      const [tree, copy] = [join(directory, 'changing'), join(directory, 'mirrored')];
      makeRandomTree(tree, seed, 80);
      await copyTree(tree, copy, { mirror: true });
      for (let step = 0; step < steps; step++) {
        changeAttributes(tree, seed + step, 6);
        if (step % 3 > 0) changeAttributes(copy, seed - step, 4);
        // A run without them in between proves nothing about them.
        if (step % 4 === 0) await copyTree(tree, copy, { mirror: true });
        const { warnings } = await copyTree(tree, copy, { mirror: true, preserve: true });
        expect(warnings, `step ${step}`).toEqual([]);
        expect(attributeDifferences(tree, copy), `step ${step}`).toEqual([]);
      }
    },
  );

  test(`random trees of an ordinary user, copied and mirrored by that user, seed ${seed}`, {
    tags: ['all'],
  }, async (context) => {
    needUser(context);
    needTool(context, 'setfacl');
    // What only root may have or copy.
    const own = `find "$0" -type c -delete
      find "$0" -exec setfattr -hx trusted.test {} + -o -exec setfattr -hx security.capability {} + 2> /dev/null || true
      chown -Rh ${USER}:${USER} "$0"; find "$0" ! -type l -exec chmod u+rX {} +`;
    for (let round = 0; round < 4; round++) {
      const [tree, copy] = [`${src} ${round}`, `${dest} ${round}`];
      makeRandomTree(tree, seed + round, 60);
      execFileSync('sh', ['-c', own, tree], { stdio: 'pipe' });
      for (const options of [{ preserve: true }, { preserve: true, mirror: true }] as const) {
        const { error, result } = await copyInChild({ src: tree, dest: copy, options }, asUser);
        expect(error, `${round}`).toBeUndefined();
        expect(result.warnings, `${round}`).toEqual([]);
        expect(attributeDifferences(tree, copy), `${round}`).toEqual([]);
        if ('mirror' in options) expect(result, `${round}`).toMatchObject({ files: 0, deleted: 0 });
      }
    }
  });

  test('the oracles see what the default does not keep', async (context) => {
    needRoot(context);
    needTool(context, 'setfacl');
    makeRandomTree(src, 4, 200);
    await copyTree(src, dest);
    const found = attributeDifferences(src, dest).join('\n');
    expect(found).toMatch(/^find: lost/m);
    expect(found).toMatch(/^getfattr: lost # file: .*\n(.*\n)*user\./m);
    expect(found).toMatch(/^getfacl: lost # file: .*\n(.*\n)*default:/m);
  });
});

describe('each by itself', () => {
  const old = new Date('1999-12-31T23:59:59.123Z');
  const kept: Record<PreserveKind, () => boolean> = {
    mode: () => (statSync(join(dest, 'file')).mode & 0o777) === 0o640,
    timestamps: () =>
      ['file', 'directory', 'link', '.'].every(
        (name) => lstatSync(join(dest, name)).mtimeMs === old.getTime(),
      ),
    ownership: () =>
      ['file', 'directory', 'link'].every((name) => lstatSync(join(dest, name)).uid === USER),
    xattrs: () => run('getfattr', '-d', join(dest, 'file')).includes('user.a="b"'),
    hardLinks: () => statSync(join(dest, 'file')).ino === statSync(join(dest, 'other')).ino,
  };
  const kinds = Object.keys(kept) as PreserveKind[];
  const make = (): void => {
    makeFiles(src, { file: 'x', 'directory/inner': 'y' });
    symlinkSync('nowhere', join(src, 'link'));
    linkSync(join(src, 'file'), join(src, 'other'));
    run('setfattr', '-n', 'user.a', '-v', 'b', join(src, 'file'));
    for (const name of ['file', 'directory', 'link'])
      run('chown', '-h', `${USER}`, join(src, name));
    chmodSync(join(src, 'file'), 0o640);
    for (const name of ['directory/inner', 'directory', 'link', 'file', '.']) {
      lutimesSync(join(src, name), old, old);
    }
  };
  const rows: [name: string, preserve: CopyOptions['preserve'], kept: PreserveKind[]][] = [
    ['default', undefined, ['mode']],
    ['false', false, []],
    ['true', true, kinds],
    ...kinds.map((kind): [string, PreserveKind[], PreserveKind[]] => [kind, [kind], [kind]]),
  ];
  test.for(rows)('%s', async ([, preserve, expected], context) => {
    needRoot(context);
    needTool(context, 'setfattr');
    make();
    await copyTree(src, dest, preserve === undefined ? {} : { preserve });
    expect(kinds.filter((kind) => kept[kind]())).toEqual(expected);
  });
});

describe('ownership', () => {
  const ownerOf = (path: string): string => {
    const { uid, gid } = lstatSync(path);
    return `${uid}:${gid}`;
  };

  test.for([
    ['user', '1234:0'],
    ['group', '0:1234'],
    ['both', '1234:1234'],
  ] as const)('%s alone differs in DEST: it is set again', async ([, wrong], context) => {
    needRoot(context);
    makeFiles(src, { 'directory/file': 'x' });
    symlinkSync('nowhere', join(src, 'directory/link'));
    const options: CopyOptions = { mirror: true, preserve: true };
    await copyTree(src, dest, options);
    const names = ['directory', 'directory/file', 'directory/link'];
    const { ino } = statSync(join(dest, 'directory/file'));
    for (const name of names) run('chown', '-h', wrong, join(dest, name));
    await copyTree(src, dest, options);
    expect(names.map((name) => ownerOf(join(dest, name)))).toEqual(Array(3).fill('0:0'));
    expect(statSync(join(dest, 'directory/file')).ino).toBe(ino);
  });

  test('the group alone, which is an ordinary user’s to give', async (context) => {
    needRoot(context);
    needUser(context);
    const group = 4321;
    makeFiles(src, { 'directory/file': 'x' });
    run('chown', '-R', `0:${group}`, src);
    const member = asUser.map((word) => (word === '--clear-groups' ? `--groups=${group}` : word));
    const options: CopyOptions = { preserve: true };
    const { error, result } = await copyInChild({ src, dest, options }, member);
    expect(error).toBeUndefined();
    expect(result.warnings).toMatchObject([{ code: 'OWNERSHIP_NOT_PRESERVED', count: 3 }]);
    for (const name of ['', 'directory', 'directory/file']) {
      expect(ownerOf(join(dest, name))).toBe(`${USER}:${group}`);
    }
  });
});

test('nanoseconds', async (context) => {
  needTool(context, 'touch');
  makeFiles(src, { file: 'x' });
  run('touch', '-d', '2001-02-03 04:05:06.123456789', join(src, 'file'));
  await copyTree(src, dest, { preserve: ['timestamps'] });
  expect(lstatSync(join(dest, 'file'), { bigint: true }).mtimeNs % 1_000_000_000n).toBe(
    123_456_789n,
  );
});

describe('directories that DEST has', () => {
  test.for([
    ['default', undefined, '755'],
    ['asked for', ['mode', 'timestamps'] satisfies PreserveKind[], '700'],
  ] as const)('%s', async ([, preserve, mode]) => {
    makeFiles(src, { 'directory/new': 'x' });
    chmodSync(join(src, 'directory'), 0o700);
    utimesSync(join(src, 'directory'), 1, 1);
    makeFiles(dest, { 'directory/old': 'y' });
    chmodSync(join(dest, 'directory'), 0o755);
    await copyTree(src, dest, preserve ? { preserve } : {});
    const { mode: found, mtimeMs } = statSync(join(dest, 'directory'));
    expect((found & 0o777).toString(8)).toBe(mode);
    expect(mtimeMs === 1000).toBe(preserve !== undefined);
  });
});

describe('setuid is kept with its owner only', () => {
  test.for([
    [['mode'], '755'],
    [['mode', 'ownership'], '4755'],
    [['ownership'], '644'],
  ] as const)('%s', async ([preserve, mode], context) => {
    needRoot(context);
    makeFiles(src, { file: 'x' });
    chownSync(join(src, 'file'), USER, USER);
    chmodSync(join(src, 'file'), 0o4755);
    await copyTree(src, dest, { preserve });
    expect((statSync(join(dest, 'file')).mode & 0o7777).toString(8)).toBe(mode);
  });
});

describe('what may not be kept', () => {
  const make = (): void => {
    makeFiles(src, { a: 'a', b: 'b', 'directory/c': 'c' });
    run('chmod', '-R', 'a+rX', src);
  };

  test('one warning for each kind, with a count', async (context) => {
    needRoot(context);
    needUser(context);
    make();
    const { error, result } = await copyInChild({ src, dest, options: { preserve: true } }, asUser);
    expect(error).toBeUndefined();
    expect(result.warnings).toMatchObject([
      { code: 'OWNERSHIP_NOT_PRESERVED', count: 5, message: expect.stringContaining('5 entries') },
    ]);
    expect(result).toMatchObject({ warningCount: 1, files: 3 });
    expect(differences(src, dest)).toEqual([]);
  });

  test('strict: an error, and no file', async (context) => {
    needRoot(context);
    needUser(context);
    make();
    const options: CopyOptions = { preserve: true, strict: true, onError: 'continue' };
    const { result } = await copyInChild({ src, dest, options }, asUser);
    expect(result.errorCount).toBe(5);
    expect(result.errors[0]).toMatchObject({ code: 'EPERM', syscall: 'fchown' });
    expect(result).toMatchObject({ files: 0, warnings: [] });
  });

  const strace = ['strace', '-f', '-qq', '-o', '/dev/null'];
  /** Lets strace make each call fail that sets or removes an attribute. */
  const failing = (what: 'set' | 'remove', error: string): string[] =>
    ['', 'f'].flatMap((by) => ['-e', `inject=${by}${what}xattr:error=${error}`]);
  const needForAcls = (context: TestContext): void => {
    needRoot(context);
    for (const tool of ['strace', 'setfacl']) needTool(context, tool);
  };

  test('an owner and an attribute change: the mode is narrowed once, and stays narrow if the attribute cannot be set', async (context) => {
    needForAcls(context);
    makeFiles(src, { file: 'x' });
    await copyTree(src, dest, { preserve: true });
    for (const name of ['', 'file']) {
      chownSync(join(src, name), USER, USER);
      if (name) run('setfattr', '-n', 'user.a', '-v', 'b', join(src, name));
      else run('setfacl', '-m', `u:${USER + 1}:rwx`, src);
      chmodSync(join(src, name), 0o750);
      chmodSync(join(dest, name), name ? 0o6775 : 0o775);
    }
    const modes = () =>
      ['', 'file'].map((name) => (statSync(join(dest, name)).mode & 0o7777).toString(8));
    const log = join(work, 'narrowed');
    const copy = async (...words: string[]) => {
      const options: CopyOptions = {
        preserve: true,
        sync: true,
        strict: true,
        onError: 'continue',
      };
      const strace = ['strace', '-f', '-qq', '-o', log, '-e', 'trace=fchmod,fsetxattr,setxattr'];
      const { result } = await copyInChild({ src, dest, options }, [...strace, ...words]);
      expect(readFileSync(log, 'utf8')).not.toMatch(/fchmod.*, 02/); // neither directory has setgid
      return result.errors.map(({ syscall = '' }) => syscall);
    };
    expect(await copy(...failing('set', 'EOPNOTSUPP'))).toEqual(['setxattr', 'setxattr']);
    expect(modes()).toEqual(['700', '700']);
    expect(await copy()).toEqual([]);
    expect(modes()).toEqual(['750', '750']);
  });

  test.for(['removed', 'replaced'])(
    'an ACL that cannot be %s lets nobody more in',
    async (what, context) => {
      needForAcls(context);
      for (const root of [src, dest]) makeFiles(root, { 'd/file': 'x' });
      for (const name of ['d', 'd/file']) {
        chmodSync(join(src, name), 0o775);
        if (what === 'replaced') run('setfacl', '-m', 'u:4321:r', join(src, name));
        run('setfacl', '-m', `u:${USER}:rwx,g::rwx,m::r`, join(dest, name));
        if (name === 'd') chownSync(join(src, name), USER, USER);
      }
      const words = [...strace, ...failing(what === 'removed' ? 'remove' : 'set', 'EPERM')];
      const options: CopyOptions = { preserve: true, sync: true, onError: 'continue' };
      const { result } = await copyInChild({ src, dest, options }, words);
      expect([result.warnings.length, result.errors.length]).toEqual([1, 0]);
      const lists = run('getfacl', '-cnp', join(dest, 'd'), join(dest, 'd/file'));
      expect(lists.match(/mask::.*/g)).toEqual(['mask::r--', 'mask::r--']);
    },
  );

  test('an inherited ACL that cannot be removed lets nobody in, but may be replaced', async (context) => {
    needForAcls(context);
    makeFiles(src, { file: 'x', other: 'x', 'directory/file': 'x' });
    for (const name of ['file', 'other']) chmodSync(join(src, name), 0o660);
    chmodSync(join(src, 'directory'), 0o770);
    run('setfacl', '-m', 'u:4321:rw', join(src, 'other'));
    mkdirSync(dest);
    run('setfacl', '-d', '-m', `u:${USER}:rwx`, dest);
    const words = [...strace, ...failing('remove', 'EPERM')];
    const options: CopyOptions = { preserve: ['mode', 'xattrs'], onError: 'continue' };
    const { result } = await copyInChild({ src, dest, options }, words);
    expect(result.warnings.map(({ code }) => code)).toContain('ACLS_NOT_PRESERVED');
    for (const name of ['file', 'directory'])
      expect(run('getfacl', '-cnp', join(dest, name)), name).toContain('mask::---');
    const lists = [src, dest].map((root) => run('getfacl', '-cnp', join(root, 'other')));
    expect(lists[1]).toBe(lists[0]);
  });

  test('strict: one error for a file that loses attributes and an ACL', async (context) => {
    needForAcls(context);
    makeFiles(src, { file: 'x' });
    run('setfattr', '-n', 'user.a', '-v', 'b', join(src, 'file'));
    run('setfacl', '-m', `u:${USER}:r`, join(src, 'file'));
    const words = [...strace, ...failing('set', 'EOPNOTSUPP')];
    const options: CopyOptions = { preserve: true, strict: true, onError: 'continue' };
    const { result } = await copyInChild({ src, dest, options }, words);
    expect(result.errors.map(({ path }) => path)).toEqual([join(src, 'file')]);
  });

  test('strict: an attribute for which DEST has no room is no full disk', async (context) => {
    needRoot(context);
    needTool(context, 'strace');
    make();
    for (const name of ['a', 'b', 'directory/c']) {
      run('setfattr', '-n', 'user.a', '-v', 'b', join(src, name));
    }
    makeFiles(src, { last: '' });
    const strict: CopyOptions = { strict: true, onError: 'continue', concurrency: 1 };
    const options: CopyOptions = { preserve: true, ...strict };
    const words = ['strace', '-f', '-qq', '-o', join(work, 'log'), '-e'];
    const inject = 'inject=fsetxattr:error=ENOSPC';
    const { result } = await copyInChild({ src, dest, options }, [...words, inject]);
    expect(result.errors.map(({ code }) => code)).toEqual(['ENOSPC', 'ENOSPC', 'ENOSPC']);
    expect(result.files).toBe(1);
  });

  test('attributes of read-only files are the user’s to give', async (context) => {
    needUser(context);
    needTool(context, 'setfattr');
    make();
    run('setfattr', '-n', 'user.a', '-v', 'b', join(src, 'a'));
    if (process.getuid?.() === 0) run('chown', '-R', `${USER}:${USER}`, src);
    chmodSync(join(src, 'a'), 0o444);
    const { error, result } = await copyInChild({ src, dest, options: { preserve: true } }, asUser);
    expect(error).toBeUndefined();
    expect(result.warnings).toEqual([]);
    expect(attributeDifferences(src, dest)).toEqual([]);
  });

  test('nothing of DEST, which cannot: lists and attributes', async (context) => {
    needForAcls(context);
    make();
    run('setfattr', '-n', 'user.a', '-v', 'b', join(src, 'a'));
    run('setfacl', '-m', 'u:7:rwx,g::-', join(src, 'b'));
    const words = ['strace', '-f', '-qq', '-o', join(work, 'log')];
    const inject = ['-e', 'inject=fsetxattr:error=EOPNOTSUPP'];
    const options: CopyOptions = { preserve: true };
    const { error, result } = await copyInChild({ src, dest, options }, [...words, ...inject]);
    expect(error).toBeUndefined();
    expect(result.warnings.map(({ code, count }) => [code, count])).toEqual([
      ['XATTRS_NOT_PRESERVED', 1],
      ['ACLS_NOT_PRESERVED', 1],
    ]);
    // Its mode shows the list's mask for the group, which had no rights.
    expect((statSync(join(src, 'b')).mode & 0o777).toString(8)).toBe('674');
    expect((statSync(join(dest, 'b')).mode & 0o777).toString(8)).toBe('604');
  });
});

test('labels of security modules that only DEST has stay, other attributes do not', async (context) => {
  needRoot(context);
  needTool(context, 'setfattr');
  for (const root of [src, dest]) makeFiles(root, { file: 'same' });
  for (const name of ['user.a', 'security.label']) {
    run('setfattr', '-n', name, '-v', 'b', join(dest, 'file'));
  }
  await copyTree(src, dest, { sync: true, preserve: true });
  const all = run('getfattr', '--absolute-names', '-m', '-', join(dest, 'file'));
  expect(all.split('\n').slice(1).filter(Boolean)).toEqual(['security.label']);
});

describe('attributes that DEST cannot hold', () => {
  const small = useFileSystem(work, 'ext4', { size: '16M' }); // a block for the attributes of a file
  test('are counted once for each entry that loses some', async (context) => {
    dest = join(small(context), 'dest');
    makeFiles(src, { one: '', two: '', none: '' });
    for (const name of ['one', 'two']) {
      for (const attribute of ['a', 'b', 'c']) {
        run('setfattr', '-n', `user.${attribute}`, '-v', 'x'.repeat(3900), join(src, name));
      }
    }
    for (const more of [{}, { sync: true }]) {
      const { warnings } = await copyTree(src, dest, { preserve: ['xattrs'], ...more });
      expect(warnings).toMatchObject([{ code: 'XATTRS_NOT_PRESERVED', count: 2 }]);
    }
  });

  test.for<[string, number[]]>([
    ['set in one run', [300]],
    ['set in several runs', [16, 200, 0]],
  ])('a mark does not take the room of attributes %s', async ([what, steps], context) => {
    for (const tool of ['setfattr']) needTool(context, tool);
    const directory = join(small(context), what);
    [src, dest] = [join(directory, 'src'), join(directory, 'dest')];
    makeFiles(src, { 'd/file': 'x' });
    await copyTree(src, dest, { mirror: true }); // which marks DEST
    for (const [number, size] of steps.entries()) {
      const isLast = number === steps.length - 1;
      const set = `setfattr -n user.${number}.$number -v $(head -c $size /dev/zero | tr '\\0' x) d 2> full`;
      const once = `number=0; for size in ${size} ${size} ${size}; do ${set}; number=$((number + 1)); done`;
      const fill = `number=0; for size in ${size} 30 1; do
        while ${set}; do number=$((number + 1)); done
      done; grep 'No space' full`;
      // As many bytes as there is room for.
      const largest = `number=0; size=400; until ${set}; do size=$((size - 1)); done`;
      const last = size === 0 ? largest : fill;
      execFileSync('sh', ['-ec', `${isLast ? last : once}; rm full`], { cwd: src });
      for (const _ of [1, 2]) {
        const { warnings } = await copyTree(src, dest, { preserve: true, mirror: true });
        expect(warnings).toEqual([]);
      }
    }
    const list = ['-d', '-m', '^(user.[0-9]|system)', 'd'];
    const [from, to] = [src, dest].map((cwd) => execFileSync('getfattr', list, { cwd }));
    expect(to?.toString()).toBe(from?.toString());
  });

  const large = useFileSystem(work, 'xfs', { size: '310M' }); // it lists ACLs last, so these are set last
  test.for<[CopyOptions['preserve']]>([[true], [['xattrs']]])(
    'strict: an error, and DEST keeps its mode and ACL: %s',
    async ([preserve], context) => {
      for (const tool of ['setfattr', 'setfacl']) needTool(context, tool);
      dest = join(small(context), `strict ${preserve}`);
      src = join(large(context), `strict ${preserve}`);
      makeFiles(src, { 'd/file': 'x' });
      const directory = join(src, 'd');
      chmodSync(directory, 0o775);
      run('setfacl', '-m', `u:${USER}:r-x`, directory);
      run('setfattr', '-n', 'user.small', '-v', 'x'.repeat(300), directory);
      await copyTree(src, dest, { preserve: true, sync: true }); // which marks DEST
      const look = (): string =>
        execFileSync('sh', ['-c', 'getfacl -cn d; stat -c %a d'], { cwd: dest, encoding: 'utf8' });
      const before = look();
      run('setfattr', '-n', 'user.big', '-v', 'x'.repeat(3850), directory);
      const options: CopyOptions = { sync: true, strict: true, ...(preserve && { preserve }) };
      await expect(copyTree(src, dest, options)).rejects.toMatchObject({ syscall: 'setxattr' });
      expect(look()).toBe(before);
    },
  );

  test('strict: an error, and beside its new ACL a file does not get its old mode', async (context) => {
    for (const tool of ['setfattr', 'setfacl']) needTool(context, tool);
    dest = join(small(context), 'new acl');
    makeFiles(src, { file: 'x' });
    const [from, to] = [join(src, 'file'), join(dest, 'file')];
    await copyTree(src, dest, { preserve: true });
    chmodSync(to, 0o666);
    chmodSync(from, 0o600);
    run('setfacl', '-m', `u:${USER}:r`, from);
    run('setfattr', '-n', 'user.big', '-v', 'x'.repeat(3900), from);
    const options: CopyOptions = { preserve: true, sync: true, strict: true };
    await expect(copyTree(src, dest, options)).rejects.toMatchObject({ syscall: 'setxattr' });
    expect((statSync(to).mode & 0o777).toString(8)).toBe('640');
  });
});

test('an ACL that comes after an attribute for which there was no room is SRC’s, mask and all', async (context) => {
  for (const tool of ['setfattr', 'setfacl']) needTool(context, tool);
  needRoot(context);
  const disk = join(work, 'late acl');
  mkdirSync(disk);
  const image = `${disk}.image`;
  execFileSync('sh', ['-ec', 'truncate -s 16M "$0"; mkfs.ext4 -q -b 4096 -I 256 "$0"', image]);
  await whileMounted(['-o', 'loop', image], disk, async () => {
    makeFiles(disk, { 'src/d/file': 'x' });
    const [from, to] = [join(disk, 'src'), join(disk, 'dest')];
    const sh = (script: string, cwd = from) =>
      execFileSync('sh', ['-ec', script], { cwd, encoding: 'utf8' });
    const options: CopyOptions = { mirror: true, preserve: ['mode', 'xattrs', 'timestamps'] };
    sh('chmod 755 d; setfattr -n user.a -v $(head -c 60 /dev/zero | tr "\\0" a) d');
    await copyTree(from, to, options); // which marks DEST
    // In the block, and the ACL in the inode.
    sh(`setfattr -n user.big -v $(head -c 3992 /dev/zero | tr "\\0" x) d
        setfacl -m u:1000:---,g::---,o::--- d`);
    const { warnings } = await copyTree(from, to, options);
    expect(warnings).toEqual([]);
    const look = 'getfacl -cn d; stat -c %a d';
    expect(sh(look, to)).toBe(sh(look));
  });
});

describe('hard links', () => {
  const preserve: PreserveKind[] = ['hardLinks'];

  test('within one directory and across, of what is linked outside, too', async () => {
    makeFiles(src, { 'a/one': 'x', 'outside/one': 'y' });
    mkdirSync(join(src, 'b'));
    for (const name of ['a/two', 'b/three']) linkSync(join(src, 'a/one'), join(src, name));
    linkSync(join(src, 'outside/one'), join(work, `outside ${number}`));
    const result = await copyTree(src, dest, { preserve });
    expect(result).toMatchObject({ files: 2, hardLinks: 2 });
    expect(statSync(join(dest, 'a/one')).nlink).toBe(3);
    expect(statSync(join(dest, 'outside/one')).nlink).toBe(1);
    expect(statSync(join(dest, 'b/three')).ino).toBe(statSync(join(dest, 'a/one')).ino);
  });

  // As a mirror does itself, if an earlier copy has made hard links in DEST to the file of SRC.
  test.for<[string, () => unknown, boolean]>([
    ['got and lost a hard link', () => {}, true],
    ['changed its content', () => writeFileSync(join(src, 'b'), 'longer'), false],
    ['changed its mode', () => chmodSync(join(src, 'b'), 0o600), false],
  ])('to a file that %s after its first name was copied', async ([, change, isLinked]) => {
    makeFiles(src, { b: 'b' });
    mkdirSync(join(src, 'c'));
    linkSync(join(src, 'b'), join(src, 'c/d'));
    const filter = async ({ path }: { path: string }): Promise<boolean> => {
      if (path !== 'c/d') return true;
      while (!existsSync(join(dest, 'b'))) await sleep(1);
      await sleep(50); // it has its name, and the copy knows
      linkSync(join(src, 'b'), join(work, 'more'));
      unlinkSync(join(work, 'more'));
      change();
      return true;
    };
    const how: CopyOptions = { filter: (_src, _dest, entry) => filter(entry) };
    const result = await copyTree(src, dest, { preserve: ['hardLinks', 'mode'], ...how });
    const codes = result.warnings.map(({ code }) => code);
    expect(codes).toEqual(isLinked ? [] : ['HARD_LINKS_NOT_PRESERVED']);
    expect(result).toMatchObject({ files: isLinked ? 1 : 2, hardLinks: isLinked ? 1 : 0 });
    expect(readFileSync(join(dest, 'c/d'), 'utf8')).toBe(readFileSync(join(src, 'b'), 'utf8'));
  });

  test.for(['file', 'symlink', 'fifo'])('of which a mirror deletes names: a %s', async (kind) => {
    makeFiles(src, { 'y/file': '' });
    if (kind === 'file') writeFileSync(join(src, 'B'), 'B');
    else if (kind === 'symlink') symlinkSync('nowhere', join(src, 'B'));
    else run('mkfifo', join(src, 'B'));
    mkdirSync(dest);
    const names = Array.from({ length: 30 }, (_, index) => `d${index}`);
    for (const name of names) {
      mkdirSync(join(src, name));
      mkdirSync(join(dest, name));
      linkSync(join(src, 'B'), join(src, name, 'B'));
      linkSync(join(src, 'B'), join(dest, name, 'extra'));
    }
    const result = await copyTree(src, dest, { mirror: true, preserve: true, strict: true });
    expect(result).toMatchObject({ warnings: [], deleted: 30 });
    const inodes = ['B', ...names.map((name) => `${name}/B`)].map(
      (name) => lstatSync(join(dest, name)).ino,
    );
    expect(new Set(inodes).size).toBe(1);
  });

  test('with a selection whose last answer selects nothing: no directory stays open', async (context) => {
    if (process.platform !== 'linux') skip(context, 'only /proc tells what is open');
    makeFiles(src, { a: '1', 'z/x': '2' });
    linkSync(join(src, 'a'), join(work, 'outside'));
    const filter = async (path: string) => {
      if (path.endsWith('x')) await sleep(100); // until no worker is left
      return !path.endsWith('x');
    };
    const job = copyTree(src, dest, { preserve: true, filter });
    await job;
    const open = readdirSync('/proc/self/fd').flatMap((fd) => {
      const path = `/proc/self/fd/${fd}`;
      return existsSync(path) ? readlinkSync(path) : [];
    });
    expect(open.filter((path) => path.startsWith(work))).toEqual([]);
    expect(job.result.files).toBe(1); // so that the job has lived until here
  });

  // The last worker may end while an answer becomes tasks. 25 copies seldom meet that; the long form's 1,000 do.
  test('with a selection, in copies of many small directories', {
    timeout: 1_200_000,
  }, async () => {
    for (let i = 0; i < 300; i++) {
      const [one, other] = [`d${i % 20}`, `e${i % 20}/n`];
      makeFiles(src, { [`${one}/f${i}`]: '' });
      mkdirSync(join(src, other), { recursive: true });
      linkSync(join(src, one, `f${i}`), join(src, other, `f${i}`));
    }
    for (let copy = 0; copy < size(5, 25, 1000); copy++) {
      const options = { preserve: true, gitignore: true, exclude: '*.log' } as const;
      const result = await copyTree(src, join(dest, `${copy}`), options);
      expect(result, `copy ${copy}`).toMatchObject({ files: 300, hardLinks: 300 });
      rmSync(join(dest, `${copy}`), { recursive: true });
    }
  });

  const disk = useFileSystem(work, 'xfs', { size: '512M' }); // of a name of its own

  test('not to a file whose inode was used again meanwhile', async (context) => {
    const directory = join(disk(context), 'reused');
    [src, dest] = [join(directory, 'src'), join(directory, 'dest')];
    makeFiles(src, { 'a/gone': 'old', 'c/b/dir/x': '' });
    linkSync(join(src, 'a/gone'), join(src, 'a/left out'));
    const { ino } = statSync(join(src, 'a/gone'));
    let reused = '';
    const filter = async ({ path }: { path: string }): Promise<boolean> => {
      if (path === 'a/left out') return false;
      if (path !== 'c/b') return true;
      while (!existsSync(join(dest, 'a/gone'))) await sleep(1);
      await sleep(50); // it has its name, and the copy knows
      for (const name of ['gone', 'left out']) unlinkSync(join(src, 'a', name));
      execFileSync('sync', ['-f', directory]); // XFS frees inodes later
      for (let i = 0; i < 500 && !reused; i++) {
        const file = join(src, 'a', `${i}`); // of the same allocation group
        writeFileSync(file, 'new');
        if (statSync(file).ino === ino) reused = `c/b/${i}`;
        renameSync(file, join(src, 'c/b', `${i}`));
      }
      linkSync(join(src, reused), join(src, 'c/b/other'));
      return true;
    };
    const { warnings } = await copyTree(src, dest, {
      preserve: ['hardLinks'],
      filter: byEntry(filter),
    });
    expect(reused).not.toBe('');
    expect(readFileSync(join(dest, reused), 'utf8')).toBe('new');
    expect(readFileSync(join(dest, 'a/gone'), 'utf8')).toBe('old');
    expect(warnings.map(({ code }) => code)).toEqual(['HARD_LINKS_NOT_PRESERVED']);
  });

  describe('with dereference', () => {
    const names: CopyOptions = { preserve: true, dereference: true };

    /** The names of each inode. */
    const groups = (root: string): string[][] => {
      const byInode = new Map<bigint, string[]>();
      for (const [name, { kind, inode }] of readTree(root)) {
        if (kind !== 'directory') byInode.set(inode, [...(byInode.get(inode) ?? []), name].sort());
      }
      return [...byInode.values()].sort();
    };

    test('symlinks to a file are names of its copy, as in cp -aL', async () => {
      console.log(`names: FASTCP_SEED=${seed}`);
      const random = new Random(seed);
      makeFiles(src, { 'q/a': 'three names, one of them a symlink' });
      linkSync(join(src, 'q/a'), join(src, 'q/c'));
      symlinkSync('a', join(src, 'q/b'));
      makeFiles(join(src, '..'), { outside: 'only symlinks lead to it' });
      execFileSync('mkfifo', [join(src, 'fifo')]);
      const files = [join(src, 'fifo'), join(src, '../outside')];
      for (let i = 0; i < 40; i++) {
        makeFiles(src, { [`${random.below(5)}/file ${i}`]: `${i}` });
      }
      for (const [name, { kind }] of readTree(src)) {
        if (kind === 'file') files.push(join(src, name));
      }
      for (let i = 0; i < 200; i++) {
        const to = join(src, `${random.below(5)}/n${i}`);
        const from = random.pick(files);
        if (random.chance(30) && from.startsWith(src)) linkSync(from, to);
        else symlinkSync(from, to);
        if (random.chance(30)) files.push(to);
      }
      const oracle = join(src, '../by cp');
      execFileSync('cp', ['-aL', src, oracle]);
      const { errorCount, hardLinks } = await copyTree(src, dest, names);
      expect(groups(dest)).toEqual(groups(oracle));
      const together = groups(dest).find((group) => group.includes('q/a'));
      expect(together).toEqual(expect.arrayContaining(['q/b', 'q/c']));
      const more = groups(dest).flat().length - groups(dest).length;
      expect({ errorCount, hardLinks }).toEqual({ errorCount: 0, hardLinks: more });
      expect(attributeDifferences(oracle, dest)).toEqual([]);
    });

    test('again: nothing is left to do, and a dry run says so', async () => {
      makeFiles(src, { 'q/a': 'x' });
      linkSync(join(src, 'q/a'), join(src, 'q/c'));
      symlinkSync('a', join(src, 'q/b'));
      const mirror: CopyOptions = { ...names, mirror: true };
      const wanted = { files: 1, hardLinks: 2, skipped: 0 };
      expect(await copyTree(src, dest, { ...mirror, dryRun: true })).toMatchObject(wanted);
      expect(await copyTree(src, dest, mirror)).toMatchObject(wanted);
      for (const dryRun of [true, false]) {
        expect(await copyTree(src, dest, { ...mirror, dryRun })).toMatchObject({
          files: 0,
          hardLinks: 0,
          unchanged: 3,
        });
      }
      expect(groups(dest)).toEqual([['q/a', 'q/b', 'q/c']]);
    });
  });

  test('many names, one of them at a time', async () => {
    makeFiles(src, { '0/file': Buffer.alloc(70 << 20, 'large') });
    for (let index = 1; index < 40; index++) {
      mkdirSync(join(src, `${index}`));
      linkSync(join(src, '0/file'), join(src, `${index}/file`));
    }
    const result = await copyTree(src, dest, { preserve });
    expect(result).toMatchObject({ files: 1, hardLinks: 39 });
    expect(statSync(join(dest, '7/file')).nlink).toBe(40);
  });

  test('the first name cannot be copied: another one is the first', async (context) => {
    needTool(context, 'strace');
    makeFiles(src, { a: 'content' });
    for (const name of ['b', 'c']) linkSync(join(src, 'a'), join(src, name));
    const words = ['strace', '-f', '-qq', '-o', join(work, 'log'), '-e'];
    const inject = 'inject=copy_file_range:error=ENOMEM:when=1';
    const options: CopyOptions = { preserve, onError: 'continue', concurrency: 1 };
    const { result } = await copyInChild({ src, dest, options }, [...words, inject]);
    expect(result).toMatchObject({ files: 1, hardLinks: 1, errorCount: 1 });
  });

  test('DEST has no hard links: a warning, and copies', async (context) => {
    needTool(context, 'strace');
    makeFiles(src, { a: 'content' });
    for (const name of ['b', 'c']) linkSync(join(src, 'a'), join(src, name));
    const words = ['strace', '-f', '-qq', '-o', join(work, 'log'), '-e'];
    const inject = 'inject=linkat:error=EPERM';
    const { result } = await copyInChild({ src, dest, options: { preserve } }, [...words, inject]);
    expect(result).toMatchObject({ files: 3, hardLinks: 0 });
    expect(result.warnings).toMatchObject([{ code: 'HARD_LINKS_NOT_PRESERVED', count: 2 }]);
    expect(readFileSync(join(dest, 'c'), 'utf8')).toBe('content');
  });

  test.for<[string, CopyOptions]>([
    ['new', {}],
    ['replaced', {}],
    ['replaced', { sync: true }],
    ['replaced', { mirror: true }],
  ])(
    'one name is on another file system, the others are kept: %s, %o',
    async ([how, more], context) => {
      needRoot(context);
      const names = ['1', '2', '3', '4', '5'];
      let whole = 0;
      for (const mounted of names) {
        for (const root of [src, dest]) execFileSync('rm', ['-rf', root]);
        makeFiles(src, { '1/a': 'new' });
        for (const name of names.slice(1)) {
          mkdirSync(join(src, name));
          linkSync(join(src, '1/a'), join(src, name, 'a'));
        }
        mkdirSync(join(dest, mounted), { recursive: true });
        await whileMounted(['-t', 'tmpfs', 'none'], join(dest, mounted), async () => {
          if (how === 'replaced')
            for (const name of names) makeFiles(dest, { [`${name}/a`]: name });
          const options: CopyOptions = { preserve, concurrency: 1, ...more };
          const { warnings } = await copyTree(src, dest, options);
          const inodes = names.map((name) => statSync(join(dest, name, 'a')).ino);
          const others = inodes.filter((_, index) => names[index] !== mounted);
          const all = names.map((name) => readFileSync(join(dest, name, 'a'), 'utf8'));
          expect(new Set(all)).toEqual(new Set(['new']));
          // If the first name is there, no other name can be a hard link to it.
          if (warnings[0]?.count === names.length - 1) return;
          expect(warnings).toMatchObject([{ code: 'HARD_LINKS_NOT_PRESERVED', count: 1 }]);
          expect(new Set(others).size).toBe(1);
          whole++;
        });
      }
      expect(whole).toBeGreaterThanOrEqual(names.length - 1);
    },
  );

  test('replaced, kept and reported', async () => {
    makeFiles(src, { a: 'new' });
    linkSync(join(src, 'a'), join(src, 'b'));
    makeFiles(dest, { a: 'old', b: 'old' });
    const actions: string[] = [];
    const job = copyTree(src, dest, { preserve, entries: true });
    for await (const event of job) if (event.type === 'entry') actions.push(event.action);
    expect(actions.sort()).toEqual(['hardLink', 'replace']);
    expect(readFileSync(join(dest, 'b'), 'utf8')).toBe('new');
    expect(statSync(join(dest, 'a')).nlink).toBe(2);
    expect(await copyTree(src, dest, { preserve, force: false })).toMatchObject({ skipped: 2 });
  });
});
