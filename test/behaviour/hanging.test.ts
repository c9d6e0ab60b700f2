import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CopyOptions } from '../../lib/types.js';
import { copyInChild } from '../support/child.js';
import { buildShim } from '../support/shim.js';
import { makeFiles } from '../support/trees.js';
import { needTool, workDirectory } from '../support/work.js';
import { nodes, runChild } from './support/child.js';

// System calls that take 4 s, as on a network that does not answer: only those wait who need their outcome.

const work = workDirectory('hanging');
const src = join(work, 'src');
let shim: string;
const DIRECTORIES = 60;
let dest: string;
let number = 0;

beforeAll(() => {
  shim = buildShim(work);
  const files: Record<string, string> = {};
  for (let index = 0; index < DIRECTORIES; index++) {
    files[`d${index + 10}/file.txt`] = 'content';
  }
  makeFiles(src, files);
  makeFiles(two, { file: 'slow', 'other/file': 'done at once' });
  symlinkSync('file', link);
});
beforeEach(() => {
  dest = join(work, `dest-${number++}`);
  mkdirSync(dest);
});

const slow = (fault: string) => ({
  LD_PRELOAD: shim,
  FAULT_ROOT: work,
  FAULT_LOG: join(work, 'log'),
  FAULTS: fault,
  UV_THREADPOOL_SIZE: '4',
});
const clean = { exitCode: 0, signal: null, stderr: '' };

// The event loop must run while a mount hangs, which this process itself may serve.
const two = join(work, 'two');
const file = join(two, 'file');
const link = join(two, 'link');
const selected = { include: ['**'] };
test.for<[string, string | string[], string, CopyOptions]>([
  ['a file', file, '/new', {}],
  ['a file, into a directory', file, '/', {}],
  ['a symlink', link, '/new', {}],
  ['a directory', two, '/new', {}],
  ['a directory, merged', two, '', {}],
  ['a directory below missing parents', two, '/not/there/new', {}],
  ['several', [two, file, link], '/not/there/', {}],
  ['with a selection, below a missing parent', two, '/not/new', selected],
  ['a mirror', two, '', { mirror: true }],
])(
  'the thread of the event loop looks at no path: %s',
  async ([, from, below, options], context) => {
    needTool(context, 'strace');
    const log = join(work, 'strace.log');
    const looks = 'trace=execve,%%stat,readlink,getdents64,mkdir,rmdir';
    const words = ['strace', '-f', '-qq', '-o', log, '-e', looks];
    const { error } = await copyInChild({ src: from, dest: dest + below, options }, words);
    expect(error).toBeUndefined();
    const lines = readFileSync(log, 'utf8').split('\n');
    const [host = ''] = lines[0]?.match(/^\d+ /) ?? [];
    const paths = lines.filter((line) => line.includes(`"${work}`) && !line.includes('execve('));
    expect(paths.length).toBeGreaterThan(2);
    expect(paths.filter((line) => line.startsWith(host))).toEqual([]);
  },
);

describe.each(nodes)('$name', ({ path: node }) => {
  /** Copies meanwhile and in all: what is in DEST as soon as only one file is missing, or after 3 s, and at the end. */
  const copied = (start: string) => `
    const { execFileSync } = await import('node:child_process');
    delete process.env.LD_PRELOAD;
    execFileSync('prlimit', ['--pid', String(process.pid), '--nofile=96:96']);
    ${start}
    await begun;
    const until = performance.now() + 3000;
    let meanwhile = 0;
    while (meanwhile < ${DIRECTORIES - 1} && performance.now() < until) {
      await sleep(10);
      meanwhile = fs.readdirSync(given.dest, { recursive: true }).filter((name) => name.endsWith('.txt')).length;
    }
    const { files, errorCount } = await job;
    answer({ meanwhile, files, errorCount });`;

  test('a directory that hangs when it is opened again does not stop other workers', async () => {
    // No answer before all directories were asked about: by then most had to be closed.
    const start = `
      let asked = 0;
      let begin;
      const begun = new Promise((resolve) => { begin = resolve; });
      const filter = (_src, _dest, { kind }) => {
        if (kind === 'directory') return true;
        if (++asked === ${DIRECTORIES}) begin();
        return begun.then(() => true);
      };
      const job = copyTree(given.src, given.dest, { filter });`;
    const env = slow('openat(O_DIRECTORY):wait:2:1:src/d40');
    const ended = await runChild(node, copied(start), { src, dest }, env);
    expect(ended).toMatchObject({
      ...clean,
      answer: { meanwhile: DIRECTORIES - 1, files: DIRECTORIES, errorCount: 0 },
    });
  });

  test('a directory that hangs when it is created does not stop other workers', async () => {
    const start = `
      const begun = sleep(0);
      const job = copyTree(given.src, given.dest, { include: ['**/*.txt'] });`;
    const env = slow('mkdirat:wait:1:1:/d40');
    const ended = await runChild(node, copied(start), { src, dest }, env);
    expect(ended).toMatchObject({
      ...clean,
      answer: { meanwhile: DIRECTORIES - 1, files: DIRECTORIES, errorCount: 0 },
    });
  });

  test('threads use no processor time while a call does not return, and end soon after their copy', async () => {
    const code = `
      const { createRequire } = await import('node:module');
      const { threads } = createRequire(given.root)('node-gyp-build')(given.root);
      const job = copyTree(given.src, given.dest);
      await sleep(200);
      for (let wait = 0; threads() < 2 && wait < 20; wait++) await sleep(20); // a busy machine
      const most = threads();
      const before = process.cpuUsage();
      await sleep(500);
      const { user, system } = process.cpuUsage(before);
      await job;
      for (let wait = 0; threads() > 0 && wait < 100; wait++) await sleep(10);
      answer({ most, left: threads(), ms: (user + system) / 1000 });`;
    const root = join(import.meta.dirname, '../..');
    const given = { root: `${root}/`, src: two, dest };
    const env = slow('openat:wait:1:1:two/file');
    const ended = await runChild<{ most: number; left: number; ms: number }>(
      node,
      code,
      given,
      env,
    );
    expect(ended).toMatchObject({ ...clean, answer: { left: 0 } });
    expect(ended.answer.most).toBeGreaterThan(1); // one waits for the system, and one wakes JavaScript
    expect(ended.answer.ms).toBeLessThan(100);
  });
});
