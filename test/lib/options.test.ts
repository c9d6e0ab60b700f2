import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeEach, describe, expect, test } from 'vitest';
import { copyTree } from '../../lib/index.js';
import type { CopyOptions, PathLike } from '../../lib/types.js';
import { workDirectory } from '../support/big-tree.js';

const cwd = workDirectory();
const src = join(cwd, 'src');
let dest: string;
let made = 0;

beforeEach(() => {
  dest = join(cwd, `dest-${made++}`);
  mkdirSync(src, { recursive: true });
  writeFileSync(join(src, 'file'), 'content');
});

interface Thrown extends Error {
  code: string;
}

/** What the call throws, then and there: a job that rejects would not do. */
function thrownBy(...args: unknown[]): Thrown {
  try {
    (copyTree as (...args: unknown[]) => Promise<unknown>)(...args).catch(() => {});
  } catch (error) {
    return error as Thrown;
  }
  return expect.unreachable('nothing was thrown');
}

function expectThrown(error: Thrown, Type: ErrorConstructor, code: string, texts: string[]): void {
  expect(error).toBeInstanceOf(Type);
  expect(error.name).toBe(Type.name);
  expect(error.code).toBe(code);
  for (const text of texts) expect(error.message).toContain(text);
}

describe('an option of the wrong type is refused', () => {
  class Thing {}
  test.each<[string, unknown, string]>([
    ...[
      'force',
      'errorOnExist',
      'dryRun',
      'oneFileSystem',
      'parents',
      'entries',
      'gitignore',
      'onlyIgnored',
    ].flatMap((name): [string, unknown, string][] => [
      [name, 1, 'Received 1'],
      [name, 'yes', "Received 'yes'"],
      [name, null, 'Received null'],
      [name, {}, 'an instance of Object'],
    ]),
    ['reflink', true, 'Received true'],
    ['include', 5, 'Received 5'],
    ['include', null, 'Received null'],
    ['exclude', {}, 'an instance of Object'],
    ['ignoreFileNames', '.x', "Received '.x'"],
    ['filter', 'a', "Received 'a'"],
    ['filter', null, 'Received null'],
    ['reflink', null, 'Received null'],
    ['onError', () => {}, 'Received function'],
    ['onError', 3n, 'Received 3'],
    ['concurrency', '4', "Received '4'"],
    ['concurrency', null, 'Received null'],
    ['concurrency', 4n, 'Received 4'],
    ['atomic', 1, 'Received 1'],
    ['atomic', null, 'Received null'],
    ['snapshot', true, 'Received true'],
    ['signal', null, 'Received null'],
    ['signal', {}, 'an instance of Object'],
    ['signal', new AbortController(), 'an instance of AbortController'],
    ['signal', new Thing(), 'an instance of Thing'],
    ['signal', Object.create(null), 'an instance of Object'],
    ['signal', Symbol('sign'), 'Symbol(sign)'],
  ])('%s: %o', (name, value, shown) => {
    const error = thrownBy(src, dest, { [name]: value });
    expectThrown(error, TypeError, 'ERR_INVALID_ARG_TYPE', [`"options.${name}"`, shown]);
  });
});

test('gitignore and onlyIgnored together are refused', () => {
  const error = thrownBy(src, dest, { gitignore: true, onlyIgnored: true });
  const texts = ['"options.onlyIgnored"', 'options.gitignore'];
  expectThrown(error, TypeError, 'ERR_INVALID_ARG_VALUE', texts);
});

describe('options that exclude each other are refused', () => {
  test.each<[CopyOptions, option: string, why: string]>([
    [{ atomic: true, force: false }, 'atomic', 'with options.force: false'],
    [{ atomic: 'two-step', errorOnExist: true }, 'atomic', 'with options.errorOnExist'],
    [{ atomic: true, backup: 'numbered' }, 'atomic', 'with options.backup'],
    [{ atomic: true, sync: true }, 'atomic', 'with options.sync'],
    [{ atomic: true, shard: '1/2' }, 'atomic', 'with options.shard'],
    [{ mirror: true, shard: '1/2' }, 'mirror', 'with options.shard'],
    [{ mirror: true, backup: 'numbered' }, 'mirror', 'with options.backup'],
    [{ sync: true, symlink: true }, 'sync', 'with options.symlink'],
    [{ sync: true, force: false }, 'sync', 'with options.force: false'],
    [{ checksum: true, quickCheck: true }, 'quickCheck', 'with options.checksum'],
    [{ deleteExcluded: true }, 'deleteExcluded', 'requires options.mirror'],
    ...(
      [
        [{ dereference: true }, 'dereference'],
        [{ hardLink: true }, 'hardLink'],
        [{ symlink: true }, 'symlink'],
        [{ reflink: 'never' }, "reflink: 'never'"],
        [{ sparse: 'always' }, "sparse: 'always'"],
        [{ backup: 'numbered' }, 'backup'],
        [{ gitignore: true }, 'gitignore'],
        [{ onlyIgnored: true }, 'onlyIgnored'],
        [{ include: ['a'] }, 'include'],
        [{ exclude: ['a'] }, 'exclude'],
        [{ ignoreFileNames: ['.a'] }, 'ignoreFileNames'],
        [{ filter: () => true }, 'filter'],
      ] as const
    ).map(([options, name]): [CopyOptions, string, string] => [
      { ...options, snapshot: 'always' },
      'snapshot',
      `cannot be combined with options.${name}`,
    ]),
  ])('%o', (options, option, why) => {
    const error = thrownBy(src, dest, options);
    expectThrown(error, TypeError, 'ERR_INVALID_ARG_VALUE', [`"options.${option}"`, why]);
  });

  test.each([{ atomic: true }, { snapshot: 'always' }])('several sources: %o', (options) => {
    const error = thrownBy([src, cwd], dest, options);
    expectThrown(error, TypeError, 'ERR_INVALID_ARG_VALUE', ['with several sources']);
  });
});

