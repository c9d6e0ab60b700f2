import { execFileSync } from 'node:child_process';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { copyTree } from '../../lib/index.js';
import type { CopyOptions } from '../../lib/types.js';
import { copyInChild, type Outcome } from '../support/child.js';
import { differences, leftovers, unlike } from '../support/compare.js';
import { useFileSystem } from '../support/filesystems.js';
import { buildShim, faultLog, withFaults } from '../support/shim.js';
import { makeFiles, makeSparseFile } from '../support/trees.js';
import { needTool, workDirectory } from '../support/work.js';

// System calls that fail, by strace.

const work = workDirectory('system-calls');
const MiB = 1 << 20;
let dest: string;
let number = 0;

beforeEach(() => {
  dest = join(work, `dest ${number++}`);
});

const src = join(work, 'src');
const logs = join(work, 'strace.log');
beforeAll(() => {
  makeFiles(src, {
    'a/file': 'content',
    'a/other': Buffer.alloc(300_000, 'other '),
    'a/large': Buffer.alloc(70 * MiB, 'large '),
    'b/c/file': 'deep',
    'b/empty': '',
  });
  makeSparseFile(join(src, 'b/holes'), 2 * MiB, [MiB]);
});

/** Copies under strace, which lets the call fail; where `only` is given, on these paths only. */
async function inject(
  call: string,
  fault: string,
  options: CopyOptions = {},
  only: string[] = [],
  from = src,
): Promise<Outcome> {
  const paths = only.flatMap((path) => ['-P', path]);
  const words = ['strace', '-f', '-qq', '-o', logs, ...paths, '-e', `trace=${call}`];
  const request = { src: from, dest, options };
  const outcome = await copyInChild(request, [...words, '-e', `inject=${call}:${fault}`]);
  expect(readFileSync(logs, 'utf8')).toContain('(INJECTED)');
  return outcome;
}

test.for(['EXDEV', 'EINVAL', 'ENOSYS', 'EIO', 'EPERM', 'EOPNOTSUPP', 'ETXTBSY'])(
  'copy_file_range, %s: the next means is taken',
  async (error, context) => {
    needTool(context, 'strace');
    const { error: failed, result } = await inject('copy_file_range', `error=${error}`);
    expect(failed).toBeUndefined();
    expect(result).toMatchObject({
      files: 6,
      methods: { clone: 0, copyFileRange: 0, readWrite: 6 },
    });
    expect(differences(src, dest)).toEqual([]);
  },
);

test.for(['error=EXDEV:when=2+', 'error=EIO:when=2+2', 'error=EINTR:when=1+2', 'retval=0'])(
  'copy_file_range, %s: in the middle of a file',
  async (fault, context) => {
    needTool(context, 'strace');
    const { error, result } = await inject('copy_file_range', fault);
    expect(error).toBeUndefined();
    expect(differences(src, dest)).toEqual([]);
    // Nothing is copied twice.
    const { bytes } = await copyTree(src, `${dest} whole`);
    expect(result.bytes).toBe(bytes);
    rmSync(`${dest} whole`, { recursive: true });
  },
);

test.for(['error=EOPNOTSUPP:when=2', 'retval=0:when=2'])(
  'copy_file_range, %s: the rest of a file of 40 MiB is read and written',
  async (fault, context) => {
    needTool(context, 'strace');
    const from = join(work, `40 MiB ${number}`);
    const content = Buffer.alloc(40 * MiB);
    for (let at = 0; at < content.length; at += 4096) content.writeUInt32LE(at + 1, at);
    makeFiles(from, { file: content });
    const { error } = await inject('copy_file_range', fault, {}, [], from);
    expect(error).toBeUndefined();
    expect(readFileSync(join(dest, 'file')).equals(content)).toBe(true);
    rmSync(from, { recursive: true });
    rmSync(dest, { recursive: true });
  },
);

test.for([
  ['copy_file_range', 'ENOSPC', 'auto'],
  ['copy_file_range', 'EDQUOT', 'auto'],
  ['copy_file_range', 'ENOMEM', 'auto'],
  ['pwrite64', 'ENOSPC', 'never'],
  ['pwrite64', 'EDQUOT', 'never'],
  ['pwrite64', 'EIO', 'never'],
  ['pwrite64', 'EFBIG', 'never'],
  ['ftruncate', 'EIO', 'auto'],
] as const)('%s, %s: no partial file', async ([call, code, reflink], context) => {
  needTool(context, 'strace');
  for (const when of [1, 3]) {
    const fault = `error=${code}:when=${call === 'ftruncate' ? '1' : when}`;
    const { error } = await inject(call, fault, { reflink, concurrency: 1 });
    const syscall = call === 'pwrite64' ? 'write' : call;
    expect(error).toMatchObject({ code, syscall, path: expect.stringContaining(src) });
    expect(error?.message).toContain(`${syscall} '${error?.path}' -> '${error?.dest}'`);
    expect(existsSync(error?.dest ?? '')).toBe(false);
    expect(unlike(src, dest)).toEqual([]);
    rmSync(dest, { recursive: true });
  }
});

