/**
 * Two-step placing, in which calls fail and another program changes DEST: before each call and each two of them, and before more
 * calls at random. Whatever happens, the old tree and that program's trees are somewhere unless the new tree is in their place.
 * Prints its seed; FASTCP_SEED makes the same again.
 */
import { existsSync, mkdirSync, promises, readdirSync, readFileSync, renameSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { copyTree } from '../../lib/index.js';
import { Random } from '../selection/support/random.js';
import { containers, digest } from '../support/atomic.js';
import { seed, size } from '../support/form.js';
import { makeFiles } from '../support/trees.js';
import { workDirectory } from '../support/work.js';

vi.mock('../../lib/engine/native.js', async (original) => ({
  ...(await original<typeof import('../../lib/engine/native.js')>()),
  exchange: () => -constants.errno.EINVAL,
}));

const rounds = size(20, 100);
const work = workDirectory('atomic-steps');
console.info(`atomic steps: ${rounds} rounds, FASTCP_SEED=${seed}`);

/** What comes before a call. */
const kinds = ['EIO', 'EXDEV', 'create', 'swap'] as const;
type Event = (typeof kinds)[number];
/** A placing makes about so many. */
const firstCalls = [...Array(9).keys()];

interface Case {
  /** By the numbers of the calls. */
  events: ReadonlyMap<number, Event>;
}

const calls = ['rename', 'rmdir', 'mkdir'] as const;

function randomCase(random: Random): Case {
  const events = new Map<number, Event>();
  const count = 3 + random.below(2);
  for (let n = 0; n < count; n++) events.set(random.below(20), random.pick(kinds));
  return { events };
}

/** Makes calls fail, and changes DEST between them. Returns the names of the files that are created there, as they come. */
function disturb({ events }: Case, at: string): string[] {
  const dest = join(at, 'dest');
  const theirs: string[] = [];
  let number = 0;
  const comes = (): string | undefined => {
    const here = number++;
    const event = events.get(here);
    if (event === 'swap' && existsSync(dest)) renameSync(dest, join(at, `saved ${here}`));
    if ((event === 'swap' || event === 'create') && !existsSync(dest)) {
      theirs.push(`theirs ${here}`);
      makeFiles(dest, { [`d/theirs ${here}`]: 'theirs' });
    }
    return event === 'EIO' || event === 'EXDEV' ? event : undefined;
  };
  for (const name of calls) {
    const real = promises[name] as (...args: unknown[]) => Promise<unknown>;
    vi.spyOn(promises, name).mockImplementation((async (...args: unknown[]) => {
      const code = comes();
      if (!code || (code === 'EXDEV' && name !== 'rename')) return real(...args);
      const errno = -constants.errno[code as 'EIO'];
      throw Object.assign(new Error(`${code}: injected`), { code, errno, syscall: name });
    }) as never);
  }
  return theirs;
}

/** The names of all files that have this content, without the directories around them. */
function filesWith(directory: string, content: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .filter(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8') === content)
    .map(({ name }) => name)
    .sort();
}

const oldTree = { 'old 1': 'old', 'old 2': 'old', 'd/old 3': 'old' };
const newTree = { 'new 1': 'new', 'e/new 2': 'new' };

interface Outcome {
  code: string;
  message: string;
  warnings: readonly { code: string }[];
}

/** Runs a case in a directory of that name. */
async function runCase(what: Case, name: string): Promise<void> {
  try {
    await copyDisturbed(what, name);
  } finally {
    vi.restoreAllMocks();
  }
}

/** Copies until it succeeds. The calls of all copies are counted on. */
async function copyDisturbed(what: Case, name: string): Promise<void> {
  const at = join(work, name);
  const [src, dest] = [join(at, 'src'), join(at, 'dest')];
  mkdirSync(at);
  makeFiles(src, newTree);
  makeFiles(dest, oldTree);
  const [wasOld, isNew] = [digest(dest), digest(src)];
  const events = [...what.events.values()];
  const has = (event: Event): boolean => events.includes(event);
  const failures = events.filter((event) => event === 'EIO' || event === 'EXDEV').length;
  const theirs = disturb(what, at);
  for (let run = 0; ; run++) {
    const outcome: Outcome = await copyTree(src, dest, { atomic: 'two-step' }).then(
      ({ warnings }) => ({ code: '', message: '', warnings }),
      ({ code, message, result: { warnings } }) => ({ code, message, warnings }),
    );
    const told = JSON.stringify({ name, events: [...what.events], run, outcome });
    const left = containers(at);
    const isPlaced = outcome.warnings.some(({ code }) => code === 'STAGING_PLACED');
    if (outcome.code === '' || isPlaced) {
      // A later swap may have moved it again.
      const places = readdirSync(at).filter((place) => /^(dest|saved .*)$/.test(place));
      expect(
        places.map((place) => digest(join(at, place))),
        told,
      ).toContain(isNew);
      break;
    }
    const lives = filesWith(at, 'old').length === 3;
    // With EXDEV what is at DEST may be deleted where it is.
    if (!has('EXDEV')) {
      expect(lives, told).toBe(true);
      expect(filesWith(at, 'theirs'), told).toEqual([...theirs].sort());
    }
    if (outcome.code === 'ERR_FASTCP_HALFWAY') {
      expect(events.length, told).toBeGreaterThan(1); // one failure is undone
      expect(left, told).toHaveLength(1);
      expect(outcome.message, told).toContain(left[0]);
      expect(digest(join(at, left[0] as string, 'ready')), told).toBe(isNew);
      if (outcome.message.includes('goes on')) continue;
      expect(existsSync(dest), told).toBe(true);
      break;
    }
    expect(lives, told).toBe(true);
    if (has('swap') || has('create')) expect(existsSync(dest), told).toBe(true);
    else expect(digest(dest), told).toBe(wasOld);
    // If the way back fails as well, the next atomic copy removes it.
    if (outcome.warnings.length === 0 && failures < 2) expect(left, told).toEqual([]);
    break;
  }
  vi.restoreAllMocks();
  await copyTree(src, dest, { atomic: 'two-step' });
  expect(digest(dest)).toBe(isNew);
  expect(containers(at)).toEqual([]);
}

/** Runs a case that failed without one of its events after the other, as long as it still fails. */
async function shrink(what: Case, name: string, failure: unknown): Promise<never> {
  for (const number of what.events.keys()) {
    const fewer = { events: new Map([...what.events].filter(([other]) => other !== number)) };
    const smaller = `${name}-${number}`;
    await runCase(fewer, smaller).catch((error: unknown) => shrink(fewer, smaller, error));
  }
  throw failure;
}

test('before each call, and each two of them: nothing is lost', { timeout: 120_000 }, async () => {
  const single = firstCalls.flatMap((call) => kinds.map((kind) => [call, kind] as const));
  const pairs = single.flatMap((one) =>
    single.filter(([call]) => call > one[0]).map((other) => [one, other]),
  );
  const cases = [...single.map((one) => [one]), ...pairs];
  for (const [index, events] of cases.entries())
    await runCase({ events: new Map(events) }, `case ${index}`);
});

test('before several calls at random: nothing is lost', {
  timeout: 60_000 + rounds * 100,
}, async () => {
  for (let round = 0; round < rounds; round++) {
    const what = randomCase(new Random(seed + round));
    const name = `${seed + round}`;
    await runCase(what, name).catch((error: unknown) => shrink(what, name, error));
  }
});
