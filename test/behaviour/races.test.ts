// Somebody else changes the trees while they are copied, each time at the very system call where it matters: the
// shim runs a script before that call.
import {
  chmodSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CopyOptions } from '../../lib/types.js';
import { copyInChild, limited, type Outcome } from '../support/child.js';
import { leftovers, readTree, unlike } from '../support/compare.js';
import { buildShim, type Faults, faultLog, withFaults } from '../support/shim.js';
import { makeFiles } from '../support/trees.js';
import { workDirectory } from '../support/work.js';
import { nodes, runChild } from './support/child.js';

const work = workDirectory('races');
const MiB = 1 << 20;
let shim: string;
let number = 0;
let room: string;
let src: string;
let dest: string;

beforeAll(() => {
  shim = buildShim(work);
});
beforeEach(() => {
  room = join(work, `${number++}`);
  mkdirSync(room);
  [src, dest] = [join(room, 'src'), join(room, 'dest')];
});

type Race = Pick<Faults, 'faults' | 'script' | 'trace'>;

/** Copies while the script runs at the calls that `faults` names, which have to come. Returns their log, too. */
async function race(
  options: CopyOptions,
  given: Race,
  before: string[] = [],
): Promise<Outcome & { log: string[] }> {
  const log = join(room, 'log');
  const words = [...before, ...withFaults({ shim, root: room, log, ...given })];
  const outcome = await copyInChild({ src, dest, options }, words);
  const lines = faultLog(log);
  expect(lines).not.toEqual([]);
  return { ...outcome, log: lines };
}

const read = (...path: string[]): string => readFileSync(join(...path), 'latin1');

/** Another first byte, which neither size nor, with `time`, mtime shows. */
const spoil = (path: string): string => `printf X | dd of="${path}" conv=notrunc status=none`;

describe('hard links', () => {
  test('names that wait for a copy that fails are made all the same', async () => {
    makeFiles(src, { 'a/0': 'content' });
    mkdirSync(join(src, 'b'));
    for (let i = 1; i < 20; i++) linkSync(join(src, 'a/0'), join(src, `a/${i}`));
    for (let i = 20; i < 40; i++) linkSync(join(src, 'a/0'), join(src, `b/${i}`));
    // Until the other worker has looked at several of the names, the first of which waits by then.
    const script = `
      tries=0
      until [ "$(grep -c '^fstat64 .*/src/[ab]/[0-9]' "$FAULT_LOG")" -ge 3 ]; do
        tries=$((tries + 1)); [ $tries -lt 1000 ]; sleep 0.01
      done`;
    const { result } = await race(
      { preserve: ['hardLinks'], onError: 'continue', concurrency: 2 },
      {
        faults: 'openat(O_CREAT):run:1:1:/dest/ openat(O_CREAT):5:1:1:/dest/',
        script,
        trace: true,
      },
    );
    expect(result.errors).toMatchObject([{ code: 'EIO', syscall: 'open' }]);
    expect(result).toMatchObject({ errorCount: 1, files: 1, hardLinks: 38 });
    const made = [...readTree(dest).values()].filter(({ kind }) => kind === 'file');
    expect(made).toHaveLength(39);
    expect(new Set(made.map(({ inode }) => inode)).size).toBe(1);
  });

  test.for(['is new', 'has both names'])(
    'another file under the name of the copy gets no second name: DEST %s',
    async (how) => {
      makeFiles(src, { one: 'content' });
      linkSync(join(src, 'one'), join(src, 'two'));
      makeFiles(room, { theirs: 'theirs' });
      if (how !== 'is new') makeFiles(dest, { one: 'old', two: 'old' });
      const script = `
        mv "${room}/theirs" "$(find "${dest}" -type f -size 7c)"`;
      const { error, result, log } = await race(
        { preserve: ['hardLinks'], concurrency: 1 },
        { faults: 'linkat:run:1:1', script },
      );
      expect(error).toBeUndefined();
      expect(log).toHaveLength(1);
      expect(result.warnings).toMatchObject([{ code: 'HARD_LINKS_NOT_PRESERVED' }]);
      expect([read(dest, 'one'), read(dest, 'two')].sort()).toEqual(['content', 'theirs']);
      expect(leftovers(dest)).toEqual([]);
    },
  );

  test('a file that changed after its first name was copied gets no second name', async () => {
    makeFiles(src, { one: 'content' });
    linkSync(join(src, 'one'), join(src, 'two'));
    const { error, result } = await race(
      { preserve: ['hardLinks'], concurrency: 1 },
      { faults: 'openat:run:2:1:/src/', script: `printf ' and more' >> "$1"` },
    );
    expect(error).toBeUndefined();
    expect(result.warnings).toMatchObject([{ code: 'HARD_LINKS_NOT_PRESERVED' }]);
    const contents = [read(dest, 'one'), read(dest, 'two')].sort();
    expect(contents).toEqual(['content', 'content and more']);
  });
});

