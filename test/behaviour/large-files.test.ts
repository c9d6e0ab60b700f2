// Files that several workers copy, in parts and out of order: from 64 MiB on.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { copyTree } from '../../lib/index.js';
import { Random } from '../selection/support/random.js';
import { COMMAND, copyInChild, run } from '../support/child.js';
import { differences, leftovers } from '../support/compare.js';
import { fileSystemNames, useFileSystem } from '../support/filesystems.js';
import { seed } from '../support/form.js';
import { makeFiles } from '../support/trees.js';
import { needRoot, needTool, workDirectory } from '../support/work.js';

const work = workDirectory('large-files');
const SIZE = (65 << 20) + 1000;
const made = (letter: string): Buffer => Buffer.alloc(SIZE, letter);
console.info(`large files with holes: FASTCP_SEED=${seed}`);

describe.each(fileSystemNames)('%s', (name) => {
  const mounted = useFileSystem(work, name, { size: '1200M' });

  test('after SIGKILL a large file is whole, or not there', { tags: ['all'] }, async (context) => {
    needTool(context, 'strace');
    needRoot(context);
    const at = join(mounted(context), 'killed');
    makeFiles(at, { 'src/large': made('a'), 'dest/old/large': made('b') });
    const killAt = (call: number): string[] => [
      ...['strace', '-f', '-qq', '-o', '/dev/null', '-e', 'trace=pwrite64'],
      ...['-e', `inject=pwrite64:signal=SIGKILL:when=${call}`],
      ...[process.execPath, COMMAND, '--reflink=never', join(at, 'src')],
    ];
    for (const to of ['new', 'old']) {
      const dest = join(at, 'dest', to);
      for (const call of to === 'new' ? [2, 40] : [40]) {
        expect((await run([...killAt(call), dest])).stdout).toBe('');
        const whole = to === 'old' ? ['large'] : [];
        expect(readdirSync(dest), `${call} in ${to}`).toEqual(whole);
        if (to === 'old') expect(readFileSync(join(dest, 'large')).equals(made('b'))).toBe(true);
      }
      await copyTree(join(at, 'src'), dest);
      expect(readFileSync(join(dest, 'large')).equals(made('a'))).toBe(true);
    }
  });

  test('a source that changed is copied again without a name', {
    tags: ['all'],
  }, async (context) => {
    needTool(context, 'strace');
    const at = join(mounted(context), 'changed');
    makeFiles(at, { 'src/large': made('a') });
    const trace = join(at, 'trace');
    const slowly = ['strace', '-f', '-qq', '-o', trace, '-e', 'trace=openat,pwrite64,linkat'];
    const words = [...slowly, '-e', 'inject=pwrite64:delay_exit=3000'];
    const options = ['--reflink=never', '-p', join(at, 'src'), join(at, 'dest')];
    const copied = run([...words, process.execPath, COMMAND, ...options]);
    while (!(existsSync(trace) && readFileSync(trace, 'utf8').includes('pwrite64')))
      await setTimeout(5);
    chmodSync(join(at, 'src/large'), 0o640);
    expect((await copied).status).toBe(0);
    const created = readFileSync(trace, 'utf8').match(
      /openat.*(O_CREAT.*large|large.*O_CREAT|O_TMPFILE).*/g,
    );
    expect(created).toHaveLength(2);
    expect(created?.every((call) => call.includes('O_TMPFILE'))).toBe(true);
    expect(differences(join(at, 'src'), join(at, 'dest'))).toEqual([]);
  });

  test('where nobody may give it a name at the end, it is copied all the same', {
    tags: ['all'],
  }, async (context) => {
    needTool(context, 'strace');
    const at = join(mounted(context), 'refused');
    makeFiles(at, { 'src/one': made('1'), 'src/two': made('2') });
    const words = ['strace', '-f', '-qq', '-o', '/dev/null', '-e', 'trace=linkat'];
    const refused = [...words, '-e', 'inject=linkat:error=EPERM'];
    const { result } = await copyInChild({ src: join(at, 'src'), dest: join(at, 'dest') }, refused);
    expect(result).toMatchObject({ errorCount: 0, files: 2, bytes: 2 * SIZE });
    expect(differences(join(at, 'src'), join(at, 'dest'))).toEqual([]);
  });

  // Blocks beyond the end may hide that others are missing. XFS also gives them by itself.
  test.for([
    [SIZE + (1 << 20), ['SEEK_DATA', 'SEEK_HOLE']] as const,
    ...(name === 'xfs' ? [] : [[SIZE, null] as const]),
  ])(
    'where its data ends is asked once by a worker, or never: %i bytes of blocks',
    async ([blocks, calls], context) => {
      needTool(context, 'strace');
      const at = join(mounted(context), `${blocks}`);
      makeFiles(at, { 'src/large': made('a') });
      const src = join(at, 'src');
      execFileSync('fallocate', ['-n', '-l', `${blocks}`, join(src, 'large')]);
      const trace = join(at, 'trace');
      const words = ['strace', '-f', '-qq', '-o', trace, '-e', 'trace=lseek'];
      const options = { reflink: 'never', concurrency: 1 } as const;
      const { result } = await copyInChild({ src, dest: join(at, 'dest'), options }, words);
      expect(result).toMatchObject({ errorCount: 0, bytes: SIZE });
      expect(readFileSync(trace, 'utf8').match(/SEEK_(DATA|HOLE)/g)).toEqual(calls);
      rmSync(at, { recursive: true });
    },
  );

  // On the others it is the same; XFS also gives a new file more blocks than it needs.
  if (!['ext4', 'overlay'].includes(name)) return;
  test('holes at random stay holes', async (context) => {
    const at = join(mounted(context), 'holes');
    const random = new Random(seed);
    const src = join(at, 'src');
    const MiB = 1 << 20;
    mkdirSync(src, { recursive: true });
    for (let number = 0; number < 3; number++) {
      const file = openSync(join(src, `${number}`), 'w');
      for (let data = 1 + random.below(4); data > 0; data--) {
        const from = random.below(70) * MiB;
        writeSync(file, Buffer.alloc((1 + random.below(12)) * MiB, number + 1), 0, null, from);
      }
      ftruncateSync(file, 85 * MiB + random.below(MiB));
      closeSync(file);
    }
    for (const concurrency of [1, 4]) {
      const dest = join(at, `dest${concurrency}`);
      await copyTree(src, dest, { reflink: 'never', concurrency });
      expect(differences(src, dest)).toEqual([]);
      rmSync(dest, { recursive: true });
    }
    rmSync(src, { recursive: true });
  });

  test('two copies to one name at once: one of them wins', { tags: ['all'] }, async (context) => {
    const at = join(mounted(context), 'twice');
    makeFiles(at, { 'one/large': made('1'), 'two/large': made('2') });
    for (const options of [{}, { force: false }, { backup: 'numbered' as const }]) {
      const dest = join(at, `dest${Object.keys(options)}`);
      await Promise.all(['one', 'two'].map((from) => copyTree(join(at, from), dest, options)));
      const names = readdirSync(dest).sort();
      expect(names).toEqual('backup' in options ? ['large', 'large.~1~'] : ['large']);
      for (const one of names) {
        const content = readFileSync(join(dest, one));
        expect([made('1'), made('2')].some((other) => other.equals(content))).toBe(true);
      }
      expect(leftovers(at)).toEqual([]);
    }
  });
});

