import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, type TestContext, test } from 'vitest';
import { copyTree, doctor } from '../../lib/index.js';
import type { CopyOptions } from '../../lib/types.js';
import { hiddenTrees } from '../support/atomic.js';
import { useFileSystem } from '../support/filesystems.js';
import { makeFiles } from '../support/trees.js';
import { needTool, workDirectory } from '../support/work.js';

// Directories of DEST in which entries can be made, and neither renamed nor removed.

const work = workDirectory('append-only');
const mounted = useFileSystem(work, 'ext4', { size: '32M' });
let at: string;
let src: string;
let dest: string;
let number = 0;

function prepare(context: TestContext): void {
  needTool(context, 'chattr');
  at = join(mounted(context), `${number++}`);
  [src, dest] = [join(at, 'src'), join(at, 'dest')];
  makeFiles(src, { file: 'new', added: 'added', 'sub/file': 'new' });
  symlinkSync('new', join(src, 'link'));
  makeFiles(dest, { file: 'old', 'sub/file': 'old' });
  symlinkSync('old', join(dest, 'link'));
}

/** Makes the directories append-only until the test is over. */
function close(...directories: string[]): void {
  const { status } = spawnSync('chattr', ['+a', ...directories]);
  closed.push(...directories);
  if (status !== 0) throw new Error('chattr failed');
}

const closed: string[] = [];
afterEach(() => {
  for (const directory of closed.splice(0)) execFileSync('chattr', ['-a', directory]);
});

const all = (directory: string): string[] =>
  readdirSync(directory, { recursive: true }).sort() as string[];

test.for<[string, CopyOptions]>([
  ['a copy', {}],
  ['a dry run', { dryRun: true }],
  ['an update', { sync: true }],
  ['-a', { preserve: true }],
  ['a backup', { backup: 'numbered' }],
  ['hard links', { hardLink: true }],
])(
  '%s: an error for each entry that is there, and nothing is left',
  async ([, options], context) => {
    prepare(context);
    close(dest, join(dest, 'sub'));
    for (let run = 0; run < 2; run++) {
      const { errors } = await copyTree(src, dest, { ...options, onError: 'continue' });
      const refused = errors.filter(({ code }) => code === 'ERR_FASTCP_APPEND_ONLY');
      // What the first run added is there in the second one.
      const again = run > 0 && !options.sync && !options.hardLink && !options.dryRun;
      const names = ['file', 'link', 'sub/file', ...(again ? ['added'] : [])];
      expect(refused.map((error) => error.dest).sort()).toEqual(
        names.map((name) => join(dest, name)).sort(),
      );
      expect(refused[0]?.message).toContain('the directory is append-only');
      // Its own mode and times cannot be set there either.
      expect(errors.every(({ code }) => code === 'ERR_FASTCP_APPEND_ONLY')).toBe(true);
      const added = options.dryRun ? [] : ['added'];
      expect(all(dest)).toEqual([...added, 'file', 'link', 'sub', 'sub/file']);
      expect(readFileSync(join(dest, 'sub/file'), 'utf8')).toBe('old');
    }
  },
);

test('several SRC whose names differ in case only', async (context) => {
  prepare(context);
  makeFiles(at, { 'one/readme': '1', 'two/README': '2' });
  close(dest);
  await copyTree([join(at, 'one/readme'), join(at, 'two/README')], `${dest}/`);
  expect(all(dest)).toEqual(['README', 'file', 'link', 'readme', 'sub', 'sub/file']);
});

test('as the directory that DEST is in', async (context) => {
  prepare(context);
  makeFiles(at, { 'log/file': 'old', 'log/tree/x': 'old' });
  close(join(at, 'log'));
  const code = (options: CopyOptions, from: string, to: string) =>
    copyTree(join(src, from), join(at, 'log', to), options).then(
      () => 'none',
      (error) => error.code,
    );
  expect(await code({}, 'file', 'file')).toBe('ERR_FASTCP_APPEND_ONLY');
  expect(await code({ atomic: true }, 'file', 'file')).toBe('ERR_FASTCP_APPEND_ONLY');
  expect(await code({ atomic: 'two-step' }, 'sub', 'tree')).toBe('ERR_FASTCP_APPEND_ONLY');
  expect(await code({}, 'file', 'new')).toBe('none');
  const { directories } = await doctor(join(at, 'log'));
  expect(directories[0]?.obstacle).toContain('append-only');
  expect(all(join(at, 'log'))).toEqual(['file', 'new', 'tree', 'tree/x']);
});

test('a copy that fails or is interrupted leaves no part of a file', async (context) => {
  prepare(context);
  makeFiles(work, { big: Buffer.alloc(64 << 20, 'too large for this disk') });
  close(dest);
  const { errors } = await copyTree(join(work, 'big'), join(dest, 'big'), { onError: 'continue' });
  expect(errors).toMatchObject([{ code: 'ENOSPC' }]);
  expect(all(dest)).toEqual(['file', 'link', 'sub', 'sub/file']);
});

test.for<[string, CopyOptions]>([
  ['a new file', {}],
  ['one that is verified', { verify: true }],
  ['-a', { preserve: true, sync: true }],
])('%s is whole when it has its name', async ([, options], context) => {
  prepare(context);
  const content = Buffer.alloc(3 << 20, 'content ');
  makeFiles(src, { 'new/a': content, 'new/b': 'b' });
  makeFiles(dest, { 'new/c': 'c' });
  close(join(dest, 'new'), dest);
  await copyTree(join(src, 'new'), join(dest, 'new'), options);
  expect(readFileSync(join(dest, 'new/a')).equals(content)).toBe(true);
  expect(readFileSync(join(dest, 'new/b'), 'utf8')).toBe('b');
  await copyTree(join(src, 'added'), join(dest, 'added'), options);
  expect(readFileSync(join(dest, 'added'), 'utf8')).toBe('added');
});

test.for([
  ['dest', 'src', true],
  ['dest', 'src', 'two-step'],
  ['dest/file', 'src/file', true],
] as const)('as DEST itself, to be replaced whole: %s', async ([to, from, atomic], context) => {
  prepare(context);
  const before = readdirSync(at);
  close(join(at, to));
  const error = await copyTree(join(at, from), join(at, to), { atomic }).catch((thrown) => thrown);
  expect(error).toMatchObject({ code: 'ERR_FASTCP_APPEND_ONLY', dest: join(at, to) });
  expect(error.result).toMatchObject({ files: 0, replaced: false }); // before anything is copied
  expect(readFileSync(join(dest, 'file'), 'utf8')).toBe('old');
  expect(readdirSync(at)).toEqual(before);
});

test('in a DEST that was replaced whole: the warning names what stays', async (context) => {
  prepare(context);
  close(join(dest, 'sub/file'));
  const { warnings, replaced } = await copyTree(src, dest, { atomic: true });
  const [left = ''] = hiddenTrees(at);
  const stays = join(at, left, 'sub/file');
  closed.splice(0, Infinity, stays);
  expect({ replaced, warnings }).toMatchObject({
    replaced: true,
    warnings: [{ code: 'STAGING_LEFT', path: join(at, left) }],
  });
  expect(warnings[0]?.message).toContain(stays);
  expect(readFileSync(join(dest, 'sub/file'), 'utf8')).toBe('new');
});
