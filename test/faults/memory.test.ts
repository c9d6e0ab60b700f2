import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import type { CopyOptions } from '../../lib/types.js';
import { runChild } from '../behaviour/support/child.js';
import { makeBigTree, strangersIn, walk } from '../support/big-tree.js';
import { isLong, seed } from '../support/form.js';
import { needTool, workDirectory } from '../support/work.js';

// Allocations of the addon that fail, one or all from there on. The long form tries every one, otherwise
// a sample; FASTCP_SEED repeats a run.

const SAMPLE = 8;

const work = workDirectory('memory');
const src = join(work, 'src');
const log = join(work, 'log');
const library = join(work, 'memory.so');
const source = join(import.meta.dirname, 'support/memory.c');

beforeEach((context) => needTool(context, 'cc'));
beforeAll(() => {
  execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source]);
  makeBigTree(src, 600);
});

interface Answer {
  code: string;
  threads: number;
}

const code = `
  const { createRequire } = await import('node:module');
  const { threads } = createRequire(given.root)('node-gyp-build')(given.root);
  const options = { ...given.options, ...(given.asks && { filter: () => true }) };
  const code = await copyTree(given.src, given.dest, options).then(
    ({ errorCount, errors }) => (errorCount === errors.length ? errors[0]?.code ?? 'copied' : 'unsaid'),
    (error) => error.code);
  for (let wait = 0; threads() > 0 && wait < 100; wait++) await sleep(10);
  answer({ code, threads: threads() });`;

const copy = (dest: string, how: { asks: boolean; options: CopyOptions }, env: NodeJS.ProcessEnv) =>
  runChild<Answer | undefined>(
    process.execPath,
    code,
    { root: join(import.meta.dirname, '../../'), src, dest, ...how },
    { LD_PRELOAD: library, UV_THREADPOOL_SIZE: '4', ...env },
  );

/** Where the process ended, a file may end where it was written last. */
function isBegun(path: string, dest: string): boolean {
  const [from, to] = [join(src, path), join(dest, path)];
  if (!lstatSync(to).isFile() || !lstatSync(from, { throwIfNoEntry: false })?.isFile())
    return false;
  const content = readFileSync(to);
  return content.equals(readFileSync(from).subarray(0, content.length));
}

test.each<[string, { asks: boolean; options: CopyOptions }]>([
  ['a copy', { asks: false, options: {} }],
  ['a copy that goes on after errors', { asks: false, options: { onError: 'continue' } }],
  ['a copy with a filter', { asks: true, options: {} }],
  ['a mirror that preserves all', { asks: true, options: { mirror: true, preserve: true } }],
])(
  '%s fails with ENOMEM, or the process ends and says why',
  { timeout: 600_000 },
  async (_, how) => {
    console.log(`FASTCP_SEED=${seed}`);
    const dest = join(work, 'dest');
    const whole = await copy(dest, how, { MEMORY_LOG: log });
    expect(whole).toMatchObject({
      exitCode: 0,
      stderr: '',
      answer: { code: 'copied', threads: 0 },
    });
    const allocations = Number(readFileSync(log, 'utf8'));
    expect(allocations).toBeGreaterThan(50);

    const seen = { copied: 0, ENOMEM: 0, ended: 0 };
    const firsts = isLong
      ? Array.from({ length: allocations }, (_, index) => index + 1)
      : [
          1, // the memory that libstdc++ reserves for exceptions
          // How many there are depends on the workers' turns: one is among those that every run makes.
          1 + (seed % 50),
          ...Array.from(
            { length: SAMPLE - 2 },
            (_, index) => 1 + ((seed + index * 7919) % allocations),
          ),
        ];
    for (const first of firsts) {
      for (const count of [1, 1e9]) {
        rmSync(dest, { recursive: true, force: true });
        // In a mirror, something that is to go.
        mkdirSync(join(dest, 'more/below'), { recursive: true });
        const env = { MEMORY_FIRST: `${first}`, MEMORY_COUNT: `${count}` };
        const { answer, ...ended } = await copy(dest, how, env);
        const where = { first, count, ...ended };
        const strangers = strangersIn(dest, src).filter((path) => !path.startsWith('more'));
        if (answer === undefined) {
          expect(where).toMatchObject({ signal: 'SIGABRT', stderr: 'fastcp: out of memory\n' });
          const directories = strangers.filter((path) => !isBegun(path, dest));
          for (const path of directories)
            expect(lstatSync(join(dest, path)).isDirectory()).toBe(true);
          seen.ended++;
        } else {
          expect(where).toMatchObject({ exitCode: 0, stderr: '' });
          expect(answer.threads).toBe(0);
          expect(['copied', 'ENOMEM']).toContain(answer.code);
          expect(strangers.filter((path) => lstatSync(join(dest, path)).isFile())).toEqual([]);
          if (answer.code === 'copied')
            expect(walk(dest)).toEqual(expect.arrayContaining(walk(src)));
          seen[answer.code as 'copied' | 'ENOMEM']++;
        }
      }
    }
    console.log(`of ${allocations} allocations`, seen);
    expect(seen.ENOMEM + seen.ended).toBeGreaterThan(0);
  },
);
