import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { program as fetched } from '../../scripts/tools.mjs';
import { hasTool, skip, workDirectory } from '../support/work.js';

// The tables and conversions for Windows that need no Windows: NTSTATUS to errno, reparse tags, timestamps and
// file ids. The numbers are those of MS-ERREF and MS-FSCC, not of a header.

const root = join(import.meta.dirname, '../..');
const program = join(workDirectory('tables'), 'tables');

beforeAll(async () => {
  if (!hasTool('g++')) return;
  const sources = ['errors.cc', 'reparse.cc', 'text.cc'].map((name) =>
    join(root, 'binding/src/platform/win32', name),
  );
  // ntstatus.h has numbers alone. After the system's headers, which have names of its neighbours.
  const zig = dirname(await fetched('ziglang'));
  const status = ['-idirafter', join(zig, 'lib/libc/include/any-windows-any')];
  const flags = ['-std=c++20', '-Wall', '-Wextra', '-Werror', `-I${join(root, 'binding/src')}`];
  const own = join(import.meta.dirname, 'support/tables.cc');
  execFileSync('g++', [...flags, ...status, '-o', program, own, ...sources]);
}, 120_000);

beforeEach((context) => {
  if (!hasTool('g++')) skip(context, 'g++ is not installed');
});

type Question = [command: string, ...numbers: (number | bigint)[]];

/** Asks several questions at once. */
function ask(...questions: Question[]): string[] {
  const lines = questions.map(([command, ...numbers]) =>
    [command, ...numbers, 0, 0, 0].slice(0, 4).join(' '),
  );
  const output = execFileSync(program, { input: `${lines.join('\n')}\n`, encoding: 'utf8' });
  return output.trimEnd().split('\n');
}

// Of libuv's table, with the Win32 error between: what Node reports for the same failure.
const sameAsNode: [status: number, name: string, errno: string][] = [
  [0xc000000f, 'NO_SUCH_FILE', 'ENOENT'],
  [0xc0000034, 'OBJECT_NAME_NOT_FOUND', 'ENOENT'],
  [0xc000003a, 'OBJECT_PATH_NOT_FOUND', 'ENOENT'],
  [0xc00000be, 'BAD_NETWORK_PATH', 'ENOENT'],
  [0xc0000022, 'ACCESS_DENIED', 'EPERM'],
  [0xc0000121, 'CANNOT_DELETE', 'EPERM'],
  [0xc0000123, 'FILE_DELETED', 'EPERM'],
  [0xc0000061, 'PRIVILEGE_NOT_HELD', 'EPERM'],
  [0xc0000279, 'IO_REPARSE_TAG_NOT_HANDLED', 'EACCES'],
  [0xc0000043, 'SHARING_VIOLATION', 'EBUSY'],
  [0xc0000054, 'FILE_LOCK_CONFLICT', 'EBUSY'],
  [0xc0000035, 'OBJECT_NAME_COLLISION', 'EEXIST'],
  [0xc0000101, 'DIRECTORY_NOT_EMPTY', 'ENOTEMPTY'],
  [0xc000007f, 'DISK_FULL', 'ENOSPC'],
  [0xc00000a2, 'MEDIA_WRITE_PROTECTED', 'EROFS'],
  [0xc00000d4, 'NOT_SAME_DEVICE', 'EXDEV'],
  [0xc000011f, 'TOO_MANY_OPENED_FILES', 'EMFILE'],
  [0xc0000017, 'NO_MEMORY', 'ENOMEM'],
  [0xc00000c9, 'NETWORK_NAME_DELETED', 'ECONNRESET'],
  [0xc00000b5, 'IO_TIMEOUT', 'ETIMEDOUT'],
  [0xc000023c, 'NETWORK_UNREACHABLE', 'ENETUNREACH'],
  [0xc000023d, 'HOST_UNREACHABLE', 'EHOSTUNREACH'],
  [0xc0000185, 'IO_DEVICE_ERROR', 'EIO'],
  [0xc000003f, 'CRC_ERROR', 'EIO'],
];

// More exact than Node, which has another code or none.
const ours: [status: number, name: string, errno: string][] = [
  [0xc0000033, 'OBJECT_NAME_INVALID', 'EINVAL'],
  [0xc000003b, 'OBJECT_PATH_SYNTAX_BAD', 'EINVAL'],
  [0xc0000106, 'NAME_TOO_LONG', 'ENAMETOOLONG'],
  [0xc0000103, 'NOT_A_DIRECTORY', 'ENOTDIR'],
  [0xc00000ba, 'FILE_IS_A_DIRECTORY', 'EISDIR'],
  [0xc0000056, 'DELETE_PENDING', 'EBUSY'],
  [0xc0000243, 'USER_MAPPED_FILE', 'EBUSY'],
  [0xc0000055, 'LOCK_NOT_GRANTED', 'EAGAIN'],
  [0xc0000044, 'QUOTA_EXCEEDED', 'EDQUOT'],
  [0xc0000904, 'FILE_TOO_LARGE', 'EFBIG'],
  [0xc0000265, 'TOO_MANY_LINKS', 'EMLINK'],
  [0xc000048c, 'BLOCK_TOO_MANY_REFERENCES', 'EMLINK'],
  [0xc000009a, 'INSUFFICIENT_RESOURCES', 'ENOMEM'],
  [0xc000012d, 'COMMITMENT_LIMIT', 'ENOMEM'],
  [0xc00000a1, 'WORKING_SET_QUOTA', 'ENOMEM'],
  [0xc0000008, 'INVALID_HANDLE', 'EBADF'],
  [0x8000002d, 'STOPPED_ON_SYMLINK', 'ELOOP'],
  [0xc0000275, 'NOT_A_REPARSE_POINT', 'EINVAL'],
  [0xc000000d, 'INVALID_PARAMETER', 'EINVAL'],
  [0xc0000003, 'INVALID_INFO_CLASS', 'EOPNOTSUPP'],
  [0xc0000010, 'INVALID_DEVICE_REQUEST', 'EOPNOTSUPP'],
  [0xc00000bb, 'NOT_SUPPORTED', 'EOPNOTSUPP'],
  [0xc0000002, 'NOT_IMPLEMENTED', 'EOPNOTSUPP'],
  [0xc0000906, 'VIRUS_INFECTED', 'EPERM'],
  [0xc0000907, 'VIRUS_DELETED', 'EPERM'],
];

