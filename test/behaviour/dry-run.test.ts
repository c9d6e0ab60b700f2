// A dry run reports exactly what the real run would do: the same entry events and the same counters.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CopyError, compareTrees, copyTree } from '../../lib/index.js';
import type { CopyOptions } from '../../lib/types.js';
import { Random } from '../selection/support/random.js';
import { seed, size } from '../support/form.js';
import { slowness, workDirectory } from '../support/work.js';

const work = workDirectory('dry-run');
const rounds = size(5, 15);

/** Few names, so that two trees have the same ones, of the same kind or another. */
function makeRandomTree(random: Random, root: string, links = false, depth = 0): void {
  mkdirSync(root, { recursive: true });
  for (const name of [...'abcdef']) {
    const path = join(root, name);
    if (lstatSync(path, { throwIfNoEntry: false }) || !random.chance(60)) continue;
    const kind = random.below(depth < 3 ? 10 : 6);
    if (kind === 0) symlinkSync(random.pick([...'abc']), path);
    else if (kind === 1) execFileSync('mkfifo', [path]);
    else if (kind === 2 && links && isFile(join(root, 'a'))) linkSync(join(root, 'a'), path);
    else if (kind < 6) writeFile(random, path);
    else makeRandomTree(random, path, links, depth + 1);
  }
  settle(random, root);
}

function isFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function writeFile(random: Random, path: string): void {
  writeFileSync(path, random.pick(['', 'a', 'b', 'long']).repeat(random.pick([1, 9, 70_000])));
  settle(random, path);
}

/** One of few modes and times. */
function settle(random: Random, path: string): void {
  chmodSync(path, random.pick([0o755, 0o755, 0o700]));
  const time = random.pick([1000, 1000, 2000]);
  utimesSync(path, time, time);
}

/** Changes some of what a copy has. */
function change(random: Random, root: string): void {
  for (const name of [...'abcdef']) {
    const path = join(root, name);
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat?.isDirectory() && random.chance(70)) change(random, path);
    else if (!stat || random.chance(70)) continue;
    else if (stat.isSymbolicLink() || random.chance(50)) rmSync(path, { recursive: true });
    else settle(random, path);
  }
  if (random.chance(50)) makeRandomTree(random, root, false, 2);
}

async function outcomeOf(src: string, dest: string, options: CopyOptions) {
  const job = copyTree(src, dest, {
    ...options,
    // One worker: which of several names is the first is a matter of order.
    concurrency: 1,
    onError: 'continue',
    entries: true,
  });
  const entries: string[] = [];
  try {
    for await (const event of job) {
      if (event.type !== 'entry') continue;
      entries.push(`${event.action} ${event.kind} ${event.path} -> ${event.dest}`);
    }
  } catch (error) {
    // A selection that leaves nothing of SRC, while a mirror would delete.
    if (!(error instanceof CopyError)) throw error;
    return { entries, refused: error.message };
  }
  const { durationMs, methods, errors, ...counters } = await job;
  const failed = errors.map(({ code, path, dest: to }) => `${code} ${path} -> ${to}`);
  return { entries: entries.sort(), counters, errors: failed.sort() };
}

const settings: Record<string, CopyOptions> = {
  default: {},
  sync: { sync: true },
  mirror: { mirror: true },
  'force false': { force: false },
  backup: { backup: 'numbered' },
  'error on exist': { force: false, errorOnExist: true },
  'hard links to SRC': { hardLink: true },
  'symlinks to SRC': { symlink: true },
  'mirror, selected': { mirror: true, exclude: ['c'] },
  'mirror, delete excluded': { mirror: true, exclude: ['c'], deleteExcluded: true },
  'sync, backup': { sync: true, backup: 'numbered' },
  'sync, dereference': { sync: true, dereference: true },
  'mirror, checksum': { mirror: true, checksum: true },
  'sync, a shard': { sync: true, shard: '1/2' },
};

const cases = Object.entries(settings).flatMap(([name, options]) => [
  { name, options },
  { name: `${name}, preserve`, options: { ...options, preserve: true } },
]);

test.each(cases)(
  `$name, seed ${seed}: what a dry run says is done`,
  {
    timeout: 300_000 * slowness,
  },
  async ({ options }) => {
    const random = new Random(seed);
    for (let round = 0; round < rounds; round++) {
      const room = join(work, 'room');
      rmSync(room, { recursive: true, force: true });
      const [src, dest] = [join(room, 'src'), join(room, 'dest')];
      const before = random.below(4);
      // Not if DEST is a copy: the real run breaks hard links there on its way, which the dry run still finds.
      makeRandomTree(random, src, before < 2);
      if (before === 1) makeRandomTree(random, dest);
      if (before === 2) execFileSync('cp', ['-a', src, dest]);
      if (before === 3) await copyTree(src, dest, { sync: true, preserve: random.chance(50) });
      if (before > 1) change(random, random.pick([src, dest]));
      const state = stateOf(room);
      const planned = await outcomeOf(src, dest, { ...options, dryRun: true });
      const where = `round ${round}, seed ${seed}`;
      expect(existsSync(dest), where).toBe(before > 0);
      expect(stateOf(room), where).toEqual(state);
      expect(planned, where).toEqual(await outcomeOf(src, dest, options));
    }
  },
);

/** Whatever changes an entry changes its ctime as well. */
function stateOf(root: string): string[] {
  const found = execFileSync('find', [root, '-printf', '%p %y %i %C@\n'], { encoding: 'utf8' });
  return found.split('\n').sort();
}

/** To find out whether DEST takes both names for one, a real run creates an entry. */
test.each<[string, (src: string, dest: string) => PromiseLike<unknown>]>([
  ['a dry run', (src, dest) => copyTree(src, dest, { mirror: true, preserve: true, dryRun: true })],
  ['a plain dry run', (src, dest) => copyTree(src, dest, { dryRun: true })],
  ['a comparison', (src, dest) => compareTrees(src, dest, { preserve: true })],
])('%s of names that differ in case writes nothing', async (name, look) => {
  const [src, dest] = ['src', 'dest'].map((end) => join(work, `case ${name} ${end}`)) as [
    string,
    string,
  ];
  for (const entry of ['d', 'D']) mkdirSync(join(src, 'in', entry), { recursive: true });
  writeFileSync(join(src, 'in/a'), '1');
  linkSync(join(src, 'in/a'), join(src, 'in/A'));
  await copyTree(src, dest, { preserve: true });
  const mtimes = () =>
    ['', 'in', 'in/d', 'in/D'].map((path) => lstatSync(join(dest, path), { bigint: true }).mtimeNs);
  const before = mtimes();
  await look(src, dest);
  expect(mtimes()).toEqual(before);
});
