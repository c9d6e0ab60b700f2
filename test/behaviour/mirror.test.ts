// Doing it again: what is unchanged is left alone, what SRC does not have goes.

import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { errorText } from '../../bin/error-text.js';
import { copyTree } from '../../lib/index.js';
import type { CopyErrorLike, CopyOptions, EntryEvent } from '../../lib/types.js';
import { Random } from '../selection/support/random.js';
import { copyInChild, limited } from '../support/child.js';
import { useFileSystem, whileMounted } from '../support/filesystems.js';
import { byEntry } from '../support/filter.js';
import { seed, size } from '../support/form.js';
import { buildShim, faultLog, withFaults } from '../support/shim.js';
import { makeFiles, makeSocket, makeZoo } from '../support/trees.js';
import { asUser, needUser, USER } from '../support/user.js';
import { isRoot, needRoot, needTool, skip, slowness, workDirectory } from '../support/work.js';

const work = workDirectory('mirror');
let number = 0;
let src: string;
let dest: string;
beforeEach(() => {
  const directory = join(work, `${number++}`);
  mkdirSync(directory);
  chmodSync(directory, 0o777);
  src = join(directory, 'src');
  dest = join(directory, 'dest');
});

const mirror = (options: CopyOptions = {}) => copyTree(src, dest, { mirror: true, ...options });

async function entriesOf(options: CopyOptions): Promise<EntryEvent[]> {
  const entries: EntryEvent[] = [];
  const job = copyTree(src, dest, { ...options, entries: true });
  for await (const event of job) if (event.type === 'entry') entries.push(event);
  await job;
  return entries;
}

/** Until then what is changed has the time of what was just changed. */
const tick = (): Promise<void> => sleep(20);

/** All that a mirror keeps equal, a line for each entry. */
function stateOf(root: string): string[] {
  const lines: string[] = [];
  const visit = (path: string, name: string): void => {
    const stat = lstatSync(path, { bigint: true });
    const mode = stat.isSymbolicLink() ? '' : (stat.mode & 0o7777n).toString(8);
    let what = '';
    if (stat.isFile()) what = readFileSync(path, 'latin1');
    if (stat.isSymbolicLink()) what = readlinkSync(path);
    lines.push(`${name} ${(stat.mode >> 12n).toString(8)} ${mode} ${stat.mtimeNs} ${what}`);
    if (!stat.isDirectory()) return;
    for (const child of readdirSync(path).sort()) visit(join(path, child), `${name}/${child}`);
  };
  visit(root, '');
  return lines;
}

/** Another content of the same length, under the old time: nothing but the ctime shows it. */
function editSlyly(path: string, random: Random): void {
  const { size, atime, mtime } = statSync(path);
  writeFileSync(path, Buffer.alloc(size, String.fromCharCode(97 + random.below(26))));
  utimesSync(path, atime, mtime);
}

/** Edits a tree in place; only what an observer could see is done to a copy. */
class Editor {
  readonly #root: string;
  readonly #random: Random;
  readonly #time: number;
  #last = 0;

  /** `time`: what new files get, in seconds; whole ones, since Node can set these again exactly. */
  constructor(root: string, random: Random, time: number) {
    this.#root = root;
    this.#random = random;
    this.#time = time;
  }

