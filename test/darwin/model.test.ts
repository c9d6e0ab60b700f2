import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { CopyOptions } from '../../lib/types.js';
import { copyInChild } from '../support/child.js';
import { makeFiles, makeSparseFile } from '../support/trees.js';
import { asUser, needUser, USER } from '../support/user.js';
import { hasTool, needRoot, needTool, workDirectory } from '../support/work.js';
import {
  attributesOf,
  buildModel,
  canBuildModel,
  flags,
  hidden,
  MODEL,
  setAttribute,
} from './support/model.js';

// macOS's code over a model of its calls: what Linux has nothing like. `npm run test:darwin` runs the
// behaviour tests over it as well.

const work = workDirectory('darwin');
let number = 0;
let src: string;
let dest: string;
beforeEach(() => {
  const directory = join(work, `${number++}`);
  mkdirSync(directory);
  [src, dest] = [join(directory, 'src'), join(directory, 'dest')];
});

const LARGE = Buffer.alloc(100_000, 'content');
const ACL = '!#acl 1\nuser:00000000-0000-0000-0000-000000000001:one:501:allow:read\n';
const INHERITED =
  '!#acl 1\nuser:00000000-0000-0000-0000-000000000001:one:501:allow,file_inherit,directory_inherit:read\n';

const volumes: [name: string, clones: string][] = [
  ['a volume with clones', '1'],
  ['a volume without clones', '0'],
];

/** Copies in a process that has loaded the model. */
async function copy(options: CopyOptions = {}, clones = '1', before: string[] = [], from = src) {
  const env = ['env', `FASTCP_PREBUILD=${MODEL}`, `FASTCP_MODEL_CLONES=${clones}`];
  return await copyInChild({ src: from, dest, options }, [...env, ...before]);
}

/** The calls of a copy, as strace shows them. */
async function trace(calls: string, options: CopyOptions, clones: string): Promise<string[]> {
  const log = join(src, '../strace');
  const strace = ['strace', '-f', '-qq', '-y', '-e', `trace=${calls}`, '-o', log];
  const { error } = await copy(options, clones, strace);
  expect(error).toBeUndefined();
  const lines = readFileSync(log, 'utf8').split('\n');
  return lines.filter((line) => line.includes(`${work}/`));
}