test('a file that somebody put in the place of a copy that fails stays', async () => {
  makeFiles(src, { file: 'content' });
  makeFiles(room, { theirs: 'theirs' });
  const { error } = await race(
    { reflink: 'never' },
    { faults: 'pwrite64:run:1:1 pwrite64:5:1:1', script: `mv "${room}/theirs" "$1"` },
  );
  expect(error).toMatchObject({ code: 'EIO', syscall: 'write' });
  expect(read(dest, 'file')).toBe('theirs');
});

test('an update keeps a file that became newer while it was copied', async () => {
  makeFiles(src, { file: 'from src' });
  makeFiles(dest, { file: 'old' });
  utimesSync(join(src, 'file'), 1e9, 1e9);
  utimesSync(join(dest, 'file'), 1, 1);
  const { error, result } = await race(
    { update: true, reflink: 'never' },
    { faults: 'pwrite64:run:1:1', script: `printf newer > "${join(dest, 'file')}"` },
  );
  expect(error).toBeUndefined();
  expect(result).toMatchObject({ files: 0, skipped: 1 });
  expect(read(dest, 'file')).toBe('newer');
  expect(leftovers(dest)).toEqual([]);
});

test('a file that somebody put in the place of a new symlink stays', async () => {
  makeFiles(src, { target: '' });
  symlinkSync('target', join(src, 'link'));
  makeFiles(room, { theirs: 'theirs' });
  const script = `test -L "${dest}/link"; mv "${room}/theirs" "${dest}/link"`;
  const { error } = await race(
    { preserve: ['timestamps'] },
    { faults: 'openat:run:1:1:/dest/link', script },
  );
  expect(error).toMatchObject({ code: 'ERR_FASTCP_DEST_CHANGED' });
  expect(read(dest, 'link')).toBe('theirs');
});

