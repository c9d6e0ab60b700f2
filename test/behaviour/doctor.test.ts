import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Diagnosis, doctor } from '../../lib/index.js';
import { COMMAND, run } from '../support/child.js';
import { clones, fileSystemNames, useFileSystem, whileMounted } from '../support/filesystems.js';
import { asUser, needUser } from '../support/user.js';
import { needRoot, needTool, workDirectory } from '../support/work.js';

const work = workDirectory('doctor');
const mounts = fileSystemNames.map((name) => [name, useFileSystem(work, name)] as const);
const directory = join(work, 'directory');
beforeAll(() => {
  mkdirSync(directory);
  chmodSync(directory, 0o755);
});

test.for(mounts)(
  'says what %s can do, and leaves nothing',
  async ([name, directoryOf], context) => {
    const dir = directoryOf(context);
    const before = readdirSync(dir);
    const { directories, method } = await doctor(dir);
    const reflink = clones(name) ? true : expect.any(String);
    const can = { reflink, xattrs: true, marks: true, caseSensitive: true };
    expect(directories).toEqual([{ path: dir, fileSystem: name, readOnly: false, can }]);
    expect(method).toBe(clones(name) ? 'clone' : 'copyFileRange');
    expect(readdirSync(dir)).toEqual(before);
  },
);

test('between two file systems', { tags: ['all'] }, async (context) => {
  const [from, to] = ['xfs', 'btrfs'].map((wanted) =>
    mounts.find(([name]) => name === wanted)?.[1](context),
  );
  const { directories, method } = await doctor(from ?? '', to);
  expect(directories.map(({ fileSystem }) => fileSystem)).toEqual(['xfs', 'btrfs']);
  expect(method).not.toBe('clone');
});

describe('where nothing may be written', () => {
  test('read-only', async (context) => {
    needRoot(context);
    const on = join(work, 'read-only');
    mkdirSync(on);
    await whileMounted(['-t', 'tmpfs', '-o', 'ro', 'tmpfs'], on, async () => {
      const { directories, method } = await doctor(on, directory);
      expect(directories[0]).toMatchObject({ readOnly: true, obstacle: 'EROFS', can: {} });
      expect(directories[1]?.obstacle).toBeUndefined();
      expect(method).toBeUndefined();
    });
  });

  test('for lack of permission', async (context) => {
    needUser(context);
    const words = [...asUser, process.execPath, COMMAND, '--doctor', '--json', directory];
    const { status, stdout } = await run(words);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ directories: [{ obstacle: 'EACCES' }] });
  });
});

describe('refuses', () => {
  test.each([
    ['what is missing', 'nothing', 'ENOENT'],
    ['a file', 'file', 'ENOTDIR'],
  ])('%s', async (_, name, code) => {
    writeFileSync(join(work, 'file'), '');
    await expect(doctor(join(work, name))).rejects.toMatchObject({ code });
    await expect(doctor(directory, join(work, name))).rejects.toMatchObject({ code });
    expect(readdirSync(directory)).toEqual([]);
  });

  test('when it is aborted: nothing is left', async () => {
    const signal = AbortSignal.abort('enough');
    await expect(doctor(directory, undefined, { signal })).rejects.toBe('enough');
    expect(readdirSync(directory)).toEqual([]);
  });
});

describe('command line', () => {
  const command = [process.execPath, COMMAND, '--doctor'];

  test('text for people', async () => {
    const { status, stdout, stderr } = await run([...command, 'directory', '.'], work);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^directory:\n {2}file system +tmpfs\n/);
    for (const text of ['reflinks ', 'A file of 1 MiB, directory -> .: ', 'Descriptor tables: ']) {
      expect(stdout).toContain(text);
    }
    expect(readdirSync(directory)).toEqual([]);
  });

  test('--json: one object', async () => {
    const { stdout } = await run([...command, '--json', 'directory'], work);
    const diagnosis: Diagnosis = JSON.parse(stdout);
    expect(diagnosis.directories[0]).toMatchObject({ path: 'directory', can: { xattrs: true } });
    expect(stdout.match(/\n/g)).toHaveLength(1);
  });

  test.each([
    ['', 'missing argument DIR'],
    ['a b c', 'too many arguments'],
    ['a --gitignore', 'unknown option'],
  ])('wrong usage: %s', async (args, message) => {
    const { status, stdout, stderr } = await run([...command, ...args.split(' ').filter(Boolean)]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(message);
  });

  test('interrupted: 130, and nothing is left', async (context) => {
    needTool(context, 'strace');
    // Once, in the only thread of the pool: strace counts by thread.
    const inject = ['-e', 'trace=/setxattr', '-e', 'inject=/setxattr:signal=SIGINT:when=1'];
    const strace = ['env', 'UV_THREADPOOL_SIZE=1', 'strace', '-f', '-qq', '-o', join(work, 'log')];
    const words = [...strace, ...inject, ...command, directory];
    expect((await run(words)).status).toBe(130);
    expect(readdirSync(directory)).toEqual([]);
  });

  test('a file of that name can be copied', async () => {
    execFileSync('sh', ['-c', 'echo x > --doctor'], { cwd: work });
    const { status } = await run([process.execPath, COMMAND, '--', '--doctor', 'copy'], work);
    expect(status).toBe(0);
  });
});
