import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { copyTree } from '../../lib/index.js';
import type { CopyOptions } from '../../lib/types.js';
import { differences, readTree } from '../support/compare.js';
import { whileMounted } from '../support/filesystems.js';
import { makeFiles } from '../support/trees.js';
import { needRoot, workDirectory } from '../support/work.js';

// Copies that make no sense: refused with a code, the operation and the path, and nothing made.

const work = workDirectory('refusals');
let at: string;
let number = 0;

beforeEach(() => {
  at = join(work, `${number++}`);
  execFileSync('mkdir', ['-m', '777', at]);
});

const make = (command: string): void => {
  execFileSync('sh', ['-ec', `umask 022; ${command}`], { cwd: at });
};

const absolute = (name: string): string => `${at}/${name}`;

/** The code, and how the message goes on after the comma; `@@` is DEST. */
type Refusal = string;

async function expectRefusal(
  src: string | string[],
  dest: string,
  refusal: Refusal,
  options: CopyOptions = {},
): Promise<void> {
  const [code = '', where = ''] = refusal.split(/: (.*)/);
  const before = [...readTree(at)];
  const from = typeof src === 'string' ? absolute(src) : src.map(absolute);
  const error = await copyTree(from, absolute(dest), options).then(
    () => expect.unreachable('it was copied'),
    (error) => error,
  );
  expect(error.code).toBe(code);
  expect(error.message).toContain(where.replaceAll('@@', absolute(dest)).replaceAll('@', `${at}/`));
  expect(error.message).toMatch(new RegExp(`^${code}: `));
  expect([...readTree(at)]).toEqual(before);
}

const itself: Refusal = "ERR_FS_CP_EINVAL: cp '@src' -> '@";
const isFile = "ERR_FS_CP_DIR_TO_NON_DIR: '@f' is not a directory";
const ontoDirectory = "ERR_FS_CP_NON_DIR_TO_DIR: cp '@src' -> '@@'";
const ontoFile = "ERR_FS_CP_DIR_TO_NON_DIR: cp '@src' -> '@@'";
const parents = false;
const tree = 'mkdir -p src/a/b; touch src/a/f';
const long = 'n'.repeat(256);

