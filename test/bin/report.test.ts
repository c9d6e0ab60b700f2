import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { Output } from '../../bin/output.js';
import {
  createTextReport,
  incomplete,
  type Outcome,
  stateAfterAtomic,
  summary,
  wouldCopy,
} from '../../bin/report.js';
import type { CopyErrorLike, EntryEvent } from '../../lib/types.js';
import { resultWith } from './support/result.js';

const monorepo = resultWith({
  files: 137_470,
  directories: 11_741,
  symlinks: 89,
  bytes: 1_330_000_000,
  methods: { clone: 0, copyFileRange: 137_000, readWrite: 470 },
  durationMs: 2_900,
});

describe('summary', () => {
  test.each([
    [
      'a monorepo',
      monorepo,
      'Copied 137,470 files, 11,741 directories, 89 symlinks, 1.33 GB in 2.9 s',
    ],
    ['nothing', resultWith({ durationMs: 3 }), 'Copied nothing in 3 ms'],
    ['a snapshot', resultWith({ snapshots: 1, durationMs: 5 }), 'Copied 1 snapshot in 5 ms'],
    [
      'one of each',
      resultWith({
        files: 1,
        directories: 1,
        symlinks: 1,
        special: 1,
        hardLinks: 1,
        bytes: 1,
        methods: { clone: 1, copyFileRange: 0, readWrite: 0 },
      }),
      'Copied 1 file, 1 directory, 1 symlink, 1 special file, 1 hard link, 1 byte in 0 ms',
    ],
    [
      'what was left',
      resultWith({ unchanged: 3, skipped: 5, deleted: 2, errorCount: 1_234 }),
      'Copied nothing in 0 ms; 2 deleted, 3 unchanged, 5 skipped, 1,234 errors',
    ],
    [
      'nothing to do',
      resultWith({ scanned: 120_980, unchanged: 120_979, durationMs: 400 }),
      'Up to date: 120,979 entries unchanged (400 ms)',
    ],
    [
      'many files per second',
      resultWith({ files: 9_000, bytes: 9_000, durationMs: 2_000 }),
      'Copied 9,000 files, 9.00 kB in 2.0 s (4,500 files/s)',
    ],
    [
      'a large file',
      resultWith({ files: 1, bytes: 4e9, durationMs: 2_000 }),
      'Copied 1 file, 4.00 GB in 2.0 s (2.00 GB/s)',
    ],
  ])('%s', (name, result, expected) => {
    expect(summary(result)).toBe(expected);
    if (name !== 'one of each') expect(expected.length).toBeLessThanOrEqual(80);
  });

  test('with the methods', () => {
    expect(summary(monorepo, true)).toBe(
      'Copied 137,470 files, 11,741 directories, 89 symlinks, 1.33 GB in 2.9 s: ' +
        '137,000 by copy_file_range, 470 read and written',
    );
  });
});

test('a dry run says what would be', () => {
  expect(wouldCopy(resultWith({ files: 2, directories: 1, bytes: 10, skipped: 1 }))).toBe(
    'Would copy 2 files, 1 directory, 10 bytes; 1 skipped',
  );
});

describe('a copy that did not end', () => {
  test.each<[Outcome, number, string | undefined, string | undefined]>([
    ['interrupted', 1_234, 'dest', 'interrupted: 1,234 files copied, dest may be incomplete'],
    ['interrupted', 0, 'dest', 'interrupted: nothing was copied'],
    ['interrupted', 5, undefined, 'interrupted'],
    ['failed', 1, 'de\nst', "stopped: 1 file copied, $'de\\nst' may be incomplete"],
    ['failed', 0, 'dest', undefined],
    ['failed', 5, undefined, undefined],
  ])('%s after %d files, DEST %s', (outcome, files, dest, expected) => {
    expect(incomplete(resultWith({ files }), outcome, dest)).toBe(expected);
  });
});

describe('an atomic copy that did not end as it should', () => {
  const here = import.meta.dirname;
  test.each<[Outcome, boolean | undefined, string, string | undefined]>([
    ['done', true, here, undefined],
    ['failed', undefined, here, undefined],
    ['failed', false, here, `not complete: ${here} was left as it was`],
    ['failed', false, '/nowhere', 'not complete: /nowhere was not created'],
    ['failed', true, here, `${here} was replaced`],
    ['interrupted', undefined, here, `interrupted: ${here} was left as it was`],
    ['interrupted', undefined, '/nowhere', 'interrupted: /nowhere was not created'],
    ['interrupted', false, here, `interrupted: ${here} was left as it was`],
    ['interrupted', true, here, `${here} was replaced`],
  ])('%s, replaced: %s, DEST %s', (outcome, replaced, dest, expected) => {
    const result = { ...resultWith({}), ...(replaced !== undefined && { replaced }) };
    expect(stateAfterAtomic(result, outcome, dest)).toBe(expected);
  });
});

test('the last words are the last on a terminal', async () => {
  const screen = new PassThrough({ encoding: 'utf8' });
  const output = (): Output => new Output(() => screen, new AbortController().signal);
  const report = createTextReport(
    {
      sources: ['src'],
      dest: 'dest',
      copy: {},
      compare: false,
      output: { json: false, quiet: false, entries: true, all: false, progress: false },
    },
    output(),
    output(),
    { update() {}, clear() {}, stop() {} },
  );
  const entry = (path: string): EntryEvent =>
    ({ type: 'entry', action: 'copy', kind: 'file', path, dest: path }) as EntryEvent;
  const error = { code: 'EIO', message: 'EIO: no luck' } as CopyErrorLike;
  await report.event(entry('a'));
  await report.event({ type: 'error', error });
  await new Promise(setImmediate);
  await report.event(entry('b'));
  await report.end(resultWith({ files: 2, errorCount: 1, errors: [error] }), 'interrupted', 130);
  expect(screen.read().split('\n')).toEqual([
    expect.stringMatching(/^fastcp: EIO/), // does not wait for a reader of the entries
    'copy a -> a',
    'copy b -> b',
    'fastcp: interrupted: 2 files copied, dest may be incomplete',
    '',
  ]);
});
