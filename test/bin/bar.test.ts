import { describe, expect, test } from 'vitest';
import { progressLine } from '../../bin/bar.js';
import { resultWith } from './support/result.js';

const state = resultWith({
  scanned: 1_200_000,
  files: 1_000_000,
  directories: 99_000,
  skipped: 1_000,
  bytes: 12_345_678_900,
  durationMs: 25_000,
});

describe('the progress line', () => {
  test.each([
    [
      200,
      '[============================--]  1,100,000/1,200,000 found  12.3 GB  0:25  40,000 files/s  494 MB/s',
    ],
    [80, '[========-]  1,100,000/1,200,000 found  12.3 GB  0:25  40,000 files/s  494 MB/s'],
    [60, '1,100,000/1,200,000 found  12.3 GB  0:25  40,000 files/s'],
    [40, '1,100,000/1,200,000 found  12.3 GB'],
    [20, '1,100,000/1,200,000'],
    [0, ''],
  ])('at %d columns', (width, expected) => {
    expect(progressLine(state, width)).toBe(expected);
  });

  test('never wraps', () => {
    for (let width = 1; width < 120; width++) {
      expect(progressLine(state, width).length).toBeLessThan(width);
    }
  });

  test('before anything was found', () => {
    expect(progressLine(resultWith(), 80)).toMatch(/^\[-+\] {2}0\/0 found/);
  });
});
