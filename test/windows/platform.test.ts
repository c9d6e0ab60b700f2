import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { program as fetched } from '../../scripts/tools.mjs';
import { makeFiles } from '../support/trees.js';
import { workDirectory } from '../support/work.js';
import { hasWine, onZ, prepareWine, wine } from './support/wine.js';

// What the platform for Windows asks of its kernel, and what it makes of the answers, by a program of Windows in wine.
// Where wine differs from Windows, or has no file system that can do it, the program answers for the kernel.

const root = join(import.meta.dirname, '../..');
const sources = join(root, 'binding/src/platform/win32');
const faked = [
  'NtCreateFile',
  'NtFsControlFile',
  'NtQueryInformationFile',
  'NtQueryVolumeInformationFile',
  'NtSetInformationFile',
];

describe.runIf(hasWine)('the platform for Windows', () => {
  const work = workDirectory('platform');
  const program = join(work, 'platform.exe');
  const at = (...names: string[]): string => join(work, ...names);

  beforeAll(async () => {
    const files = ['content', 'entries', 'errors', 'open', 'reparse', 'text', 'win32'];
    execFileSync(await fetched('ziglang'), [
      ...['c++', '-target', 'x86_64-windows-gnu', '-std=c++20', '-O1', '-s', '-Wall', '-Wextra'],
      ...['-Werror', '-include', join(sources, 'errno.h'), '-I', join(root, 'binding/src')],
      ...faked.map((name) => `-D${name}=fake_${name}`),
      ...['-o', program, join(import.meta.dirname, 'support/platform.cc')],
      ...files.map((name) => join(sources, `${name}.cc`)),
      join(sources, '../not_linux.cc'),
      '-lntdll',
    ]);
    prepareWine();
  }, 600_000);

  /** The lines that the program prints. */
  async function run(...args: (string | number)[]): Promise<string[]> {
    const { exitCode, stdout, stderr } = await wine(program, args.map(String), { cwd: work });
    expect({ exitCode, stderr }, stdout).toEqual({ exitCode: 0, stderr: '' });
    return stdout.trimEnd().split(/\r?\n/);
  }

  test('a privilege is enabled for the thread alone, and not when the host impersonates a user', async () => {
    const [during, after, nested, missing] = await run('privilege');
    expect(during).toBe('1 1 0'); // enabled, in the thread's token, in the process's token
    expect(after).toBe('-2 0'); // the thread has no token again
    expect(nested).toBe('0 1');
    expect(missing).toBe('0');
  });

  test('names in the same directory have no root, others have one', async () => {
    makeFiles(at('names'), { file: 'x', 'other/file': 'y' });
    expect(await run('names', onZ(at('names')), onZ(at('names/other')))).toEqual([
      '65: flags 43, no root, new name, 24 bytes more',
      '65: flags 2, no root, new name, 24 bytes more',
      '11: flags 0, no root, link, 24 bytes more',
      // By a symlink that is followed, and in another directory.
      '11: flags 0, root, link, 24 bytes more',
      '11: flags 0, root, link, 24 bytes more',
      // A server refuses the root.
      '11: flags 0, root, link, 24 bytes more',
      'EOPNOTSUPP',
    ]);
  });

  test('renames, and refuses to replace', async () => {
    makeFiles(at('renamed'), { from: 'x', to: 'y' });
    expect(await run('rename', onZ(at('renamed')), 'from', 'to')).toEqual(['-17', '0']);
    expect(readdirSync(at('renamed'))).toEqual(['to']);
  });

  test.each(['linked', 'linked/other'])('a hard link in %s', async (directory) => {
    makeFiles(at('linked'), { file: 'x', 'other/file': 'y' });
    const name = `link-${directory.length}`;
    expect(await run('link', onZ(at('linked')), 'file', onZ(at(directory)), name)).toEqual(['0']);
    expect(readdirSync(at(directory))).toContain(name);
  });

  test('a listing fills a quarter of a large buffer if there is enough, and loses nothing', async () => {
    mkdirSync(at('wide'));
    for (let i = 0; i < 1000; i++) writeFileSync(at('wide', `file-${i}`), '');
    const [large = ''] = await run('list', onZ(at('wide')), 32768);
    expect(Number.parseInt(large, 10)).toBeGreaterThan(8192);
    expect(large).toMatch(/ 0 1002$/);
    const [small] = await run('list', onZ(at('wide')), 4096);
    expect(small).toMatch(/ 0 1002$/);
  });

  test('a directory that has entries is refused at once', async () => {
    makeFiles(at('full'), { 'directory/file': 'x' });
    const [answer = ''] = await run('rmdir', onZ(at('full')), 'directory');
    const [error, ms] = answer.split(' ').map(Number);
    expect(error).toBe(-41); // ENOTEMPTY of its C library
    expect(ms).toBeLessThan(40);
  });

  test.each([
    [3, 'done', []],
    [500, 'ENOTEMPTY', ['file']],
  ])(
    'a deleted entry that another program has open, for %i tries: %s',
    async (tries, outcome, left) => {
      const parent = `pending ${tries}`;
      makeFiles(at(parent), { 'directory/file': 'x' });
      expect(await run('pending', onZ(at(parent)), 'directory', 'file', tries)).toEqual([outcome]);
      expect(
        outcome === 'done' ? readdirSync(at(parent)) : readdirSync(at(parent, 'directory')),
      ).toEqual(left);
    },
  );

  test('a symlink without the privilege: an error, and nothing is left', async () => {
    mkdirSync(at('symlink'));
    expect(await run('symlink', onZ(at('symlink')))).toEqual(['EPERM -2']);
    expect(readdirSync(at('symlink'))).toEqual([]);
  });

  const size = 70_001;
  const whole = 'SRC 0 -> 0, 73728';
  const [success, invalid, notSupported] = [0, 0xc000000d, 0xc00000bb];
  const [tooMany, full, notSame] = [0xc000048c, 0xc000007f, 0xc00000d4];
  const [done, notHere, failed] = ['outcome 0', 'outcome 1', 'outcome 2'];

  test.each<[what: string, answers: number[], lines: string[]]>([
    [
      'clones whole clusters',
      [success, 0, 0, 0, 1],
      [whole, `${done}, lasting 0, done, ${size} bytes`],
    ],
    [
      'a sparse file',
      [success, 1, 0, 0, 1],
      ['sparse', whole, `${done}, lasting 0, done, ${size} bytes`],
    ],
    [
      'checksums',
      [success, 0, 2, 0, 1],
      ['checksum 2', whole, `${done}, lasting 0, done, ${size} bytes`],
    ],
    [
      'checksums of both',
      [success, 0, 2, 2, 1],
      [whole, `${done}, lasting 0, done, ${size} bytes`],
    ],
    [
      "DEST's checksums stay",
      [notSupported, 0, 0, 2, 1],
      [whole, `${notHere}, lasting 0, EOPNOTSUPP, 0 bytes`],
    ],
    ['two volumes', [invalid, 0, 0, 0, 2], [whole, `${notHere}, lasting 1, EXDEV, 0 bytes`]],
    [
      'two volumes, said otherwise',
      [notSame, 0, 0, 0, 2],
      [whole, `${notHere}, lasting 1, EXDEV, 0 bytes`],
    ],
    ['these two files', [invalid, 0, 0, 0, 1], [whole, `${notHere}, lasting 0, EINVAL, 0 bytes`]],
    [
      'too many clones of a file',
      [tooMany, 0, 0, 0, 1],
      [whole, `${notHere}, lasting 0, EMLINK, 0 bytes`],
    ],
    ['a full disk', [full, 0, 0, 0, 1], [whole, `${failed}, lasting 0, another error, 0 bytes`]],
  ])('cloning: %s', async (what, answers, lines) => {
    mkdirSync(at('clones'), { recursive: true });
    writeFileSync(at('clones', what), Buffer.alloc(size));
    expect(await run('clone', onZ(at('clones')), what, `${what} copy`, ...answers)).toEqual(lines);
  });

  test('cloning: calls of 1 GiB', async () => {
    writeFileSync(at('huge'), '');
    truncateSync(at('huge'), 2_700_000_001);
    expect(await run('clone', onZ(work), 'huge', 'huge copy', 0, 0, 0, 0, 1)).toEqual([
      'SRC 0 -> 0, 1073741824',
      'SRC 1073741824 -> 1073741824, 1073741824',
      'SRC 2147483648 -> 2147483648, 552517632',
      `${done}, lasting 0, done, 2700000001 bytes`,
    ]);
  });
});
