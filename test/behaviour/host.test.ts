import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { makeBigTree, median, workDirectory } from '../support/big-tree.js';
import { nodes, runChild } from './support/child.js';

const FILES = 40_000;
const TRIES = 3;

describe.each(nodes)('$name', ({ path: node }) => {
  const cwd = workDirectory();
  const src = join(cwd, 'src');
  let made = 0;
  beforeAll(() => {
    makeBigTree(src, FILES);
  });

  /** In processes of their own, so that vitest's work is not measured. */
  async function tries<T>(code: string): Promise<T[]> {
    const answers: T[] = [];
    for (let round = 0; round < TRIES; round++) {
      const dest = join(cwd, `dest-${made++}`);
      const { answer, ...ended } = await runChild<T>(node, code, { src, dest });
      expect(ended).toMatchObject({ exitCode: 0, signal: null, stderr: '' });
      answers.push(answer);
    }
    return answers;
  }

  describe('during a copy', () => {
    interface Delays {
      /** Of the host's event loop, and of one in a process that does nothing: how late the machine is. */
      p99: number;
      idle: number;
      most: number;
      count: number;
      files: number;
    }
    /** The host's event loop and its own calls, while a job runs. */
    const measure = (start: string) => `
      const { monitorEventLoopDelay } = await import('node:perf_hooks');
      const { spawn } = await import('node:child_process');
      const neighbour = spawn(process.execPath, ['-e', \`
        const delays = require('node:perf_hooks').monitorEventLoopDelay({ resolution: 5 });
        delays.enable();
        process.send('ready');
        process.on('message', () => process.send(delays.percentile(99) / 1e6, () => process.exit()));
      \`], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
      await once(neighbour, 'message');
      const delays = monitorEventLoopDelay({ resolution: 5 });
      await fs.promises.stat(given.src);
      let done = false;
      ${start}
      const copied = job.finally(() => { done = true; });
      delays.enable();
      let most = 0, count = 0;
      while (!done) {
        const began = performance.now();
        await fs.promises.stat(given.src);
        most = Math.max(most, performance.now() - began);
        count++;
        await sleep(1);
      }
      delays.disable();
      const { files } = await copied;
      neighbour.send('end');
      const [idle] = await once(neighbour, 'message');
      answer({ p99: delays.percentile(99) / 1e6, idle, most, count, files });`;

    test.each([
      ['of a tree', 'const job = copyTree(given.src, given.dest);'],
      [
        'whose events are read',
        `const job = copyTree(given.src, given.dest, { entries: true });
        (async () => { for await (const event of job); })();`,
      ],
      [
        'whose events are read slowly',
        `const job = copyTree(given.src, given.dest, { entries: true });
        (async () => {
          for await (const event of job) {
            for (const began = performance.now(); performance.now() - began < 0.02; );
          }
        })();`,
      ],
      [
        'of seven trees at once',
        `const groups = [0, 1, 2, 3, 4, 5, 6].map((group) =>
          copyTree(path.join(given.src, 'group-' + group), path.join(given.dest, 'group-' + group)));
        const job = Promise.all(groups).then((results) =>
          ({ files: results.reduce((sum, { files }) => sum + files, 0) }));`,
      ],
    ])('%s the event loop turns and calls go through', async (_, start) => {
      const answers = await tries<Delays>(measure(start));
      for (const { files, count } of answers) {
        expect(files).toBe(FILES);
        expect(count).toBeGreaterThan(10);
      }
      expect(median(answers.map(({ p99, idle }) => p99 - idle))).toBeLessThan(20);
      expect(median(answers.map(({ most }) => most))).toBeLessThan(100);
    });
  });

  test('a busy JavaScript thread does not stall a copy', async () => {
    const code = `
      const began = performance.now();
      const idle = await copyTree(given.src, given.dest + '-idle');
      const usual = idle.files / (performance.now() - began);
      const job = copyTree(given.src, given.dest);
      while (job.result.files === 0) await sleep(1);
      const { files } = job.result;
      const busy = performance.now();
      while (performance.now() - busy < 500);
      await new Promise((resolve) => setImmediate(resolve)); // to look at the job
      const copied = job.result.files - files;
      const { files: all } = await job;
      answer({ whole: copied + files === all, rate: copied / 500 / usual });`;
    const answers = await tries<{ whole: boolean; rate: number }>(code);
    // The loop takes a processor, maybe one of two, and the engine what is left.
    expect(median(answers.map(({ whole, rate }) => (whole ? 1 : rate)))).toBeGreaterThan(0.25);
  });
});
