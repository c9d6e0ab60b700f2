import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { hasTool, skip, workDirectory } from '../support/work.js';

// What links hold, and names and paths as the kernel of Windows takes them: both are known to files that need
// no Windows. Layouts are those of MS-FSCC 2.1.2.

const root = join(import.meta.dirname, '../..');
const program = join(workDirectory('reparse'), 'reparse');

beforeAll(() => {
  if (!hasTool('g++')) return;
  const sources = ['reparse.cc', 'text.cc'].map((name) =>
    join(root, 'binding/src/platform/win32', name),
  );
  const own = join(import.meta.dirname, 'support/reparse.cc');
  const flags = ['-std=c++20', '-Wall', '-Wextra', '-Werror', `-I${join(root, 'binding/src')}`];
  execFileSync('g++', [...flags, '-o', program, own, ...sources]);
}, 60_000);

const hex = (text: string | Buffer): string => Buffer.from(text as string).toString('hex');
const wide = (text: string): Buffer => Buffer.from(text, 'utf16le');

function ask(...words: (string | number)[]): string {
  return execFileSync(program, { input: `${words.join(' ')}\n`, encoding: 'utf8' }).trimEnd();
}

const number = (bytes: number, value: number): Buffer => {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntLE(value, 0, bytes);
  return buffer;
};

interface Parts {
  tag: number;
  /** Offset and length of the name in use, then of the one to show. */
  offsets: [number, number, number, number];
  flags?: number;
  names: Buffer;
}

function data({ tag, offsets, flags, names }: Parts): string {
  const rest = Buffer.concat([
    ...offsets.map((offset) => number(2, offset)),
    flags === undefined ? Buffer.alloc(0) : number(4, flags),
    names,
  ]);
  return Buffer.concat([number(4, tag), number(2, rest.length), number(2, 0), rest]).toString(
    'hex',
  );
}

const [file, directory, junction] = [0, 1, 2];
const [symlinkTag, mountPointTag] = [0xa000000c, 0xa0000003];

describe('a link holds', () => {
  beforeEach((context) => {
    if (!hasTool('g++')) skip(context, 'g++ is not installed');
  });

  test.each([file, directory])('a relative name, whatever it leads to: kind %i', (kind) => {
    const name = wide('..\\a\\ü');
    const names = Buffer.concat([name, name]);
    expect(ask('make', kind, hex('../a/ü'))).toBe(
      data({ tag: symlinkTag, offsets: [0, 12, 12, 12], flags: 1, names }),
    );
  });

  test('a whole path, with what the kernel has in front', () => {
    const names = wide('\\??\\C:\\xC:\\x');
    expect(ask('make', file, hex('C:/x'))).toBe(
      data({ tag: symlinkTag, offsets: [0, 16, 16, 8], flags: 0, names }),
    );
  });

  test('a path of a server', () => {
    const names = wide('\\??\\UNC\\s\\t\\x\\\\s\\t\\x');
    expect(ask('make', directory, hex('//s/t/x'))).toBe(
      data({ tag: symlinkTag, offsets: [0, 26, 26, 14], flags: 0, names }),
    );
  });

  test('a junction: each name with a zero that is not counted', () => {
    const names = wide('\\??\\C:\\x\0C:\\x\0');
    expect(ask('make', junction, hex('C:/x'))).toBe(
      data({ tag: mountPointTag, offsets: [0, 16, 18, 8], names }),
    );
  });

  test('no relative junction, and no empty link', () => {
    expect(ask('make', junction, hex('x'))).toBe('');
    expect(ask('make', file, hex(Buffer.from([0xff])))).toBe('');
  });

  test('nothing longer than the kernel takes', () => {
    expect(ask('make', file, hex('x'.repeat(4000)))).not.toBe('');
    expect(ask('make', file, hex('x'.repeat(5000)))).toBe('');
  });
});

describe('the text of a link', () => {
  beforeEach((context) => {
    if (!hasTool('g++')) skip(context, 'g++ is not installed');
  });

  test('as mklink writes it: the name to show comes first', () => {
    const names = wide('C:\\x\\??\\C:\\x');
    const made = data({ tag: symlinkTag, offsets: [8, 16, 0, 8], flags: 0, names });
    expect(ask('read', made)).toBe(hex('C:/x'));
  });

  test.each([
    'a',
    '../a/b',
    '/from the root of the drive',
    'C:/',
    'C:/directory/😀',
    '//server/share/directory',
    '//?/Volume{01234567-89ab-cdef-0123-456789abcdef}/',
  ])('%s, there and back', (text) => {
    const kinds = /^\w:|^\/\//.test(text) ? [file, directory, junction] : [file, directory];
    for (const kind of kinds) expect(ask('read', ask('make', kind, hex(text)))).toBe(hex(text));
  });

  test.each([
    ['nothing', ''],
    [
      'of another tag',
      data({ tag: 0x80000017, offsets: [0, 2, 2, 2], flags: 0, names: wide('aa') }),
    ],
    [
      'beyond its end',
      data({ tag: symlinkTag, offsets: [2, 200, 0, 2], flags: 1, names: wide('aa') }),
    ],
    [
      'half a character',
      data({ tag: symlinkTag, offsets: [0, 3, 0, 2], flags: 1, names: wide('aa') }),
    ],
  ])('none: %s', (_, damaged) => {
    expect(ask('read', damaged || '00')).toBe('');
  });
});

describe('names and paths', () => {
  beforeEach((context) => {
    if (!hasTool('g++')) skip(context, 'g++ is not installed');
  });

  test.each([
    ['C:/', '\\??\\C:\\'],
    ['C:/directory/', '\\??\\C:\\directory'],
    ['//server/share/x', '\\??\\UNC\\server\\share\\x'],
    ['//?/C:/x', '\\??\\C:\\x'],
    ['//./C:/x', '\\??\\C:\\x'],
  ])('%s is %s', (given, kernel) => {
    expect(ask('path', hex(given))).toBe(`valid ${hex(kernel)}`);
  });

  test.each(['a', 'ü', '日本', '😀', 'CON', 'a.', 'a?'])('a name: %s', (name) => {
    expect(ask('name', hex(name))).toBe(`valid ${hex(name)}`);
  });

  test('half of a surrogate pair stays what it is', () => {
    const lone = Buffer.from([0x61, 0xed, 0xa0, 0x80, 0x62]);
    expect(ask('name', hex(lone))).toBe(`valid ${hex(lone)}`);
  });

  test.each([
    ['a stream', 'file:stream'],
    ['a path', 'a/b'],
    ['another path', 'a\\b'],
    ['not UTF-8', Buffer.from([0x61, 0xff])],
    ['cut off', Buffer.from([0xe6, 0x97])],
    ['longer than it need be', Buffer.from([0xc0, 0xaf])],
    ['beyond Unicode', Buffer.from([0xf4, 0x90, 0x80, 0x80])],
  ])('no name: %s', (_, name) => {
    expect(ask('name', hex(name))).toMatch(/^refused/);
  });
});