test.for(['ENOSPC', 'EDQUOT', 'EROFS'])(
  'write, %s: ends even onError continue, and says so',
  async (code, context) => {
    needTool(context, 'strace');
    const options: CopyOptions = { reflink: 'never', onError: 'continue', concurrency: 1 };
    const { result } = await inject('pwrite64', `error=${code}`, options);
    const message = expect.stringContaining('this ended the copy');
    expect(result.errors).toMatchObject([{ code, message }]);
    expect(unlike(src, dest)).toEqual([]);
    const stopped = await inject('pwrite64', `error=${code}`, { ...options, onError: 'stop' });
    expect(stopped.error?.message).not.toMatch(/ended the copy/);
  },
);

test('read, EIO: the others are copied', async (context) => {
  needTool(context, 'strace');
  const bad = join(src, 'a/other');
  const options: CopyOptions = { reflink: 'never', onError: 'continue' };
  const { result } = await inject('pread64', 'error=EIO', options, [bad]);
  expect(result.errors).toMatchObject([{ code: 'EIO', syscall: 'read', path: bad }]);
  expect(result.files).toBe(5);
  expect(existsSync(join(dest, 'a/other'))).toBe(false);
  expect(unlike(src, dest)).toEqual([]);
});

test('getdents64, EIO: names the directory', async (context) => {
  needTool(context, 'strace');
  const bad = join(src, 'b');
  const { error } = await inject('getdents64', 'error=EIO', {}, [bad]);
  expect(error).toMatchObject({ code: 'EIO', syscall: 'getdents64', path: bad });
  expect(error?.message).toContain(bad);
});

test.for(['EMFILE', 'ENFILE'])('openat, %s: tried again', async (code, context) => {
  needTool(context, 'strace');
  const paths = [src, join(src, 'a'), join(src, 'b'), join(src, 'b/c')];
  const { error } = await inject('openat', `error=${code}:when=1..3`, {}, paths);
  expect(error).toBeUndefined();
  expect(differences(src, dest)).toEqual([]);
});

test('half of one small directory goes to a worker that has nothing', async (context) => {
  needTool(context, 'strace');
  const names = Array.from({ length: 60 }, (_, index) => `file ${index}`);
  const directory = join(work, 'of 60 files');
  makeFiles(directory, Object.fromEntries(names.map((name) => [name, name])));
  const slow = ['strace', '-f', '-o', logs, '-e', 'inject=copy_file_range:delay_enter=5ms'];
  const request = { src: directory, dest, options: { concurrency: 2 } };
  const { error } = await copyInChild(request, [...slow, '-e', 'trace=copy_file_range']);
  expect(error).toBeUndefined();
  expect(differences(directory, dest)).toEqual([]);
  const copied = new Map<string, number>();
  for (const [, thread = ''] of readFileSync(logs, 'utf8').matchAll(/^(\d+) .*= \d+ /gm)) {
    copied.set(thread, (copied.get(thread) ?? 0) + 1);
  }
  // The copy begins on a thread of the host's, and goes on with two of its own.
  const [first = 0, second = 0] = [...copied.values()].sort((a, b) => b - a);
  expect(copied.size).toBeLessThanOrEqual(3);
  expect([first, second].every((count) => count > 10)).toBe(true);
});

describe('fchmod, EPERM', () => {
  const tree = join(work, 'wide modes');
  const copyWide = async (options: CopyOptions): Promise<Outcome> => {
    makeFiles(tree, { file: 'x' });
    execFileSync('chmod', ['777', join(tree, 'file')]);
    execFileSync('chmod', ['700', tree]); // it needs no call
    const words = ['strace', '-f', '-qq', '-o', logs, '-e', 'inject=fchmod:error=EPERM'];
    return copyInChild({ src: tree, dest, umask: 0o77, options }, words);
  };

  test('a warning: DEST may have no modes', async (context) => {
    needTool(context, 'strace');
    const { error, result } = await copyWide({});
    expect(error).toBeUndefined();
    expect(result.warnings).toMatchObject([
      { code: 'MODE_NOT_PRESERVED', count: 1, path: join(tree, 'file') },
    ]);
    expect(readFileSync(join(dest, 'file'), 'utf8')).toBe('x');
  });

  test('strict: reported, and no file with a wrong mode', async (context) => {
    needTool(context, 'strace');
    const { error } = await copyWide({ strict: true });
    expect(error).toMatchObject({ code: 'EPERM', syscall: 'fchmod', path: join(tree, 'file') });
    expect(existsSync(join(dest, 'file'))).toBe(false);
  });
});

