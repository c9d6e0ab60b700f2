import { execFileSync } from 'node:child_process';
import { beforeEach, expect, test } from 'vitest';
import { copyInChild } from '../support/child.js';
import { readTree } from '../support/compare.js';
import { asUser, needUser } from '../support/user.js';
import { needRoot, workFolder } from '../support/work.js';

// What an ordinary user may not read or write.

const work = workFolder('permissions');
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

test('continue: the rest is copied', async (context) => {
  needRoot(context);
  needUser(context);
  prepare();
  const request = { src: absolute('src'), dest: absolute('dest') };
  const options = { onError: 'continue' as const };
  const { error, result } = await copyInChild({ ...request, options }, asUser);
  expect(error).toBeUndefined();
  expect(result).toMatchObject({ files: 2, folders: 2, errorCount: 2 });
  const paths = result.errors.map(({ code, path }) => [code, path?.slice(at.length)]);
  expect(paths.sort()).toEqual([
    ['EACCES', '/src/closed'],
    ['EACCES', '/src/secret'],
  ]);
  expect([...readTree(absolute('dest')).keys()].sort()).toEqual(['', 'ok', 'sub', 'sub/ok']);
});

test('a folder that may not be written to', async (context) => {
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