describe('somebody moves a directory of DEST while it is filled', () => {
  const moved = (): string => join(room, 'moved');
  const changes: Record<string, (directory: string) => string> = {
    'is renamed': (at) => `mv "${at}" "${moved()}"`,
    'is replaced by another': (at) => `mv "${at}" "${moved()}"; mkdir "${at}"`,
    'is replaced by a symlink to it': (at) => `mv "${at}" "${moved()}"; ln -s "${moved()}" "${at}"`,
    'is replaced by a file': (at) => `mv "${at}" "${moved()}"; : > "${at}"`,
  };
  const ways: Record<string, CopyOptions> = {
    'DEST is new': {},
    'a copy into an existing DEST': {},
    'a mirror with all metadata': { mirror: true, preserve: true },
  };
  const cases = Object.keys(changes).flatMap((change) =>
    ['', 'sub', 'sub/below'].flatMap((name) =>
      Object.keys(ways).map((way) => [name, change, way] as const),
    ),
  );

  test.for(cases)("'%s' %s: it is an error; %s", async ([name, change, way]) => {
    makeFiles(src, { 'sub/below/file': 'content', 'sub/file': 'content', file: 'content' });
    if (way !== 'DEST is new') mkdirSync(join(dest, 'sub/below'), { recursive: true });
    const { error, result } = await race(
      // Under a lock the copy rejects in this case: several-jobs.test.ts.
      {
        ...ways[way],
        onError: 'continue',
        lock: name !== '' || change !== 'is replaced by another',
      },
      {
        faults: 'openat(O_CREAT):run:1:1:/below/file',
        script: changes[change]?.(join(dest, name)) ?? '',
      },
    );
    expect(error).toBeUndefined();
    // DEST itself may be a symlink to a directory.
    const isMoved = name !== '' || !change.includes('symlink');
    expect(result.errors).toMatchObject(
      isMoved
        ? [{ code: 'ERR_FASTCP_DEST_CHANGED', path: join(src, name), dest: join(dest, name) }]
        : [],
    );
    // Nothing is lost: what was copied is in the directory that was moved.
    expect(unlike(join(src, name), moved())).toEqual([]);
    expect(readTree(moved()).size).toBe(readTree(join(src, name)).size);
  });

  test.for(['', 'sub', 'sub/below'])("'%s' is removed: it is an error", async (name) => {
    makeFiles(src, { 'sub/below/file': 'content' });
    const script = `rm -r "${join(dest, name)}"`;
    const faults = 'openat:run:1:1:/src/sub/below/file';
    const { error } = await race({}, { faults, script });
    expect(['ENOENT', 'ERR_FASTCP_DEST_CHANGED']).toContain(error?.code);
  });

  test('a directory above DEST is renamed: it is an error', async () => {
    makeFiles(src, { file: 'content' });
    dest = join(room, 'above/dest');
    const script = `mv "${room}/above" "${moved()}"`;
    const { error } = await race({}, { faults: 'openat(O_CREAT):run:1:1:/dest/file', script });
    expect(error).toMatchObject({ code: 'ERR_FASTCP_DEST_CHANGED', path: src, dest });
    expect(readdirSync(room)).not.toContain('above');
  });

  test('DEST is a symlink to a directory, and leads elsewhere then: it is an error', async () => {
    makeFiles(src, { file: 'content' });
    makeFiles(room, { 'one/kept': '', 'two/kept': '' });
    symlinkSync('one', dest);
    const script = `ln -sfn two "${dest}"`;
    const faults = 'openat(O_CREAT):run:1:1:/file';
    const { error } = await race({}, { faults, script });
    expect(error).toMatchObject({ code: 'ERR_FASTCP_DEST_CHANGED', path: src, dest });
    expect(readdirSync(join(room, 'two'))).toEqual(['kept']);
  });
});

describe('a small file changes just before the call that copies it', () => {
  test.for([
    ['grows', 'printf more >>', 'contentmore'],
    ['shrinks', 'printf con >', 'con'],
    ['is emptied', ': >', ''],
    ['is written anew, as large as it was', 'printf tnetnoc >', 'tnetnoc'],
    ['is written anew, larger', 'printf "all of it" >', 'all of it'],
  ])('it %s: the copy has all that it is then', async ([, change, content]) => {
    makeFiles(src, { file: 'content' });
    const script = `${change} "${src}/file"`;
    const { error, result } = await race(
      { onError: 'continue' },
      { faults: 'copy_file_range:run:1:1', script },
    );
    expect(error).toBeUndefined();
    expect(result).toMatchObject({ files: 1, errorCount: 0, bytes: content?.length });
    expect(read(dest, 'file')).toBe(content);
  });
});

test.for([
  [65_535, 0],
  [65_536, 1],
  [1 << 20, 1],
] as const)(
  'a file of %i bytes changes each time just before the call that copies it: %i errors',
  async ([size, refused]) => {
    makeFiles(src, { file: Buffer.alloc(size, 'a') });
    const { result } = await race(
      { onError: 'continue' },
      {
        faults: 'copy_file_range:run:1:2',
        script: `printf b | dd of="${src}/file" conv=notrunc status=none; touch "${src}/file"`,
      },
    );
    expect(result).toMatchObject({ files: 1 - refused, errorCount: refused });
    if (refused > 0) expect(result.errors[0]?.code).toBe('ERR_FASTCP_SOURCE_CHANGED');
    expect(readdirSync(dest)).toEqual(refused > 0 ? [] : ['file']);
  },
);

