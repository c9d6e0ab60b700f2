/**
 * Files that were preallocated, written and punched at random, and not yet written to disk: the kernel then reports
 * ranges of data that contradict each other, above all with blocks that are smaller than a page. Prints its seed;
 * FASTCP_SEED makes the same again.
 */
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { compareTrees, copyTree } from '../../lib/index.js';
import type { CopyOptions } from '../../lib/types.js';
import { Random } from '../selection/support/random.js';
import { copyInChild } from '../support/child.js';
import { useFileSystem } from '../support/filesystems.js';
import { seed, size } from '../support/form.js';
import { needTool, workDirectory } from '../support/work.js';

const work = workDirectory('sparse');
const files = size(15, 40);
console.info(`sparse files: ${files}, FASTCP_SEED=${seed}`);

/** Writes what must be read; the page cache has it, and the file system may not know yet. */
function makeFile(path: string, random: Random): void {
  const size = 1 + random.below(300_000);
  const call = (...args: string[]): void => void execFileSync('fallocate', [...args, path]);
  const range = (): string[] => {
    const offset = random.below(size);
    return ['-o', `${offset}`, '-l', `${1 + random.below(size - offset + 1)}`];
  };
  const steps = 1 + random.below(4);
  for (let step = 0; step < steps; step++) {
    const file = openSync(path, step === 0 ? 'w' : 'r+');
    const content = Buffer.alloc(1 + random.below(40_000), 1 + random.below(255));
    if (step > 0 || random.chance(50))
      writeSync(file, content, 0, content.length, random.below(size));
    closeSync(file);
    const next = random.pick(['allocate', 'allocate', 'punch', 'none']);
    if (next === 'allocate') call(...range());
    if (next === 'punch') call('-p', ...range());
  }
}

/** With blocks of 1 KiB, some releases of Linux say that data begins and ends at 1024. */
function makeKnownFile(path: string): void {
  execFileSync('fallocate', ['-l', '1', path]);
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(70_000, 'x'), 0, 70_000, 2465);
  closeSync(file);
}

const kinds = (['ext4', 'xfs'] as const).flatMap((name) =>
  [1024, 4096].map((block) => ({ name, block })),
);
const places = kinds.map((kind) => ({
  ...kind,
  directoryOf: useFileSystem(work, kind.name, { block: kind.block }),
}));
const btrfs = { name: 'btrfs', block: 4096, directoryOf: useFileSystem(work, 'btrfs') };
const tmpfs = { name: 'tmpfs', block: 4096, directoryOf: useFileSystem(work, 'tmpfs') };

describe.each(size([btrfs, tmpfs], [...places, btrfs, tmpfs]))(
  '$name, blocks of $block',
  ({ directoryOf }) => {
    test.for<CopyOptions>([{}, { reflink: 'never' }, { sparse: 'always' }])(
      'content is what was written: %o',
      async (options, context) => {
        needTool(context, 'fallocate');
        const root = directoryOf(context);
        const [src, dest, elsewhere] = [
          join(root, 'src'),
          join(root, 'dest'),
          join(work, 'elsewhere'),
        ];
        for (const directory of [src, dest, elsewhere]) {
          rmSync(directory, { recursive: true, force: true });
        }
        mkdirSync(src);
        const random = new Random(seed);
        for (let i = 0; i < files; i++) makeFile(join(src, `${i}`), random);
        makeKnownFile(join(src, 'known'));
        // At once: reading the files first would settle what the file system knows.
        await copyTree(src, dest, options);
        await copyTree(src, elsewhere, options);
        for (const name of readdirSync(src)) {
          const written = readFileSync(join(src, name));
          const copies = [dest, elsewhere].map((at) =>
            readFileSync(join(at, name)).equals(written),
          );
          expect(copies, `${name}, FASTCP_SEED=${seed}`).toEqual([true, true]);
        }
        expect((await compareTrees(src, dest)).differences).toEqual([]);
      },
    );
  },
);

// Whether the kernel says this of a file like makeKnownFile()'s, depends on its release: so strace says it.
test('a kernel that says that data ends where it begins is not believed', async (context) => {
  needTool(context, 'strace');
  const [src, dest] = [join(tmpfs.directoryOf(context), 'ends'), join(work, 'ends')];
  mkdirSync(src);
  const file = openSync(join(src, 'file'), 'w');
  writeSync(file, 'data');
  ftruncateSync(file, 60_000);
  closeSync(file);
  const log = join(work, 'lseek');
  const words = ['strace', '-f', '-qq', '-o', log, '-e', 'trace=lseek'];
  await copyInChild({ src, dest }, [...words, '-e', 'inject=lseek:retval=0']);
  expect(readFileSync(log, 'utf8')).toMatch(/SEEK_HOLE\) .* = 0 \(INJECTED\)/);
  expect((await compareTrees(src, dest)).differences).toEqual([]);
});
