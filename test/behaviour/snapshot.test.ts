import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { copyTree } from '../../lib/index.js';
import type { CopyEvent, CopyOptions } from '../../lib/types.js';
import { COMMAND, copyInChild, run } from '../support/child.js';
import { differences } from '../support/compare.js';
import { useFileSystem, whileMounted } from '../support/filesystems.js';
import { makeFiles } from '../support/trees.js';
import { asUser, needUser } from '../support/user.js';
import { needRoot, workDirectory } from '../support/work.js';

// Whole trees in one call.

const work = workDirectory('snapshot');
const btrfs = useFileSystem(work, 'btrfs');
let number = 0;
let at: string;
let src: string;
let dest: string;

/** On btrfs. */
const makeSubvolume = (path: string) => execFileSync('btrfs', ['-q', 'subvolume', 'create', path]);

beforeEach((context) => {
  at = join(btrfs(context), `${number++}`);
  mkdirSync(at);
  [src, dest] = [join(at, 'src'), join(at, 'dest')];
  makeSubvolume(src);
  makeFiles(src, { a: 'content', 'sub/b': 'more' });
});

const always: CopyOptions = { snapshot: 'always' };

test('copies everything, and counts one snapshot', async () => {
  execFileSync('sh', ['-ec', 'touch -d 2001-02-03 a; chmod 4711 sub/b; mkfifo fifo; ln a c'], {
    cwd: src,
  });
  const result = await copyTree(src, dest, always);
  expect(differences(src, dest)).toEqual([]);
  expect(result).toMatchObject({ snapshots: 1, files: 0, errorCount: 0 });
  writeFileSync(join(dest, 'a'), 'changed');
  expect(readFileSync(join(src, 'a'), 'utf8')).toBe('content');
});

test('of a snapshot, and into a directory', async () => {
  await copyTree(src, dest, always);
  await copyTree(dest, `${join(at, 'into')}/`, always);
  expect(differences(src, join(at, 'into/dest'))).toEqual([]);
});

test('replaces DEST with atomic', async () => {
  makeFiles(dest, { old: 'old' });
  for (const _ of [1, 2]) {
    const result = await copyTree(src, dest, { ...always, atomic: true });
    expect(result).toMatchObject({ snapshots: 1, warnings: [] });
    expect(differences(src, dest)).toEqual([]);
    expect(readdirSync(at).sort()).toEqual(['dest', 'src']);
  }
});

test('a dry run takes none, and says what it would do', async () => {
  const events: CopyEvent[] = [];
  const job = copyTree(src, dest, { ...always, dryRun: true, entries: true });
  for await (const event of job) if (event.type === 'entry') events.push(event);
  expect(events).toMatchObject([{ action: 'copy', path: src, dest }]);
  expect((await job).snapshots).toBe(1);
  expect(existsSync(dest)).toBe(false);
});

describe('where it cannot be', () => {
  const expectRefusal = async (from: string, to: string, why: string): Promise<void> => {
    await expect(copyTree(from, to, always)).rejects.toMatchObject({
      code: 'ERR_FASTCP_NO_SNAPSHOT',
      path: from,
      message: expect.stringContaining(why),
    });
    const result = await copyTree(from, to, { snapshot: 'auto' });
    expect(result).toMatchObject({ snapshots: 0, errorCount: 0 });
    expect(result.files).toBeGreaterThan(0);
  };

  test('DEST exists', async () => {
    mkdirSync(dest);
    await expectRefusal(src, dest, 'the destination exists');
  });

  test('SRC is a file', () => expectRefusal(join(src, 'a'), dest, 'not a directory'));

  test('SRC is no subvolume', () => expectRefusal(join(src, 'sub'), dest, 'not the root'));

  test('another subvolume is nested in SRC', async () => {
    makeSubvolume(join(src, 'sub/nested'));
    makeFiles(join(src, 'sub/nested'), { inner: 'x' });
    await expectRefusal(src, dest, 'nested');
    expect(readFileSync(join(dest, 'sub/nested/inner'), 'utf8')).toBe('x');
  });

  test('something is mounted in SRC', async () => {
    await whileMounted(['-t', 'tmpfs', 'tmpfs'], join(src, 'sub'), async () => {
      await expectRefusal(src, dest, `'${src}/sub' is mounted`);
    });
  });

  test('DEST is on another file system', () =>
    expectRefusal(src, join(work, 'elsewhere'), 'another file system'));

  test('SRC is on another file system', () => {
    const other = makeFiles(join(work, 'no btrfs'), { a: 'x' });
    return expectRefusal(other, dest, 'the file system has none');
  });

  test('SRC is another user’s', async (context) => {
    needRoot(context);
    needUser(context);
    chmodSync(at, 0o777);
    const user = (snapshot: 'always' | 'auto') =>
      copyInChild({ src, dest, options: { snapshot } }, asUser);
    expect((await user('always')).error).toMatchObject({ code: 'EPERM' });
    expect((await user('auto')).result).toMatchObject({ snapshots: 0, files: 2, errorCount: 0 });
    expect(differences(src, dest)).toEqual([]);
  });

  test('options that it cannot honour', async () => {
    const result = await copyTree(src, dest, { snapshot: 'auto', exclude: ['sub'] });
    expect(result).toMatchObject({ snapshots: 0, files: 1 });
    expect(() => copyTree(src, dest, { ...always, exclude: ['sub'] })).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_ARG_VALUE' }),
    );
  });
});

test('never unless it is asked for', async () => {
  expect(await copyTree(src, dest)).toMatchObject({ snapshots: 0, files: 2 });
});

test('command line', async () => {
  const words = [process.execPath, COMMAND];
  makeSubvolume(join(at, 'made'));
  makeFiles(join(at, 'made'), { a: 'x' });
  const { status, stdout } = await run([...words, '--snapshot', 'made', 'dest'], at);
  expect({ status, stdout }).toEqual({
    status: 0,
    stdout: expect.stringMatching(/^Copied 1 snapshot in \d+ ms\n$/),
  });
  const again = await run([...words, '--snapshot=always', 'made', 'dest'], at);
  expect(again).toMatchObject({ status: 1, stderr: expect.stringContaining('the destination') });
  expect(await run([...words, '--snapshot=auto', 'made', 'dest'], at)).toMatchObject({ status: 0 });
});