describe('somebody puts something else in the place of', () => {
  const everything: CopyOptions = { preserve: true, onError: 'continue' };
  /** All that metadata could change of what is somebody else's. */
  const stateOf = (path: string) => {
    const { ino, mode, uid, mtimeNs } = lstatSync(path, { bigint: true });
    return { ino, mode, uid, mtimeNs };
  };
  const theirs = (): string => join(room, 'theirs');

  test('a source that was listed: a FIFO holds up nobody', async () => {
    makeFiles(src, { file: 'content' });
    const script = 'rm "$1"; mkfifo "$1"';
    const { result } = await race(everything, { faults: 'openat:run:1:1:/src/file', script });
    expect(result.errors).toMatchObject([
      { code: 'ERR_FASTCP_SOURCE_CHANGED', path: join(src, 'file') },
    ]);
    expect(readdirSync(dest)).toEqual([]);
  });

  test('a copy that is to be compared: a FIFO is not read', async () => {
    makeFiles(src, { file: 'content' });
    makeFiles(dest, { file: 'content' });
    const { result } = await race(
      { ...everything, mirror: true },
      { faults: 'openat:run:1:1:/dest/file', script: 'rm "$1"; mkfifo "$1"' },
    );
    expect(result.errors).toMatchObject([{ code: 'ERR_FASTCP_DEST_IS_SPECIAL' }]);
    expect(lstatSync(join(dest, 'file')).isFIFO()).toBe(true);
  });

  test('a copy that is the same: the other file keeps its metadata', async () => {
    makeFiles(src, { file: 'content' });
    makeFiles(dest, { file: 'content' });
    makeFiles(room, { theirs: 'theirs' });
    utimesSync(join(src, 'file'), 1000, 1000); // so that there is something to set
    chmodSync(theirs(), 0o600);
    const before = stateOf(theirs());
    // The first call opens it to compare it, the second one to give it SRC's metadata.
    const { result } = await race(
      { ...everything, mirror: true },
      { faults: 'openat:run:2:1:/dest/file', script: `mv "${theirs()}" "$1"` },
    );
    expect(result.errors).toMatchObject([
      { code: 'ERR_FASTCP_DEST_CHANGED', dest: join(dest, 'file') },
    ]);
    expect(stateOf(join(dest, 'file'))).toEqual(before);
    expect(read(dest, 'file')).toBe('theirs');
  });

  test('a symlink that was made: one more name of another keeps its metadata', async () => {
    mkdirSync(src);
    symlinkSync('nowhere', join(src, 'link'));
    symlinkSync('theirs', theirs());
    lutimesSync(join(src, 'link'), 1, 1);
    const before = stateOf(theirs());
    const { result } = await race(everything, {
      faults: 'openat:run:1:1:/dest/link',
      script: `rm "$1"; ln -P "${theirs()}" "$1"`,
    });
    expect(result.errors).toMatchObject([
      { code: 'ERR_FASTCP_DEST_CHANGED', dest: join(dest, 'link') },
    ]);
    expect(stateOf(theirs())).toEqual(before);
  });

  test('a copy that is to be read back: it is an error, and the other file stays', async () => {
    makeFiles(src, { file: 'content' });
    makeFiles(room, { theirs: 'content' });
    const { result } = await race(
      { verify: true, onError: 'continue' },
      { faults: 'openat:run:1:1:/dest/file', script: `mv "${theirs()}" "$1"` },
    );
    expect(result).toMatchObject({
      files: 0,
      errors: [
        { code: 'ERR_FASTCP_DEST_CHANGED', path: join(src, 'file'), dest: join(dest, 'file') },
      ],
    });
    expect(readdirSync(dest)).toEqual(['file']);
  });

  test('a copy whose source changes while it gets its times does not replace what was there', async () => {
    makeFiles(src, { file: 'content' });
    makeFiles(dest, { file: 'old' });
    const { error } = await race(
      { preserve: ['mode', 'timestamps'] },
      {
        faults: 'futimens:run:1:30:/dest/',
        script: `printf more >> "${src}/file"; touch -d 2001-01-01 "${src}/file"`,
      },
    );
    expect(error).toMatchObject({ code: 'ERR_FASTCP_SOURCE_CHANGED' });
    expect(readFileSync(join(dest, 'file'), 'utf8')).toBe('old');
    expect(readdirSync(dest)).toEqual(['file']);
  });

  test('a copy whose source changes before it has its name has the time of what was read', async () => {
    makeFiles(src, { file: 'content' });
    makeFiles(dest, { file: 'old' });
    const { mtimeNs } = lstatSync(join(src, 'file'), { bigint: true });
    const { error } = await race(
      { preserve: ['mode', 'timestamps'] },
      {
        faults: 'renameat:run:1:1:/dest/',
        script: `printf more >> "${src}/file"; touch -d 2001-01-01 "${src}/file"`,
      },
    );
    expect(error).toBeUndefined();
    expect(readFileSync(join(dest, 'file'), 'utf8')).toBe('content');
    expect(lstatSync(join(dest, 'file'), { bigint: true }).mtimeNs).toBe(mtimeNs);
  });
});

