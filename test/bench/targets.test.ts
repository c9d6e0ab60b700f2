import { describe, expect, test } from 'vitest';
import type { RowResult } from '../../bench/results.js';
import { judge } from '../../bench/targets.js';
import { rowResult, trial } from './support/results.js';

const verdictOf = (what: string, ...results: RowResult[]) =>
  judge(results).find((verdict) => verdict.what.includes(what));

const corpus = (times: Record<string, number[]>) => rowResult('corpus/tmpfs', times);
const usual = { fastcp: [1100, 1000, 1200], node: [60], cpz: [1040], cp: [4000], floor: [1000] };

describe('as fast as the fastest peer', () => {
  test('a command of its own is given what Node takes to start', () => {
    expect(verdictOf('the fastest peer, cpz', corpus(usual))).toMatchObject({
      row: 'corpus/tmpfs',
      found: '1.00 x',
      met: true,
    });
  });

  test('missed', () => {
    const slower = corpus({ ...usual, fastcp: [1200] });
    expect(verdictOf('the fastest peer, cpz', slower)).toMatchObject({
      found: '0.92 x',
      met: false,
    });
  });

  test('who copies wrong, or fails, is not the fastest', () => {
    const row = corpus({ ...usual, fcp: [5], xcp: [6] });
    row.trials.fcp = [trial(5, { flaw: '0 files instead of 1000' })];
    row.trials.xcp = [trial(6, { failed: 'exit code 1' })];
    expect(verdictOf('the fastest peer, cpz', row)).toMatchObject({ found: '1.00 x' });
  });

  test('nothing is found where nothing was measured', () => {
    const verdict = verdictOf('the fastest peer', corpus({ fastcp: [1], node: [1] }));
    expect(verdict).toHaveProperty('wanted');
    expect(verdict).not.toHaveProperty('met');
  });
});

test("CPU time, less Node's start, in floor's", () => {
  expect(verdictOf('CPU', corpus(usual))).toMatchObject({ found: '1.04 x', met: true });
});

test('library rows compare what they measured inside', () => {
  const row = rowResult('library-small/tmpfs', {});
  row.trials['fastcp-library'] = [trial(500, { inProcessMs: 4 })];
  row.trials['node26-cp'] = [trial(90, { inProcessMs: 6 })];
  expect(verdictOf('Node 26', row)).toMatchObject({ found: '1.50 x', met: false });
});

test('time above the start of Node', () => {
  const row = rowResult('hundred/tmpfs', { fastcp: [88.5], node: [60] });
  expect(verdictOf('above node -e 0', row)).toMatchObject({ found: '28.5 ms', met: true });
});

test('peak memory is the highest of all trials', () => {
  const row = rowResult('empty-2m/tmpfs', { node: [60] });
  row.trials.fastcp = [100_000, 200_000].map((peakKiB) => trial(1, { peakKiB }));
  expect(verdictOf('peak memory', row)).toMatchObject({ found: '205 MB', met: false });
});

test('durationMs comes from the result of the library', () => {
  const row = rowResult('large-clone/xfs', {});
  row.trials['fastcp-library'] = [trial(90, { durationMs: 2.5 })];
  expect(verdictOf('durationMs', row)).toMatchObject({ found: '2.5 ms', met: true });
});

test('time per file, in that of a row with fewer files', () => {
  const few = rowResult('empty-100k/tmpfs', { fastcp: [1060], node: [60] });
  const many = rowResult('empty-2m/tmpfs', { fastcp: [26_060], node: [60] });
  many.tree.files = 20 * few.tree.files;
  expect(verdictOf('per file', few, many)).toMatchObject({ found: '1.30 x', met: false });
});

test('over all rows: how many are ahead, and the geometric mean', () => {
  const row = (id: string, fastcp: number) => rowResult(id, { fastcp: [fastcp], cpz: [1000] });
  const rows = [row('corpus/tmpfs', 500), row('corpus/ext4', 800), row('corpus/xfs', 1250)];
  // Rows that name no peer do not count.
  rows.push(rowResult('hundred/tmpfs', { fastcp: [90], node: [60], cp: [3] }));
  expect(verdictOf('ahead of', ...rows)).toMatchObject({
    row: '3 x corpus',
    found: '2',
    met: true,
  });
  expect(verdictOf('geometric mean', ...rows)).toMatchObject({
    row: '3 races',
    found: '1.26 x',
    met: true,
  });
});
