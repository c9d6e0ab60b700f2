import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { compareTrees } from '../../lib/index.js';
import { COMMAND } from '../support/child.js';
import { makeFiles, makeZoo } from '../support/trees.js';
import { workFolder } from '../support/work.js';

const work = workFolder('compare');
let number = 0;
let a: string;
let b: string;
beforeEach(() => {
  const folder = join(work, `${number++}`);
  a = join(folder, 'a');
  b = join(folder, 'b');
  makeFiles(a, {
    same: 's',
    'folder/content': 'one',
    'folder/mode': '',
    'gone/x': '',
    'gone/y': '',
  });
  execFileSync('cp', ['-a', a, b]);
});

const compare = async (
  ...options: Parameters<typeof compareTrees> extends [unknown, unknown, ...infer O] ? O : never
) =>
  (await compareTrees(a, b, ...options)).differences.map(
    ({ type, kind, a: path }) => `${type} ${kind} ${path.slice(a.length)}`,
  );

test('equal trees, and one with itself', async () => {
  expect(await compare()).toEqual([]);
  expect(await compare({ preserve: ['mode', 'timestamps', 'ownership'] })).toEqual([]);
  expect((await compareTrees(a, a)).differences).toEqual([]);
  makeZoo(join(a, 'zoo'), { wide: 100 });
  rmSync(join(a, 'zoo/special/socket'));
  execFileSync('cp', ['-a', join(a, 'zoo'), join(b, 'zoo')]);
  expect(await compare()).toEqual([]);
});

test('every difference, by path; a folder stands for what is in it', async () => {
  writeFileSync(join(b, 'folder/content'), 'two');
  chmodSync(join(b, 'folder/mode'), 0o600);
  rmSync(join(b, 'gone'), { recursive: true });
  makeFiles(b, { 'extra/deep/file': '', 'folder/new': '' });
  rmSync(join(b, 'same'));
  mkdirSync(join(b, 'same'));
  symlinkSync('x', join(a, 'link'));
  symlinkSync('y', join(b, 'link'));
  expect(await compare()).toEqual([
    'onlyInB folder /extra',
    'content file /folder/content',
    'metadata file /folder/mode',
    'onlyInB file /folder/new',
    'onlyInA folder /gone',
    'content link /link',
    'onlyInA file /same',
    'onlyInB folder /same',
  ]);
});

test('contents decide, not times; times count when asked', async () => {
  utimesSync(join(b, 'same'), 5, 5);
  expect(await compare()).toEqual([]);
  expect(await compare({ preserve: ['timestamps'] })).toEqual(['metadata file /same']);
  writeFileSync(join(b, 'folder/content'), 'eno');
  utimesSync(join(b, 'folder/content'), 1, 1);
  utimesSync(join(a, 'folder/content'), 1, 1);
  expect(await compare()).toEqual(['content file /folder/content']);
});

test('a selection holds on both sides', async () => {
  makeFiles(b, { 'x.log': '', 'folder/y.log': '' });
  makeFiles(a, { 'z.log': '' });
  expect(await compare({ exclude: ['**/*.log'] })).toEqual([]);
});

test('nothing is written', async () => {
  makeFiles(b, { extra: '' });
  rmSync(join(b, 'gone'), { recursive: true });
  const state = () =>
    execFileSync('find', [a, b, '-printf', '%p %C@ %T@ %m\n'], { encoding: 'utf8' });
  const before = state();
  await compare();
  expect(state()).toBe(before);
});

test('what is not there, or asked for in vain', async () => {
  await expect(compareTrees(a, join(b, 'nowhere'))).rejects.toMatchObject({
    code: 'ENOENT',
    path: join(b, 'nowhere'),
  });
  await expect(compareTrees(a, b, { preserve: ['xattrs'] })).rejects.toThrow(/options.preserve/);
});

describe('command', () => {
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [COMMAND, ...args], {
      encoding: 'utf8',
    });
    return { status, stdout, stderr };
  };

  test('0 and a word where there is none, 1 and the list where there are', () => {
    expect(run('--compare', a, b)).toEqual({
      status: 0,
      stdout: 'no difference: 8 entries\n',
      stderr: '',
    });
    writeFileSync(join(b, 'same'), 't');
    rmSync(join(b, 'gone'), { recursive: true });
    makeFiles(b, { new: '' });
    const found = [`only in ${a}/gone`, `only in ${b}/new`, `differ: ${a}/same and ${b}/same`];
    expect(run('--compare', a, b)).toEqual({
      status: 1,
      stdout: `${found.join('\n')}\n`,
      stderr: '',
    });
    expect(run('--compare', '-q', a, b)).toEqual({ status: 1, stdout: '', stderr: '' });
    const lines = run('--compare', '--json', a, b).stdout.trim().split('\n');
    const parsed = lines.map((line) => JSON.parse(line));
    expect(parsed[2]).toMatchObject({ type: 'difference', difference: 'content', kind: 'file' });
    expect(parsed.at(-1)).toMatchObject({ type: 'result', differences: 3, errorCount: 0 });
  });

  test('wrong use', () => {
    expect(run('--compare', a)).toMatchObject({ status: 2 });
    expect(run('--compare', a, b, 'c').stderr).toContain('--compare takes two trees');
    expect(run('--compare', a, '/nowhere')).toMatchObject({ status: 1 });
  });
});
