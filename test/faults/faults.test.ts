import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { copyTree } from '../../lib/index.js';
import type { CopyOptions } from '../../lib/types.js';
import { randomNumbers } from '../../scripts/random.mjs';
import { copyInChild } from '../support/child.js';
import { leftovers } from '../support/compare.js';
import { isLong, seed } from '../support/form.js';
import { buildShim, faultLog, withFaults } from '../support/shim.js';
import { makeFiles } from '../support/trees.js';
import { hasTool, needTool, workDirectory } from '../support/work.js';
import { calls } from './support/calls.js';
import type { Place } from './support/case.js';
import { changedModes, makeLargeSource, makeSource, modes } from './support/modes.js';
import { once } from './support/once.js';
import {
  type Baseline,
  type Done,
  describeCase,
  measure,
  type Places,
  type Planned,
  plan,
  runCase,
  shuffle,
  turnsOf,
} from './support/sweep.js';
import { tableOf } from './support/table.js';

// Every system call of the engine x every error it can get. The long form runs all and writes the table of
// docs/reliability.md; FASTCP_SEED repeats a run.

const work = workDirectory('fault-sweep');
const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const shim = join(work, 'shim.so');

function place(name: string, make: (src: string) => string): Place {
  const root = join(work, name);
  mkdirSync(root);
  return { root, src: make(join(root, 'src')), shim };
}

let places: Places;
beforeAll(() => {
  if (!hasTool('cc')) return;
  buildShim(work);
  places = { small: place('small', makeSource), large: place('large', makeLargeSource) };
});

/**
 * The short form: 40 cases each of mirrors with archive, of the modes whose sources were changed last, and of all
 * others.
 */
function sample(all: Planned[]): Planned[] {
  const each = 40;
  const changed = changedModes();
  const kind = ({ baseline: { name } }: Planned): number =>
    name === 'mirror archive' ? 0 : changed.has(name) ? 1 : 2;
  return [0, 1, 2].flatMap((wanted) => all.filter((one) => kind(one) === wanted).slice(0, each));
}

/** Two at a time, as the machine may have no more processors. */
async function runAll(list: Planned[]): Promise<Done[]> {
  const done: Done[] = [];
  const next = list[Symbol.iterator]();
  const work = async (): Promise<void> => {
    for (const planned of next) done.push(await runCase(planned));
  };
  await Promise.all([work(), work()]);
  return done;
}

const wrongIn = (done: Done[]): string[][] =>
  done
    .filter(({ wrong }) => wrong.length > 0)
    .map(({ planned, wrong }) => [describeCase(planned), ...wrong]);

let measured: Promise<Baseline[]> | undefined;
/** All modes without a fault. */
const baselinesOfAll = (): Promise<Baseline[]> => {
  measured ??= (async () => {
    const baselines: Baseline[] = [];
    for (const name of Object.keys(modes)) baselines.push(await measure(name, places));
    return baselines;
  })();
  return measured;
};

const doneOnce: Done[] = [];
test('what once went wrong', async (context) => {
  for (const tool of ['cc', 'setfacl']) needTool(context, tool);
  const names = new Set(once.map(([mode]) => mode));
  const baselines: Record<string, Baseline> = {};
  for (const name of names) baselines[name] = await measure(name, places);
  // Some calls are made only where there are access lists.
  const cases = once.filter(([mode, call]) => baselines[mode]?.counts.has(call));
  expect(cases.length).toBeGreaterThan(4);
  for (const [mode, call, fault, first, count, outcome] of cases) {
    const baseline = baselines[mode] as Baseline;
    const turns = { workers: 1, pauses: false };
    const done = await runCase({ baseline, call, fault, first, count, turns });
    doneOnce.push(done);
    expect(wrongIn([done])).toEqual([]);
    expect(`${describeCase(done.planned)}: ${done.outcome}`).toBe(
      `${describeCase(done.planned)}: ${outcome}`,
    );
  }
});

test('every call, every error', { timeout: isLong ? 3_600_000 : 300_000 }, async (context) => {
  needTool(context, 'cc');
  const began = performance.now();
  const baselines = await baselinesOfAll();
  const made = new Set(baselines.flatMap(({ counts }) => [...counts.keys()]));
  expect([...made].filter((call) => !(call in calls))).toEqual([]);
  const random = randomNumbers(seed);
  const all = plan(baselines, random, 1);
  const list = isLong ? all : sample(shuffle(all, random));
  const done = await runAll(list);
  const wrong = wrongIn(done);
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(
    `faults: ${done.length} of ${all.length} cases, ${wrong.length} wrong, ${seconds} s, FASTCP_SEED=${seed}`,
  );
  expect(wrong, `FASTCP_SEED=${seed}`).toEqual([]);
  expect(done.every(({ fired }) => fired)).toBe(true);
  if (!isLong) return;
  // What no mode makes would be no part of the sweep.
  expect(Object.keys(calls).filter((call) => !made.has(call))).toEqual([]);
  expect(done.length).toBeGreaterThan(600);
  writeTable([...doneOnce, ...done]);
});

test('every call, interrupted by signals: it is made again', {
  timeout: 300_000,
}, async (context) => {
  needTool(context, 'cc');
  const random = randomNumbers(seed);
  const baselines = await baselinesOfAll();
  // The descriptor is gone whatever close() says.
  const list = Object.keys(calls)
    .filter((call) => call !== 'close')
    .flatMap((call) => {
      const able = shuffle(
        baselines.filter(({ counts }) => counts.has(call)),
        random,
      );
      return able.slice(0, 1).map((baseline): Planned => {
        const first = 1 + Math.floor(random() * (baseline.counts.get(call) ?? 1));
        return { baseline, call, fault: 'EINTR', first, count: 3, turns: turnsOf(random) };
      });
    });
  console.log(`faults: ${list.length} calls interrupted, FASTCP_SEED=${seed}`);
  const done = await runAll(list);
  expect(wrongIn(done), `FASTCP_SEED=${seed}`).toEqual([]);
  const failed = done.filter(({ fired, outcome }) => !fired || outcome !== 'goes on');
  expect(failed.map(({ planned }) => describeCase(planned))).toEqual([]);
});

