import { readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { poolSize } from '../../bin/pool.js';
import { fastcp } from './support/fastcp.js';
import { makeTree, temporaryDirectory } from './support/trees.js';

test('one small file has one worker', () => {
  const directory = temporaryDirectory();
  const tree = makeTree(join(directory, 'tree'), { small: 'content', large: '' });
  truncateSync(join(tree, 'large'), (1 << 20) + 1);
  symlinkSync('small', join(tree, 'link'));
  const sizeFor = (...argv: string[]) => poolSize(argv, 2);
  const [small, dest] = [join(tree, 'small'), join(tree, 'dest')];
  expect(sizeFor(small, dest)).toBe(2);
  expect(sizeFor('-j3', small, dest)).toBe(4);
  expect(sizeFor(small, join(tree, 'link'), dest)).toBe(9);
  for (const name of ['.', 'large', 'link', 'missing', 'small/below', 'x'.repeat(5000)])
    expect(sizeFor(join(tree, name), dest), name).toBe(9);
});

describe('poolSize', () => {
  test.each([
    ['src dest', 2, 9],
    ['src dest', 32, 33],
    ['-j 4 src dest', 32, 5],
    ['-j4 src dest', 32, 5],
    ['--jobs 4 src dest', 32, 5],
    ['--jobs=4 src dest', 32, 5],
    ['-vxj4 src dest', 32, 5],
    ['-j 4 -j 6 src dest', 32, 7],
    ['-j many src dest', 32, 33],
    ['-j 0 src dest', 32, 33],
    ['src dest -j', 32, 33],
    ['-- -j 4', 32, 33],
    ['--json src dest', 32, 33],
  ])('%s on %d cores: %d', (line, cores, expected) => {
    expect(poolSize(line.split(' '), cores)).toBe(expected);
  });
});

// Asked of the operating system, as nothing else tells how large the pool really became.
describe.skipIf(process.platform !== 'linux')('the pool of the command line', () => {
  const directory = temporaryDirectory();
  const src = makeTree(join(directory, 'src'), { file: 'content' });
  const countThreads = join(directory, 'count-threads.cjs');
  writeFileSync(
    countThreads,
    `const { readdirSync, writeFileSync } = require('node:fs');
    process.on('exit', () =>
      writeFileSync(process.env.THREADS_FILE, String(readdirSync('/proc/self/task').length)));`,
  );

  async function threadsWith(name: string, args: string[], env: NodeJS.ProcessEnv = {}) {
    const threadsFile = join(directory, `${name}.threads`);
    const { exitCode } = await fastcp([...args, src, join(directory, name)], {
      env: { ...env, NODE_OPTIONS: `--require=${countThreads}`, THREADS_FILE: threadsFile },
    });
    expect(exitCode).toBe(0);
    return Number(readFileSync(threadsFile, 'utf8'));
  }

  test('follows --jobs', async () => {
    const few = await threadsWith('few', ['-j', '3']);
    const many = await threadsWith('many', ['-j', '23']);
    expect(many - few).toBe(20);
  });

  test('is left as the user set it', async () => {
    const few = await threadsWith('set-few', [], { UV_THREADPOOL_SIZE: '2' });
    const many = await threadsWith('set-many', [], { UV_THREADPOOL_SIZE: '12' });
    expect(many - few).toBe(10);
  });
});
