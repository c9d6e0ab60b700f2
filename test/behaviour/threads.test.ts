import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { copyTree } from '../../lib/index.js';
import { differences } from '../support/compare.js';
import { useFileSystem } from '../support/filesystems.js';
import { makeFiles } from '../support/trees.js';
import { asUser, needUser } from '../support/user.js';
import { hasTool, needRoot, needTool, skip, workDirectory } from '../support/work.js';
import { nodes, runChild } from './support/child.js';

// A copy that takes longer than a moment goes on with threads of fastcp's own.

const work = workDirectory('threads');
const root = join(import.meta.dirname, '../../');
const src = join(work, 'src');
const sandbox = join(work, 'sandbox');
const MIB = 1 << 20;
let made = 0;
const newDest = (): string => join(work, `dest ${made++}`);

beforeAll(() => {
  const files: Record<string, string> = {};
  for (let directory = 0; directory < 60; directory++) {
    for (let file = 0; file < 60; file++)
      files[`${directory}/in/file ${file}`] = `${directory} ${file} `.repeat(file * 3);
  }
  makeFiles(src, files);
  execFileSync('chmod', ['-R', 'a+rX', work]);
  if (!hasTool('cc')) return;
  const source = join(import.meta.dirname, '../containers/support/sandbox.c');
  execFileSync('cc', ['-O1', '-o', sandbox, source]);
});

const addon = `
  const { createRequire } = await import('node:module');
  const { threads } = createRequire(given.root)('node-gyp-build')(given.root);`;

/** Says in how many tables of descriptors directories of SRC were open at a time. */
const tables = `${addon}
  const job = copyTree(given.src, given.dest);
  let ended = false;
  job.finally(() => { ended = true; }).catch(() => {});
  let most = 0, own = 0;
  while (!ended) {
    const open = fs.readdirSync('/proc/self/task').map((task) => {
      try {
        const at = '/proc/self/task/' + task + '/fd';
        return fs.readdirSync(at).map((fd) => fs.readlinkSync(at + '/' + fd)).filter((to) => to.startsWith(given.src));
      } catch {
        return []; // it has ended, or has closed it
      }
    });
    own = Math.max(own, new Set(open.filter((list) => list.length > 0).map(String)).size);
    most = Math.max(most, threads());
    await sleep(0);
  }
  const { files, errorCount } = await job;
  for (let wait = 0; threads() > 0 && wait < 100; wait++) await sleep(10);
  answer({ own, most, files, errorCount, left: threads() });`;

interface Seen {
  own: number;
  most: number;
}