test('rename, EIO: what was there stays', async (context) => {
  needTool(context, 'strace');
  makeFiles(dest, { 'a/file': 'old', 'b/c/file': 'old' });
  const options: CopyOptions = { onError: 'continue' };
  const { result } = await inject('renameat,renameat2', 'error=EIO', options);
  expect(result.errors).toMatchObject(Array(2).fill({ code: 'EIO', syscall: 'rename' }));
  expect(readFileSync(join(dest, 'a/file'), 'utf8')).toBe('old');
  expect(leftovers(dest)).toEqual([]);
});

test.for(['symlinkat', 'mknodat', 'mkdirat'])('%s, EIO: reported', async (call, context) => {
  needTool(context, 'strace');
  const tree = join(work, `for ${call}`);
  makeFiles(tree, { 'f/file': 'x', file: 'y' });
  execFileSync('sh', ['-c', 'ln -s x link; mkfifo fifo'], { cwd: tree });
  const fault = 'error=EIO';
  const options: CopyOptions = { onError: 'continue', concurrency: 1 };
  const { result } = await inject(call, fault, options, [], tree);
  const syscall = { symlinkat: 'symlink', mknodat: 'mknod', mkdirat: 'mkdir' }[call];
  expect(result.errors).toMatchObject([{ code: 'EIO', syscall, path: expect.any(String) }]);
  expect(readFileSync(join(dest, 'file'), 'utf8')).toBe('y');
  expect(unlike(tree, dest)).toEqual([]);
});

// What servers report late, and what ends before its size.
test.for(['EIO', 'ENOSPC', 'EDQUOT'])('close, %s: what was there stays', async (code, context) => {
  needTool(context, 'strace');
  const tree = join(work, `to close ${code}`);
  makeFiles(tree, { over: 'new', fresh: 'new' });
  makeFiles(dest, { over: 'old' });
  const options: CopyOptions = { onError: 'continue', concurrency: 1 };
  // The descriptors of SRC and of directories may be closed anyhow.
  const fault = `error=${code}:when=1..100`;
  const { result } = await inject('close', fault, options, [join(dest, 'fresh')], tree);
  expect(result.errors).toMatchObject([{ code, syscall: 'close', dest: join(dest, 'fresh') }]);
  expect(existsSync(join(dest, 'fresh'))).toBe(false);
  expect(leftovers(dest)).toEqual([]);
});

test('close, EIO: the file that DEST had stays', async () => {
  const [from, to] = [join(work, 'to-close'), join(work, 'closed')];
  makeFiles(from, { over: 'new' });
  makeFiles(to, { over: 'old' });
  const log = join(work, 'close.log');
  // Of the new file, whatever it is called by then.
  const faults = 'close:5:1:1:/closed/';
  const words = withFaults({ shim: buildShim(work), root: to, log, faults });
  const { error } = await copyInChild({ src: from, dest: to }, words);
  expect(faultLog(log)).toHaveLength(1);
  expect(error).toMatchObject({ code: 'EIO', syscall: 'close', dest: join(to, 'over') });
  expect(readdirSync(to)).toEqual(['over']);
  expect(readFileSync(join(to, 'over'), 'utf8')).toBe('old');
});

test('pread64, an early end: no shorter file', async (context) => {
  needTool(context, 'strace');
  const bad = ['a/other', 'b/holes', 'a/large'].map((path) => join(src, path));
  for (const path of bad) {
    const options: CopyOptions = { reflink: 'never', onError: 'continue' };
    const { result } = await inject('pread64', 'retval=0:when=1', options, [path]);
    expect(result.errors).toMatchObject([{ code: 'EIO', syscall: 'read', path }]);
    expect(unlike(src, dest)).toEqual([]);
    rmSync(dest, { recursive: true });
  }
});

