// Copies that take turns, in 8 environments of one process: turns.mjs COPIES [SECONDS]
//
// Filters, aborts, readers that go and worker threads that end, at random; FASTCP_SEED makes the same choices
// again. Each copy settles within SECONDS (10), and at the end no slot of the pool is taken. With an addon that
// pauses (test/sanitize/pauses.cc) threads meet at moments at which they rarely do otherwise.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { copyTree } from '../../dist/index.js';
import { randomNumbers } from '../../scripts/random.mjs';

const environments = 8;
const lanes = 1; // copies at a time in each

async function main(copies, patience) {
  const seed = Number(process.env.FASTCP_SEED ?? Date.now() % 1e9);
  const work = mkdtempSync(join(tmpdir(), 'fastcp-turns-'));
  const binding = createRequire(import.meta.url)('node-gyp-build')(
    join(import.meta.dirname, '../..'),
  );
  const pool = process.env.UV_THREADPOOL_SIZE ?? '4';
  console.log(`turns: ${copies} copies, pool of ${pool}, FASTCP_SEED=${seed}`);
  try {
    const src = makeTree(join(work, 'src'));
    const random = randomNumbers(seed);
    let done = 0;
    let ended = 0;
    /** One environment after the other, each ended in the middle of its copies. */
    const runEnvironments = async (number) => {
      for (let round = 0; done < copies; round++) {
        const dest = join(work, `${number}`);
        const data = { src, dest, patience, seed: seed + number * 1000 + round };
        const worker = new Worker(new URL(import.meta.url), { workerData: data });
        const most = 5 + random() * 100;
        const exited = new Promise((resolve, reject) => {
          worker.once('error', reject).once('exit', resolve);
        });
        let mine = 0;
        await new Promise((resolve, reject) => {
          exited.then(resolve, reject);
          worker.on('message', () => {
            done++;
            mine++;
            if (mine >= most || done >= copies) resolve();
          });
        });
        const late = setTimeout(() => hang('terminate()'), patience);
        ended++;
        await worker.terminate();
        await exited;
        clearTimeout(late);
      }
    };
    await Promise.all(Array.from({ length: environments }, (_, number) => runEnvironments(number)));
    // Threads without work end after a moment.
    for (let wait = 0; binding.threads?.() > 0 && wait < 100; wait++) await sleep(10);
    assert.equal(binding.threads?.() ?? 0, 0, 'threads are left after all copies have ended');
    assert.equal((await copyTree(src, join(work, 'last'))).errorCount, 0);
    console.log(`turns: ${done} copies, ${ended} environments ended`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function hang(what) {
  writeSync(2, `turns: ${what} hangs\n`); // console.error() of a worker thread waits for the main thread
  process.kill(process.pid, 'SIGKILL');
}

/** Many directories beside each other: answers about them come while the copy stands in line. */
function makeTree(root) {
  for (let index = 0; index < 24; index++) {
    const directory = join(root, `${index}`);
    mkdirSync(join(directory, 'below/further'), { recursive: true });
    writeFileSync(join(directory, `file ${index}`), `${index} `.repeat(index * 20));
    writeFileSync(join(directory, 'below/further/file'), '');
  }
  return root;
}

async function copyInTurns() {
  const { src, dest, patience, seed } = workerData;
  const random = randomNumbers(seed);
  const filters = {
    none: undefined,
    now: (_src, _dest, { path }) => path === '' || !path.endsWith('7'),
    later: async (_src, _dest, { path }) => {
      if (random() < 0.5) await sleep(random() * 40);
      return path === '' || !path.endsWith('7');
    },
  };
  const names = [...Object.keys(filters), 'globs'];
  const copyOnce = async (to) => {
    const controller = new AbortController();
    const { signal } = controller;
    const name = names[Math.floor(random() * names.length)];
    const filter = filters[name];
    const entries = random() < 0.2;
    const what = `a copy (filter: ${name}, entries: ${entries})`;
    const late = setTimeout(() => hang(what), patience);
    const mirror = random() < 0.2;
    const include = name === 'globs' ? ['**/file*'] : undefined; // directories are created when needed
    const job = copyTree(src, to, { filter, include, signal, entries, mirror });
    const aborts = random() < 0.2;
    if (aborts) setTimeout(() => controller.abort(), random() * 10);
    const read = async () => {
      for await (const _ of job) if (random() < 0.1) break;
    };
    // An abort is thrown to the reader as well.
    if (entries) await read().catch((reason) => assert.equal(reason, signal.reason));
    const { errors, files, unchanged } = await job.catch((reason) => {
      assert.equal(reason, signal.reason);
      return { errors: [] };
    });
    assert.deepEqual(errors, []);
    if (files !== undefined && name === 'globs') assert.equal(files + unchanged, 48);
    clearTimeout(late);
    parentPort.postMessage('');
  };
  const lane = async (number) => {
    for (;;) await copyOnce(join(dest, `${number}`));
  };
  await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)));
}

if (isMainThread) {
  await main(Number(process.argv[2] ?? 300), Number(process.argv[3] ?? 10) * 1000);
} else {
  await copyInTurns();
}