describe.each(nodes)('$name', ({ path: node }) => {
  test('a copy has threads with tables of their own, and none afterwards', async (context) => {
    if (process.platform !== 'linux') skip(context, 'only Linux has them');
    const dest = newDest();
    const ended = await runChild<Seen>(node, tables, { root, src, dest });
    const answer = { files: 3600, errorCount: 0, left: 0 };
    expect(ended).toMatchObject({ exitCode: 0, stderr: '', answer });
    expect(ended.answer.most).toBeGreaterThan(1);
    expect(differences(src, dest)).toEqual([]);
  });

  test('a small one has none', async () => {
    const one = makeFiles(join(work, `small ${made++}`), { file: 'content' });
    const code = `${addon}
      const before = threads();
      const { files } = await copyTree(given.one, given.dest);
      answer({ before, files, after: threads() });`;
    const ended = await runChild(node, code, { root, one, dest: newDest() });
    expect(ended).toMatchObject({ exitCode: 0, answer: { before: 0, files: 1, after: 0 } });
  });

  test('signals and new processes meanwhile change nothing', async () => {
    const dest = newDest();
    const code = `
      const { spawn } = await import('node:child_process');
      let signals = 0, spawned = 0, over = false;
      for (const name of ['SIGUSR2', 'SIGWINCH']) process.on(name, () => { signals++; });
      const sender = spawn('sh', ['-c', 'while kill -USR2 $0 && kill -WINCH $0; do sleep 0.001; done', process.pid]);
      const spawns = (async () => {
        for (; !over; spawned++) await once(spawn('true'), 'exit');
      })();
      const results = [];
      for (let i = 0; i < 8; i++) results.push((await copyTree(given.src, given.dest + '/' + i)).files);
      over = true;
      await spawns;
      sender.kill('SIGKILL');
      answer({ results, signals: signals > 100, spawned: spawned > 1 });`;
    const ended = await runChild(node, code, { src, dest });
    const answer = { results: Array(8).fill(3600), signals: true, spawned: true };
    expect(ended).toMatchObject({ exitCode: 0, stderr: '', answer });
    for (let i = 0; i < 8; i++) expect(differences(src, join(dest, `${i}`))).toEqual([]);
  });

  test('`concurrency: 1` has one worker at a time', async () => {
    const code = `${addon}
      const job = copyTree(given.src, given.dest, { concurrency: 1 });
      let ended = false, most = 0;
      job.finally(() => { ended = true; });
      while (!ended) {
        most = Math.max(most, threads());
        await sleep(0);
      }
      answer({ files: (await job).files, most });`;
    const ended = await runChild<{ most: number }>(node, code, { root, src, dest: newDest() });
    expect(ended).toMatchObject({ exitCode: 0, answer: { files: 3600 } });
    // And the thread that wakes JavaScript. A thread that was started has perhaps found the worker's place taken.
    expect(ended.answer.most).toBeLessThanOrEqual(3);
  });

  test('where no thread can be created, the copy goes on in the pool', async (context) => {
    needRoot(context);
    needUser(context);
    needTool(context, 'prlimit');
    const code = `
      const { copyTree } = require('${root}dist/index.cjs');
      const { execFileSync, spawnSync } = require('node:child_process');
      const fs = require('node:fs');
      const [src, one, dest] = process.argv.slice(1);
      (async () => {
        await copyTree(one, dest + ' one'); // which starts the threads of the pool
        const { status } = spawnSync('prlimit', ['--nproc=1', '--pid', String(process.pid)]);
        if (status !== 0) return console.log('no limit');
        const results = await Promise.all([0, 1, 2, 3, 4, 5].map((i) => copyTree(src, dest + i)));
        console.log(results.map(({ files }) => files).join());
      })();`;
    const dest = join(work, `by a user ${made++}`);
    execFileSync('install', ['-d', '-m', '1777', dest]);
    const one = makeFiles(join(work, `one ${made++}`), { file: 'content' });
    const [file = '', ...args] = [...asUser, node, '-e', code, src, one, join(dest, 'to')];
    const { status, stdout, stderr } = spawnSync(file, args, { encoding: 'utf8', timeout: 60_000 });
    expect({ status, stderr, stdout }).toEqual({
      status: 0,
      stderr: '',
      stdout: `${Array(6).fill(3600).join()}\n`,
    });
    for (let i = 0; i < 6; i++) expect(differences(src, join(dest, `to${i}`))).toEqual([]);
  });
});

test.for([
  { calls: 'unshare', error: 1, own: true },
  { calls: 'close_range', error: 1, own: false },
  { calls: 'close_range', error: 38, own: false },
])('where a container refuses $calls with $error: $own', async ({ calls, error, own }, context) => {
  needTool(context, 'cc');
  const code = `
    const { copyTree, doctor } = require('${root}dist/index.cjs');
    (async () => {
      const { ownTables } = await doctor(process.argv[1]);
      const { files } = await copyTree(process.argv[1], process.argv[2]);
      console.log(JSON.stringify({ own: ownTables, files }));
    })();`;
  const dest = newDest();
  const command = [`${error}`, calls, process.execPath, '-e', code, src, dest];
  const { status, stdout, stderr } = spawnSync(sandbox, command, { encoding: 'utf8' });
  if (status === 3) skip(context, 'no filters of system calls here');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(JSON.parse(stdout)).toEqual({ own, files: 3600 });
  expect(differences(src, dest)).toEqual([]);
});

describe('a file system can be unmounted at once', () => {
  const tmpfs = useFileSystem(work, 'tmpfs');
  test('after the promise has settled', async (context) => {
    const on = tmpfs(context);
    for (let round = 0; round < 20; round++) {
      await copyTree(src, join(on, `${round}`));
      // Busy if anything there is open.
      const { status, stderr } = spawnSync('umount', [on], { encoding: 'utf8' });
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', on]);
    }
  });
});

test('a large file is whole, whoever copies which part', async () => {
  const at = join(work, `large ${made++}`);
  makeFiles(at, { small: 'x' });
  const content = Buffer.alloc(200 * MIB);
  for (let i = 0; i < content.length; i += 4096) content.writeUInt32LE(i, i);
  makeFiles(at, { large: content, 'other/large': content.subarray(0, 70 * MIB + 5) });
  const dest = newDest();
  expect(await copyTree(at, dest)).toMatchObject({ files: 3, bytes: 270 * MIB + 6 });
  expect(differences(at, dest)).toEqual([]);
});