describe('contents are compared', () => {
  /** The same on both sides, and times that do not prove it. */
  function makeBoth(size: number, { sameTime = true } = {}): void {
    for (const [index, root] of [src, dest].entries()) {
      makeFiles(root, { file: Buffer.alloc(size, 'same ') });
      const time = sameTime ? 1000 : 1000 + index;
      utimesSync(join(root, 'file'), time, time);
    }
  }

  const expectCopied = (result: Outcome['result']): void => {
    expect(result).toMatchObject({ files: 1, skipped: 0, errorCount: 0 });
    expect(read(src, 'file').startsWith('Xame ')).toBe(true);
    expect(readFileSync(join(dest, 'file')).equals(readFileSync(join(src, 'file')))).toBe(true);
  };

  test('a source that changes meanwhile is copied', async () => {
    makeBoth(4 * MiB);
    const { result } = await race(
      { mirror: true },
      { faults: 'pread64:run:4:1:/src/file', script: spoil(join(src, 'file')) },
    );
    expectCopied(result);
  });

  test('a source that changes while its copy gets its times is copied', async () => {
    makeBoth(1000, { sameTime: false });
    const { result } = await race(
      { mirror: true },
      { faults: 'futimens:run:1:1:/dest/file', script: spoil(join(src, 'file')) },
    );
    expectCopied(result);
  });

  test.for(['src', 'dest'])(
    'a file of %s that changes after its part was compared is copied, in this run or in the next',
    async (where) => {
      makeBoth(8 * MiB);
      const { result } = await race(
        { mirror: true },
        {
          faults: `pread64:run:4:1:/src/file`,
          script: `${spoil(join(room, where, 'file'))}; sleep 0.05`,
        },
      );
      // Another program may write into DEST at any time: the next run finds it.
      expect(result).toMatchObject({ files: where === 'src' ? 1 : 0, errorCount: 0 });
      await copyInChild({ src, dest, options: { mirror: true } });
      expect(readFileSync(join(dest, 'file')).equals(readFileSync(join(src, 'file')))).toBe(true);
    },
  );
});

test('a source that never comes to rest is an error after four attempts', async () => {
  makeFiles(src, { file: 'content' });
  const { error, log } = await race(
    { preserve: ['mode', 'timestamps'] },
    { faults: 'futimens:run:1:30:/dest/file', script: `printf more >> "${src}/file"` },
  );
  expect(error).toMatchObject({
    code: 'ERR_FASTCP_SOURCE_CHANGED',
    path: join(src, 'file'),
    dest: join(dest, 'file'),
  });
  expect(log).toHaveLength(4);
  expect(readdirSync(dest)).toEqual([]);
});