describe('an option of the wrong value is refused', () => {
  test.each([
    ['reflink', 'sometimes', ["'auto'", "'always'", "'never'"]],
    ['reflink', '', ["'auto'"]],
    ['include', ['/'], ['"options.include[0]"', "Received '/'"]],
    ['exclude', ['a', 'b[c'], ['"options.exclude[1]"', "Received 'b[c'"]],
    ['ignoreFileNames', ['a/b'], ['"options.ignoreFileNames[0]"', "Received 'a/b'"]],
    ['onError', 'ignore', ["'stop'", "'continue'"]],
    ['atomic', 'three-step', ['a boolean', "'two-step'"]],
    ['snapshot', 'sometimes', ["'never'", "'auto'", "'always'"]],
  ])('%s: %o', (name, value, choices) => {
    const error = thrownBy(src, dest, { [name]: value });
    const texts = [
      `"options.${name}`,
      ...(typeof value === 'string' ? [`Received '${value}'`] : []),
      ...choices,
    ];
    expectThrown(error, TypeError, 'ERR_INVALID_ARG_VALUE', texts);
  });

  test.each([0, -1, 1.5, 1025, Number.NaN, Number.POSITIVE_INFINITY])(
    'concurrency: %d',
    (value) => {
      const error = thrownBy(src, dest, { concurrency: value });
      const texts = ['"options.concurrency"', '1 to 1024', `Received ${value}`];
      expectThrown(error, RangeError, 'ERR_OUT_OF_RANGE', texts);
    },
  );

  test.each(['Force', 'recursiv', 'overwrite', 'excludes', 'undefined'])('unknown: %s', (name) => {
    for (const value of [true, undefined]) {
      const error = thrownBy(src, dest, { [name]: value });
      expectThrown(error, TypeError, 'ERR_INVALID_ARG_VALUE', [`options.${name}`, 'not an option']);
    }
  });
});

describe('an argument is refused', () => {
  test.each<[string, unknown[], string, string[]]>([
    ['no arguments', [], 'TYPE', ['"src"', 'Received undefined']],
    ['no dest', [src], 'TYPE', ['"dest"', 'Received undefined']],
    ['src a number', [5, 'dest'], 'TYPE', ['"src"', 'Received 5']],
    ['src null', [null, 'dest'], 'TYPE', ['"src"', 'Received null']],
    ['src an object', [{ href: 'file:///x' }, 'dest'], 'TYPE', ['"src"', 'an instance of Object']],
    ['src empty', ['', 'dest'], 'VALUE', ['"src"', "Received ''"]],
    ['src an empty Buffer', [Buffer.alloc(0), 'dest'], 'VALUE', ['"src"']],
    ['src with a null byte', ['a\0b', 'dest'], 'VALUE', ['"src"', 'null byte', 'a\0b']],
    ['src a Buffer with one', [Buffer.from('a\0b'), 'dest'], 'VALUE', ['"src"', 'null byte']],
    ['src a URL with one', [new URL('file:///a%00b'), 'dest'], 'VALUE', ['"src"', 'null byte']],
    ['src a URL of the web', [new URL('http://x/y'), 'dest'], 'VALUE', ['"src"', 'http://x/y']],
    ['src a URL of a host', [new URL('file://x/y'), 'dest'], 'VALUE', ['"src"', 'file://x/y']],
    ['src an encoded slash', [new URL('file:///x%2Fy'), 'd'], 'VALUE', ['"src"', 'file:///x%2Fy']],
    ['src an empty array', [[], 'dest'], 'VALUE', ['"src"']],
    ['src an array of others', [['a', 5], 'dest'], 'TYPE', ['src[1]', 'Received 5']],
    ['src an array with a hole', [['a', undefined], 'dest'], 'TYPE', ['src[1]', 'undefined']],
    ['src an array with an empty one', [['a', ''], 'dest'], 'VALUE', ['src[1]', "''"]],
    ['src an array of arrays', [[['a']], 'dest'], 'TYPE', ['src[0]', 'an instance of Array']],
    ['dest a number', [src, 5], 'TYPE', ['"dest"', 'Received 5']],
    ['dest an array', [src, ['dest']], 'TYPE', ['"dest"', 'an instance of Array']],
    ['dest empty', [src, ''], 'VALUE', ['"dest"', "Received ''"]],
    ['dest with a null byte', [src, 'a\0b'], 'VALUE', ['"dest"', 'null byte']],
    ['options null', [src, 'dest', null], 'TYPE', ['"options"', 'Received null']],
    ['options a boolean', [src, 'dest', true], 'TYPE', ['"options"', 'Received true']],
    ['options a string', [src, 'dest', 'fast'], 'TYPE', ['"options"', "Received 'fast'"]],
    ['options an array', [src, 'dest', []], 'TYPE', ['"options"', 'an instance of Array']],
    ['options a callback', [src, 'dest', () => {}], 'TYPE', ['"options"', 'function']],
  ])('%s', (_, args, kind, texts) => {
    expectThrown(thrownBy(...args), TypeError, `ERR_INVALID_ARG_${kind}`, texts);
  });
});

