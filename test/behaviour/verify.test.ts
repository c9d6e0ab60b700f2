// What was written is read back.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { copyTree } from '../../lib/index.js';
import { copyInChild } from '../support/child.js';
import { differences } from '../support/compare.js';
import { useFileSystem } from '../support/filesystems.js';
import { buildShim, faultLog, withFaults } from '../support/shim.js';
import { makeFiles, makeZoo } from '../support/trees.js';
import { needTool, workDirectory } from '../support/work.js';

const work = workDirectory('verify');
let number = 0;
let dest: string;
beforeEach(() => {
  dest = join(work, `dest ${number++}`);
});

test('a tree of everything is verified, holes and empty files too', async () => {
  const src = makeZoo(join(work, 'zoo'), { wide: 200 });
  expect((await copyTree(src, dest, { verify: true })).errorCount).toBe(0);
  expect(differences(src, dest)).toEqual([]);
});

test('what is read back comes from the disk: it is written, and forgotten, before', async () => {
  const directory = join(work, 'forgotten');
  const src = makeFiles(join(directory, 'src'), { file: 'content' });
  const to = join(directory, 'dest');
  const [shim, log] = [buildShim(directory), join(directory, 'log')];
  const words = withFaults({ shim, root: to, log, faults: '', trace: true });
  const { error } = await copyInChild({ src, dest: to, options: { verify: true } }, words);
  expect(error).toBeUndefined();
  const steps = ['sync_file_range', 'posix_fadvise64', 'pread64'];
  const calls = faultLog(log)
    .map((line) => line.split(' ')[0] ?? '')
    .filter((call) => steps.includes(call));
  expect(calls.slice(0, 3)).toEqual(steps);
});

describe('content that did not arrive', () => {
  const ext4 = useFileSystem(work, 'ext4');

  test.for([
    ['a new file', false],
    ['one in the place of another', true],
  ] as const)(
    '%s: an error with path and offset, and nothing of it stays',
    async ([, replaces], context) => {
      needTool(context, 'strace');
      const directory = join(ext4(context), `${replaces}`);
      const src = makeFiles(join(directory, 'src'), {
        'a/good': 'good',
        'a/large': Buffer.alloc(300_000, 'x'),
      });
      const to = join(directory, 'dest');
      if (replaces) makeFiles(to, { 'a/large': 'old' });
      // The second block of 256 KiB is said to be written, and is not.
      const log = join(work, 'strace.log');
      const inject = 'inject=pwrite64:retval=37856:when=2';
      const words = ['strace', '-f', '-qq', '-o', log, '-e', 'trace=pwrite64', '-e', inject];
      const options = {
        verify: true,
        reflink: 'never',
        onError: 'continue',
        concurrency: 1,
      } as const;
      const large = { src: join(src, 'a/large'), dest: join(to, 'a/large'), options };
      const { result } = await copyInChild(large, words);
      expect(readFileSync(log, 'utf8')).toContain('(INJECTED)');
      expect(result.errors).toMatchObject([
        { code: 'ERR_FASTCP_VERIFY', path: join(src, 'a/large'), offset: 262_144 },
      ]);
      expect(result.errors[0]?.message).toContain('at byte 262144');
      expect(result).toMatchObject({ files: 0, bytes: 0 });
      if (replaces) expect(readFileSync(join(to, 'a/large'), 'utf8')).toBe('old');
      expect(existsSync(join(to, 'a')) ? readdirSync(join(to, 'a')) : []).toEqual(
        replaces ? ['large'] : [],
      );
      // Without --verify nobody would know.
      expect(
        (await copyInChild({ ...large, options: { ...options, verify: false } }, words)).result,
      ).toMatchObject({ files: 1, errorCount: 0 });
    },
  );
});
