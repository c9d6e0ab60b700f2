import { spawn } from 'node:child_process';
import { readFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, type TestContext, test } from 'vitest';
import { copyTree } from '../../lib/index.js';
import { leftovers, readTree } from '../support/compare.js';
import { makeFiles } from '../support/trees.js';
import { needTool, skip, workDirectory } from '../support/work.js';
import { nodes, runChild } from './support/child.js';

// Files that another process holds a lease on, as Samba and NFS servers do.

const work = workDirectory('leases');
let src: string;
let dest: string;
let number = 0;

beforeEach(() => {
  src = join(work, `${number}`, 'src');
  dest = join(work, `${number++}`, 'dest');
  makeFiles(src, { leased: 'its content', other: 'x' });
});

const HELD = 400;

const holder = `
import fcntl, os, signal, sys, time
held, paths = float(sys.argv[1]), sys.argv[2:]
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])
files = [os.open(path, os.O_RDWR) for path in paths]
for file in files: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print('held', flush=True)
signal.sigwait([signal.SIGIO])
print('asked', flush=True)
time.sleep(held)
for file in files: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
signal.pause()
`;

/** Holds write leases until `held` ms after somebody else wants to open one of the files. */
async function whileLeased(
  context: TestContext,
  paths: string[],
  held: number,
  use: (asked: Promise<unknown>) => Promise<void>,
): Promise<void> {
  if (process.platform !== 'linux') skip(context, 'only Linux has leases');
  needTool(context, 'python3');
  const owner = spawn('python3', ['-c', holder, `${held / 1000}`, ...paths], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const says = (word: string): Promise<void> =>
    new Promise((resolve, reject) => {
      owner.stdout.on('data', (data) => {
        if (`${data}`.includes(word)) resolve();
      });
      owner.once('exit', (code) => reject(new Error(`the holder ended with ${code}`)));
    });
  const asked = says('asked');
  asked.catch(() => {});
  try {
    await says('held');
    await use(asked);
  } finally {
    owner.kill('SIGKILL');
  }
}

test('a source: it is copied when the lease is gone', async (context) => {
  await whileLeased(context, [join(src, 'leased')], HELD, async (asked) => {
    const began = performance.now();
    expect(await copyTree(src, dest)).toMatchObject({ files: 2, errorCount: 0 });
    expect(performance.now() - began).toBeGreaterThan(HELD * 0.9);
    await asked;
    expect(readFileSync(join(dest, 'leased'), 'utf8')).toBe('its content');
  });
});

test('a source that is the root', async (context) => {
  const file = join(src, 'leased');
  await whileLeased(context, [file], HELD, async () => {
    expect(await copyTree(file, dest)).toMatchObject({ files: 1, errorCount: 0 });
    expect(readFileSync(dest, 'utf8')).toBe('its content');
  });
});

test('both sides, whose contents are compared', async (context) => {
  await copyTree(src, dest);
  const both = [join(src, 'leased'), join(dest, 'leased')];
  for (const path of both) utimesSync(path, 1, 1); // so that contents decide
  const { inode } = readTree(dest).get('leased') ?? {};
  await whileLeased(context, both, HELD, async (asked) => {
    const options = { mirror: true, preserve: true } as const;
    expect(await copyTree(src, dest, options)).toMatchObject({ files: 0, errorCount: 0 });
    await asked;
  });
  expect(readTree(dest).get('leased')?.inode).toBe(inode);
});

test('an abort does not wait for the lease', async (context) => {
  const TOO_LONG = 40_000;
  await whileLeased(context, [join(src, 'leased')], TOO_LONG, async (asked) => {
    const controller = new AbortController();
    const job = copyTree(src, dest, { signal: controller.signal });
    const rejected = job.then(
      () => expect.unreachable('it was aborted'),
      (reason: unknown) => reason,
    );
    await asked;
    const began = performance.now();
    controller.abort('enough');
    expect(await rejected).toBe('enough');
    expect(performance.now() - began).toBeLessThan(1000);
    expect(job.result).toMatchObject({ errors: [], errorCount: 0 });
    expect([...readTree(dest).keys()]).not.toContain('leased');
    expect(leftovers(dest)).toEqual([]);
  });
});

test.for(nodes)('the only pool thread stays the host’s: $name', async ({ path: node }, context) => {
  await whileLeased(context, [join(src, 'leased')], 1000, async () => {
    const code = `
      const job = copyTree(given.src, given.dest);
      let done = false, calls = 0;
      const copied = job.finally(() => { done = true; });
      while (!done) {
        await fs.promises.stat(given.src);
        calls++;
        await sleep(5);
      }
      answer({ calls, files: (await copied).files });`;
    const env = { UV_THREADPOOL_SIZE: '1' };
    const ended = await runChild<{ calls: number; files: number }>(node, code, { src, dest }, env);
    expect(ended).toMatchObject({ exitCode: 0, stderr: '', answer: { files: 2 } });
    expect(ended.answer.calls).toBeGreaterThan(10);
  });
});
