// Copies of all sorts, many at once, for as long as is said: stress.mjs SECONDS
//
// A script and no test, since ThreadSanitizer finds too much in a test runner. What is copied is right, or this
// fails; the sanitizers look after the rest. It ends by itself, and so is looked through for leaks.
import assert from 'node:assert/strict';
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { cpSync } from '../../dist/fs.js';
import { compareTrees, copyTree } from '../../dist/index.js';

const large = 70 << 20; // copied in parts
const files = 400;

async function main(seconds) {
  const work = mkdtempSync(join(tmpdir(), 'fastcp-stress-'));
  try {
    const src = makeTree(join(work, 'src'));
    const end = Date.now() + seconds * 1000;
    const done = {};
    const lanes = Object.entries(kinds).map(async ([name, copy]) => {
      done[name] = 0;
      for (; done[name] === 0 || Date.now() < end; done[name]++) {
        const dest = join(work, `${name} ${done[name] % 3}`);
        await copy(src, dest, done[name]);
        // Every third finds something there.
        if (done[name] % 3 === 2) rmSync(dest, { recursive: true, force: true });
      }
    });
    await Promise.all(lanes);
    console.log(
      `stress: ${Object.entries(done)
        .map(([name, count]) => `${count} ${name}`)
        .join(', ')}`,
    );
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function makeTree(root) {
  for (let index = 0; index < files; index++) {
    const directory = join(root, `${index % 5}`, `${index % 3}`);
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, `file ${index}`), `${index} `.repeat(index));
    if (index % 20 === 0) linkSync(join(directory, `file ${index}`), join(root, `name ${index}`));
    if (index % 20 === 1) symlinkSync('nowhere', join(directory, `link ${index}`));
  }
  for (let index = 0; index < files; index++) writeFileSync(join(root, '0', `wide ${index}`), '');
  // Mostly a hole: it is the number of parts that counts.
  writeFileSync(join(root, 'large'), 'the beginning');
  truncateSync(join(root, 'large'), large - 3);
  appendFileSync(join(root, 'large'), 'end');
  return root;
}

/** What is copied, each over and over beside the others. */
const kinds = {
  async 'plain copies'(src, dest) {
    const result = await copyTree(src, dest, { preserve: true });
    assert.equal(result.errorCount, 0);
    assert.deepEqual((await compareTrees(src, dest)).differences, []);
  },
  async mirrors(src, dest, round) {
    if (round % 2)
      writeFileSync(
        join(mkdirSync(join(dest, 'more/and more'), { recursive: true }) ?? dest, '../extra'),
        '',
      );
    await copyTree(src, dest, { mirror: true, verify: round % 4 === 0, preserve: round % 3 === 0 });
    assert.deepEqual(readdirSync(dest).sort(), readdirSync(src).sort());
  },
  async 'with answers'(src, dest, round) {
    const filter = async (_src, _dest, { name }) => {
      if (name.endsWith('7')) await sleep(1);
      return !name.endsWith('3');
    };
    await copyTree(src, dest, round % 2 ? { filter } : { exclude: ['**/*3'], entries: true });
    assert(!readdirSync(dest, { recursive: true }).some((name) => name.endsWith('file 3')));
  },
  async 'with events'(src, dest) {
    const job = copyTree(src, dest, { entries: true });
    let seen = 0;
    for await (const event of job) if (event.type === 'entry') seen++;
    assert(seen > files, `${seen} entries`);
    await job;
  },
  async 'in shards'(src, dest) {
    const shards = [1, 2, 3].map((number) => copyTree(src, dest, { shard: `${number}/3` }));
    await Promise.all(shards);
    assert.deepEqual((await compareTrees(src, dest)).differences, []);
  },
  async atomic(src, dest) {
    await copyTree(src, dest, { atomic: true });
  },
  async aborted(src, dest) {
    const signal = AbortSignal.timeout(Math.floor(Math.random() * 100));
    await copyTree(src, dest, { signal, mirror: Math.random() < 0.5 }).catch((reason) => {
      assert.equal(reason, signal.reason);
    });
  },
  async failing(src, dest) {
    await copyTree(src, dest);
    await assert.rejects(copyTree(src, dest, { force: false, errorOnExist: true }));
  },
  async synchronous(src, dest) {
    await sleep(10); // the others have their turn
    cpSync(src, dest, { recursive: true, filter: (name) => !name.endsWith('large') });
  },
  async 'worker threads ended'(src, dest, round) {
    const workerData = { src, dest, answers: round % 2 === 0 };
    const worker = new Worker(new URL(import.meta.url), { workerData });
    await new Promise((resolve) => worker.once('message', resolve));
    await sleep(Math.random() * 50);
    await worker.terminate();
  },
};

async function copyUntilEnded() {
  const { src, dest, answers } = workerData;
  // Without an answer it ends where no thread works for it, and as if it could not even say that it does.
  const filter = () => {
    if (answers) return true;
    process.removeAllListeners('exit');
    return new Promise(() => {});
  };
  for (let round = 0; ; round++) {
    const copying = copyTree(src, `${dest} ${round % 2}`, { filter });
    if (round === 0) parentPort.postMessage('copying');
    await copying;
  }
}

if (isMainThread) await main(Number(process.argv[2] ?? 10));
else await copyUntilEnded();
