/**
 * Atomic copies that are killed at random moments, that meet a full disk, and that run side by side. Prints
 * its seed; FASTCP_SEED makes the same again.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Random } from '../selection/support/random.js';
import { digest, hiddenIn, makeUniform } from '../support/atomic.js';
import { COMMAND, run } from '../support/child.js';
import { useFileSystem } from '../support/filesystems.js';
import { seed, size } from '../support/form.js';
import { workDirectory } from '../support/work.js';

const faults = size(2, 12);
const random = new Random(seed);
/** For all of one kind. */
const timeout = 60_000 + faults * 5000;

const work = workDirectory('atomic-faults');
console.info(`atomic faults: ${faults} of each, FASTCP_SEED=${seed}`);

const command = (src: string, dest: string): string[] => [
  process.execPath,
  COMMAND,
  '-q',
  '--atomic',
  src,
  dest,
];

/** Two trees that have nothing in common, and a place for copies. */
function makeTrees(at: string, files: number): { old: string; other: string; dest: string } {
  mkdirSync(at, { recursive: true });
  return {
    old: makeUniform(join(at, 'old'), 'old', files),
    other: makeUniform(join(at, 'other'), 'other', files),
    dest: join(at, 'dest'),
  };
}

test('killed at any moment: the old tree or the new one, and the next run clears up', {
  timeout,
}, async () => {
  const { old, other, dest } = makeTrees(join(work, 'killed'), 2000);
  const at = join(work, 'killed');
  const [oldDigest, otherDigest] = [digest(old), digest(other)];
  const settle = async (): Promise<void> => {
    expect(await run(command(old, dest))).toMatchObject({ status: 0, stdout: '', stderr: '' });
    expect(digest(dest)).toBe(oldDigest);
    expect(readdirSync(at).sort()).toEqual(['dest', 'old', 'other']);
  };
  await settle();
  const first = await watch(at, dest, command(other, dest));
  await settle();
  const second = await watch(at, dest, command(other, dest));
  await settle();
  const placed = Math.min(first.placed, second.placed);
  const ended = Math.min(first.ended, second.ended);

  const seen = { 'old, nothing begun': 0, 'old, begun': 0, 'new, not cleared': 0, 'new, done': 0 };
  for (let round = 0; round < faults; round++) {
    const [file = '', ...args] = command(other, dest);
    const child = spawn(file, args, { stdio: 'ignore' });
    const closed = once(child, 'close');
    // Mostly while it is copied and about when it is put in place, which take less than the removal.
    const share = random.below(10_000) / 10_000;
    if (random.chance(5)) {
      await sleep(share * 100); // Node starts
    } else {
      await until(() => hiddenIn(at).length > 0);
      await sleep(random.chance(70) ? share * placed * 1.3 : placed + share * (ended - placed));
    }
    child.kill('SIGKILL');
    await closed;
    const now = digest(dest);
    expect([oldDigest, otherDigest], `round ${round}`).toContain(now);
    const left = hiddenIn(at).length > 0;
    if (now === oldDigest) seen[left ? 'old, begun' : 'old, nothing begun']++;
    else seen[left ? 'new, not cleared' : 'new, done']++;
    await settle();
  }
  console.info('killed:', seen);
  expect(seen['old, begun'] + seen['new, not cleared']).toBeGreaterThan(0);
});

/** How many milliseconds after its container is there a copy is put in place, and its process ends. */
async function watch(
  at: string,
  dest: string,
  words: string[],
): Promise<{ placed: number; ended: number }> {
  const { ino } = statSync(dest);
  const running = run(words);
  await until(() => hiddenIn(at).length > 0);
  const began = performance.now();
  await until(() => statSync(dest).ino !== ino);
  const placed = performance.now() - began;
  await running;
  return { placed, ended: performance.now() - began };
}

async function until(reached: () => boolean): Promise<void> {
  while (!reached()) await sleep(0.5);
}

const disk = useFileSystem(work, 'tmpfs', { size: '24M' });

test('a full disk at any moment: the old tree, and nothing is left', {
  timeout,
}, async (context) => {
  const at = disk(context);
  const { old, other } = makeTrees(join(work, 'full'), 500);
  const dest = join(at, 'dest');
  const fill = join(at, 'filler');
  await run(command(old, dest));
  const oldDigest = digest(dest);
  const { bavail, bsize } = statfsSync(at);
  const free = bavail * bsize;
  const needed = 500 * 4096; // a page for each file; directories take none
  for (let round = 0; round < faults; round++) {
    writeFileSync(fill, Buffer.alloc(free - random.below(needed)));
    const { status, stderr } = await run(command(other, dest));
    expect({ status, round }).toEqual({ status: 1, round });
    expect(stderr).toMatch(
      /no space left on device: this ended the copy\nfastcp: .*'?.*dest'? was left as it was\n$/,
    );
    expect(digest(dest)).toBe(oldDigest);
    expect(readdirSync(at).sort()).toEqual(['dest', 'filler']);
    rmSync(fill);
  }
  expect(await run(command(other, dest))).toMatchObject({ status: 0, stderr: '' });
  expect(digest(dest)).toBe(digest(other));
});

test('two at once both succeed, and the last one wins', { timeout }, async () => {
  const at = join(work, 'two');
  const { old, other, dest } = makeTrees(at, 300);
  const digests = [digest(old), digest(other)];
  for (let round = 0; round < Math.ceil(faults / 4); round++) {
    if (round % 2 === 0) rmSync(dest, { recursive: true, force: true });
    const ended = await Promise.all([old, other].map((src) => run(command(src, dest))));
    for (const one of ended) expect(one).toMatchObject({ status: 0, stdout: '', stderr: '' });
    expect(digests).toContain(digest(dest));
    expect(readdirSync(at).sort()).toEqual(['dest', 'old', 'other']);
  }
});

test('readers find one of them at every moment', { timeout }, async () => {
  const at = join(work, 'readers');
  const { old, other, dest } = makeTrees(at, 300);
  writeFileSync(join(old, 'marker'), 'old');
  writeFileSync(join(other, 'marker'), 'other');
  await run(command(old, dest));
  let running = true;
  const copies = (async () => {
    for (const src of [other, old, other]) await run(command(src, dest));
    running = false;
  })();
  const seen = new Set<string>();
  let looks = 0;
  while (running) {
    for (let i = 0; i < 100; i++) seen.add(readFileSync(join(dest, 'marker'), 'utf8'));
    looks += 100;
    await sleep(0);
  }
  await copies;
  expect([...seen].sort()).toEqual(['old', 'other']);
  expect(looks).toBeGreaterThan(1000);
});
