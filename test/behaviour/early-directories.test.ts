import { execFileSync } from 'node:child_process';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { copyTree } from '../../lib/index.js';
import { COMMAND, copyInChild, limited, run } from '../support/child.js';
import { countsOf, differences, readTree } from '../support/compare.js';
import { useFileSystem, whileMounted } from '../support/filesystems.js';
import { makeFiles } from '../support/trees.js';
import { asUser, needUser } from '../support/user.js';
import { needRoot, needTool, workDirectory } from '../support/work.js';

// On btrfs the directories of a new directory are made while it is listed, and filled later, the oldest first.

const work = workDirectory('early-directories');
const mounts = { btrfs: useFileSystem(work, 'btrfs'), tmpfs: useFileSystem(work, 'tmpfs') };

/** The names in the order in which directories and files were made, by one worker. */
async function orderMade(src: string, dest: string): Promise<string[]> {
  const log = `${dest}.strace`;
  const traced = ['strace', '-f', '-qq', '-e', 'trace=mkdirat,openat', '-o', log];
  const { status } = await run([...traced, process.execPath, COMMAND, '-j1', src, dest]);
  expect(status).toBe(0);
  return readFileSync(log, 'utf8')
    .split('\n')
    .filter((line) => /mkdirat\(|O_CREAT/.test(line))
    .flatMap((line) => /"((?:directory|below|file) \d)"/.exec(line)?.[1] ?? []);
}

test('where they are made early, and where not', async (context) => {
  needTool(context, 'strace');
  const files: Record<string, string> = {};
  for (let i = 0; i < 6; i++) files[`directory ${i}/below ${i}/file ${i}`] = `${i}`;
  for (const name of ['btrfs', 'tmpfs'] as const) {
    const mount = mounts[name](context);
    const src = makeFiles(join(mount, 'order'), files);
    const order = await orderMade(src, join(mount, 'order copy'));
    expect(differences(src, join(mount, 'order copy'))).toEqual([]);
    expect(order).toHaveLength(18);
    const areFiles = order.map((each) => each.startsWith('file'));
    const early = areFiles.lastIndexOf(false) < areFiles.indexOf(true);
    expect({ name, early }).toEqual({ name, early: name === 'btrfs' });
    if (!early) continue;
    // The oldest first: those below in the order of those that they are in.
    const numbers = (kind: string) =>
      order.filter((each) => each.startsWith(kind)).map((each) => each.at(-1));
    expect(numbers('below')).toEqual(numbers('directory'));
    expect(numbers('file')).toEqual(numbers('directory'));
  }
});

describe('every entry arrives', { tags: ['all'] }, () => {
  test('more directories than wait at a time', async (context) => {
    const mount = mounts.btrfs(context);
    const files: Record<string, string> = {};
    for (let i = 0; i < 5000; i++) files[`${i}/${i % 2 ? 'file' : 'below/file'}`] = `${i}`;
    const src = makeFiles(join(mount, 'many'), files);
    const dest = join(mount, 'many copy');
    expect(await copyTree(src, dest)).toMatchObject({ ...countsOf(src), directories: 7501 });
    expect(differences(src, dest)).toEqual([]);
  });

  test.for([40, 200])('long chains side by side, %i descriptors', async (descriptors, context) => {
    const mount = mounts.btrfs(context);
    const files: Record<string, string> = {};
    for (let chain = 0; chain < 100; chain++) {
      files[`${chain}/${'level/'.repeat(60)}file`] = `${chain}`;
    }
    const src = makeFiles(join(mount, `chains ${descriptors}`), files);
    const dest = `${src} copy`;
    const { error, result } = await copyInChild({ src, dest }, limited(descriptors));
    expect(error).toBeUndefined();
    expect(result).toMatchObject({ files: 100, directories: 1 + 100 * 61 });
    expect(differences(src, dest)).toEqual([]);
  });
});

describe('nothing is left of one that cannot be copied', () => {
  test('a directory that may not be read', async (context) => {
    needRoot(context);
    needUser(context);
    const at = join(mounts.btrfs(context), 'closed');
    makeFiles(join(at, 'src'), { 'closed/x': '', 'open/y': '' });
    execFileSync('chmod', ['0', join(at, 'src/closed')]);
    execFileSync('chmod', ['777', at]);
    const dest = join(at, 'dest');
    const options = { onError: 'continue' as const };
    const { result } = await copyInChild({ src: join(at, 'src'), dest, options }, asUser);
    const path = join(at, 'src/closed');
    expect(result).toMatchObject({ errors: [{ code: 'EACCES', path }], files: 1, directories: 2 });
    expect([...readTree(dest).keys()].sort()).toEqual(['', 'open', 'open/y']);
  });

  test('a link that leads back', async (context) => {
    const at = join(mounts.btrfs(context), 'loop');
    makeFiles(join(at, 'src'), { 'directory/file': '' });
    symlinkSync('..', join(at, 'src/directory/loop'));
    const dest = join(at, 'dest');
    const options = { dereference: true, onError: 'continue' } as const;
    const { errors } = await copyTree(join(at, 'src'), dest, options);
    expect(errors).toMatchObject([{ code: 'ELOOP', path: join(at, 'src/directory/loop') }]);
    expect([...readTree(dest).keys()].sort()).toEqual(['', 'directory', 'directory/file']);
  });

  test('DEST, which a mount shows in SRC', async (context) => {
    const at = join(mounts.btrfs(context), 'mount');
    makeFiles(join(at, 'src'), { 'directory/file': '', 'directory/mount/x': '' });
    const dest = join(at, 'dest');
    execFileSync('mkdir', ['-p', dest]);
    await whileMounted(['--bind', dest], join(at, 'src/directory/mount'), async () => {
      const { errors } = await copyTree(join(at, 'src'), dest, { onError: 'continue' });
      expect(errors).toMatchObject([{ path: join(at, 'src/directory/mount') }]);
    });
    expect([...readTree(dest).keys()].sort()).toEqual(['', 'directory', 'directory/file']);
  });
});
