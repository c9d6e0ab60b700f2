import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as fs from '../../lib/fs.js';
import { compareTrees, copyTree, doctor } from '../../lib/index.js';
import { CHILD, COMMAND } from '../support/child.js';
import { makeFiles } from '../support/trees.js';
import { needToolHere, workDirectory } from '../support/work.js';

const work = workDirectory('working-directory');
const home = process.cwd();
let number = 0;
let here: string;
let there: string;

/** `here` has SRC; in `there`, the working directory from the moment of the call on, all names are others'. */
beforeEach(() => {
  const room = join(work, `${number++}`);
  [here, there] = [join(room, 'here'), join(room, 'there')];
  makeFiles(here, { 'src/file': 'right', 'src/.gitignore': 'ignored\n', 'src/ignored': '' });
  makeFiles(there, { 'src/file': 'wrong', 'src/ignored': '', 'out/precious': 'kept' });
  process.chdir(here);
});
afterEach(() => process.chdir(home));

const elsewhere = <T>(promise: T): T => {
  process.chdir(there);
  return promise;
};
const untouched = () => {
  expect(readFileSync(join(there, 'out/precious'), 'utf8')).toBe('kept');
  expect(readdirSync(join(there, 'out'))).toEqual(['precious']);
};

describe('paths are those of the working directory at the time of the call', () => {
  test('mirror', async () => {
    makeFiles(here, { 'out/old': '' });
    const { deleted, files } = await elsewhere(copyTree('src', 'out', { mirror: true }));
    expect([deleted, files]).toEqual([1, 3]);
    expect(readFileSync(join(here, 'out/file'), 'utf8')).toBe('right');
    expect(existsSync(join(here, 'out/old'))).toBe(false);
    untouched();
  });

  test.each([
    ['gitignore', { gitignore: true }],
    ['parents and fsync', { fsync: true }],
    ['atomic', { atomic: 'two-step' as const }],
    ['an async filter', { filter: async () => true }],
  ])('%s', async (_, options) => {
    needToolHere('git');
    execFileSync('git', ['init', '-q', here]);
    await elsewhere(copyTree('src', 'out', options));
    expect(readFileSync(join(here, 'out/file'), 'utf8')).toBe('right');
    expect(existsSync(join(here, 'out/ignored'))).toBe(!('gitignore' in options));
    untouched();
  });

  test('several sources, in messages too', async () => {
    makeFiles(here, { other: 'o' });
    const { errors } = await elsewhere(
      copyTree(['src', 'other'], 'out', { onError: 'continue', filter: () => true }),
    );
    expect(errors).toEqual([]);
    expect(readdirSync(join(here, 'out')).sort()).toEqual(['other', 'src']);
    untouched();
    process.chdir(here);
    const missing = elsewhere(copyTree('missing', 'out')).catch((error) => error.path);
    expect(await missing).toBe('missing');
  });

  test('compareTrees', async () => {
    makeFiles(here, { 'out/file': 'right', 'out/.gitignore': 'ignored\n', 'out/ignored': '' });
    const { differences } = await elsewhere(compareTrees('src', 'out'));
    expect(differences).toEqual([]);
  });

  test('doctor', async () => {
    makeFiles(here, { 'one/x': '', 'two/x': '' });
    const { directories } = await elsewhere(doctor('one', 'two'));
    expect(directories.map(({ path, obstacle }) => [path, obstacle])).toEqual([
      ['one', undefined],
      ['two', undefined],
    ]);
  });

  test('fs.cp and fs.promises.cp', async () => {
    await elsewhere(fs.promises.cp('src', 'out', { recursive: true, filter: async () => true }));
    expect(readFileSync(join(here, 'out/file'), 'utf8')).toBe('right');
    process.chdir(here);
    await new Promise<void>((resolve, reject) => {
      fs.cp('src', 'back', { recursive: true }, (error) => (error ? reject(error) : resolve()));
      process.chdir(there);
    });
    expect(readFileSync(join(here, 'back/file'), 'utf8')).toBe('right');
    expect(existsSync(join(there, 'back'))).toBe(false);
    untouched();
  });
});

describe('a working directory that was removed', () => {
  /** Runs a command in one. */
  const inRemoved = (...words: string[]) => {
    const gone = join(work, `gone ${number++}`);
    mkdirSync(gone);
    const script = 'cd "$1"; rmdir "$1"; shift; exec "$@"';
    const { status, stdout, stderr } = spawnSync('sh', ['-c', script, 'sh', gone, ...words], {
      encoding: 'utf8',
    });
    return { status, stdout, stderr };
  };
  const command = (...words: string[]) => inRemoved(process.execPath, COMMAND, ...words);

  test('absolute paths work', () => {
    const [src, dest] = [join(here, 'src'), join(here, 'dest')];
    expect(command('-q', src, dest)).toEqual({ status: 0, stdout: '', stderr: '' });
    expect(command('-q', '--mirror', '--gitignore', src, dest)).toMatchObject({ status: 0 });
    expect(command('-q', '--atomic', src, dest)).toMatchObject({ status: 0 });
    expect(command('--compare', '-q', src, dest)).toMatchObject({ status: 0 });
    expect(command('--doctor', src, dest)).toMatchObject({ status: 0, stderr: '' });
    writeFileSync(
      join(work, 'script.cjs'),
      `require(process.argv[2]).cpSync(...JSON.parse(process.argv[3]))`,
    );
    const script = [process.execPath, join(work, 'script.cjs'), CHILD.replace('index', 'fs')];
    const again = JSON.stringify([src, join(here, 'again'), { recursive: true }]);
    expect(inRemoved(...script, again)).toEqual({ status: 0, stdout: '', stderr: '' });
    expect(readdirSync(join(here, 'again')).sort()).toEqual(readdirSync(src).sort());
  });

  test('the error names a relative path', () => {
    const message = (path: string, verb = 'copy') =>
      `fastcp: cannot ${verb} '${path}': the working directory was removed, so the path must be absolute\n`;
    expect(command(join(here, 'src'), 'dest')).toEqual({
      status: 1,
      stdout: '',
      stderr: message('dest'),
    });
    expect(command('src', join(here, 'dest')).stderr).toBe(message('src'));
    expect(command('--compare', 'src', here).stderr).toBe(message('src', 'compare'));
    expect(command('--doctor', 'src').stderr).toBe(message('src', 'examine'));
  });
});
