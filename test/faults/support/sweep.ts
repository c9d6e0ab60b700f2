import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { differences } from '../../support/compare.js';
import { removeTree } from '../../support/work.js';
import { calls, whatOf } from './calls.js';
import { copyWith, type Place, type Ran, type Turns } from './case.js';
import { judge, type Outcome } from './judge.js';
import { type Mode, makeBefore, modes } from './modes.js';
import { readSnapshot, type Snapshot } from './snapshot.js';

export interface Places {
  small: Place;
  large: Place;
}

/** What a mode does without a fault. */
export interface Baseline {
  name: string;
  mode: Mode;
  place: Place;
  /** What DEST is before: a tree to begin with a copy of. */
  template: string | undefined;
  before: Snapshot;
  expected: Snapshot;
  /** How often it makes each call. */
  counts: Map<string, number>;
  milliseconds: number;
}

/** One, two or four workers; half of them with pauses. */
export const turnsOf = (random: () => number): Turns => ({
  workers: 2 ** Math.floor(random() * 3),
  pauses: random() < 0.5,
});

let made = 0;

function newDest({ root }: Place, template: string | undefined): string {
  const dest = join(root, `case ${made++}`);
  if (template !== undefined) execFileSync('cp', ['-a', template, dest]);
  return dest;
}

export async function measure(name: string, places: Places): Promise<Baseline> {
  const mode = modes[name] ?? {};
  const place = mode.src === 'large' ? places.large : places.small;
  const template = makeBefore(mode, place.src, join(place.root, `before ${made++}`));
  const before: Snapshot = template === undefined ? new Map() : readSnapshot(template, mode);
  const dest = newDest(place, template);
  const began = performance.now();
  const ran = await copyWith(mode, place, dest, '', { workers: 1, pauses: false }, true);
  const milliseconds = performance.now() - began;
  if (ran.status !== 0)
    throw new Error(`${name} fails without a fault: ${JSON.stringify(ran.events)}`);
  const exact =
    mode.dest === undefined && !['dereference', 'symlinks', 'selection', 'sparse'].includes(name);
  const wrong = exact || name.startsWith('mirror') ? differences(place.src, dest) : [];
  // With a fault nothing but the tree is compared with; so it is worth an oracle of its own.
  if (wrong.length > 0) throw new Error(`${name} is wrong without a fault: ${wrong}`);
  const counts = new Map<string, number>();
  for (const line of ran.log) {
    const call = line.slice(0, line.indexOf(' '));
    counts.set(call, (counts.get(call) ?? 0) + 1);
  }
  const expected = readSnapshot(dest, mode);
  removeTree(dest);
  return {
    name,
    mode,
    place,
    template,
    before,
    expected,
    counts,
    milliseconds,
  };
}

/** One fault, at one or at each occurrence from there. */
export interface Planned {
  baseline: Baseline;
  call: string;
  fault: string;
  first: number;
  count: number;
  turns: Turns;
}

const FOR_EVER = 999_999;

/**
 * Every call x every fault x first, middle and random occurrence, and all: in `rounds` of the modes that make
 * the call, which take turns.
 */
export function plan(baselines: Baseline[], random: () => number, rounds: number): Planned[] {
  const planned: Planned[] = [];
  for (const [call, faults] of Object.entries(calls)) {
    const able = shuffle(
      baselines.filter(
        ({ counts, mode }) => counts.has(call) && !mode.always?.startsWith(`${call}:`),
      ),
      random,
    );
    let turn = 0;
    for (const fault of faults) {
      for (let round = 0; round < Math.min(rounds, able.length); round++) {
        for (const where of ['first', 'middle', 'random', 'all'] as const) {
          // A call that is interrupted each time is none.
          if (where === 'all' && fault === 'EINTR') continue;
          const baseline = able[turn++ % able.length];
          if (baseline === undefined) continue;
          const made = baseline.counts.get(call) ?? 1;
          const first = {
            first: 1,
            middle: Math.ceil(made / 2),
            random: 1 + Math.floor(random() * made),
            all: 1,
          }[where];
          const count = where === 'all' ? FOR_EVER : 1;
          planned.push({ baseline, call, fault, first, count, turns: turnsOf(random) });
        }
      }
    }
  }
  return planned;
}

export interface Done {
  planned: Planned;
  fired: boolean;
  outcome: Outcome;
  wrong: string[];
}

const shown = ({ workers, pauses }: Turns): string =>
  `${workers} worker${workers === 1 ? '' : 's'}${pauses ? ', pauses' : ''}`;

export const describeCase = ({ baseline, call, fault, first, count, turns }: Planned): string =>
  `${baseline.name}, ${shown(turns)}: ${call} ${fault} at ${first}${count === 1 ? '' : count === FOR_EVER ? ' and ever after' : ` and ${count - 1} more`}`;

export async function runCase(planned: Planned): Promise<Done> {
  const { baseline, call, fault } = planned;
  const { mode, place } = baseline;
  // How often a call is made, and whether at all, may differ with the order in which workers come by.
  let tries = 6;
  for (let { first } = planned; ; first = Math.ceil(first / 2)) {
    const dest = newDest(place, baseline.template);
    const ran = await copyWith(
      mode,
      place,
      dest,
      `${call}:${whatOf(fault)}:${first}:${planned.count}`,
      planned.turns,
    );
    const fired = ran.log.some((line) => line.startsWith(`${call} `));
    if (!fired && (first > 1 || --tries > 0)) {
      removeTree(dest);
      continue;
    }
    const { wrong, outcome } = judge({ ...baseline, call, fault }, ran, place, dest);
    if (!fired) wrong.push('the fault did not fire');
    removeTree(dest);
    wrong.push(...leftOver(dest, ran));
    return { planned, fired, outcome, wrong };
  }
}

/** Hidden trees of atomic copies that no warning names. Removes them. */
function leftOver(dest: string, { events }: Ran): string[] {
  const said = events.map(({ path }) => path);
  const root = dirname(dest);
  return readdirSync(root)
    .filter((name) => name.startsWith(`.${basename(dest)}.fastcp-`))
    .flatMap((name) => {
      removeTree(join(root, name));
      const isLock = name.endsWith('.lock'); // stays as long as the trees
      return isLock || said.includes(join(root, name)) ? [] : [`left: ${name}`];
    });
}

/** Some of a list, each at most once, in an order that the seed gives. */
export function shuffle<T>(list: T[], random: () => number): T[] {
  return list
    .map((item) => ({ item, key: random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}