test.for<[call: string, options: CopyOptions]>([
  ['renameat', {}],
  ['renameat', { preserve: true, sync: true }],
  ['renameat', { backup: 'existing' }],
  ['renameat', { backup: 'numbered', onError: 'stop' }],
  ['renameat', { hardLink: true }],
  ['renameat', { preserve: ['hardLinks'], reflink: 'never' }],
  ['copy_file_range', {}],
  ['copy_file_range', { sync: true }],
])(
  '%s fails, and unlinkat as well: each entry that stays is named, %o',
  async ([call, options], context) => {
    needTool(context, 'cc');
    const at = mkdtempSync(join(work, 'unlink-'));
    const [src, dest, log] = [join(at, 'src'), join(at, 'dest'), join(at, 'log')];
    makeFiles(src, { 'd/a': 'new a', 'd/b': 'new b', 'd/new': 'also new' });
    linkSync(join(src, 'd/b'), join(src, 'd/c'));
    makeFiles(dest, { 'd/a': 'old', 'd/b': 'old', 'd/c': 'old' });
    const faults = `${call}:5:1:9999 pwrite64:5:1:9999 unlinkat:5:1:9999`;
    const words = withFaults({ shim, root: at, log, faults });
    const how: CopyOptions = { onError: 'continue', ...options };
    const { result } = await copyInChild({ src, dest, options: how }, words);
    expect(faultLog(log).some((line) => line.startsWith('unlinkat'))).toBe(true);
    const named = new Set(result.errors.map(({ path }) => path));
    const wrong = readdirSync(join(dest, 'd'))
      .map((name) => join(dest, 'd', name))
      .filter((path) => {
        const content = readFileSync(path, 'utf8');
        const name = basename(path);
        const isWhole =
          name === 'new' ? content === 'also new' : content === 'old' || content === `new ${name}`;
        return !isWhole || !['a', 'b', 'c', 'new'].includes(name);
      });
    expect(wrong.length).toBeGreaterThan(0);
    expect(wrong.filter((path) => !named.has(path))).toEqual([]);
  },
);

test('a temporary hard link that never was is not named', async (context) => {
  needTool(context, 'cc');
  const at = mkdtempSync(join(work, 'linkat-'));
  const [src, dest, log] = [join(at, 'src'), join(at, 'dest'), join(at, 'log')];
  makeFiles(src, { a: 'new' });
  linkSync(join(src, 'a'), join(src, 'b'));
  const options: CopyOptions = { preserve: ['hardLinks', 'timestamps'], sync: true };
  await copyTree(src, dest, options);
  rmSync(join(dest, 'b'));
  makeFiles(dest, { b: 'old' });
  // As on a disk that has become read-only.
  const faults = 'linkat:30:1:99:.fastcp- unlinkat:30:1:99:.fastcp-';
  const words = withFaults({ shim, root: at, log, faults });
  const request = { src, dest, options: { ...options, onError: 'continue' as const } };
  const { result } = await copyInChild(request, words);
  expect(faultLog(log).some((line) => line.startsWith('linkat'))).toBe(true);
  expect(readdirSync(dest).sort()).toEqual(['a', 'b']);
  expect(result.errors).toMatchObject([{ path: expect.stringMatching(/src\/[ab]$/) }]);
});

test('a temporary hard link that has its name by now is not named', async (context) => {
  needTool(context, 'cc');
  const at = mkdtempSync(join(work, 'renamed-'));
  const [src, dest, log] = [join(at, 'src'), join(at, 'dest'), join(at, 'log')];
  makeFiles(src, { a: 'new' });
  makeFiles(dest, { a: 'old' });
  const words = withFaults({ shim, root: at, log, faults: 'unlinkat:13:1:99:.fastcp-' });
  const { error } = await copyInChild({ src, dest, options: { hardLink: true } }, words);
  expect(faultLog(log).length).toBeGreaterThan(0);
  expect(error).toBeUndefined();
  expect(readdirSync(dest)).toEqual(['a']);
});

test('a look at the source fails, and the next one at the copy: nothing temporary stays', async (context) => {
  needTool(context, 'cc');
  const at = mkdtempSync(join(work, 'fstat-'));
  const [src, dest, log] = [join(at, 'src'), join(at, 'dest'), join(at, 'log')];
  makeFiles(src, { a: 'new', b: 'new' });
  for (let first = 1; first < 16; first++) {
    makeFiles(dest, { a: 'old', b: 'old' });
    const words = withFaults({ shim, root: at, log, faults: `fstat64:5:${first}:2` });
    const options: CopyOptions = { preserve: true, concurrency: 1, onError: 'continue' };
    await copyInChild({ src, dest, options }, words);
    expect(leftovers(dest), `${first}`).toEqual([]);
  }
  expect(faultLog(log).filter((line) => line.includes('.fastcp-')).length).toBeGreaterThan(1);
});

function writeTable(done: Done[]): void {
  const path = file('../../docs/reliability.md');
  const [begin, end] = ['<!-- faults -->\n', '\n<!-- end of faults -->'];
  const text = readFileSync(path, 'utf8');
  const [before, rest = ''] = text.split(begin);
  const after = rest.slice(rest.indexOf(end));
  writeFileSync(path, `${before}${begin}\n${tableOf(done)}\n${after}`);
}
