import { expect, test } from 'vitest';
import { geometricMean, median, ratio, spread } from '../../bench/statistics.js';

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

test('a spread has median, least and most', () => {
  expect(spread([5, 1, 3])).toEqual({ median: 3, least: 1, most: 5 });
});

test('a ratio is of the medians, its range is of the rounds', () => {
  expect(ratio([10, 40, 20], [10, 10, 5])).toEqual({ median: 2, least: 1, most: 4 });
});

test('one trial stands for all rounds', () => {
  expect(ratio([12], [4, 3, 6])).toEqual({ median: 3, least: 2, most: 4 });
});

test('the geometric mean', () => {
  expect(geometricMean([2, 8])).toBeCloseTo(4);
});