describe('errno of an NTSTATUS', () => {
  test('errors', () => {
    const table = [...sameAsNode, ...ours];
    const found = ask(...table.map(([status]): Question => ['status', status]));
    expect(table.map(([, name], i) => `${name} ${found[i]}`)).toEqual(
      table.map(([, name, errno]) => `${name} ${errno}`),
    );
  });

  test('successes and information are none, unknown errors and warnings are EIO', () => {
    const statuses = [0, 0x103, 0x40000000, 0xc0001234, 0x80000099];
    expect(ask(...statuses.map((status): Question => ['status', status]))).toEqual([
      '0',
      '0',
      '0',
      'EIO',
      'EIO',
    ]);
  });
});

test('the kind of an entry by its reparse tag', () => {
  const [directory, reparse] = [0x10, 0x400];
  const table: [what: string, attributes: number, tag: number, kind: string][] = [
    ['no reparse point: the number is the size of extended attributes', 0x20, 0xa000000c, 'file'],
    ['a directory', directory, 0, 'directory'],
    ['SYMLINK', reparse, 0xa000000c, 'symlink'],
    ['SYMLINK to a directory', reparse | directory, 0xa000000c, 'symlink'],
    ['MOUNT_POINT', reparse | directory, 0xa0000003, 'symlink'],
    ['AF_UNIX', reparse, 0x80000023, 'socket'],
    ['LX_FIFO', reparse, 0x80000024, 'fifo'],
    ['LX_CHR', reparse, 0x80000025, 'character'],
    ['LX_BLK', reparse, 0x80000026, 'block'],
    ['APPEXECLINK', reparse, 0x8000001b, 'unknown'],
    ['NFS', reparse, 0x80000014, 'unknown'],
    ['LX_SYMLINK, by its surrogate bit', reparse, 0xa000001d, 'unknown'],
    ['WCI_TOMBSTONE, by its surrogate bit', reparse, 0xa000001f, 'unknown'],
    ['CLOUD', reparse, 0x9000001a, 'file'],
    ['CLOUD_7, a directory', reparse | directory, 0x9000701a, 'directory'],
    ['ONEDRIVE', reparse, 0x80000021, 'file'],
    ['DEDUP', reparse, 0x80000013, 'file'],
    ['WOF (compressed)', reparse, 0x80000017, 'file'],
    ['PROJFS', reparse, 0x9000001c, 'file'],
  ];
  const found = ask(
    ...table.map(([, ...numbers]): Question => ['kind', ...(numbers.slice(0, 2) as number[])]),
  );
  expect(table.map(([what], i) => `${what}: ${found[i]}`)).toEqual(
    table.map(([what, , , kind]) => `${what}: ${kind}`),
  );
});

describe('timestamps', () => {
  const perSecond = 10_000_000n;
  const epoch = 116_444_736_000_000_000n;

  test.each([
    ['1601', 0n, '-11644473600 0'],
    ['100 ns after 1601', 1n, '-11644473600 100'],
    ['100 ns before 1601', -1n, '-11644473601 999999900'],
    ['1970', epoch, '0 0'],
    ['just before 1970', epoch - 1n, '-1 999999900'],
    ['2001-09-09', epoch + 1_000_000_000n * perSecond + 1_234_567n, '1000000000 123456700'],
  ])('%s, there and back', (_, ticks, time) => {
    expect(ask(['time', ticks])).toEqual([time]);
    const [seconds, ns] = time.split(' ').map(BigInt) as [bigint, bigint];
    expect(ask(['ticks', seconds, ns, -10n])).toEqual([`${ticks}`]);
  });

  test('no timestamp becomes 0 or a negative number, which have other meanings', () => {
    const start = -11_644_473_600;
    expect(
      ask(
        ['ticks', start, 0, 1],
        ['ticks', start, 0, 0],
        ['ticks', start - 1, 999_999_900, 1],
        ['ticks', start - 1, 999_999_800, 0],
        ['ticks', start - 1000, 0, 1],
        ['ticks', start, 200, 1],
      ),
    ).toEqual(['1', '0', '1', '0', '1', '2']);
  });
});

describe('the number of a file', () => {
  test('is the low half of its id if the high half is empty, as on NTFS', () => {
    expect(ask(['number', 0, 0x0005000000001234n, 7])).toEqual([`${0x0005000000001234n}`]);
  });

  test('is the 64-bit id if there is no other', () => {
    expect(ask(['number', 0, 0, 42])).toEqual(['42']);
  });

  test('differs for files whose halves are the same small numbers in another order or sum, as on ReFS', () => {
    const ids: Question[] = [];
    for (let high = 0x700; high < 0x764; high++) {
      for (let low = 0; low < 100; low++) ids.push(['number', high, low, 1]);
    }
    expect(new Set(ask(...ids)).size).toBe(ids.length);
  });
});