describe('refused at once', () => {
  test.each<[title: string, made: string, src: string, dest: string, Refusal, CopyOptions?]>([
    ['SRC is missing', '', 'src', 'dest', "ENOENT: lstat '@src'"],
    ['SRC is missing, new parents', '', 'src', 'a/b/dest', "ENOENT: lstat '@src'"],
    ['above SRC is a file', 'touch f', 'f/src', 'dest', "ENOTDIR: lstat '@f/src'"],
    ['SRC/ is a file', 'touch f', 'f/', 'dest', "ENOTDIR: stat '@f/'"],
    ['SRC/ dangles', 'ln -s x f', 'f/', 'dest', "ENOENT: stat '@f/'"],
    ['SRC/ goes round', 'ln -s f f', 'f/', 'dest', "ELOOP: stat '@f/'"],
    ['DEST is SRC', tree, 'src', 'src', itself],
    ['DEST is SRC, a file', 'echo x > src', 'src', 'src', itself],
    ['DEST is SRC, a link', 'ln -s x src', 'src', 'src', itself],
    ['DEST is SRC by dots', tree, 'src', 'src/a/..', itself],
    ['DEST is SRC by a link', `${tree}; ln -s src link`, 'src', 'link', itself],
    ['DEST is another name of SRC', 'touch src; ln src two', 'src', 'two', itself],
    ['DEST/ holds SRC', tree, 'src', './', itself],
    ['DEST in SRC', tree, 'src', 'src/new', itself],
    ['DEST in SRC, it exists', tree, 'src', 'src/a', itself],
    ['DEST deep in SRC', tree, 'src', 'src/a/b/c/d/e', itself],
    ['DEST in SRC by a link', `${tree}; ln -s src/a link`, 'src', 'link/new', itself],
    ['DEST links into SRC', `${tree}; ln -s src/a link`, 'src', 'link', itself],
    [
      'SRC/ links above DEST',
      `${tree}; ln -s src link`,
      'link/',
      'src/new',
      "ERR_FS_CP_EINVAL: cp '@link/' -> '@src/new'",
    ],
    ['no parent of DEST', tree, 'src', 'no/dest', "ENOENT: '@no' does not exist", { parents }],
    [
      'no parents of DEST',
      tree,
      'src',
      'no/no/dest',
      "ENOENT: '@no/no' does not exist",
      { parents },
    ],
    ['no parent of DEST/', tree, 'src', 'no/dest/', "ENOENT: '@no' does not exist", { parents }],
    ["DEST's parent is a file", `${tree}; touch f`, 'src', 'f/dest', isFile],
    ['DEST/ is a file', `${tree}; touch f`, 'src', 'f/', isFile],
    ['a file onto a directory', 'touch src; mkdir dest', 'src', 'dest', ontoDirectory],
    ['a file onto a new directory', 'touch src', 'src', 'new/.', ontoDirectory],
    ['a file onto the parent of a new directory', 'touch src', 'src', 'new/..', ontoDirectory],
    ['a directory onto a file', `${tree}; touch dest`, 'src', 'dest', ontoFile],
    ["SRC's name is too long", '', long, 'dest', `ENAMETOOLONG: lstat '@${long}'`],
    ["DEST's name is too long", tree, 'src', long, `ENAMETOOLONG: '@${long}'`],
    ["a file's DEST is too long", 'touch src', 'src', long, `ENAMETOOLONG: '@${long}'`],
  ])('%s', async (_, made, src, dest, refusal, options) => {
    make(made);
    await expectRefusal(src, dest, refusal, options);
  });

  test('two sources with one name', async () => {
    make('mkdir a b; touch a/x b/x');
    const where = `cp '@b/x' -> '@dest/x'`;
    await expectRefusal(['a/x', 'b/x'], 'dest', `ERR_FS_CP_EINVAL: ${where}`);
    expect([...readTree(at).keys()].sort()).toEqual(['', 'a', 'a/x', 'b', 'b/x']);
  });

  test('a directory to a symlink to nothing', async () => {
    make('mkdir a; ln -s nowhere b');
    for (const dest of ['b', 'b/', 'b/new']) {
      await expectRefusal('a', dest, "ERR_FS_CP_DIR_TO_NON_DIR: cp '@a' -> '@b");
    }
  });

  test('one of several sources is DEST, or DEST is inside it: the others are copied', async () => {
    const [one, into] = [join(work, 'several one'), join(work, 'several into')];
    makeFiles(one, { a: 'a' });
    makeFiles(into, { same: 'same' });
    const sources = [join(one, 'a'), join(into, 'same'), into];
    const { files, errors } = await copyTree(sources, into, { onError: 'continue' });
    expect(files).toBe(1);
    expect(errors).toMatchObject([{ code: 'ERR_FS_CP_EINVAL' }, { code: 'ERR_FS_CP_EINVAL' }]);
    expect(readdirSync(into).sort()).toEqual(['a', 'same']);
    await expect(copyTree(sources, into)).rejects.toMatchObject({ code: 'ERR_FS_CP_EINVAL' });
  });

  test('two sources of one name: the first is copied, and with `stop` nothing', async () => {
    for (const name of ['one', 'two']) makeFiles(join(work, `names ${name}`), { same: name });
    const sources = ['missing', 'names one/same', 'names two/same'].map((path) => join(work, path));
    const into = join(work, 'names into');
    const clash = {
      code: 'ERR_FS_CP_EINVAL',
      message: expect.stringContaining(
        `'${sources[1]}' and '${sources[2]}' have the same last name`,
      ),
    };
    await expect(copyTree(sources.slice(1), into)).rejects.toMatchObject(clash);
    expect(existsSync(into)).toBe(false);
    const { errors } = await copyTree(sources, into, { onError: 'continue' });
    expect(errors).toMatchObject([{ code: 'ENOENT', path: sources[0] }, clash]);
    expect(readFileSync(join(into, 'same'), 'utf8')).toBe('one');
  });

  test('one of several sources is missing', async () => {
    make('touch a');
    await expectRefusal(['a', 'no'], 'dest', "ENOENT: lstat '@no'");
  });

  test('each of several sources is missing: with `continue` all are named, and nothing is created', async () => {
    const sources = ['no', 'none'].map(absolute);
    const result = await copyTree(sources, absolute('new'), { onError: 'continue' });
    expect(result.errors.map(({ code, path }) => [code, path])).toEqual(
      sources.map((path) => ['ENOENT', path]),
    );
    expect(existsSync(absolute('new'))).toBe(false);
  });

  test('a link onto the file that it leads to', async () => {
    // It would replace the file by a link to itself, and the content would be lost.
    make('echo precious > dest; ln -s dest src');
    await copyTree(absolute('src'), absolute('dest')).catch(() => {});
    expect(readFileSync(absolute('dest'), 'utf8')).toBe('precious\n');
    await expectRefusal('src', 'dest', itself);
  });
});

