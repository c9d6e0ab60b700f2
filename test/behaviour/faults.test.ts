import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { copyTree } from '../../lib/index.js';
import type { CopyOptions } from '../../lib/types.js';
import { bytesIn, leftovers, readTree, unlike } from '../support/compare.js';
import { useFileSystem, whileMounted } from '../support/filesystems.js';
import { size } from '../support/form.js';
import { makeFiles, makeSparseFile } from '../support/trees.js';
import { workDirectory } from '../support/work.js';

// Full disks, and sources that change.

const work = workDirectory('faults');
const MiB = 1 << 20;
let dest: string;
let number = 0;

beforeEach(() => {
  dest = join(work, `dest ${number++}`);
});

describe('a full disk', () => {
  const many = join(work, 'many');
  const large = join(work, 'one large');
  const sparse = join(work, 'large with holes');
  beforeAll(() => {
    const content = (i: number): Buffer => Buffer.alloc(10_000, `${i} `);
    makeFiles(
      many,
      Object.fromEntries(Array.from({ length: 1500 }, (_, i) => [`${i % 9}/${i}`, content(i)])),
    );
    makeFiles(large, { 'a/large': Buffer.alloc(90 * MiB, 'large '), 'b/small': 'small' });
    mkdirSync(sparse);
    makeSparseFile(
      join(sparse, 'file'),
      80 * MiB,
      Array.from({ length: 75 }, (_, i) => i * MiB),
    );
  });

  const disks = {
    tmpfs: useFileSystem(work, 'tmpfs', { size: '2M' }),
    ext4: useFileSystem(work, 'ext4', { size: '4M' }),
  };
  const rows = (['tmpfs', 'ext4'] as const).flatMap((disk) =>
    ([many, large, sparse] as const).flatMap((src) =>
      (['auto', 'never'] as const).map(
        (reflink) => [disk, src.slice(work.length + 1), reflink] as const,
      ),
    ),
  );

  test.for(rows)('%s: %s, reflink %s', async ([disk, name, reflink], context) => {
    const to = join(disks[disk](context), 'dest');
    const src = join(work, name);
    for (const onError of ['stop', 'continue'] as const) {
      const job = copyTree(src, to, { reflink, onError });
      const { result, rejected } = await job.then(
        (result) => ({ result, rejected: false }),
        () => ({ result: job.result, rejected: true }),
      );
      expect(rejected).toBe(onError === 'stop');
      // Nothing else can be written: not an error for each of the rest.
      expect(result.errorCount).toBeGreaterThan(0);
      expect(result.errorCount).toBeLessThan(8);
      for (const { code, path, dest } of result.errors) {
        expect({ code, path, dest }).toMatchObject({
          code: 'ENOSPC',
          path: expect.stringContaining(src),
          dest: expect.stringContaining(to),
        });
      }
      expect(unlike(src, to)).toEqual([]);
      expect(leftovers(to)).toEqual([]);
      // Not those of files that were removed again.
      expect(result.bytes).toBe(bytesIn(to));
      rmSync(to, { recursive: true });
    }
  });

  test.for(['full', 'read-only', 'mounted read-only from the same device'] as const)(
    'what is mounted in DEST is %s: the rest is copied',
    async (how, context) => {
      const to = join(disks.ext4(context), how);
      const inner = join(to, 'm');
      mkdirSync(inner, { recursive: true });
      const src = join(work, `${how} mounted`);
      const files = { 'm/1': Buffer.alloc(3 << 20), 'm/d/2': Buffer.alloc(3 << 20) };
      makeFiles(src, { ...files, 'a/file': 'a', 'z/y/file': 'z', file: 'f' });
      const mounts = {
        full: ['-t', 'tmpfs', '-o', 'size=2M', 'tmpfs'],
        'read-only': ['-t', 'tmpfs', '-o', 'ro', 'tmpfs'],
        'mounted read-only from the same device': ['-o', 'bind,ro', inner],
      };
      await whileMounted(mounts[how], inner, async () => {
        for (const sources of [src, ['a', 'file', 'm', 'z'].map((name) => join(src, name))]) {
          for (const options of [{}, { mirror: true }] as const) {
            const result = await copyTree(sources, to, { ...options, onError: 'continue' });
            // A mirror also fails to set the times of what is mounted.
            const errors = result.errors
              .map(({ code, dest }) => [code, dest])
              .filter(([, dest]) => dest !== inner);
            expect(errors.sort()).toEqual(
              how === 'full'
                ? [
                    ['ENOSPC', join(inner, '1')],
                    ['ENOSPC', join(inner, 'd/2')],
                  ]
                : [
                    ['EROFS', join(inner, '1')],
                    ['EROFS', join(inner, 'd')],
                  ],
            );
            expect(`${result.errors}`).not.toMatch(/ended the copy/);
            expect(unlike(src, to)).toEqual([]);
            expect([...readTree(to).values()].filter(({ kind }) => kind === 'file')).toHaveLength(
              3,
            );
            for (const name of ['a', 'file', 'z']) rmSync(join(to, name), { recursive: true });
          }
        }
      });
    },
  );

  test('what is replaced stays when there is no room', async (context) => {
    const to = join(disks.tmpfs(context), 'dest');
    makeFiles(to, { 'a/large': 'old' });
    await expect(copyTree(large, to)).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(readFileSync(join(to, 'a/large'), 'utf8')).toBe('old');
    expect(leftovers(to)).toEqual([]);
    rmSync(to, { recursive: true });
  });
});

