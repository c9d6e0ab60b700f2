import { expect, test } from 'vitest';
import { withWorkloads } from '../../bench/compare.js';
import type { BenchmarkResult } from '../../bench/results.js';
import { judge, judgeAll } from '../../bench/targets.js';
import { benchmarkResult, trial } from './support/results.js';

const linesOf = (...results: BenchmarkResult[]): string[] => {
  const all = withWorkloads(results);
  return [...all.flatMap((one) => judge(one, all)), ...judgeAll(all)].map(
    ({ tool, text, met }) => `${tool} ${met ? 'met' : 'MISSED'} ${text}`,
  );
};

const corpus = (times: Record<string, number[]>) => benchmarkResult('corpus/tmpfs', times);
const usual = { fastcp: [1100, 1000, 1200], node: [60], cpz: [1040], cp: [4000], floor: [1000] };

test('against the fastest peer', () => {
  const what = 'the fastest peer, ratio';
  expect(linesOf(corpus(usual))[0]).toBe(`cpz met ${what}: 1.00 x, wanted 1.00 x or more`);
  const slower = corpus({ ...usual, fastcp: [1200] });
  expect(linesOf(slower)[0]).toBe(`cpz MISSED ${what}: 0.92 x, wanted 1.00 x or more`);
});

test('nothing is judged if nothing was measured', () => {
  expect(linesOf(corpus({ fastcp: [1], node: [1] }))).toEqual([]);
});

test("CPU time without Node's start, compared with floor's", () => {
  expect(linesOf(corpus(usual))[1]).toMatch(
    /^fastcp met \(CPU .*: 1\.040 x, wanted 1\.040 x or less$/,
  );
});

test('library benchmarks compare the times inside the process', () => {
  const benchmark = benchmarkResult('library-small/tmpfs', {});
  benchmark.trials['fastcp-library'] = [trial(500, { inProcessMs: 4 })];
  benchmark.trials['node26-cp'] = [trial(90, { inProcessMs: 6 })];
  expect(linesOf(benchmark)).toEqual(['node26-cp MISSED ratio: 1.50 x, wanted 2.00 x or more']);
});

test('time above the start of Node', () => {
  const benchmark = benchmarkResult('hundred/tmpfs', { fastcp: [73.5], node: [60] });
  expect(linesOf(benchmark)).toEqual([
    'fastcp met time above node -e 0: 13.5 ms, wanted 15.0 ms or less',
  ]);
});

test('peak memory is the highest of all trials', () => {
  const benchmark = benchmarkResult('empty-2m/tmpfs', {});
  benchmark.trials.fastcp = [100_000, 200_000].map((peakKiB) => trial(1, { peakKiB }));
  expect(linesOf(benchmark)).toEqual(['fastcp MISSED peak memory: 205 MB, wanted 150 MB or less']);
});

test('durationMs comes from the result of the library', () => {
  const benchmark = benchmarkResult('large-clone/xfs', {});
  benchmark.trials['fastcp-library'] = [trial(90, { durationMs: 2.5 })];
  expect(linesOf(benchmark)).toEqual([
    'fastcp-library met durationMs: 2.5 ms, wanted 10.0 ms or less',
  ]);
});

test('time per file, in that of a benchmark with fewer files', () => {
  const few = benchmarkResult('empty-100k/tmpfs', { fastcp: [1060], node: [60] });
  const many = benchmarkResult('empty-2m/tmpfs', { fastcp: [26_060], node: [60] });
  many.tree.files = 20 * few.tree.files;
  expect(linesOf(few, many)[1]).toMatch(/^fastcp MISSED time per file, .*: 1\.30 x, wanted 1\.20/);
});

test('over all benchmarks: how many are ahead, and the geometric mean', () => {
  const benchmark = (id: string, fastcp: number) =>
    benchmarkResult(id, { fastcp: [fastcp], cpz: [1000] });
  const lines = linesOf(
    benchmark('corpus/tmpfs', 500),
    benchmark('corpus/ext4', 800),
    benchmark('corpus/xfs', 1250),
    // A benchmark without a target against a peer counts also.
    benchmarkResult('hundred/tmpfs', { fastcp: [90], node: [60], cp: [3] }),
  );
  const [ahead, mean] = lines.slice(-2);
  expect(ahead).toMatch(/^the fastest peer met .* 3 benchmarks of corpus: 2, wanted 2 or more$/);
  expect(mean).toMatch(
    /MISSED geometric mean .* 4 benchmarks .*: 1\.09 x, wanted 1\.15 x or more$/,
  );
});
