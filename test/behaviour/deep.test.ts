import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { copyTree } from '../../lib/index.js';
import { CHILD, COMMAND, copyInChild, limited, run } from '../support/child.js';
import { deepSummary, differences } from '../support/compare.js';
import { size } from '../support/form.js';
import { makeDeep, makeFiles } from '../support/trees.js';
import { hasTool, needTool, removeTree, workDirectory } from '../support/work.js';

// Trees deeper than any path, with fewer descriptors than levels.

const work = workDirectory('deep');
const levels = 5000;
const trees = ['bare', 'comb'] as const;
const src = (shape: string): string => join(work, shape);

let expected: Record<(typeof trees)[number], ReturnType<typeof deepSummary>>;

beforeAll(() => {
  if (!hasTool('python3')) return;
  for (const shape of trees) makeDeep(src(shape), levels, shape);
  expected = { bare: deepSummary(src('bare')), comb: deepSummary(src('comb')) };
  expect(expected.bare.directories).toBe(levels + 2);
  expect(expected.comb.directories).toBe(2 * levels + 1);
});

describe.for(size<(typeof trees)[number][]>(['bare'], [...trees]))('5,000 levels, %s', (shape) => {
  beforeEach((context) => needTool(context, 'python3'));

  test('by the library', async () => {
    const dest = join(work, `${shape} copy`);
    const result = await copyTree(src(shape), dest);
    const { directories, others } = expected[shape];
    expect(result).toMatchObject({ directories, files: others, errorCount: 0 });
    expect(deepSummary(dest)).toEqual(expected[shape]);
    // Merged with what is there.
    expect(await copyTree(src(shape), dest)).toMatchObject({ directories: 0, files: others });
    expect(deepSummary(dest)).toEqual(expected[shape]);
    removeTree(dest);
  });

  test.for([64, 40])('by the library, %i descriptors', async (descriptors) => {
    const dest = join(work, `${shape} limited copy`);
    const { error, result } = await copyInChild({ src: src(shape), dest }, limited(descriptors));
    expect(error).toBeUndefined();
    const { directories, others } = expected[shape];
    expect(result).toMatchObject({ directories, files: others });
    expect(deepSummary(dest)).toEqual(expected[shape]);
    removeTree(dest);
  });

  test.for([64, 1024])('by the command line, %i descriptors', async (descriptors) => {
    const dest = join(work, `${shape} command copy`);
    const command = [process.execPath, COMMAND, src(shape), dest];
    const { status, stderr } = await run([...limited(descriptors), ...command]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(deepSummary(dest)).toEqual(expected[shape]);
    removeTree(dest);
  });

  test('an error at the bottom is named by its whole path', async () => {
    const dest = join(work, `${shape} refused copy`);
    await copyTree(src(shape), dest);
    const result = await copyTree(src(shape), dest, {
      force: false,
      errorOnExist: true,
      onError: 'continue',
    });
    const { others } = expected[shape];
    expect(result.errorCount).toBe(others);
    const longest = Math.max(...result.errors.map(({ path = '' }) => path.length));
    if (others <= 1000) expect(longest).toBeGreaterThan(7 * levels);
    removeTree(dest);
  });
});

// Two workers, one of them far above the other on the way out: directories were reopened from the root, each time.
test('what was closed is opened from where it is nearest', { tags: ['all'] }, async (context) => {
  for (const tool of ['strace', 'python3']) needTool(context, tool);
  const dest = join(work, 'traced copy');
  const log = join(work, 'strace.log');
  const traced = ['strace', '-f', '-c', '-e', 'trace=openat', '-o', log];
  const command = [process.execPath, COMMAND, '-j2', src('comb'), dest];
  const { status } = await run([...limited(200), ...traced, ...command]);
  expect(status).toBe(0);
  const calls = Number(/(\d+)(?: +\d+)? +openat$/m.exec(readFileSync(log, 'utf8'))?.[1]);
  const { directories, others } = expected.comb;
  expect(calls).toBeGreaterThan(2 * directories + 2 * others);
  expect(calls).toBeLessThan(4 * (2 * directories + 2 * others));
  removeTree(dest);
});

test('a wide tree with few descriptors', async () => {
  const wide = join(work, 'wide');
  const files: Record<string, string> = {};
  for (let i = 0; i < 4000; i++) files[`directory ${i % 200}/${i % 3}/file ${i}`] = `${i}`;
  makeFiles(wide, files);
  const dest = join(work, 'wide copy');
  const { error, result } = await copyInChild({ src: wide, dest }, limited(40));
  expect(error).toBeUndefined();
  expect(result).toMatchObject({ files: 4000, directories: 1 + 200 + 600, errorCount: 0 });
  expect(differences(wide, dest)).toEqual([]);
});

// For its locks a copy holds two descriptors open.
test.for([
  [64, false],
  [256, true],
] as const)(
  '60 copies at once with a filter, and %i descriptors, lock: %j',
  async ([descriptors, lock]) => {
    const src = join(work, `small ${descriptors}`);
    makeFiles(
      src,
      Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`directory/${i}`, ''])),
    );
    // While their filter is asked, copies hold directories open and have no worker. Those that have one close them.
    const code = `
    const { copyTree } = require(process.argv[1]);
    const [, , src, dest] = process.argv;
    const filter = (_src, _dest, { path }) => new Promise((resolve) => setTimeout(resolve, 2, true));
    Promise.all(Array.from({ length: 60 }, (_, i) => copyTree(src, dest + '/' + i, { filter, lock: ${lock} }))).then((results) =>
      console.log(results.reduce((sum, { files }) => sum + files, 0)));`;
    const dest = join(work, `small copies ${descriptors}`);
    const { status, stdout, stderr } = await run([
      ...[...limited(descriptors), process.execPath, '-e', code, CHILD, src, dest],
    ]);
    expect(stderr).toBe('');
    expect(stdout).toBe('6000\n');
    expect(status).toBe(0);
  },
);

test('large files with few descriptors', async () => {
  const large = join(work, 'large');
  execFileSync('mkdir', [large]);
  for (const name of ['a', 'b', 'c']) {
    execFileSync('sh', ['-c', 'yes "$1" | head -c 70000000 > "$0"', join(large, name), name]);
  }
  const dest = join(work, 'large copy');
  const { error } = await copyInChild({ src: large, dest }, limited(40));
  expect(error).toBeUndefined();
  expect(differences(large, dest)).toEqual([]);
});