test('a directory that another worker creates meanwhile is found', async () => {
  makeFiles(src, { 'package/1.js': '1', 'package/below/2.js': '2', 'package/below/no': '' });
  // One worker has opened the upper directory for the lower one, the other one creates it then.
  const script = `
    case "$1" in
      */below) touch "${room}/opened"; wanted="${dest}/package";;
      *) wanted="${room}/opened";;
    esac
    tries=0
    until [ -e "$wanted" ] || [ $tries -ge 200 ]; do tries=$((tries + 1)); sleep 0.01; done
    [ "$wanted" = "${room}/opened" ] || sleep 0.2`;
  const { error, result } = await race(
    { include: ['**/*.js'], concurrency: 2 },
    {
      faults: 'openat(O_DIRECTORY):run:1:1:/src/package/below mkdirat:run:1:1:/dest/package',
      script,
    },
  );
  expect(error).toBeUndefined();
  expect(result.files).toBe(2);
  expect(read(dest, 'package/below/2.js')).toBe('2');
});

describe('a directory that was closed meanwhile, as descriptors are few', () => {
  const levels = 'n/'.repeat(14);
  const one: CopyOptions = { concurrency: 1, onError: 'continue' };
  const create = 'openat(O_CREAT):run:1:1:/dest/p/';
  /** Which of the two directories in p is being copied. */
  const which = `case "$1" in */p/1/*) c=1;; *) c=2;; esac`;
  /** Its path when it was left, as the log of calls has it. */
  const upwards = (log: string[], from: string): string[] =>
    log.filter((line) => /^openat\(O_DIRECTORY\) .*\/\.\.$/.test(line) && line.includes(from));

  test('is not read by .. of one that was moved out of it', async () => {
    makeFiles(src, { [`p/1/${levels}file`]: 'content', [`p/2/${levels}file`]: 'content' });
    makeFiles(room, { 'q/1/file': 'not of SRC', 'q/2/file': 'not of SRC' });
    const script = `${which}; rm -r "${room}/q/$c"; mv "${src}/p/$c" "${room}/q/$c"`;
    const { result, log } = await race(one, { faults: create, script, trace: true }, limited(48));
    expect(upwards(log, `${room}/q/`).length).toBeGreaterThan(0);
    expect(result).toMatchObject({ errorCount: 0, files: 2 });
    expect(read(dest, `p/1/${levels}file`)).toBe('content');
    expect(read(dest, `p/2/${levels}file`)).toBe('content');
  });

  test('is not written by .. of one that was moved out of it', async () => {
    makeFiles(src, { [`p/1/${levels}file`]: 'content', [`p/2/${levels}file`]: 'content' });
    mkdirSync(join(room, 'q'));
    const script = `${which}; mv "${dest}/p/$c" "${room}/q/$c"`;
    const { result, log } = await race(one, { faults: create, script, trace: true }, limited(48));
    expect(upwards(log, `${room}/q/`).length).toBeGreaterThan(0);
    expect(readdirSync(join(room, 'q'))).toHaveLength(1);
    const [moved] = readdirSync(join(room, 'q'));
    expect(result).toMatchObject({
      errors: [{ code: 'ERR_FASTCP_DEST_CHANGED', dest: join(dest, 'p', moved ?? '') }],
      files: 2,
    });
    expect(readdirSync(join(dest, 'p'))).toHaveLength(1);
  });

  test('and cannot be opened again is an error, though all in it was copied', async () => {
    makeFiles(src, { [`p/1/${levels}file`]: 'content' });
    const script = `
      mv "${dest}/p/1" "${room}/moved"; mv "${dest}/p" "${room}/gone"; mkdir "${dest}/p"`;
    const { result } = await race(
      { ...one, preserve: ['mode', 'timestamps'] },
      { faults: create, script },
      limited(48),
    );
    expect(result.errors).toMatchObject([
      { code: 'ERR_FASTCP_DEST_CHANGED', path: join(src, 'p'), dest: join(dest, 'p') },
    ]);
    expect(result.files).toBe(1);
  });

  const names = Array.from({ length: 60 }, (_, i) => `d${i + 10}`);

  test.for(['src', 'dest'])('and exchanged in %s is neither read nor written', async (where) => {
    const own = Object.fromEntries(names.map((name) => [`${name}/file`, 'content']));
    makeFiles(src, own);
    for (const name of names) mkdirSync(join(dest, name), { recursive: true });
    mkdirSync(join(room, 'away'));
    // Nobody knows what to copy before all of them were looked at: most are closed by then.
    const code = `
      const { execFileSync } = await import('node:child_process');
      execFileSync('prlimit', ['--pid', String(process.pid), '--nofile=96:96']);
      const exchange = () => {
        for (const name of given.names) {
          fs.renameSync(given.swapped + '/' + name, given.away + '/' + name);
          fs.mkdirSync(given.swapped + '/' + name);
          if (given.swapped === given.src) fs.writeFileSync(given.src + '/' + name + '/file', 'other');
        }
      };
      let looked = 0;
      let go;
      const all = new Promise((resolve) => { go = resolve; });
      const filter = (_src, _dest, { kind }) => {
        if (kind === 'directory') return true;
        if (++looked === given.names.length) {
          exchange();
          go();
        }
        return all.then(() => true);
      };
      const { errors } = await copyTree(given.src, given.dest, { filter, onError: 'continue' });
      answer(errors.map(({ code }) => code));`;
    const given = { src, dest, names, swapped: join(room, where), away: join(room, 'away') };
    const ended = await runChild<string[]>(nodes[0]?.path ?? '', code, given);
    expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
    const expected = where === 'src' ? 'ESTALE' : 'ERR_FASTCP_DEST_CHANGED';
    expect(new Set(ended.answer)).toEqual(new Set([expected]));
    const copied = names.filter((name) =>
      statSync(join(dest, name, 'file'), { throwIfNoEntry: false }),
    );
    if (where === 'dest') expect(copied).toEqual([]);
    for (const name of copied) expect(read(dest, name, 'file')).toBe('content');
    expect(copied.length).toBeLessThan(names.length);
  });
});