describe('what is wrong is said before anything is done', () => {
  test('nothing is made', () => {
    thrownBy(src, join(dest, 'deep'), { concurrency: 0 });
    expect(() => readFileSync(dest)).toThrow('ENOENT');
  });
});

describe('paths are taken as', () => {
  test.each<[string, (path: string) => PathLike]>([
    ['strings', (path) => path],
    ['Buffers', (path) => Buffer.from(path)],
    ['file URLs', (path) => pathToFileURL(path)],
    ['Uint8Arrays', (path) => new Uint8Array(Buffer.from(path)) as Buffer],
  ])('%s', async (_, as) => {
    expect(await copyTree(as(src), as(dest))).toMatchObject({ files: 1, directories: 1 });
    expect(readFileSync(join(dest, 'file'), 'utf8')).toBe('content');
    const into = join(cwd, `into-${made++}`);
    expect(await copyTree([as(src)], as(into))).toMatchObject({ files: 1 });
    expect(readFileSync(join(into, 'src', 'file'), 'utf8')).toBe('content');
  });

  test('file URLs with escapes', async () => {
    const name = 'a b#c?d%e é 文';
    mkdirSync(join(src, name));
    await copyTree(pathToFileURL(join(src, name)), pathToFileURL(join(dest, name)));
    expect(() => readFileSync(join(dest, name))).toThrow('EISDIR');
  });

  test('what they are at the call, not later', async () => {
    const [from, to] = [Buffer.from(src), Buffer.from(dest)];
    const sources = [from];
    const options: CopyOptions = { dryRun: false };
    const job = copyTree(sources, to, options);
    from.fill('x');
    to.fill('x');
    sources.push(Buffer.from('missing'));
    options.dryRun = true;
    expect(await job).toMatchObject({ files: 1 });
    expect(readFileSync(join(dest, 'src', 'file'), 'utf8')).toBe('content');
  });
});

describe('options are taken', () => {
  test('undefined: the default', async () => {
    const options = {
      force: undefined,
      errorOnExist: undefined,
      reflink: undefined,
      concurrency: undefined,
      onError: undefined,
      signal: undefined,
      dryRun: undefined,
      oneFileSystem: undefined,
      parents: undefined,
      entries: undefined,
    } as unknown as CopyOptions;
    expect(await copyTree(src, dest, options)).toMatchObject({ files: 1, warnings: [] });
    expect(await copyTree(src, dest, undefined)).toMatchObject({ files: 1 });
  });

  test('from an object that is frozen, and is left alone', async () => {
    const { signal } = new AbortController();
    const options = Object.freeze({
      force: false,
      concurrency: 1,
      reflink: 'never',
      signal,
    } as const);
    const sources = Object.freeze([src, join(src, 'file')]);
    expect(await copyTree(sources, dest, options)).toMatchObject({ files: 2 });
    expect(Object.keys(options)).toEqual(['force', 'concurrency', 'reflink', 'signal']);
  });

  test('from an object without a prototype, and from one that inherits', async () => {
    const bare: CopyOptions = Object.assign(Object.create(null), { dryRun: true });
    await copyTree(src, dest, bare);
    const inherits: CopyOptions = Object.create({ dryRun: true });
    await copyTree(src, dest, inherits);
    expect(() => readFileSync(join(dest, 'file'))).toThrow('ENOENT');
  });
});

describe('concurrency', () => {
  test.each([1, 3, 1024])('%d', async (concurrency) => {
    const result = await copyTree(src, dest, { concurrency });
    expect(result).toMatchObject({ files: 1, warnings: [], warningCount: 0 });
  });
});