describe.runIf(canBuildModel && hasTool('setfattr'))('model of macOS', () => {
  beforeAll(buildModel, 600_000);

  describe.each(volumes)('%s', (_, clones) => {
    test('attributes are those that `preserve` asks for, by whatever method a file is copied', async () => {
      makeFiles(src, { plain: LARGE, read: LARGE });
      for (const name of ['plain', 'read']) {
        setAttribute(join(src, name), 'user.com.apple.quarantine', '0081;browser');
        setAttribute(join(src, name), 'user.com.apple.ResourceFork', 'fork');
        setAttribute(join(src, name), 'user.com.apple.provenance', 'program');
        setAttribute(join(src, name), 'user.own', 'value');
        setAttribute(join(src, name), 'user.never#N', 'kept by no copy');
      }
      setAttribute(join(src, 'read'), hidden.noClone, '1');
      const { result } = await copy({}, clones);
      expect(result).toMatchObject({ files: 2, errorCount: 0, warningCount: 0 });
      const provenance = { 'user.com.apple.provenance': 'program' }; // only the system removes it
      expect(attributesOf(join(dest, 'plain'))).toEqual(clones === '1' ? provenance : {});
      expect(attributesOf(join(dest, 'read'))).toEqual({});

      dest += ' again';
      expect((await copy({ preserve: ['mode', 'xattrs'] }, clones)).result.warningCount).toBe(0);
      for (const name of ['plain', 'read']) {
        const { 'user.com.apple.provenance': _, ...kept } = attributesOf(join(dest, name));
        expect(kept).toEqual({
          'user.com.apple.ResourceFork': 'fork',
          'user.com.apple.quarantine': '0081;browser',
          'user.own': 'value',
        });
      }
    });

    test('a file that its owner may not write loses its attributes as well', async (context) => {
      needUser(context);
      makeFiles(src, { file: LARGE });
      setAttribute(join(src, 'file'), 'user.own', 'value');
      execFileSync('chmod', ['444', join(src, 'file')]);
      execFileSync('chmod', ['777', join(src, '..')]);
      const { result } = await copy({}, clones, asUser);
      expect(result).toMatchObject({ files: 1, errorCount: 0 });
      expect(attributesOf(join(dest, 'file'))).toEqual({});
    });

    test('a mirror gives attributes to a file that its owner may not write', async (context) => {
      needRoot(context);
      needUser(context);
      makeFiles(src, { file: 'same' });
      makeFiles(dest, { file: 'same' });
      const name = 'user.com.apple.FinderInfo';
      for (const [path, value] of [
        [src, 'new'],
        [dest, 'old'],
      ] as const) {
        setAttribute(join(path, 'file'), name, value);
        execFileSync('chmod', ['444', join(path, 'file')]);
      }
      execFileSync('chown', ['-R', `${USER}:${USER}`, join(src, '..')]);
      const options: CopyOptions = { mirror: true, preserve: ['mode', 'timestamps', 'xattrs'] };
      const { result } = await copy(options, clones, asUser);
      expect(result).toMatchObject({ errorCount: 0, warningCount: 0 });
      expect(attributesOf(join(dest, 'file'))).toEqual({ [name]: 'new' });
      expect(statSync(join(dest, 'file')).mode & 0o777).toBe(0o444);
    });

    test.each(Object.entries(flags))('a file with %s', async (name, flag) => {
      makeFiles(src, { file: LARGE });
      setAttribute(join(src, 'file'), hidden.flags, `${flag}`);
      const { result } = await copy({}, clones);
      expect(result).toMatchObject({ files: 1, errorCount: 0, bytes: LARGE.length });
      expect(readFileSync(join(dest, 'file')).equals(LARGE)).toBe(true);
      // A compressed file is cloned as it is: the flag says where its content is.
      const stays = name === 'UF_COMPRESSED' && clones === '1';
      expect(attributesOf(join(dest, 'file'))).toEqual(stays ? { [hidden.flags]: `${flag}` } : {});
      // It is replaced and removed like any other.
      expect((await copy({}, clones)).result).toMatchObject({ files: 1, errorCount: 0 });
    });

    test('a file that looks sparse, and is not: nothing of it is taken for a hole', async () => {
      makeFiles(src, { compressed: LARGE, unflushed: LARGE, 'large/compressed': LARGE });
      setAttribute(join(src, 'compressed'), hidden.flags, `${flags.UF_COMPRESSED}`);
      setAttribute(join(src, 'large/compressed'), hidden.flags, `${flags.UF_COMPRESSED}`);
      writeFileSync(join(src, 'large/compressed'), Buffer.alloc(70 << 20, 'x'));
      for (const name of ['compressed', 'unflushed', 'large/compressed'])
        setAttribute(join(src, name), hidden.noClone, '1');
      setAttribute(join(src, 'unflushed'), hidden.unflushed, '1');
      const { result } = await copy({}, clones);
      expect(result).toMatchObject({ files: 3, errorCount: 0 });
      for (const name of ['compressed', 'unflushed', 'large/compressed'])
        expect(readFileSync(join(dest, name)).equals(readFileSync(join(src, name)))).toBe(true);
    });

    test('two files that look empty of data are compared all the same', async () => {
      // Larger than what is read at once: holes of smaller files are not asked for.
      const content = Buffer.alloc(400_000, 'a');
      makeFiles(src, { file: content });
      makeFiles(dest, { file: Buffer.alloc(400_000, 'b') });
      for (const directory of [src, dest])
        setAttribute(join(directory, 'file'), hidden.flags, `${flags.UF_COMPRESSED}`);
      const { result } = await copy({ sync: true, checksum: true }, clones);
      expect(result).toMatchObject({ files: 1, unchanged: 0, errorCount: 0 });
      expect(readFileSync(join(dest, 'file')).equals(content)).toBe(true);
    });

    test('ACLs: inherited ones are removed, without an empty one in their place', async () => {
      makeFiles(src, { 'directory/file': LARGE, 'directory/own': 'small' });
      setAttribute(join(src, 'directory/own'), hidden.acl, ACL);
      mkdirSync(dest);
      setAttribute(dest, hidden.acl, INHERITED);
      dest = join(dest, 'copy');
      const { result } = await copy({ preserve: ['mode', 'xattrs'] }, clones);
      expect(result).toMatchObject({ files: 2, errorCount: 0, warningCount: 0 });
      expect(attributesOf(join(dest, 'directory'))).toEqual({});
      expect(attributesOf(join(dest, 'directory/file'))).toEqual({});
      expect(attributesOf(join(dest, 'directory/own'))).toEqual({ [hidden.acl]: ACL });
    });

    test('ACLs: without `xattrs` new entries inherit them, as all new entries do', async () => {
      makeFiles(src, { 'sub/file': LARGE });
      setAttribute(join(src, 'sub/file'), hidden.acl, ACL);
      mkdirSync(dest); // Node's mkdir() is not that of the model
      setAttribute(dest, hidden.acl, INHERITED);
      expect((await copy({}, clones)).result.errorCount).toBe(0);
      expect(attributesOf(join(dest, 'sub/file'))[hidden.acl]).toContain('allow,inherited:read');
    });

    test('ACLs: a mirror removes one that SRC does not have, once', async () => {
      makeFiles(src, { file: 'same' });
      makeFiles(dest, { file: 'same' });
      setAttribute(join(dest, 'file'), hidden.acl, ACL);
      const options: CopyOptions = { mirror: true, preserve: ['mode', 'timestamps', 'xattrs'] };
      await copy(options, clones);
      expect(attributesOf(join(dest, 'file'))).toEqual({});
      const { result } = await copy(options, clones);
      expect(result).toMatchObject({ unchanged: 1 });
    });

    test('a small file costs one read and one write if it is not cloned', async (context) => {
      needTool(context, 'strace');
      makeFiles(src, Object.fromEntries([1, 2, 3].map((name) => [`${name}`, `file ${name}`])));
      for (const name of readdirSync(src)) setAttribute(join(src, name), hidden.noClone, '1');
      const calls = await trace('read,write,pread64,pwrite64,lseek,ftruncate', {}, clones);
      const names = calls.map((line) => /(\w+)\(/.exec(line)?.[1]).sort();
      // The model's own lists of mounts are below no work directory.
      expect(names).toEqual([...Array(3).fill('pread64'), ...Array(3).fill('pwrite64')]);
    });

    test('verify reads from the disk: what is in memory is thrown away before', async (context) => {
      needTool(context, 'strace');
      makeFiles(src, { file: 'small' });
      const calls = await trace('fsync,msync,mmap,pread64', { verify: true }, clones);
      const steps = calls
        .filter((line) => line.includes(dest))
        .map((line) => /(\w+)\(/.exec(line)?.[1]);
      expect(steps.slice(0, 2)).toEqual(['fsync', 'mmap']);
      expect(steps.at(-1)).toBe('pread64');
      expect(readFileSync(join(src, '../strace'), 'utf8')).toMatch(/msync\(.*MS_INVALIDATE/);
    });
  });

  test('an append-only directory gets new entries, and nothing that could not be removed', async () => {
    makeFiles(src, { 'directory/new': LARGE, 'directory/old': LARGE });
    makeFiles(dest, { 'directory/old': 'old' });
    setAttribute(join(dest, 'directory'), hidden.flags, `${flags.UF_APPEND}`);
    const { result } = await copy({ onError: 'continue' });
    expect(result).toMatchObject({ files: 1, errorCount: 1 });
    expect(result.errors).toMatchObject([{ code: 'ERR_FASTCP_APPEND_ONLY' }]);
    expect(readdirSync(join(dest, 'directory')).sort()).toEqual(['new', 'old']);
    expect(readFileSync(join(dest, 'directory/new')).equals(LARGE)).toBe(true);
    expect(readFileSync(join(dest, 'directory/old'), 'utf8')).toBe('old');
  });

  test('one file that cannot be cloned does not end cloning', async () => {
    // In whatever order they are listed, some come after one that cannot be cloned.
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) makeFiles(src, { [name]: LARGE });
    for (const name of ['b', 'd', 'f']) setAttribute(join(src, name), hidden.noClone, '1');
    const { result } = await copy();
    expect(result.methods).toEqual({ clone: 3, copyFileRange: 0, readWrite: 3 });
  });

  test('where no file can be cloned, that is tried once', async (context) => {
    needTool(context, 'strace');
    makeFiles(src, Object.fromEntries([1, 2, 3, 4].map((name) => [`${name}`, LARGE])));
    // The model looks for an attribute before it refuses.
    const calls = await trace('lgetxattr,getxattr', { concurrency: 1 } as CopyOptions, '0');
    expect(calls.filter((line) => line.includes(hidden.noClone)).length).toBeLessThanOrEqual(1);
  });

  test('a clone of an immutable file of another user is never left behind', async (context) => {
    needRoot(context);
    needUser(context);
    makeFiles(src, { file: LARGE });
    setAttribute(join(src, 'file'), hidden.flags, `${flags.SF_IMMUTABLE}`);
    execFileSync('chmod', ['777', join(src, '..')]);
    const { result } = await copy({}, '1', asUser);
    expect(result).toMatchObject({ files: 1, errorCount: 0 });
    expect(statSync(join(dest, 'file')).uid).toBe(USER);
    expect(attributesOf(join(dest, 'file'))).toEqual({});
  });

  test('`reflink: always` refuses a file that a clone would give flags', async () => {
    makeFiles(src, { file: LARGE });
    setAttribute(join(src, 'file'), hidden.flags, `${flags.UF_IMMUTABLE}`);
    const { error } = await copy({ reflink: 'always' });
    expect(error).toMatchObject({ code: 'ENOTSUP' });
    expect(readdirSync(dest)).toEqual([]);
  });

  const always: CopyOptions = { reflink: 'always', preserve: ['mode', 'ownership', 'timestamps'] };
  const owners = [
    [0, 0],
    [USER, USER],
    [USER, 0],
    [0, USER],
  ] as const;

  test('`reflink: always` clones files of all owners for the super-user, into any directory', async (context) => {
    needRoot(context);
    for (const [uid, gid] of owners) {
      for (const mode of ['600', '640', '644', '4750']) {
        const file = join(
          makeFiles(src, { [`${uid}/${gid}/${mode}`]: LARGE }),
          `${uid}/${gid}/${mode}`,
        );
        execFileSync('chown', [`${uid}:${gid}`, file]);
        execFileSync('chmod', [mode, file]);
      }
    }
    mkdirSync(join(dest, '0/0'), { recursive: true });
    const { error, result } = await copy(always);
    expect(error).toBeUndefined();
    expect(result).toMatchObject({ files: 16, warningCount: 0, methods: { clone: 16 } });
    const look = (root: string) =>
      execFileSync('find', [root, '-type', 'f', '-printf', '%P %m %U:%G\n']);
    expect(`${look(dest)}`.split('\n').sort()).toEqual(`${look(src)}`.split('\n').sort());
  });

  test('`reflink: always` clones what a user may clone, also one file into a directory', async (context) => {
    needRoot(context);
    needUser(context);
    makeFiles(src, { own: LARGE, 'of root': LARGE, 'for nobody else': LARGE });
    makeFiles(dest, { old: '' });
    execFileSync('chmod', ['640', join(src, 'own')]);
    execFileSync('chmod', ['600', join(src, 'for nobody else')]);
    execFileSync('chown', ['-R', `${USER}:${USER}`, join(src, '..')]);
    execFileSync('chown', ['0:0', join(src, 'of root')]);
    const { error, result } = await copy(always, '1', asUser);
    expect(error).toBeUndefined();
    expect(result).toMatchObject({ files: 3, methods: { clone: 3 } });
    expect(result.warnings).toMatchObject([{ code: 'OWNERSHIP_NOT_PRESERVED', count: 1 }]);
    const one = await copy(always, '1', asUser, join(src, 'own'));
    expect(one.error).toMatchObject({ code: 'ERR_FS_CP_NON_DIR_TO_DIR' });
    dest = join(dest, 'one');
    const { result: cloned } = await copy(always, '1', asUser, join(src, 'own'));
    expect(cloned).toMatchObject({ files: 1, methods: { clone: 1 } });
    expect(statSync(dest)).toMatchObject({ uid: USER, gid: USER, mode: 0o100640 });
  });

  test('`reflink: always` refuses a clone that another group could read for a moment', async (context) => {
    needRoot(context);
    needUser(context);
    makeFiles(src, { secret: LARGE });
    execFileSync('chown', ['-R', `${USER}:${USER}`, join(src, '..')]);
    execFileSync('chown', [`${USER}:0`, join(src, 'secret')]);
    execFileSync('chmod', ['640', join(src, 'secret')]);
    const { error } = await copy(always, '1', asUser);
    expect(error).toMatchObject({ code: 'ENOTSUP', syscall: 'clonefile' });
    expect(readdirSync(dest)).toEqual([]);
  });

  test.for<CopyOptions>([{ preserve: true }, { preserve: true, mirror: true }])(
    'a FIFO in SRC: its writer goes on waiting for a reader, %o',
    async (options) => {
      mkdirSync(src);
      execFileSync('mkfifo', [join(src, 'fifo')]);
      const writer = spawn('sh', ['-c', 'exec echo x > "$0"', join(src, 'fifo')]);
      try {
        const waitsFor = () => readFileSync(`/proc/${writer.pid}/wchan`, 'latin1');
        await vi.waitUntil(() => waitsFor() === 'wait_for_partner', { timeout: 10_000 });
        for (const _ of [1, 2]) {
          const { result } = await copy(options);
          expect(result).toMatchObject({ errorCount: 0, warningCount: 0 });
          expect(statSync(join(dest, 'fifo')).isFIFO()).toBe(true);
        }
        await new Promise((resolve) => setTimeout(resolve, 100));
        expect([writer.exitCode, writer.signalCode]).toEqual([null, null]);
        expect(readFileSync(join(src, 'fifo'), 'utf8')).toBe('x\n');
      } finally {
        writer.kill('SIGKILL');
      }
    },
  );

  test.for([70, 1])('a file of %i MiB with many holes is flushed once', async (size, context) => {
    needTool(context, 'strace');
    mkdirSync(src);
    const bytes = size << 20;
    const starts = Array.from({ length: 8 }, (_, n) => (n * bytes) / 8);
    makeSparseFile(join(src, 'holes'), bytes, starts);
    setAttribute(join(src, 'holes'), hidden.noClone, '1');
    const flushes = (lines: string[]) => lines.filter((line) => line.includes(`<${src}/holes>`));
    const first = flushes(await trace('fsync', {}, '1'));
    expect(first.length).toBe(1);
    // Both ends are compared. Perhaps a second thread opens them once more, and goes on.
    const again = await trace('fsync', { sync: true, checksum: true }, '1');
    expect([2, 4]).toContain(again.filter((line) => line.includes('/holes>')).length);
  });

  test('a snapshot is one clone of the directory', async () => {
    makeFiles(src, { 'a/b': LARGE });
    setAttribute(join(src, 'a'), hidden.acl, ACL);
    const { result } = await copy({ snapshot: 'always', preserve: true });
    expect(result).toMatchObject({ snapshots: 1, errorCount: 0 });
    expect(readFileSync(join(dest, 'a/b')).equals(LARGE)).toBe(true);
    expect(attributesOf(join(dest, 'a'))).toEqual({ [hidden.acl]: ACL });
  });

  test('a volume without clones has no snapshots', async () => {
    makeFiles(src, { file: LARGE });
    const { error } = await copy({ snapshot: 'always' }, '0');
    expect(error).toMatchObject({ code: 'ERR_FASTCP_NO_SNAPSHOT' });
  });

  test('a socket prevents a snapshot', async () => {
    makeFiles(src, { file: LARGE });
    const server = createServer().listen(join(src, 'socket'));
    try {
      const { error } = await copy({ snapshot: 'always' });
      expect(error).toMatchObject({ code: 'ENOTSUP' });
      expect(existsSync(dest)).toBe(false);
    } finally {
      server.close();
    }
  });
});