// Each state is of one letter but for the file's length, so a mixture shows. A file that is written
// anew also has states in between: it begins with the next letter.
const changers = {
  'it is written anew': `
    for (let letter = 0; ; letter = (letter + 1) % 26) {
      const piece = Buffer.alloc(65536, 97 + letter);
      for (let at = 0; at < size; at += 65536) fs.writeSync(file, piece, 0, 65536, at);
      pause();
    }`,
  'it shrinks and grows back': `
    for (;;) {
      fs.ftruncateSync(file, size / 2); pause();
      const piece = Buffer.alloc(65536, 'a');
      for (let at = size / 2; at < size; at += 65536) fs.writeSync(file, piece, 0, 65536, at);
      pause();
    }`,
  'it shrinks to nothing': `
    for (;;) {
      fs.ftruncateSync(file, 0); pause();
      const piece = Buffer.alloc(1 << 20, 'a');
      for (let at = 0; at < size; at += 1 << 20) fs.writeSync(file, piece, 0, 1 << 20, at);
      pause();
    }`,
  'it grows': `
    const piece = Buffer.alloc(65536, 'a');
    for (let at = size; at < size * 4; at += 65536) {
      fs.writeSync(file, piece, 0, 65536, at);
      if (at % (1 << 22) === 0) pause();
    }`,
};

function wasState(copy: Buffer, anew: boolean): boolean {
  const [first, last] = [copy.subarray(0, 1), copy.subarray(-1)];
  const end = anew ? copy.indexOf(last) : 0; // of what is new
  const follows = (first[0] ?? 0) - 97 === ((last[0] ?? 0) - 97 + 1) % 26;
  if (end > 0 && !follows) return false;
  return copy.equals(
    Buffer.concat([Buffer.alloc(end, first), Buffer.alloc(copy.length - end, last)]),
  );
}

describe('the source changes while it is copied', () => {
  const rounds = size(4, 12);
  const rows = Object.keys(changers).flatMap((how) =>
    size([24 * MiB], [24 * MiB, 96 * MiB]).map(
      (size) => [how, size] as [keyof typeof changers, number],
    ),
  );
  test.for(rows)('%s, %i bytes', async ([how, size]) => {
    const src = join(work, `changing ${number}`);
    makeFiles(src, { file: Buffer.alloc(size, 'a') });
    const script = `
      const fs = require('fs');
      const [path, size] = [process.argv[1], Number(process.argv[2])];
      const file = fs.openSync(path, 'r+');
      const pause = () =>
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.random() * 150);
      console.log('ready');
      ${changers[how]}`;
    const changer = spawn(process.execPath, ['-e', script, join(src, 'file'), `${size}`]);
    await new Promise((resolve) => changer.stdout.once('data', resolve));
    const seen = { copied: 0, refused: 0 };
    try {
      for (let round = 0; round < rounds; round++) {
        const options: CopyOptions = { reflink: round % 2 ? 'never' : 'auto', onError: 'continue' };
        const { errors, bytes } = await copyTree(src, dest, options);
        const path = join(src, 'file');
        const refusal = { code: 'ERR_FASTCP_SOURCE_CHANGED', path, dest: join(dest, 'file') };
        if (errors.length > 0) expect(errors).toMatchObject([refusal]);
        // Of what was copied twice once.
        expect(bytes).toBe(errors.length > 0 ? 0 : statSync(join(dest, 'file')).size);
        expect(readdirSync(dest)).toEqual(errors.length > 0 ? [] : ['file']);
        if (errors.length > 0) seen.refused++;
        else {
          seen.copied++;
          const copy = readFileSync(join(dest, 'file'));
          const anew = how === 'it is written anew';
          expect(wasState(copy, anew)).toBe(true);
          if (anew) expect(copy.length).toBe(size);
        }
        rmSync(dest, { recursive: true });
        await sleep(Math.random() * 30);
      }
    } finally {
      changer.kill('SIGKILL');
      rmSync(src, { recursive: true });
    }
    expect(seen.copied + seen.refused).toBe(rounds);
  });
});
