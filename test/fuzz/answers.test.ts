import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createJobHere, type NativeJob, type NativeRoot } from '../../lib/bridge/native.js';
import { copyTree } from '../../lib/index.js';
import { checkRequest } from '../../lib/request/options.js';
import { textOf } from '../../lib/selection/verdict.js';
import type { FilterEntry } from '../../lib/types.js';
import type { Random } from '../selection/support/random.js';
import { byEntry } from '../support/filter.js';
import { seed } from '../support/form.js';
import { removeTree, workDirectory } from '../support/work.js';
import { fuzz, several, times } from './support/fuzz.js';

// What passes between the engine and JavaScript: listings with names of any bytes, and answers that nobody should
// give. These are errors, and never the end of the process.

const work = workDirectory('fuzz-answers');
const inBytes = (name: string): Buffer => Buffer.from(name, 'latin1');
const at = (directory: string, name: string): Buffer =>
  Buffer.concat([Buffer.from(`${directory}/`), inBytes(name)]);

function randomName(random: Random): string {
  const codes = several(random, random.chance(10) ? 250 : 6, () => 1 + random.below(255));
  const name = String.fromCharCode(...codes).replaceAll('/', '\n');
  return name === '' || /^\.\.?$/.test(name) ? 'a' : name;
}

/** Files, and directories with a file, whose names end in a slash. */
async function makeTree(directory: string, names: readonly string[]): Promise<void> {
  await mkdir(directory);
  for (const name of names) {
    if (name.endsWith('/')) await mkdir(at(directory, name), { recursive: true });
    writeFileSync(at(directory, name.endsWith('/') ? `${name}file` : name), name);
  }
}

const distinct = (names: string[]): string[] => [
  ...new Map(names.map((name) => [name.replace(/\/$/, ''), name])).values(),
];

const entriesOf = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, encoding: 'latin1' }).sort();

let made = 0;

test(`listings of any names, seed ${seed}`, { timeout: 600_000 }, () =>
  fuzz(
    times(30),
    (random) => distinct(several(random, 40, () => randomName(random) + random.pick(['', '/']))),
    async (names) => {
      const src = join(work, `${made++}`);
      const dest = join(work, `${made++}`);
      await makeTree(src, names);
      // The same in both directories, whatever it is.
      const goes = (name: string): boolean => name.charCodeAt(name.length - 1) % 3 > 0;
      const filter = ({ name }: FilterEntry): boolean => goes(name);
      await copyTree(src, dest, { filter: byEntry(filter) });
      const wanted = entriesOf(src).filter((path) =>
        path.split('/').every((name) => goes(textOf(name))),
      );
      const copied = entriesOf(dest);
      removeTree(src);
      removeTree(dest);
      return JSON.stringify(copied) === JSON.stringify(wanted)
        ? undefined
        : `copied: ${JSON.stringify(copied)}`;
    },
  ),
);

/** Arguments of answer(), most of them wrong in some way. */
function randomAnswer(random: Random, entries: number): unknown[] {
  const size = random.chance(70) ? entries : random.below(2 * entries + 2);
  const bytes = (most: number) => Uint8Array.from({ length: size }, () => random.below(most));
  const verdicts = random.pick<() => unknown>([
    () => bytes(4),
    () => bytes(256),
    () => Buffer.from(bytes(3)),
    () => new Uint8ClampedArray(size),
    () => new Float64Array(size),
    () => new Uint16Array(size),
    () => new DataView(new ArrayBuffer(size)),
    () => new ArrayBuffer(size),
    () => detached(size),
    () => Array.from(bytes(4)),
    () => random.pick([undefined, null, 0, '', 'aaa', {}, Symbol('a'), () => {}]),
  ])();
  const count = random.below(entries + 2);
  const scopes = random.pick<() => unknown>([
    () => new Uint32Array(count).fill(7),
    () => new Uint32Array(count).fill(7),
    () => new Int32Array(count),
    () => new Uint8Array(count),
    () => new BigUint64Array(count),
    () => random.pick([undefined, null, [], '', {}]),
  ])();
  return [
    random.pick<unknown>([1, 1, 1, 1, 0, 2, -1, 2 ** 32 + 1, Number.NaN, '1', null, {}]),
    verdicts,
    scopes,
  ];
}

/** A root about whose entries the engine asks. */
const askedRoot = (src: string, dest: string): NativeRoot => ({
  ...{ src: Buffer.from(src), dest: Buffer.from(dest), scope: 1 },
  ...{ followSrc: false, followDest: true, remove: false },
});

function detached(size: number): Uint8Array {
  const array = new Uint8Array(size);
  structuredClone(array.buffer, { transfer: [array.buffer] });
  return array;
}

test(`answers of anything, seed ${seed}`, { timeout: 600_000 }, async () => {
  const src = join(work, 'questions');
  const names = ['a', 'b', 'c', 'd/', 'e/', 'f/', 'g\n', '\xff'];
  await makeTree(src, names);
  const wanted = entriesOf(src);
  const request = checkRequest(src, work, {});
  let taken = 0;
  await fuzz(
    times(200),
    (random) => several(random, 4, () => randomAnswer(random, names.length)),
    (answers) => {
      const dest = join(work, `${made++}`);
      const job = createJobHere({ roots: [askedRoot(src, dest)] }, request);
      job.work();
      expect(job.takeQuestions(1 << 20).readUInt32LE(8)).toBe(names.length);
      try {
        for (const answer of answers) {
          try {
            job.answer(...(answer as Parameters<NativeJob['answer']>));
            taken++;
          } catch (error) {
            if (!(error instanceof Error) || error.message === '') return error;
          }
        }
        job.work();
        job.takeQuestions(0);
        job.stop();
        job.work();
        if (!existsSync(dest)) return undefined;
        const more = entriesOf(dest).filter((path) => !wanted.includes(path));
        return more.length > 0 ? `copied: ${more}` : undefined;
      } finally {
        removeTree(dest);
      }
    },
  );
  expect(taken).toBeGreaterThan(0);
});

test('a verdict of no meaning is refused, for a directory too', async () => {
  const [src, dest] = [join(work, 'one question'), join(work, `${made++}`)];
  await makeTree(src, ['d/']);
  const request = checkRequest(src, dest, {});
  const job = createJobHere({ roots: [askedRoot(src, dest)] }, request);
  job.work();
  const id = job.takeQuestions(1 << 20).readUInt32LE(0);
  expect(() => job.answer(id, Uint8Array.of(4), new Uint32Array())).toThrow('does not fit');
  job.stop();
  job.work();
});
