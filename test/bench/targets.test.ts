import { describe, expect, test } from 'vitest';
import type { BenchmarkResult } from '../../bench/results.js';
import { judge } from '../../bench/targets.js';
import { benchmarkResult, trial } from './support/results.js';

const verdictOf = (what: string, ...results: BenchmarkResult[]) =>
  judge(results).find((verdict) => verdict.what.includes(what));

const corpus = (times: Record<string, number[]>) => benchmarkResult('corpus/tmpfs', times);
const usual = { fastcp: [1100, 1000, 1200], node: [60], cpz: [1040], cp: [4000], floor: [1000] };

describe('as fast as the fastest peer', () => {
  test('a command of its own is given what Node takes to start', () => {
    expect(verdictOf('the fastest peer, cpz', corpus(usual))).toMatchObject({
      benchmark: 'corpus/tmpfs',
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
    const benchmark = corpus({ ...usual, fcp: [5], xcp: [6] });
    benchmark.trials.fcp = [trial(5, { flaw: '0 files instead of 1000' })];
    benchmark.trials.xcp = [trial(6, { failed: 'exit code 1' })];
    expect(verdictOf('the fastest peer, cpz', benchmark)).toMatchObject({ found: '1.00 x' });
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

test('library benchmarks compare what they measured inside', () => {
  const benchmark = benchmarkResult('library-small/tmpfs', {});
  benchmark.trials['fastcp-library'] = [trial(500, { inProcessMs: 4 })];
  benchmark.trials['node26-cp'] = [trial(90, { inProcessMs: 6 })];
  expect(verdictOf('Node 26', benchmark)).toMatchObject({ found: '1.50 x', met: false });
});

test('time above the start of Node', () => {
  const benchmark = benchmarkResult('hundred/tmpfs', { fastcp: [88.5], node: [60] });
  expect(verdictOf('above node -e 0', benchmark)).toMatchObject({ found: '28.5 ms', met: true });
});

test('peak memory is the highest of all trials', () => {
  const benchmark = benchmarkResult('empty-2m/tmpfs', { node: [60] });
  benchmark.trials.fastcp = [100_000, 200_000].map((peakKiB) => trial(1, { peakKiB }));
  expect(verdictOf('peak memory', benchmark)).toMatchObject({ found: '205 MB', met: false });
});

test('durationMs comes from the result of the library', () => {
  const benchmark = benchmarkResult('large-clone/xfs', {});
  benchmark.trials['fastcp-library'] = [trial(90, { durationMs: 2.5 })];
  expect(verdictOf('durationMs', benchmark)).toMatchObject({ found: '2.5 ms', met: true });
});

test('time per file, in that of a benchmark with fewer files', () => {
  const few = benchmarkResult('empty-100k/tmpfs', { fastcp: [1060], node: [60] });
  const many = benchmarkResult('empty-2m/tmpfs', { fastcp: [26_060], node: [60] });
  many.tree.files = 20 * few.tree.files;
  expect(verdictOf('per file', few, many)).toMatchObject({ found: '1.30 x', met: false });
});

test('over all benchmarks: how many are ahead, and the geometric mean', () => {
  const benchmark = (id: string, fastcp: number) =>
    benchmarkResult(id, { fastcp: [fastcp], cpz: [1000] });
  const benchmarks = [
    benchmark('corpus/tmpfs', 500),
    benchmark('corpus/ext4', 800),
    benchmark('corpus/xfs', 1250),
  ];
  // Benchmarks that name no peer do not count.
  benchmarks.push(benchmarkResult('hundred/tmpfs', { fastcp: [90], node: [60], cp: [3] }));
  expect(verdictOf('ahead of', ...benchmarks)).toMatchObject({
    benchmark: '3 x corpus',
    found: '2',
    met: true,
  });
  expect(verdictOf('geometric mean', ...benchmarks)).toMatchObject({
    benchmark: '3 races',
    found: '1.26 x',
    met: true,
  });
});