  /** All below. Not by readdir's `recursive`: that follows links since Node 22. */
  #entries(directory = this.#root): { path: string; isDirectory: boolean; isFile: boolean }[] {
    return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
      const path = join(directory, entry.name);
      const isDirectory = entry.isDirectory();
      const below = isDirectory ? this.#entries(path) : [];
      return [{ path, isDirectory, isFile: entry.isFile() }, ...below];
    });
  }

  #directory(): string {
    const directories = this.#entries().filter(({ isDirectory }) => isDirectory);
    return directories.length === 0 || this.#random.chance(30)
      ? this.#root
      : this.#random.pick(directories).path;
  }

  add(): void {
    // Few names, so that one kind comes in the place of another.
    const path = join(this.#directory(), `n${this.#random.below(12)}`);
    rmSync(path, { recursive: true, force: true });
    const kind = this.#random.below(10);
    if (kind < 5) {
      writeFileSync(path, 'x'.repeat(this.#random.below(3) * 1000));
      // Only a hole: there is nothing to compare but the size.
      if (this.#random.chance(20)) truncateSync(path);
      if (this.#random.chance(20)) truncateSync(path, this.#random.pick([100, 4096, 300_000]));
      if (kind < 3) utimesSync(path, this.#time, this.#time);
    } else if (kind < 7) mkdirSync(path);
    else if (kind < 8) symlinkSync(this.#random.pick(['a', 'b', '..', 'nowhere']), path);
    else if (kind < 9)
      this.#addFifo(`${path} fifo`); // in DEST nothing takes its place
    else makeFiles(path, { 'p/q/r': `${this.#last++}`, s: '' });
  }

  #addFifo(path: string): void {
    rmSync(path, { force: true });
    execFileSync('mkfifo', [path]);
  }

  remove(): void {
    const entries = this.#entries();
    if (entries.length < 5) return;
    rmSync(this.#random.pick(entries).path, { recursive: true });
  }

  /** What a mirror must notice in SRC, and nothing that it could not notice in DEST. */
  change(): void {
    const files = this.#entries().filter(({ isFile }) => isFile);
    const entries = this.#entries().filter(({ path }) => !lstatSync(path).isSymbolicLink());
    if (files.length === 0) return;
    const { path } = this.#random.pick(files);
    const what = this.#random.below(6);
    if (what < 2) editSlyly(path, this.#random);
    else if (what < 3) writeFileSync(path, `${this.#last++}`);
    else if (what < 4)
      chmodSync(this.#random.pick(entries).path, this.#random.pick([0o700, 0o755]));
    else if (what < 5) utimesSync(this.#random.pick(entries).path, 1, this.#random.below(1000));
    else renameSync(path, join(this.#directory(), `n${this.#random.below(12)}`));
  }

  edit(): void {
    const what = this.#random.below(10);
    try {
      if (what < 4) this.add();
      else if (what < 5) this.remove();
      else this.change();
    } catch (error) {
      // A file may not be moved over a directory.
      if (!['EISDIR', 'ENOTEMPTY'].includes(String((error as { code?: string }).code))) throw error;
    }
  }
}

const steps = size(60, 1500);

test(`${steps} random edits, seed ${seed}: DEST is SRC after each`, {
  timeout: 600_000 * slowness,
}, async () => {
  const random = new Random(seed);
  mkdirSync(src);
  const editor = new Editor(src, random, 1000);
  // Another time: what has the size and the time of its source is taken for it, whatever is in it.
  const others = () => new Editor(dest, random, 2000);
  for (let i = 0; i < 20; i++) editor.add();
  for (let step = 0; step < steps; step++) {
    for (let i = random.below(4); i >= 0; i--) editor.edit();
    // Others may put something into DEST, or take it away.
    if (existsSync(dest) && random.chance(20)) others().add();
    if (existsSync(dest) && random.chance(20)) others().remove();
    const planned = random.chance(10) && (await entriesOf({ mirror: true, dryRun: true }));
    const before = existsSync(dest) && stateOf(dest);
    if (planned) expect(existsSync(dest) && stateOf(dest), `dry run ${step}`).toEqual(before);
    const { deleted } = await mirror({ concurrency: 1 + random.below(3) });
    expect(stateOf(dest), `step ${step}`).toEqual(stateOf(src));
    if (planned) {
      expect(planned.filter(({ action }) => action === 'delete')).toHaveLength(deleted);
    }
  }
});

test(`edits during the copy, seed ${seed}: the next run finds what it missed`, {
  timeout: 120_000 * slowness,
}, async () => {
  const random = new Random(seed);
  makeFiles(src, {});
  mkdirSync(src, { recursive: true });
  for (let i = 0; i < 300; i++) {
    writeFileSync(join(src, `${i}`), 'a'.repeat(1 + random.below(9000)));
    utimesSync(join(src, `${i}`), 1000, 1000);
  }
  for (let round = 0; round < 20; round++) {
    const job = mirror({ onError: 'continue' });
    let going = true;
    const ended = job.finally(() => {
      going = false;
    });
    while (going) {
      for (let i = 0; i < 10; i++) editSlyly(join(src, `${random.below(300)}`), random);
      await sleep(0);
    }
    await ended;
    expect((await mirror()).errorCount).toBe(0);
    expect(stateOf(dest), `round ${round}`).toEqual(stateOf(src));
  }
});

describe('unchanged', () => {
  test('nothing is written, by the system calls', async (context) => {
    needTool(context, 'strace');
    needRoot(context);
    makeZoo(src, { wide: 200 });
    await tick();
    const first = await mirror();
    expect(first.files).toBeGreaterThan(200);
    const log = join(dest, '../strace');
    const writing =
      'trace=mkdirat,unlinkat,renameat,renameat2,linkat,symlinkat,mknodat,fchmod,fchmodat,' +
      'fchownat,utimensat,ftruncate,fallocate,fsetxattr,setxattr,copy_file_range,pwrite64,ioctl,openat';
    const words = ['strace', '-f', '-qq', '-y', '-o', log, '-e', writing];
    const { result } = await copyInChild({ src, dest, options: { mirror: true } }, words);
    expect(result).toMatchObject({ files: 0, directories: 0, symlinks: 0, special: 0, deleted: 0 });
    const reading = /openat\(.*O_(RDONLY|PATH)|ioctl\(\d+<[^>]*>, (TC|FIO)|\+\+\+ exited/;
    const calls = readFileSync(log, 'utf8')
      .split('\n')
      .filter((line) => line.includes(dest) && !line.includes(' resumed>'));
    expect(calls.filter((line) => !reading.test(line))).toEqual([]);
    expect(calls.length).toBeGreaterThan(20);
  });

  test('installed anew: contents decide, little is written, and the next run is cheap', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 300 }, (_, i) => [`p${i % 9}/${i}`, `${i}`]),
    );
    makeFiles(src, files);
    await mirror();
    rmSync(src, { recursive: true });
    makeFiles(src, { ...files, 'p1/1': '!' });
    await tick();
    const again = await entriesOf({ mirror: true });
    const count = (action: string, kind = 'file'): number =>
      again.filter((entry) => entry.action === action && entry.kind === kind).length;
    expect(count('replace')).toBe(1);
    expect(count('metadata')).toBe(299);
    expect(stateOf(dest)).toEqual(stateOf(src));
    const after = await entriesOf({ mirror: true });
    expect(new Set(after.map(({ action }) => action))).toEqual(new Set(['skip']));
  });

  test('a copy that was made by others, with times', async () => {
    makeFiles(src, { 'a/b': 'x', c: 'y' });
    execFileSync('cp', ['-a', src, dest]);
    expect(await mirror()).toMatchObject({ files: 0, unchanged: 2, deleted: 0 });
  });

  test('a large file is compared to its end', async () => {
    makeFiles(src, { large: Buffer.alloc(70 << 20, 'x') });
    await mirror();
    const content = Buffer.alloc(70 << 20, 'x');
    content[content.length - 1] = 0;
    const { atime, mtime } = statSync(join(src, 'large'));
    writeFileSync(join(src, 'large'), content);
    utimesSync(join(src, 'large'), atime, mtime);
    expect(await mirror()).toMatchObject({ files: 1 });
    expect(readFileSync(join(dest, 'large')).equals(content)).toBe(true);
  });

  test('what others changed in DEST is seen, though size and mtime are put back', async () => {
    makeFiles(src, { file: 'whole' });
    utimesSync(join(src, 'file'), 1000, 1000); // what Node can set exactly
    await tick();
    const spoil = async (): Promise<void> => {
      await mirror();
      writeFileSync(join(dest, 'file'), 'wrong');
      utimesSync(join(dest, 'file'), 1000, 1000);
    };
    await spoil();
    expect(await copyTree(src, dest, { quickCheck: true })).toMatchObject({
      files: 0,
      unchanged: 1,
    });
    for (const options of [{ sync: true }, { mirror: true }, { checksum: true }]) {
      await spoil();
      expect(await copyTree(src, dest, options)).toMatchObject({ files: 1 });
      expect(readFileSync(join(dest, 'file'), 'utf8')).toBe('whole');
    }
  });

  test('holes are not read to be compared', { timeout: 20_000 * slowness }, async () => {
    makeFiles(src, { image: '' });
    truncateSync(join(src, 'image'), 2 ** 38);
    await mirror();
    utimesSync(join(src, 'image'), 1000, 1000);
    expect(await mirror()).toMatchObject({ files: 0, unchanged: 1 });
    expect(await copyTree(src, dest, { checksum: true })).toMatchObject({ files: 0, unchanged: 1 });
    // What is only in one of them is seen.
    const file = openSync(join(dest, 'image'), 'r+');
    writeSync(file, 'x', 2 ** 37);
    closeSync(file);
    utimesSync(join(dest, 'image'), 1000, 1000);
    expect(await mirror()).toMatchObject({ files: 1 });
    expect(lstatSync(join(dest, 'image')).blocks).toBe(0);
  });

  test('hard links stay hard links, and the next mirror writes nothing', async () => {
    makeFiles(src, { 'a/one': 'x', 'b/other': 'y' });
    linkSync(join(src, 'a/one'), join(src, 'b/two'));
    linkSync(join(src, 'a/one'), join(src, 'b/three'));
    await mirror({ preserve: true });
    expect(await mirror({ preserve: true })).toMatchObject({
      files: 0,
      hardLinks: 0,
      unchanged: 4,
    });
    writeFileSync(join(src, 'a/one'), 'longer');
    expect(await mirror({ preserve: true })).toMatchObject({ files: 1, hardLinks: 2 });
    expect(statSync(join(dest, 'b/two')).ino).toBe(statSync(join(dest, 'a/one')).ino);
    expect(statSync(join(dest, 'b/three')).nlink).toBe(3);
    expect(readdirSync(join(dest, 'b')).sort()).toEqual(['other', 'three', 'two']);
  });

  describe('hard links stay if a new copy would be no different', () => {
    const identities = (): unknown[] =>
      readdirSync(dest).map((name) => {
        const { ino, mode, uid, mtimeMs } = lstatSync(join(dest, name));
        return [name, ino, mode, uid, mtimeMs];
      });

    test("another user's, whose owner an ordinary user cannot set", async (context) => {
      needRoot(context);
      needUser(context);
      makeFiles(src, { file: 'x', other: 'y' });
      symlinkSync('nowhere', join(src, 'symlink'));
      execFileSync('sh', ['-c', 'mkfifo fifo; chown -h 1234:0 *; chmod 4755 file'], { cwd: src });
      for (const name of readdirSync(src)) linkSync(join(src, name), join(src, `${name} again`));
      const options = { mirror: true, preserve: true };
      const again = async () => copyInChild({ src, dest, options }, asUser);
      expect((await again()).error).toBeUndefined();
      const before = identities();
      const { result } = await again();
      expect(result).toMatchObject({ files: 0, symlinks: 0, special: 0, hardLinks: 0 });
      expect(result).toMatchObject({ unchanged: 8 });
      expect(identities()).toEqual(before);
      // A mode can be set, on a new file.
      chmodSync(join(src, 'other'), 0o604);
      const changed = await again();
      expect(changed.result).toMatchObject({ files: 1, hardLinks: 1, unchanged: 6 });
      expect(lstatSync(join(dest, 'other again')).mode & 0o777).toBe(0o604);
      expect(readdirSync(dest)).toHaveLength(8); // and nothing temporary
    });

    const disk = useFileSystem(work, 'ext4', { size: '64M' });
    test('with an attribute that has no room', async (context) => {
      needTool(context, 'setfattr');
      makeFiles(src, { file: 'x' });
      dest = join(disk(context), 'no room');
      // In memory or on this disk there is room.
      const set = ['-n', 'user.large', '-v', 'x'.repeat(20_000), join(src, 'file')];
      const { status, stderr } = spawnSync('setfattr', set, { encoding: 'utf8' });
      if (status !== 0) skip(context, stderr);
      linkSync(join(src, 'file'), join(src, 'again'));
      const { warnings } = await mirror({ preserve: true });
      expect(warnings).toMatchObject([{ code: 'XATTRS_NOT_PRESERVED' }]);
      const before = identities();
      const second = await mirror({ preserve: true });
      expect(second).toMatchObject({ files: 0, hardLinks: 0, unchanged: 2 });
      // It may show the file's other name.
      expect(second.warnings).toMatchObject([
        { code: 'XATTRS_NOT_PRESERVED', count: warnings[0]?.count },
      ]);
      expect(identities()).toEqual(before);
      execFileSync('setfattr', ['-n', 'user.small', '-v', 'y', join(src, 'file')]);
      expect(await mirror({ preserve: true })).toMatchObject({ files: 1, hardLinks: 1 });
      expect(await mirror({ preserve: true })).toMatchObject({ files: 0, unchanged: 2 });
    });
  });

  test('a store that DEST is linked to is not touched, its times neither', async () => {
    makeFiles(src, { file: 'same', other: 'new' });
    makeFiles(dest, {});
    mkdirSync(dest, { recursive: true });
    const store = join(dest, '../store');
    makeFiles(store, { file: 'same', other: 'old' });
    for (const name of ['file', 'other']) {
      utimesSync(join(store, name), 1, 1);
      linkSync(join(store, name), join(dest, name));
    }
    const before = stateOf(store);
    await mirror();
    expect(stateOf(dest)).toEqual(stateOf(src));
    expect(stateOf(store)).toEqual(before);
  });

  test.for([
    { preserve: true },
    { preserve: ['mode', 'timestamps', 'hardLinks'] },
  ] as CopyOptions[])('nor one that SRC has as many names of: %j', async (options) => {
    makeFiles(src, { one: 'same' });
    linkSync(join(src, 'one'), join(src, 'two'));
    makeFiles(dest, {});
    mkdirSync(dest, { recursive: true });
    const store = join(dest, '../store of one');
    makeFiles(store, { one: 'same', two: 'same' });
    // Whichever is first.
    for (const name of ['one', 'two']) {
      utimesSync(join(store, name), 1, 1);
      chmodSync(join(store, name), 0o600);
      linkSync(join(store, name), join(dest, name));
    }
    const before = stateOf(store);
    await mirror(options);
    expect(stateOf(store)).toEqual(before);
    expect(stateOf(dest)).toEqual(stateOf(src));
    expect(statSync(join(dest, 'two')).ino).toBe(statSync(join(dest, 'one')).ino);
    expect(await mirror(options)).toMatchObject({ files: 0, hardLinks: 0 });
    rmSync(store, { recursive: true });
  });
});

describe('what SRC does not have', () => {
  test('goes, but not what is excluded', async () => {
    makeFiles(src, { keep: '', 'a/keep': '' });
    makeFiles(dest, {
      gone: '',
      'a/gone/deep/er': '',
      'a/x.log': '',
      'logs/y.log': '',
      'logs/z': '',
    });
    const { deleted } = await mirror({ exclude: ['**/*.log'] });
    expect(deleted).toBe(5);
    const left = readdirSync(dest, { recursive: true }).sort();
    expect(left).toEqual(['a', 'a/keep', 'a/x.log', 'keep', 'logs', 'logs/y.log']);
    expect(await mirror({ exclude: ['**/*.log'], deleteExcluded: true })).toMatchObject({
      deleted: 3,
    });
    expect(readdirSync(dest, { recursive: true }).sort()).toEqual(['a', 'a/keep', 'keep']);
  });

  test('and is excluded has no event: it is no entry of SRC', async () => {
    makeFiles(src, { 'a/keep': '', 'a/x.log': '' });
    makeFiles(dest, { 'a/y.log': '', 'a/gone': '', 'z.log': '' });
    for (const name of ['a', '']) utimesSync(join(dest, name), 1, 1);
    const entries = await entriesOf({ mirror: true, exclude: ['**/*.log'] });
    const lines = entries.map(({ action, path }) => `${action} ${path}`).sort();
    expect(lines).toEqual([
      `copy ${src}/a/keep`,
      `delete ${src}/a/gone`,
      `exclude ${src}/a/x.log`,
      `metadata ${src}`,
      `metadata ${src}/a`,
    ]);
  });

  test.for<[string, CopyOptions]>([
    ['a filter', { filter: byEntry(({ name }) => name !== 'mine') }],
    ['one that takes its time', { filter: byEntry(({ name }) => sleep(2, name !== 'mine')) }],
    ['a rule', { ignoreFileNames: ['.rules'] }],
  ])('is protected by %s', async ([, options]) => {
    makeFiles(src, { '.rules': 'mine\n', 'a/keep': '' });
    makeFiles(dest, { mine: '', 'a/mine': '', 'b/mine': '', 'b/not': '', 'c/d/not': '' });
    await mirror(options);
    const left = readdirSync(dest, { recursive: true }).sort();
    expect(left).toEqual(['.rules', 'a', 'a/keep', 'a/mine', 'b', 'b/mine', 'mine']);
  });

  test.for(['x/wanted', 'x/nothing'])(
    'a file that cannot be deleted, where SRC has a directory with %s: the error names it',
    async (wanted, context) => {
      needTool(context, 'strace');
      makeFiles(src, { keep: '', 'x/wanted': '' });
      makeFiles(dest, { x: 'old' });
      const options = { mirror: true, include: ['keep', wanted], deleteExcluded: true };
      const fails = ['strace', '-f', '-qq', '-o/dev/null', '-einject=unlinkat:error=EPERM'];
      const { result } = await copyInChild(
        { src, dest, options: { ...options, onError: 'continue' } },
        fails,
      );
      const error = { code: 'EPERM', syscall: 'unlink', path: join(dest, 'x') };
      expect(result).toMatchObject({ errors: [error], deleted: 0, files: 1 });
      expect(result.errors[0]).not.toHaveProperty('dest');
      expect(readFileSync(join(dest, 'x'), 'utf8')).toBe('old');
    },
  );

  test.for(['x/wanted', 'x/nothing'])(
    'a FIFO stays, where SRC has a directory with %s: an error, also planned',
    async (wanted) => {
      makeFiles(src, { keep: '', 'x/wanted': '' });
      mkdirSync(dest);
      execFileSync('mkfifo', [join(dest, 'x')]);
      for (const dryRun of [true, false]) {
        const options = { include: ['keep', wanted], deleteExcluded: true, dryRun } as const;
        const { errors, deleted } = await mirror({ ...options, onError: 'continue' });
        expect(errors).toMatchObject([{ code: 'ERR_FASTCP_DEST_IS_SPECIAL' }]);
        expect(deleted).toBe(0);
      }
      expect(lstatSync(join(dest, 'x')).isFIFO()).toBe(true);
    },
  );

  test('what takes the place of a directory is scanned', async () => {
    makeFiles(src, { one: '', two: '' });
    makeFiles(dest, { 'one/x': '', 'two/x': '' });
    const planned = await mirror({ dryRun: true });
    expect(planned).toMatchObject({ scanned: 3, files: 2 });
    expect(await mirror()).toMatchObject({ scanned: 3, files: 2, deleted: 4 });
  });

  test('whatever kinds meet', async () => {
    const kinds: Record<string, (path: string) => void> = {
      file: (path) => writeFileSync(path, 'f'),
      directory: (path) => makeFiles(path, { 'in/it': 'x' }),
      link: (path) => symlinkSync('nowhere', path),
      fifo: (path) => execFileSync('mkfifo', [path]),
      nothing: () => {},
    };
    mkdirSync(src);
    mkdirSync(dest);
    // What is a FIFO in DEST stays one unless SRC has nothing of the name.
    const meet = (from: string, to: string) =>
      to !== 'fifo' || from === 'fifo' || from === 'nothing';
    for (const [from, make] of Object.entries(kinds)) {
      for (const [to, makeOther] of Object.entries(kinds)) {
        if (!meet(from, to)) continue;
        make(join(src, `${from} over ${to}`));
        makeOther(join(dest, `${from} over ${to}`));
      }
    }
    await mirror();
    expect(stateOf(dest)).toEqual(stateOf(src));
    for (const name of readdirSync(dest)) rmSync(join(dest, name), { recursive: true });
    for (const [from] of Object.entries(kinds)) {
      for (const [to, makeOther] of Object.entries(kinds))
        if (meet(from, to)) makeOther(join(dest, `${from} over ${to}`));
    }
    // The same where JavaScript is asked about each.
    await mirror({ filter: () => true });
    expect(stateOf(dest)).toEqual(stateOf(src));
  });

  test('a directory that is excluded is not replaced by a file', async () => {
    makeFiles(src, { build: 'a file' });
    makeFiles(dest, { 'build/cache': 'dear' });
    const error = await mirror({ exclude: ['build/'] }).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'ERR_FS_CP_NON_DIR_TO_DIR' });
    expect(readFileSync(join(dest, 'build/cache'), 'utf8')).toBe('dear');
  });

  test.for(['root', 'user'])(
    'a directory that stays has its mode again: %s',
    async (who, context) => {
      needUser(context);
      needRoot(context);
      makeFiles(src, { file: '' });
      makeFiles(dest, { 'extra/keep.log': '', 'extra/gone': '' });
      execFileSync('chown', ['-R', `${USER}`, src, dest]);
      chmodSync(join(dest, 'extra'), 0o050);
      const request = { src, dest, options: { mirror: true, exclude: ['**/*.log'] } };
      await copyInChild(request, who === 'user' ? asUser : []);
      expect(lstatSync(join(dest, 'extra')).mode & 0o777).toBe(0o050);
      expect(readdirSync(join(dest, 'extra'))).toEqual(['keep.log']);
    },
  );

  test.for(['400', '444', '600', '300', '100', '0'])(
    'a directory of mode %s is removed, by an ordinary user',
    async (mode, context) => {
      needUser(context);
      needRoot(context);
      makeFiles(src, { file: '' });
      makeFiles(dest, { 'extra/sub/file': '' });
      execFileSync('chown', ['-R', `${USER}`, src, dest]);
      for (const name of ['extra/sub', 'extra']) {
        execFileSync('chmod', [mode, join(dest, name)]);
      }
      const { error } = await copyInChild({ src, dest, options: { mirror: true } }, asUser);
      expect(error).toBeUndefined();
      expect(readdirSync(dest)).toEqual(['file']);
    },
  );

  test.for<CopyOptions>([{ exclude: ['**/*.map'] }, { filter: () => true }, { gitignore: true }])(
    'excluded entries go also where a directory of SRC is empty: %j',
    async (selection) => {
      mkdirSync(join(src, 'cache'), { recursive: true });
      makeFiles(dest, { 'cache/old': '', 'cache/x.map': '', 'cache/sub/file': '' });
      const all = { deleteExcluded: true, ...selection };
      expect(await mirror({ ...all, dryRun: true })).toMatchObject({ deleted: 4 });
      expect(await mirror(all)).toMatchObject({ deleted: 4, errorCount: 0 });
      expect(readdirSync(join(dest, 'cache'))).toEqual([]);
    },
  );

  test('stays where SRC cannot be listed', async (context) => {
    needUser(context);
    makeFiles(src, { 'a/x': '', 'b/y': '' });
    makeFiles(dest, { 'a/old': '', 'b/old': '' });
    execFileSync('chown', ['-R', `${USER}`, src, dest]);
    chmodSync(join(src, 'a'), 0o300);
    const { result } = await copyInChild(
      { src, dest, options: { mirror: true, onError: 'continue' } },
      asUser,
    );
    expect(result?.errorCount).toBe(1);
    expect(existsSync(join(dest, 'a/old'))).toBe(true);
    expect(existsSync(join(dest, 'b/old'))).toBe(false);
  });

  describe('stays where it is not known what SRC has', () => {
    let shim: string;
    beforeAll(() => {
      shim = buildShim(work);
    });

    async function mirrorWith(faults: string) {
      const log = join(dest, '../log');
      const words = withFaults({ shim, root: join(dest, '..'), log, faults });
      const options: CopyOptions = { mirror: true, onError: 'continue' };
      const { result } = await copyInChild({ src, dest, options }, words);
      expect(faultLog(log)).not.toEqual([]);
      return result;
    }

    // In pieces: the names are long.
    const names = Array.from({ length: 300 }, (_, i) => `${i}`.padEnd(200, 'x'));
    const all = (content: string, directory = 'wide'): Record<string, string> =>
      Object.fromEntries(names.map((name) => [`${directory}/${name}`, content]));

    test.for([1, 2, 3])('read %i of its listing fails', async (call) => {
      makeFiles(src, { ...all('new'), 'fine/a': '' });
      makeFiles(dest, { ...all('old'), 'wide/more': '', 'fine/gone': '' });
      const result = await mirrorWith(`getdents64:5:${call}:1:/src/wide`);
      expect(result.errors).toMatchObject([
        { code: 'EIO', syscall: 'getdents64', path: join(src, 'wide') },
      ]);
      expect(readdirSync(join(dest, 'wide')).sort()).toEqual([...names, 'more'].sort());
      // What was listed nevertheless.
      expect(result.deleted).toBe(1);
      expect(readdirSync(join(dest, 'fine'))).toEqual(['a']);
    });

    test('an entry of SRC cannot be looked at', async () => {
      makeFiles(src, { 'a/x': 'new', 'a/y': 'new' });
      makeFiles(dest, { 'a/x': 'old', 'a/y': 'old', 'a/more': '' });
      const result = await mirrorWith('getdents64:unknown:1:99:/src/a fstatat64:5:1:1:/src/a/x');
      expect(result.errors).toMatchObject([{ code: 'EIO', syscall: 'lstat' }]);
      expect(result.deleted).toBe(0);
      expect(readdirSync(join(dest, 'a')).sort()).toEqual(['more', 'x', 'y']);
    });

    test('or what a directory has that goes: one error for it', async () => {
      makeFiles(src, { 'a/x': '' });
      makeFiles(dest, { 'a/x': '', 'a/gone/y': '', 'a/more': '' });
      const result = await mirrorWith('getdents64:5:1:1:/dest/a/gone');
      expect(result.errors).toMatchObject([
        { code: 'EIO', syscall: 'getdents64', path: join(dest, 'a/gone') },
      ]);
      expect(result.deleted).toBe(1);
      expect(readdirSync(join(dest, 'a')).sort()).toEqual(['gone', 'x']);
      expect(readdirSync(join(dest, 'a/gone'))).toEqual(['y']);
    });

    test('an entry of DEST cannot be looked at', async () => {
      makeFiles(src, { 'a/sub/x': '' });
      makeFiles(dest, { 'a/sub/x': '', 'a/more': '' });
      const { ino } = statSync(join(dest, 'a/sub'));
      const unknown = 'getdents64:unknown:1:99:/dest/a';
      const both = 'fstatat64:5:1:1:/dest/a/sub fstatat64:5:1:1:/dest/a/more';
      const { deleted } = await mirrorWith(`${unknown} ${both}`);
      expect(deleted).toBe(0);
      expect(readdirSync(join(dest, 'a')).sort()).toEqual(['more', 'sub']);
      expect(statSync(join(dest, 'a/sub')).ino).toBe(ino);
    });
  });

  test('stays where something is mounted', async (context) => {
    needRoot(context);
    makeFiles(src, { keep: '' });
    makeFiles(dest, { 'a/mount/x': '' });
    const other = join(dest, '../other');
    makeFiles(other, { dear: '' });
    execFileSync('mount', ['--bind', other, join(dest, 'a/mount')]);
    try {
      const result = await mirror({ onError: 'continue' });
      expect(result.errors).toMatchObject([
        { code: 'ERR_FASTCP_MOUNT_POINT', path: join(dest, 'a/mount') },
      ]);
      expect(errorText(result.errors[0] as CopyErrorLike)).toContain('cannot delete ');
      expect(existsSync(join(other, 'dear'))).toBe(true);
    } finally {
      execFileSync('umount', [join(dest, 'a/mount')]);
    }
  });

  test.for([true, false])(
    'oneFileSystem %s: what another file system in DEST has',
    async (oneFileSystem, context) => {
      needRoot(context);
      makeFiles(src, { 'a/mount/new': 'n', 'a/mount/deep/new': 'n' });
      makeFiles(dest, { 'a/mount/x': '', 'a/gone': '' });
      const mount = join(dest, 'a/mount');
      await whileMounted(['-t', 'tmpfs', 'tmpfs'], mount, async () => {
        makeFiles(mount, { dear: '', 'deep/dear': '', 'dearest/file': '' });
        await mirror({ oneFileSystem });
        const stays = oneFileSystem ? ['dear', 'dearest'] : [];
        expect(readdirSync(mount).sort()).toEqual([...stays, 'deep', 'new'].sort());
        expect(readdirSync(join(mount, 'deep')).length).toBe(oneFileSystem ? 2 : 1);
        expect(readdirSync(join(dest, 'a'))).toEqual(['mount']);
      });
    },
  );

  test('no room for a file that moved: the next run has it', async (context) => {
    needRoot(context);
    const codes: (string | undefined)[] = [];
    // The file system decides which of the directories comes first: by their names, or by their ages.
    for (const [older, from, to] of [
      ['a', 'a', 'b'],
      ['b', 'a', 'b'],
      ['a', 'b', 'a'],
      ['b', 'b', 'a'],
    ] as const) {
      rmSync(src, { recursive: true, force: true });
      mkdirSync(join(src, older), { recursive: true });
      makeFiles(src, { [`${from}/film`]: Buffer.alloc(14 << 20, 'x'), [`${to}/small`]: 'y' });
      mkdirSync(dest, { recursive: true });
      await whileMounted(['-t', 'tmpfs', '-o', 'size=30M', 'tmpfs'], dest, async () => {
        await mirror();
        renameSync(join(src, from, 'film'), join(src, to, 'moved'));
        // There is room for this one when what only DEST has is gone, and not before.
        makeFiles(src, { [`${to}/conflict`]: Buffer.alloc(13 << 20, 'z') });
        makeFiles(dest, { [`${from}/only in DEST`]: Buffer.alloc(6 << 20, 'o') });
        makeFiles(dest, { [`${to}/conflict/file`]: 'in a directory' });
        const { errors } = await mirror({ onError: 'continue', concurrency: 1 });
        codes.push(...errors.map(({ code }) => code));
        expect(existsSync(join(dest, from, 'film'))).toBe(false);
        expect(existsSync(join(dest, to, 'conflict'))).toBe(true); // the old or the new one
        await mirror();
        expect(stateOf(dest)).toEqual(stateOf(src));
      });
    }
    expect(new Set(codes)).toEqual(new Set(['ENOSPC']));
  });

  test.for([{}, { include: ['a', 'x/w*'], deleteExcluded: true }])(
    'no room for a directory where DEST has a file, which stays: %j',
    async (options, context) => {
      needRoot(context);
      makeFiles(src, { a: Buffer.alloc(3 << 20, 'a'), 'x/wanted': 'x', 'x/other': '' });
      mkdirSync(dest);
      await whileMounted(['-t', 'tmpfs', '-o', 'size=2M', 'tmpfs'], dest, async () => {
        makeFiles(dest, { x: 'old' });
        const how = { ...options, onError: 'continue', concurrency: 1 } as const;
        const { errors, deleted } = await mirror(how);
        expect(errors).toMatchObject([{ code: 'ENOSPC' }]);
        expect(deleted).toBe(0);
        expect(readFileSync(join(dest, 'x'), 'utf8')).toBe('old');
      });
    },
  );

  test.for([
    ['a file', 4, []],
    [
      'a large file that cannot get its name at the end',
      64 << 20,
      ['-e', 'inject=linkat:error=EPERM'],
    ],
  ] as const)(
    'no room while the directory of a name is removed: %s is copied',
    async ([, size, fault], context) => {
      needRoot(context);
      needTool(context, 'strace');
      makeFiles(src, { big: Buffer.alloc(30 << 20, 'x'), conf: 'file' });
      truncateSync(join(src, 'conf'), size); // the rest of a large one is a hole
      mkdirSync(dest);
      await whileMounted(['-t', 'tmpfs', '-o', 'size=20M', 'tmpfs'], dest, async () => {
        for (let i = 0; i < 300; i++) makeFiles(dest, { [`conf/${i}`]: 'x' });
        const calls = 'trace=unlinkat,linkat,pwrite64';
        const words = ['strace', '-f', '-qq', '-o', '/dev/null', '-e', calls];
        // The removal has begun when there is no room any more, and goes on.
        const delays = [
          '-e',
          'inject=pwrite64:delay_enter=20000',
          '-e',
          'inject=unlinkat:delay_enter=2000',
        ];
        const slowly = [...words, ...delays, ...fault];
        const { result } = await copyInChild(
          { src, dest, options: { mirror: true, onError: 'continue' } },
          slowly,
        );
        expect(result?.errors).toMatchObject([{ code: 'ENOSPC' }]);
        expect(readFileSync(join(dest, 'conf')).equals(readFileSync(join(src, 'conf')))).toBe(true);
      });
    },
  );

  test('no room for a symlink where DEST has a directory: its removal makes room', async (context) => {
    needRoot(context);
    mkdirSync(src, { recursive: true });
    symlinkSync('../packages/pkg', join(src, 'pkg'));
    mkdirSync(dest);
    await whileMounted(['-t', 'tmpfs', '-o', 'nr_inodes=10', 'tmpfs'], dest, async () => {
      const fill = () => {
        for (let i = 0; i < 10; i++) makeFiles(dest, { [`pkg/${i}`]: 'x' });
      };
      expect(fill).toThrow('ENOSPC');
      await mirror();
      expect(stateOf(dest)).toEqual(stateOf(src));
    });
  });

  test('links in DEST are removed, what they lead to is not', async () => {
    makeFiles(src, { keep: '' });
    const other = join(src, '../other');
    makeFiles(other, { dear: '' });
    mkdirSync(dest);
    symlinkSync(other, join(dest, 'link'));
    symlinkSync(other, join(dest, 'keep'));
    await mirror();
    expect(stateOf(dest)).toEqual(stateOf(src));
    expect(existsSync(join(other, 'dear'))).toBe(true);
  });

  test('directories that keep their owner out are opened, and closed again', async (context) => {
    needUser(context);
    makeFiles(src, { 'a/one': '1', 'a/b/two': '2' });
    makeFiles(dest, { 'a/old': '', 'a/b/older': '', 'c/d/e': '' });
    for (const path of ['a/b', 'a']) {
      chmodSync(join(src, path), 0o555);
      chmodSync(join(dest, path), 0o555);
    }
    chmodSync(join(dest, 'c/d'), 0o000);
    execFileSync('chown', ['-R', `${USER}`, src, dest]);
    const { error } = await copyInChild({ src, dest, options: { mirror: true } }, asUser);
    expect(error).toBeUndefined();
    expect(stateOf(dest)).toEqual(stateOf(src));
  });
});

describe('a directory of DEST stays if SRC has something of its name that is not copied', () => {
  beforeEach(() => {
    makeFiles(src, { other: '' });
    makeFiles(dest, { 'name/inner': 'precious' });
    chmodSync(dest, 0o777);
  });
  const stays = (): void => expect(readFileSync(join(dest, 'name/inner'), 'utf8')).toBe('precious');

  test.for<[string, CopyOptions]>([
    ['nowhere', {}],
    ['nowhere', { gitignore: true }],
    ['nowhere', { deleteExcluded: true, exclude: 'x' }],
    ['name', {}],
  ])('a symlink to %s, with dereference: %o', async ([target, options]) => {
    symlinkSync(target, join(src, 'name'));
    for (const dryRun of [true, false]) {
      const { errors } = await mirror({
        ...options,
        dryRun,
        dereference: true,
        onError: 'continue',
      });
      expect(errors).toMatchObject([{ syscall: 'stat', path: join(src, 'name') }]);
      stays();
    }
  });

  test('a socket', async (context) => {
    needRoot(context);
    makeSocket(join(src, 'name'));
    for (const dryRun of [true, false]) {
      const result = await mirror({ dryRun });
      expect(result).toMatchObject({ deleted: 0, warnings: [{ code: 'SOCKET_SKIPPED' }] });
      stays();
    }
  });

  test('a file that cannot be read', async (context) => {
    needUser(context);
    makeFiles(src, { name: 'secret' });
    chmodSync(join(src, 'name'), 0o000);
    execFileSync('chown', ['-R', `${USER}`, src, dest]);
    const options: CopyOptions = { mirror: true, onError: 'continue' };
    const { result } = await copyInChild({ src, dest, options }, asUser);
    expect(result.errors).toMatchObject([{ code: 'EACCES', path: join(src, 'name') }]);
    stays();
  });

  test('a device, which an ordinary user may not create', async (context) => {
    needUser(context);
    execFileSync('mknod', [join(src, 'name'), 'c', '1', '3']);
    execFileSync('chown', ['-R', `${USER}`, dest]);
    const options: CopyOptions = { mirror: true, onError: 'continue' };
    const { result } = await copyInChild({ src, dest, options }, asUser);
    const message = expect.stringContaining('operation not permitted: a device needs root');
    expect(result.errors).toMatchObject([{ code: 'EPERM', syscall: 'mknod', message }]);
    stays();
    expect(readdirSync(dest).sort()).toEqual(['name', 'other']);
  });

  test('a hard link to a file of a user who does not let others link it', async (context) => {
    needUser(context);
    makeFiles(src, { name: 'theirs' });
    chmodSync(join(src, 'name'), 0o600);
    execFileSync('chown', ['-R', `${USER}`, dest]);
    const options: CopyOptions = { mirror: true, hardLink: true, onError: 'continue' };
    const { result } = await copyInChild({ src, dest, options }, asUser);
    expect(result.errors[0]).toMatchObject({ code: 'EPERM', syscall: 'link' });
    stays();
  });
});

test.for<[kind: string, options: CopyOptions]>([
  ['an unreadable file', { hardLink: true }],
  ['a FIFO', {}],
  ['a symlink', {}],
])('%s takes the place of a directory: %o', async ([kind, options], context) => {
  needUser(context);
  mkdirSync(src);
  makeFiles(dest, { 'name/inner': '' });
  if (kind === 'an unreadable file') makeFiles(src, { name: '' });
  if (kind === 'a FIFO') execFileSync('mkfifo', [join(src, 'name')]);
  if (kind === 'a symlink') symlinkSync('nowhere', join(src, 'name'));
  if (kind === 'an unreadable file') chmodSync(join(src, 'name'), 0o000);
  execFileSync('chown', ['-hR', `${USER}`, src, dest]);
  chmodSync(dest, 0o555);
  const before = stateOf(dest);
  const mirrored: CopyOptions = { mirror: true, ...options };
  const planned = await copyInChild({ src, dest, options: { ...mirrored, dryRun: true } }, asUser);
  expect(planned.error).toBeUndefined();
  expect(stateOf(dest)).toEqual(before);
  const { error } = await copyInChild({ src, dest, options: mirrored }, asUser);
  expect(error).toBeUndefined();
  expect(readdirSync(dest)).toEqual(['name']);
  expect(lstatSync(join(dest, 'name')).isDirectory()).toBe(false);
});

test('with few descriptors, and directories that are empty', async () => {
  for (let i = 0; i < 60; i++) {
    makeFiles(src, { [`a${i % 4}/b${i % 9}/c${i}/file`]: `${i}` });
    mkdirSync(join(dest, `a${i % 4}/b${i % 9}/gone ${i}/empty`), { recursive: true });
  }
  for (const round of [1, 2]) {
    const { error, result } = await copyInChild(
      { src, dest, options: { mirror: true } },
      limited(40),
    );
    expect(error).toBeUndefined();
    expect(result).toMatchObject(round === 1 ? { files: 60, deleted: 120 } : { unchanged: 60 });
    expect(stateOf(dest)).toEqual(stateOf(src));
  }
});

describe('refused', () => {
  test.for([
    ['the root directory', '/'],
    ['a home directory', '/root'],
    ['a home directory', homedir()],
  ])('%s: %s', async ([, directory]) => {
    makeFiles(src, { file: '' });
    for (const dryRun of [false, true]) {
      const error = await copyTree(src, directory as string, { mirror: true, dryRun }).catch(
        (e) => e,
      );
      expect(error).toMatchObject({ code: 'ERR_FASTCP_DEST_PROTECTED' });
      expect(error.message).toMatch(/would delete everything else in (the root|a home|your home)/);
    }
  });

  test('a directory that SRC is in, by another way, too', async () => {
    makeFiles(src, { file: '' });
    symlinkSync('..', join(src, '../up'));
    for (const directory of [join(src, '..'), join(src, '../up'), join(src, '../..')]) {
      const error = await copyTree(src, directory, { mirror: true }).catch((thrown) => thrown);
      const message = expect.stringContaining('a directory that the source is in');
      expect(error).toMatchObject({ code: 'ERR_FASTCP_DEST_PROTECTED', message });
    }
    expect(existsSync(join(src, 'file'))).toBe(true);
  });
});

describe('a mirror that selects nothing deletes nothing', () => {
  test.for<[CopyOptions, boolean]>([
    [{ include: 'no such name' }, true],
    [{ include: [] }, true],
    [{ exclude: '*' }, true],
    [{ exclude: '/*' }, true],
    [{ include: 'deep' }, false],
    [{ onlyIgnored: true }, true],
    [{ filter: (_src, _dest, { path }) => path === '' }, true],
    [{ filter: async () => true }, false],
    [{ filter: (_src, to) => to === dest || dirname(to).startsWith(dest) }, false],
    [{}, false],
  ])('%o', async ([options, refused]) => {
    makeFiles(src, { file: 'x', 'directory/deep': 'y' });
    for (const dryRun of [true, false]) {
      makeFiles(dest, { precious: 'old' });
      const copying = copyTree(src, dest, {
        mirror: true,
        deleteExcluded: true,
        dryRun,
        ...options,
      });
      const code = 'ERR_FASTCP_DEST_PROTECTED';
      if (refused) await expect(copying).rejects.toMatchObject({ code });
      else expect(await copying).toMatchObject({ deleted: 1, files: options.include ? 1 : 2 });
      expect(existsSync(join(dest, 'precious'))).toBe(refused || dryRun);
      expect(readdirSync(join(dest, '..')).sort()).toEqual(['dest', 'src']);
    }
  });
});

describe('a repository of DEST is kept or replaced by that of SRC, never just deleted', () => {
  const kinds: CopyOptions[] = [
    { mirror: true },
    { mirror: true, deleteExcluded: true },
    { atomic: true },
  ];
  const selections: CopyOptions[] = [
    {},
    { gitignore: true },
    { exclude: ['.git', '.hg', '.svn'] },
    { include: 'file' },
    { filter: (_src, _dest, { path }) => path === '' || path === 'file' },
  ];
  const cases = kinds.flatMap((kind) =>
    selections.flatMap((selection) =>
      [true, false].map((inSrc) => [{ ...kind, ...selection }, inSrc] as const),
    ),
  );

  /** Whether DEST's repository has SRC's content afterwards, its own, or the copy is refused. */
  const outcomeOf = (options: CopyOptions, inSrc: boolean): 'old' | 'new' | 'refused' => {
    const keepsExcluded = options.mirror === true && options.deleteExcluded !== true;
    const { gitignore, exclude, filter, include } = options;
    // `file`, a name at any depth, does not exclude the directory itself.
    if (include) return inSrc && keepsExcluded ? 'old' : 'refused';
    if (gitignore || exclude || filter) return keepsExcluded ? 'old' : 'refused';
    return inSrc ? 'new' : 'refused';
  };

  test('a symlink to a repository is one, with dereference', async () => {
    makeFiles(src, { file: '' });
    makeFiles(join(src, '../real'), { HEAD: 'new' });
    symlinkSync('../real', join(src, '.git'));
    makeFiles(dest, { '.git/HEAD': 'old' });
    await mirror({ dereference: true });
    expect(readFileSync(join(dest, '.git/HEAD'), 'utf8')).toBe('new');
  });

  test.for(cases)('%o, one in SRC: %s', async ([options, inSrc]) => {
    // git ignores only its own directory.
    for (const name of options.gitignore ? ['.git'] : ['.git', '.hg', '.svn']) {
      rmSync(src, { recursive: true, force: true });
      rmSync(dest, { recursive: true, force: true });
      const isReal = inSrc && options.gitignore; // one that git can use
      makeFiles(src, { file: '', ...(inSrc && !isReal && { [`${name}/HEAD`]: 'new' }) });
      if (isReal) execFileSync('git', ['init', '-q', src]);
      makeFiles(dest, { [`${name}/HEAD`]: 'old' });
      const outcome = await copyTree(src, dest, options).then(
        () => readFileSync(join(dest, name, 'HEAD'), 'utf8'),
        ({ code }) => (code === 'ERR_FASTCP_DEST_PROTECTED' ? 'refused' : code),
      );
      expect([name, outcome]).toEqual([name, outcomeOf(options, inSrc)]);
      if (outcome === 'refused') expect(existsSync(join(dest, name, 'HEAD'))).toBe(true);
    }
  });

  test.for<[string, string, CopyOptions]>([
    ['directory', 'none', { include: ['file', '.git/**'] }],
    ['directory', 'file', {}],
    ['file', 'directory', {}],
    ['file', 'directory', { exclude: '.git/' }],
  ])('a %s in DEST, a %s in SRC, %o: refused', async ([there, own, options]) => {
    const repository = (kind: string): Record<string, string> =>
      kind === 'directory' ? { '.git/HEAD': kind } : kind === 'file' ? { '.git': kind } : {};
    makeFiles(src, { file: '', ...repository(own) });
    makeFiles(dest, repository(there));
    const before = stateOf(dest);
    for (const kind of kinds) {
      const copying = copyTree(src, dest, { ...kind, ...options });
      await expect(copying).rejects.toMatchObject({ code: 'ERR_FASTCP_DEST_PROTECTED' });
      expect(stateOf(dest)).toEqual(before);
    }
  });

  test.for(kinds)('%o where an ordinary user shut DEST', async (options, context) => {
    needUser(context);
    makeFiles(src, { file: '' });
    makeFiles(dest, { '.git/HEAD': 'old' });
    if (isRoot) execFileSync('chown', ['-R', `${USER}`, join(dest, '..')]);
    chmodSync(dest, 0);
    const { error } = await copyInChild({ src, dest, options }, asUser);
    expect(error).toMatchObject({ code: 'EACCES' });
    expect(lstatSync(dest).mode & 0o777).toBe(0);
    chmodSync(dest, 0o755);
    expect(readFileSync(join(dest, '.git/HEAD'), 'utf8')).toBe('old');
  });
});

test('a dry run says what would be done, and does nothing', async () => {
  makeFiles(src, { same: 's', new: 'n', changed: 'longer', 'directory/x': '' });
  makeFiles(dest, { changed: 'old', 'gone/a': '', 'gone/b/c': '', directory: '' });
  writeFileSync(join(dest, 'same'), 's');
  for (const name of ['same', '']) utimesSync(join(dest, name), 1, 1);
  const before = stateOf(dest);
  const planned = await entriesOf({ mirror: true, dryRun: true });
  expect(stateOf(dest)).toEqual(before);
  const lines = planned.map(({ action, dest: path }) => `${action} ${path.slice(dest.length)}`);
  expect(lines.sort()).toEqual([
    'copy /directory/x',
    'copy /new',
    'create /directory',
    'delete /directory',
    'delete /gone',
    'delete /gone/a',
    'delete /gone/b',
    'delete /gone/b/c',
    'metadata ',
    'metadata /same',
    'replace /changed',
  ]);
});

test('skipExisting leaves alone what is there', async () => {
  makeFiles(src, { a: 'new', b: 'new' });
  makeFiles(dest, { a: 'old' });
  expect(await copyTree(src, dest, { force: false })).toMatchObject({ files: 1, skipped: 1 });
  expect(readFileSync(join(dest, 'a'), 'utf8')).toBe('old');
});

test('what a try of metadata left in DEST is an error', async (context) => {
  needTool(context, 'strace');
  const at = join(work, 'left of a try');
  const [src, dest] = [join(at, 'src'), join(at, 'dest')];
  makeFiles(src, { a: 'x' });
  execFileSync('ln', [join(src, 'a'), join(src, 'b')]);
  await copyTree(src, dest, { preserve: true });
  execFileSync('chmod', ['600', join(src, 'a')]);
  const faults = ['-e', 'trace=unlinkat', '-e', 'inject=unlinkat:error=EIO:when=1'];
  const strace = ['strace', '-f', '-qq', '-o', join(at, 'log'), ...faults];
  const options = { mirror: true, preserve: true, onError: 'continue', concurrency: 1 } as const;
  const { result } = await copyInChild({ src, dest, options }, strace);
  const paths = [
    expect.stringContaining(join(dest, '.fastcp-')),
    expect.stringMatching(/src\/[ab]$/),
  ];
  expect(result?.errors).toMatchObject(
    paths.map((path) => ({ code: 'EIO', syscall: 'unlink', path })),
  );
  await copyTree(src, dest, { mirror: true, preserve: true });
  expect(readdirSync(dest)).toEqual(['a', 'b']);
});