describe('DEST in SRC by a bind mount', () => {
  test.for([
    ['of SRC', 'src', 'mounted/new'],
    ['of SRC, DEST is its root', 'src', 'mounted'],
    ['of a directory in SRC', 'src/a', 'mounted/new'],
    ['of a directory in SRC, DEST is its root', 'src/a', 'mounted'],
    ['deep in a directory in SRC', 'src/a', 'mounted/b/new'],
  ] as const)('%s', async ([, from, dest], context) => {
    needRoot(context);
    make(`${tree}; mkdir mounted`);
    await whileMounted(['--bind', absolute(from)], absolute('mounted'), async () => {
      const signal = AbortSignal.timeout(300); // where it goes round and round
      const copy = copyTree(absolute('src'), absolute(dest), { signal });
      const error = await copy.then(
        () => undefined,
        (error) => error,
      );
      // Only the walk can see DEST from within a directory of SRC; it ends where it meets it.
      const most = from === 'src' ? 2 : 7;
      expect(find(`-mindepth ${most + 1} -maxdepth ${most + 1}`)).toBe('');
      expect(error).toMatchObject({ code: 'ERR_FS_CP_EINVAL', path: expect.any(String) });
    });
  });
});

const find = (args: string): string =>
  execFileSync('find', [absolute('src'), ...args.split(' ')], { encoding: 'utf8' });

describe('not refused', () => {
  test.each([
    ['node_modules', 'node_modules.backup'],
    ['node_modules', 'node'],
    ['a/node_modules', 'a/node_modules2/x'],
  ])('%s to %s', async (src, dest) => {
    make(`mkdir -p ${src}/x/y; touch ${src}/x/f`);
    await copyTree(absolute(src), absolute(dest));
    expect(differences(absolute(src), absolute(dest))).toEqual([]);
  });

  test('missing parents are made', async () => {
    make(tree);
    await copyTree(absolute('src'), absolute('new/and/newer/dest'));
    expect(differences(absolute('src'), absolute('new/and/newer/dest'))).toEqual([]);
  });

  test('SRC in DEST, and a link to DEST in SRC', async () => {
    make('mkdir -p dest/src/a; ln -s ../../dest dest/src/link; touch dest/src/f');
    await copyTree(absolute('dest/src'), absolute('dest'));
    expect(readlinkSync(absolute('dest/link'))).toBe('../../dest');
    expect([...readTree(absolute('dest')).keys()].sort()).toEqual(
      ['', 'a', 'f', 'link', 'src', 'src/a', 'src/f', 'src/link'].sort(),
    );
  });
});

test.for<[string, string, CopyOptions]>([
  ['Dir', 'dIR', {}],
  ['Dir/sub', 'dIR', { mirror: true }],
  ['Dir/sub', 'dIR', { atomic: 'two-step' }],
  ['Dir', 'dIR/sub', {}],
])('names that differ in case only: %s to %s, %o', async ([from, to, options]) => {
  make('mkdir -p Dir/sub dIR/sub; touch Dir/sub/file dIR/extra');
  await copyTree(absolute(from), absolute(to), options);
  const isWhole = Object.keys(options).length > 0;
  if (isWhole) expect(differences(absolute(from), absolute(to))).toEqual([]);
  expect(existsSync(absolute(`${to}/${from === 'Dir' ? 'sub/' : ''}file`))).toBe(true);
  expect(readdirSync(absolute('Dir/sub'))).toEqual(['file']);
});

test('a dry run refuses and finds the same, and makes nothing', async () => {
  make(`${tree}; echo x > src/x; mkdir dest dest/x; touch dest/a`);
  await expectRefusal('src', 'src/new', itself, { dryRun: true });
  const before = [...readTree(at)];
  const options = { dryRun: true, onError: 'continue' } as const;
  const { errors } = await copyTree(absolute('src'), absolute('dest'), options);
  expect(errors.map(({ code }) => code).sort()).toEqual([
    'ERR_FS_CP_DIR_TO_NON_DIR',
    'ERR_FS_CP_NON_DIR_TO_DIR',
  ]);
  await copyTree(absolute('src'), absolute('new/parent/dest'), { dryRun: true });
  expect([...readTree(at)]).toEqual(before);
});