describe('a log that is cut to one record, and gets another one while it is copied', () => {
  const [first, second] = ['a'.repeat(60), 'b'.repeat(60)];
  test.for<[string, { faults?: string; options?: CopyOptions; size?: number }]>([
    ['copied at once', {}],
    ['by a call that ends early', { faults: 'copy_file_range:short:1:1' }],
    ['by a call that fails', { faults: 'copy_file_range:22:1:1' }],
    ['by a call that copies nothing', { faults: 'copy_file_range:zero:1:1' }],
    ['where its holes are looked for', { size: 70 << 10 }],
    ['in several parts', { size: 65 * MiB }],
    ['verified', { options: { verify: true } }],
    ['with its timestamps', { options: { preserve: true } }],
    ['with a hard link', { options: { preserve: ['hardLinks'] } }],
    ['without a name', { options: { force: false } }],
  ])('%s: the copy is the log of one moment', async ([, { faults, options, size = 100 }]) => {
    let copied = 0;
    for (const call of [1, 2, 3, 4, 5]) {
      room = join(work, `${number++}`);
      [src, dest] = [join(room, 'src'), join(room, 'dest')];
      const log = join(src, 'log');
      makeFiles(src, { log: 'x'.repeat(size) });
      if (size === 70 << 10) truncateSync(log, 2 * size);
      if (options?.preserve) linkSync(log, join(src, 'twin'));
      const script = `
        echo >> "${room}/calls"
        calls=$(wc -l < "${room}/calls")
        [ $calls != 1 ] || printf ${first} > "${log}"
        [ $calls != ${call} ] || printf ${second} >> "${log}"`;
      const given = { faults: `copy_file_range:run:1:8 ${faults ?? ''}`, script };
      const { error, result } = await race({ concurrency: 1, ...options }, given);
      if (error) expect(error.code).toMatch(/^(EBUSY|EIO|ERR_FASTCP.*)$/);
      if (error) continue;
      copied += result.files;
      for (const name of readdirSync(dest))
        expect([first, first + second]).toContain(read(dest, name));
    }
    expect(copied).toBeGreaterThan(0);
  });
});
