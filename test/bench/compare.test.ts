import { expect, test } from 'vitest';
import {
  fastestOf,
  geometricMean,
  type Measured,
  median,
  ratioOf,
  withWorkloads,
} from '../../bench/compare.js';
import { benchmarkResult, trial } from './support/results.js';

test.each([
  [[3], 3],
  [[1, 2], 1.5],
  [[9, 1, 5], 5],
  [[4, 1, 3, 2], 2.5],
])('the median of %j', (values, expected) => {
  expect(median(values)).toBe(expected);
});

test('there is no median of nothing', () => {
  expect(() => median([])).toThrow(RangeError);
});

test('the geometric mean', () => {
  expect(geometricMean([2, 8])).toBeCloseTo(4);
});

const measured = (...args: Parameters<typeof benchmarkResult>): Measured =>
  withWorkloads([benchmarkResult(...args)])[0] as Measured;

test("a ratio is of medians, and gives Node's start to native commands alone", () => {
  const command = { fastcp: [100, 400, 200], node: [50], cp: [350, 9000, 10], floor: [150] };
  const corpus = measured('corpus/ext4', command);
  expect(ratioOf(corpus, 'cp')).toBe(2);
  expect(ratioOf(corpus, 'floor')).toBe(1);
  expect(ratioOf(corpus, 'xcp')).toBeUndefined();
  const library = measured('library-small/tmpfs', { 'fastcp-library': [2], 'node-cp': [6] });
  expect(ratioOf(library, 'node-cp')).toBe(3);
});

test('a peer that fails, or copies something else, is not the fastest', () => {
  const corpus = measured('corpus/ext4', { fastcp: [1], floor: [2], cp: [9], cpz: [8] });
  corpus.result.trials.fcp = [trial(5, { flaw: '0 files instead of 1000' })];
  corpus.result.trials.xcp = [trial(6, { failed: 'exit code 1' })];
  expect(fastestOf(corpus)).toBe('cpz');
});

test('results of benchmarks that no longer exist are dropped', () => {
  expect(withWorkloads([benchmarkResult('corpus/vfat', {})])).toEqual([]);
});