describe('names of one file, of which DEST has an old one', () => {
  const tree = join(work, 'names');
  beforeAll(() => {
    makeFiles(tree, { one: 'what is new' });
    linkSync(join(tree, 'one'), join(tree, 'two'));
  });

  test('that cannot be compared: no other name leads to it', async (context) => {
    needTool(context, 'strace');
    makeFiles(dest, { one: 'what is old', two: 'what is old' });
    const options: CopyOptions = { mirror: true, preserve: true, onError: 'continue' };
    const ways = [join(tree, 'one'), join(tree, 'two')];
    const { result } = await inject('pread64', 'error=EIO', options, ways, tree);
    expect(result).toMatchObject({ hardLinks: 0, errorCount: 2 });
    expect(result.errors).toMatchObject(Array(2).fill({ code: 'EIO', syscall: 'read' }));
  });

  test('that has a name outside of DEST: that is not touched', async () => {
    const outside = join(work, 'outside');
    mkdirSync(dest);
    writeFileSync(outside, 'what is new', { mode: 0o600 });
    utimesSync(outside, 1, 1);
    linkSync(outside, join(dest, 'one'));
    linkSync(outside, join(dest, 'two'));
    const { ctimeNs: _, nlink: __, ...before } = statSync(outside, { bigint: true });
    await copyTree(tree, dest, { mirror: true, preserve: true });
    const { ctimeNs: ___, nlink, ...after } = statSync(outside, { bigint: true });
    expect({ nlink, mode: after.mode, mtimeNs: after.mtimeNs }).toEqual({
      nlink: 1n,
      mode: before.mode,
      mtimeNs: before.mtimeNs,
    });
    expect(differences(tree, dest)).toEqual([]);
  });
});

test.for(['fremovexattr', 'removexattr'])(
  '%s: rights that SRC does not give do not stay unsaid',
  async (call, context) => {
    needTool(context, 'strace');
    needTool(context, 'setfacl');
    const tree = join(work, `lists ${call}`);
    makeFiles(tree, { 'f/file': 'x' });
    execFileSync('mkfifo', [join(tree, 'f/fifo')]);
    const options: CopyOptions = { preserve: true, onError: 'continue' };
    for (const [code, strict] of [
      ['EPERM', false],
      ['EPERM', true],
      ['EIO', false],
    ] as const) {
      mkdirSync(join(dest, 'f'), { recursive: true });
      execFileSync('setfacl', ['-d', '-m', 'u:1234:rwx', join(dest, 'f')]);
      const { result } = await inject(call, `error=${code}`, { ...options, strict }, [], tree);
      if (code === 'EPERM' && !strict)
        expect(result.warnings).toMatchObject([{ code: 'ACLS_NOT_PRESERVED' }]);
      else expect(result.errors[0]).toMatchObject({ code, syscall: 'removexattr' });
      rmSync(dest, { recursive: true });
    }
  },
);

describe('FICLONE', { tags: ['all'] }, () => {
  const disks = {
    xfs: useFileSystem(work, 'xfs'),
    btrfs: useFileSystem(work, 'btrfs'),
  };
  const rows = (['xfs', 'btrfs'] as const).flatMap((disk) =>
    (['EIO', 'ENOMEM', 'EOPNOTSUPP', 'EINVAL', 'EXDEV'] as const).map(
      (code) => [disk, code] as const,
    ),
  );
  test.for(rows)('%s, %s: final or not', async ([disk, code], context) => {
    needTool(context, 'cc');
    const directory = disks[disk](context);
    const from = join(directory, `src ${code}`);
    dest = join(directory, `dest ${code}`);
    makeFiles(from, { large: Buffer.alloc(65 * MiB, 'x'), middling: Buffer.alloc(300_000, 'y') });
    // By the shim: a large file has no name by which strace could find it.
    let runs = 0;
    const copy = async (options: CopyOptions): Promise<Outcome> => {
      const log = join(work, `${disk} ${code} ${runs++}`);
      const faults = `ioctl(FICLONE):${constants.errno[code]}:1:999`;
      const words = withFaults({ shim: buildShim(work), root: directory, log, faults });
      const outcome = await copyInChild({ src: from, dest, options }, words);
      expect(faultLog(log)).not.toEqual([]);
      return outcome;
    };
    const options: CopyOptions = { onError: 'continue' };
    const { result } = await copy(options);
    if (code === 'EIO' || code === 'ENOMEM') {
      expect(result.errors).toHaveLength(2);
      for (const error of result.errors) {
        expect(error).toMatchObject({ code, message: expect.stringContaining('FICLONE') });
      }
      expect(readdirSync(dest)).toEqual([]);
    } else {
      expect(result).toMatchObject({ errorCount: 0, files: 2, methods: { clone: 0 } });
      expect(differences(from, dest)).toEqual([]);
      rmSync(dest, { recursive: true });
      const always: CopyOptions = { reflink: 'always' };
      const { error } = await copy(always);
      expect(error?.code).toBe(code === 'EOPNOTSUPP' ? 'ENOTSUP' : code); // Node's name
      expect(readdirSync(dest)).toEqual([]);
    }
  });
});
