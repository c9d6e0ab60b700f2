import { describe, expect, test } from 'vitest';
import {
  bytes,
  clock,
  count,
  duration,
  escapeControls,
  quoteName,
  toJsonLine,
} from '../../bin/format.js';

test.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [999, '999 bytes'],
  [1000, '1.00 kB'],
  [12_345, '12.3 kB'],
  [999_400, '999 kB'],
  [999_600, '1.00 MB'],
  [1_330_000_000, '1.33 GB'],
  [5e18, '5000 PB'],
])('bytes %d: %s', (value, expected) => expect(bytes(value)).toBe(expected));

test.each([
  [0, '0 ms'],
  [45.4, '45 ms'],
  [999.7, '1.0 s'],
  [2900, '2.9 s'],
  [59_990, '0:59 min'],
  [185_000, '3:05 min'],
  [3_723_000, '1:02:03 h'],
])('duration %d: %s', (value, expected) => expect(duration(value)).toBe(expected));

test.each([
  [0, '0:00'],
  [61_500, '1:01'],
  [36_000_000, '10:00:00'],
])('clock %d: %s', (value, expected) => expect(clock(value)).toBe(expected));

test.each([
  [0, '0 files'],
  [1, '1 file'],
  [1234, '1,234 files'],
])('count %d: %s', (value, expected) => expect(count(value, 'file')).toBe(expected));

describe('names on a terminal', () => {
  test.each([
    ['plain name', 'plain name'],
    ['übergroß 文件', 'übergroß 文件'],
    ["it's", "it's"],
    ['a\nb', "$'a\\nb'"],
    ['\u001b[31mred', "$'\\u001b[31mred'"],
    ['\u009b31m', "$'\\u009b31m'"],
    ['\u202egnp.exe', "$'\\u202egnp.exe'"],
    ["a\t'b\\", "$'a\\t\\'b\\\\'"],
  ])('%j', (name, expected) => expect(quoteName(name)).toBe(expected));

  test('in a message', () => {
    expect(escapeControls("open 'a\r\u001b'")).toBe("open 'a\\r\\u001b'");
  });

  test('in JSON, which stays what it was', () => {
    const value = { path: 'a\n\u007f\u009b\u202e"\\' };
    const line = toJsonLine(value);
    expect(line).toMatch(/^[ -~]+$/);
    expect(JSON.parse(line)).toEqual(value);
  });
});