describe('a call copies at most 8 MiB', { tags: ['all'] }, () => {
  const traced = (log: string): string[] => {
    return ['strace', '-f', '-qq', '-o', log, '-e', 'trace=copy_file_range'];
  };
  const lengthsIn = (log: string): number[] =>
    Array.from(readFileSync(log, 'utf8').matchAll(/(?:\]|NULL), (\d+), 0/g), ([, one]) =>
      Number(one),
    );

  test('of any file', async (context) => {
    needTool(context, 'strace');
    const at = join(work, 'calls');
    makeFiles(at, { 'src/large': made('a'), 'src/less': made('b').subarray(0, 33 << 20) });
    const [src, dest, log] = [join(at, 'src'), join(at, 'dest'), join(at, 'log')];
    await copyInChild({ src, dest }, traced(log));
    const lengths = lengthsIn(log);
    expect(lengths.reduce((sum, length) => sum + length, 0)).toBeGreaterThanOrEqual(98 << 20);
    expect(Math.max(...lengths)).toBe(8 << 20);
    expect(differences(src, dest)).toEqual([]);
    rmSync(at, { recursive: true });
  });

  test.for(['dense', 'holes'])('and a stopped copy makes no more: %s', async (kind, context) => {
    needTool(context, 'strace');
    const at = join(work, kind);
    mkdirSync(at);
    const [src, dest, log] = [join(at, 'src'), join(at, 'dest'), join(at, 'log')];
    const file = openSync(src, 'w');
    const [count, step] = kind === 'dense' ? [32, 1] : [8, 2]; // without the stop: 4 calls for the dense file, 8 for the one with holes
    for (let number = 0; number < count; number++)
      writeSync(file, Buffer.alloc(1 << 20, 'a'), 0, null, number * step * 2 ** 20);
    closeSync(file);
    const slowly = [...traced(log), '-ttt', '-e', 'inject=copy_file_range:delay_exit=8000000'];
    const copied = run([...slowly, process.execPath, COMMAND, src, dest]);
    const timesOf = (what: RegExp): number[] =>
      Array.from(readFileSync(log, 'utf8').matchAll(what), ([, at]) => Number(at));
    const begun = /^\d+ +([\d.]+) copy_/gm;
    while (!(existsSync(log) && timesOf(begun).length > 0)) await setTimeout(5);
    // Its number is that of a thread; the signal is for the process.
    process.kill(Number.parseInt(readFileSync(log, 'utf8'), 10), 'SIGINT');
    expect((await copied).status).toBe(130);
    // A busy machine may deliver the signal late, just before the next call, or take seconds to act on it.
    const [delivered = Number.NaN] = timesOf(/^\d+ +([\d.]+) --- SIGINT/gm);
    expect(delivered).toBeGreaterThan(0);
    expect(timesOf(begun).filter((at) => at > delivered + 7)).toEqual([]);
    expect(existsSync(dest)).toBe(false);
    rmSync(at, { recursive: true });
  });
});
