import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { compareTrees, copyTree } from '../../lib/index.js';
import { copyInChild, limited } from '../support/child.js';
import { deepSummary } from '../support/compare.js';
import { whileMounted } from '../support/filesystems.js';
import { isLong, size } from '../support/form.js';
import { makeDeep } from '../support/trees.js';
import { needRoot, removeTree, skip, workDirectory } from '../support/work.js';

// The largest trees, directories, files and depths. The long form has them in full size, which takes 8 GB of memory.

const work = workDirectory('largest');
const GiB = 2 ** 30;

/** How long something took, in the words of the log. */
async function timed<T>(what: string, act: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const result = await act();
  console.log(`largest: ${what}, ${((performance.now() - began) / 1000).toFixed(1)} s`);
  return result;
}

/** Every 50th has content. */
function makeFiles(directory: string, count: number): void {
  mkdirSync(directory, { recursive: true });
  for (let index = 0; index < count; index++) {
    const file = openSync(join(directory, `file-${index}`), 'wx');
    if (index % 50 === 0) writeSync(file, `${index}`);
    closeSync(file);
  }
}

/** The kernel's for inodes included. */
function needMemory(context: TestContext, bytes: number): void {
  const [, available = '0'] =
    /MemAvailable: +(\d+) kB/.exec(readFileSync('/proc/meminfo', 'utf8')) ?? [];
  if (Number(available) * 1024 < bytes) skip(context, `it takes ${bytes / GiB} GiB of memory`);
}

const contentAt = (place: number): string => `data-${place}`.padEnd(10, '.').slice(0, 10);

const DIRECTORIES = size(40, 40, 4_000);
const PER_DIRECTORY = 500;
const WIDE = size(20_000, 20_000, 500_000);

test.for([
  ['a tree', DIRECTORIES, PER_DIRECTORY],
  ['one directory', 1, WIDE],
] as const)(
  '%s of %i x %i files',
  { timeout: 500_000 },
  async ([what, directories, files], context) => {
    needRoot(context);
    needMemory(context, directories * files * 2 * 2_000);
    const place = join(work, 'tmpfs');
    mkdirSync(place, { recursive: true });
    const options = ['-t', 'tmpfs', '-o', 'size=4G,nr_inodes=0', 'tmpfs'];
    await whileMounted(options, place, async () => {
      const [src, dest] = [join(place, 'src'), join(place, 'dest')];
      for (let directory = 0; directory < directories; directory++) {
        makeFiles(join(src, `${directory % 30}`, `directory-${directory}`), files);
      }
      const count = directories * files;
      // Not in a child: those of tests have a limit on their time.
      const before = process.memoryUsage.rss();
      const result = await timed(`${what}, ${count} files`, () => copyTree(src, dest));
      const grown = (process.memoryUsage.rss() - before) / 2 ** 20;
      console.log(`largest: ${grown.toFixed(0)} MB more memory`);
      expect(grown).toBeLessThan(200);
      expect(result).toMatchObject({ files: count, errorCount: 0 });
      expect(await compareTrees(src, dest)).toMatchObject({ differences: [], errorCount: 0 });
    });
  },
);

test('a file of 64 GiB with holes', { timeout: 300_000 }, async () => {
  const [src, dest] = [join(work, 'holes'), join(work, 'holes copied')];
  const size = 64 * GiB;
  // At its ends, across the limits of parts and of 32 bits, and in the middle.
  const places = [0, 32 * 2 ** 20 - 5, 4 * GiB - 7, 40 * GiB + 4096, size - 10];
  const file = openSync(src, 'wx');
  for (const at of places) writeSync(file, contentAt(at), at);
  ftruncateSync(file, size);
  fsyncSync(file);
  closeSync(file);
  const { error } = await timed('64 GiB with holes', () => copyInChild({ src, dest }));
  expect(error).toBeUndefined();
  const [from, to] = [statSync(src), statSync(dest)];
  // What is no data takes no room, so it is a hole there, too.
  expect([to.size, to.blocks]).toEqual([from.size, from.blocks]);
  const copied = openSync(dest, 'r');
  const here = Buffer.alloc(10);
  for (const at of places) {
    const length = readSync(copied, here, 0, 10, at);
    expect(here.toString('utf8', 0, length)).toBe(contentAt(at));
  }
  closeSync(copied);
  removeTree(dest);
});

// test/behaviour/deep.test.ts has the short form.
test.each(isLong ? (['bare', 'comb'] as const) : [])(
  '20,000 levels, %s',
  { timeout: 300_000 },
  async (shape) => {
    const [src, dest] = [join(work, shape), join(work, `${shape} copied`)];
    const levels = 20_000;
    makeDeep(src, levels, shape);
    const expected = deepSummary(src);
    expect(expected.directories).toBeGreaterThan(levels);
    for (const before of [[], limited(64)]) {
      const { error, result } = await timed(`20,000 levels, ${shape}`, () =>
        copyInChild({ src, dest }, before),
      );
      expect(error).toBeUndefined();
      expect(result.directories).toBe(expected.directories);
      expect(deepSummary(dest)).toEqual(expected);
      removeTree(dest);
    }
  },
);
