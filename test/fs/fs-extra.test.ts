import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promises } from '../../lib/fs.js';
import { makeFiles } from '../support/trees.js';
import { workDirectory } from '../support/work.js';

// The table of docs/fs.md: what changes for users of fs-extra's copy().

type Copy = (src: string, dest: string, options?: object) => Promise<void>;
const theirs: Copy = createRequire(import.meta.url)('fs-extra').copy;
const ours: Copy = (src, dest, options) => promises.cp(src, dest, { recursive: true, ...options });

const work = workDirectory('fs-extra');
let number = 0;

interface Row {
  name: string;
  make?: (src: string, dest: string) => void;
  options?: object;
  /** What is looked at afterwards. */
  look?: (dest: string) => unknown;
  theirs: unknown;
  ours: unknown;
}

const read = (dest: string): string => fs.readFileSync(join(dest, 'file'), 'utf8');
const old = (_src: string, dest: string): void => void makeFiles(dest, { file: 'old' });

const rows: Row[] = [
  {
    name: 'directories without recursive',
    options: { recursive: false },
    theirs: 'ok',
    ours: 'ERR_FS_EISDIR',
  },
  {
    name: 'overwrite: false',
    make: old,
    options: { overwrite: false },
    look: read,
    theirs: 'old',
    ours: 'content',
  },
  {
    name: 'force: false',
    make: old,
    options: { force: false },
    look: read,
    theirs: 'content',
    ours: 'old',
  },
  {
    name: 'errorOnExist',
    make: old,
    options: { force: false, overwrite: false, errorOnExist: true },
    theirs: 'Error without a code',
    ours: 'ERR_FS_CP_EEXIST',
  },
  {
    name: 'the text of a relative link',
    make: (src) => fs.symlinkSync('file', join(src, 'link')),
    look: (dest) => fs.readlinkSync(join(dest, 'link')).startsWith('/'),
    theirs: false,
    ours: true,
  },
  {
    name: 'the same with verbatimSymlinks',
    make: (src) => fs.symlinkSync('file', join(src, 'link')),
    options: { verbatimSymlinks: true },
    look: (dest) => fs.readlinkSync(join(dest, 'link')),
    theirs: 'file',
    ours: 'file',
  },
  {
    name: 'a link whose target has moved into the old one',
    make: (src, dest) => {
      fs.symlinkSync('directory/deep', join(src, 'link'));
      fs.mkdirSync(dest);
      fs.symlinkSync('directory', join(dest, 'link'));
    },
    theirs: 'Error without a code',
    ours: 'ok',
  },
  {
    name: 'a link onto a file',
    make: (src, dest) => {
      fs.rmSync(join(src, 'file'));
      fs.symlinkSync('directory', join(src, 'file'));
      old(src, dest);
    },
    theirs: 'EEXIST',
    ours: 'ok',
  },
  {
    name: 'a FIFO',
    make: (src) => void execFileSync('mkfifo', [join(src, 'fifo')]),
    theirs: 'Error without a code',
    ours: 'ERR_FS_CP_FIFO_PIPE',
  },
  {
    name: 'nanoseconds with preserveTimestamps',
    make: (src) =>
      void execFileSync('touch', ['-d', '2001-01-01 00:00:00.123456789', join(src, 'file')]),
    options: { preserveTimestamps: true },
    look: (dest) => `${fs.statSync(join(dest, 'file'), { bigint: true }).mtimeNs}`.slice(-9),
    // Node 24 and later turn milliseconds into a double on the way.
    theirs: /^1230000\d\d$/,
    ours: '123456789',
  },
];

describe.each(['theirs', 'ours'] as const)('%s', (side) => {
  test.for(rows)('$name', async ({ make, options, look, ...expected }) => {
    const directory = join(work, `${number++}`);
    const [src, dest] = [join(directory, 'src'), join(directory, 'dest')];
    makeFiles(src, { file: 'content', 'directory/deep/inner': 'inside' });
    make?.(src, dest);
    const copy = side === 'ours' ? ours : theirs;
    const outcome = await copy(src, dest, { ...options }).then(
      () => (look ? look(dest) : 'ok'),
      (error: NodeJS.ErrnoException) => error.code ?? 'Error without a code',
    );
    const wanted = expected[side];
    if (wanted instanceof RegExp) expect(outcome).toMatch(wanted);
    else expect(outcome).toBe(wanted);
  });
});
