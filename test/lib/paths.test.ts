import { describe, expect, test } from 'vitest';
import {
  baseName,
  directoryOf,
  endsInSlash,
  isAbsolute,
  join,
  pathBytes,
  trimSlashes,
} from '../../lib/paths.js';

const notUtf8 = Buffer.from([0x2f, 0xff, 0xfe, 0x2f, 0x80]);

describe('pathBytes', () => {
  test.each([
    ['a string', 'é/文', Buffer.from('é/文')],
    ['a Buffer', notUtf8, notUtf8],
    ['a Uint8Array', new Uint8Array([0x61, 0xff]), Buffer.from([0x61, 0xff])],
    ['a file URL', new URL('file:///a%20b/%C3%A9'), Buffer.from('/a b/é')],
    ['dots and slashes, as they are', './a/../b//', Buffer.from('./a/../b//')],
  ])('%s', (_, value, expected) => {
    expect(pathBytes(value, 'src').equals(expected)).toBe(true);
  });

  test('copies what may change', () => {
    const given = Buffer.from('/a');
    const bytes = pathBytes(given, 'src');
    given.fill('x');
    expect(bytes.toString()).toBe('/a');
  });
});

test.each([
  ['/', true, true],
  ['/a', true, false],
  ['a/', false, true],
  ['./a', false, false],
  ['a//', false, true],
])('isAbsolute and endsInSlash of %s', (path, absolute, ends) => {
  expect(isAbsolute(Buffer.from(path))).toBe(absolute);
  expect(endsInSlash(Buffer.from(path))).toBe(ends);
});

test.each([
  ['/', '/', '', '/'],
  ['//', '/', '', '/'],
  ['/a', '/a', 'a', '/'],
  ['/a/', '/a', 'a', '/'],
  ['/a///', '/a', 'a', '/'],
  ['/a/b', '/a/b', 'b', '/a'],
  ['/a//b', '/a//b', 'b', '/a'],
  ['/a/b//', '/a/b', 'b', '/a'],
  ['/a/..', '/a/..', '..', '/a'],
])('trimSlashes, baseName and directoryOf of %s', (path, trimmed, base, directory) => {
  const bytes = Buffer.from(path);
  expect(trimSlashes(bytes).toString()).toBe(trimmed);
  expect(baseName(bytes).toString()).toBe(base);
  expect(directoryOf(bytes).toString()).toBe(directory);
});

test.each([
  ['a', 'a'],
  ['a/', 'a'],
  ['.', '.'],
])('baseName of %s, which is relative', (path, expected) => {
  expect(baseName(Buffer.from(path)).toString()).toBe(expected);
});

test('names that are not UTF-8 stay as they are', () => {
  expect(baseName(notUtf8)).toEqual(Buffer.from([0x80]));
  expect(directoryOf(notUtf8)).toEqual(Buffer.from([0x2f, 0xff, 0xfe]));
  expect(join(directoryOf(notUtf8), baseName(notUtf8))).toEqual(notUtf8);
});

test.each([
  ['/', 'a', '/a'],
  ['/a', 'b', '/a/b'],
  ['/a/', 'b', '/a/b'],
  ['a', '../b', 'a/../b'],
])('join %s and %s', (directory, name, expected) => {
  expect(join(Buffer.from(directory), Buffer.from(name)).toString()).toBe(expected);
});
