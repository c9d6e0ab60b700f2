import { getSystemErrorMap } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { invalidType, invalidValue, outOfRange } from '../../lib/errors/arguments.js';
import { CopyError, refuse } from '../../lib/errors/copy-error.js';
import { errorOf, warningOf } from '../../lib/errors/from-engine.js';

const problem = (errno: number, operation: string) => ({
  errno,
  operation,
  path: Buffer.from('unused'),
  dest: Buffer.from('unused'),
});
const errnoOf = (name: string) => {
  for (const [errno, [code]] of getSystemErrorMap()) if (code === name) return errno;
  throw new Error(name);
};

describe('errorOf', () => {
  test.each(['ENOENT', 'EACCES', 'ENOSPC', 'EMFILE', 'ELOOP', 'EEXIST', 'EBUSY'])(
    'a system call that said %s',
    (code) => {
      const errno = errnoOf(code);
      const error = errorOf(problem(errno, 'open'), 'a', 'b');
      expect(error).toBeInstanceOf(CopyError);
      expect(error).toBeInstanceOf(Error);
      expect(error).toMatchObject({
        name: 'CopyError',
        code,
        errno,
        syscall: 'open',
        path: 'a',
        dest: 'b',
      });
      expect(error.message).toMatch(new RegExp(`^${code}: .+, open 'a' -> 'b'$`));
      expect(error.result).toBeUndefined();
    },
  );

  test.each([
    ['EEXIST', 'ERR_FS_CP_EEXIST'],
    ['EISDIR', 'ERR_FS_CP_NON_DIR_TO_DIR'],
    ['ENOTDIR', 'ERR_FS_CP_DIR_TO_NON_DIR'],
    ['EBUSY', 'ERR_FASTCP_SOURCE_CHANGED'],
  ])('a refusal of the engine, %s: %s', (name, code) => {
    const errno = errnoOf(name);
    const error = errorOf(problem(errno, 'cp'), 'a', 'b');
    expect(error).toMatchObject({ code, errno, syscall: 'cp', path: 'a', dest: 'b' });
    expect(error.message).toMatch(new RegExp(`^${code}: .+, cp 'a' -> 'b'$`));
  });

  test('two names that are one', () => {
    expect(errorOf(problem(-17, 'collision'), 'a', 'b').code).toBe('ERR_FASTCP_NAME_COLLISION');
  });

  test('a refusal with another errno', () => {
    const errno = errnoOf('EIO');
    expect(errorOf(problem(errno, 'cp'), 'a', 'b')).toMatchObject({ code: 'EIO', errno });
  });

  test('an errno that nobody knows', () => {
    const error = errorOf(problem(-4000, 'open'), 'a', 'b');
    expect(error).toMatchObject({ code: 'E4000', errno: -4000 });
    expect(error.message).toBe("E4000: system error 4000, open 'a' -> 'b'");
  });

  test('without paths', () => {
    const error = errorOf(problem(errnoOf('ENOMEM'), 'malloc'), '');
    expect(error.message).toMatch(/^ENOMEM: .+, malloc$/);
  });
});

test.each([
  ['b', "EIO: why not, cp 'a' -> 'b'"],
  [undefined, "EIO: why not, cp 'a'"],
])('refuse, dest %s', (dest, message) => {
  const error = refuse('EIO', 'why not', 'a', dest);
  expect(error).toBeInstanceOf(CopyError);
  expect(error).toMatchObject({ code: 'EIO', message, path: 'a', syscall: 'cp' });
  expect('dest' in error).toBe(dest !== undefined);
  for (const absent of ['errno', 'result']) expect(error).not.toHaveProperty(absent);
});

test.each([
  ['socket', 'SOCKET_SKIPPED', "socket not copied: 'a/entry'"],
  ['unknown', 'UNKNOWN_KIND_SKIPPED', "entry of no known kind not copied: 'a/entry'"],
])('a warning: %s', (operation, code, message) => {
  expect(warningOf({ operation }, 'a/entry')).toEqual({ code, message, path: 'a/entry' });
});

describe('on Windows', () => {
  const { platform } = process;
  beforeEach(() => void Object.defineProperty(process, 'platform', { value: 'win32' }));
  afterEach(() => void Object.defineProperty(process, 'platform', { value: platform }));

  test.each([
    [
      'symlink',
      'EPERM: operation not permitted: turn on Developer Mode, or run as administrator, symlink',
    ],
    ['open', 'EPERM: operation not permitted, open'],
  ])('a symlink that may not be created, with advice: %s', (operation, message) => {
    const error = errorOf(problem(errnoOf('EPERM'), operation), 'a', 'b');
    expect(error.message).toBe(`${message} 'a' -> 'b'`);
  });
});

test.each([
  [invalidType, TypeError, 'ERR_INVALID_ARG_TYPE', 'The "dest" argument must be a path.'],
  [invalidValue, TypeError, 'ERR_INVALID_ARG_VALUE', 'The "dest" argument must be a path.'],
  [
    outOfRange,
    RangeError,
    'ERR_OUT_OF_RANGE',
    'The value of "dest" is out of range. It must be a path.',
  ],
])('%o', (make, Type, code, text) => {
  const error = make('dest', 'a path', 5);
  expect(error).toBeInstanceOf(Type);
  expect(error).toMatchObject({ code, message: `${text} Received 5` });
});

test.each<[unknown, string]>([
  ['text', "'text'"],
  [undefined, 'undefined'],
  [null, 'null'],
  [7n, '7'],
  [Symbol('s'), 'Symbol(s)'],
  [function named() {}, 'function named'],
  [[], 'an instance of Array'],
  [Object.create(null), 'an instance of Object'],
])('shows %o', (value, shown) => {
  const { message } = invalidType('options.force', 'a boolean', value);
  expect(message).toBe(`The "options.force" property must be a boolean. Received ${shown}`);
});
