/**
 * Several copies at once. The last test runs random schedules and prints its seed; FASTCP_SEED makes the same again.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { promises as dropIn } from '../../lib/fs.js';
import { copyTree } from '../../lib/index.js';
import type { CopyEvent, CopyOptions } from '../../lib/types.js';
import { Random } from '../selection/support/random.js';
import { digest, hiddenIn, hiddenTrees, makeUniform } from '../support/atomic.js';
import { COMMAND, limited, run } from '../support/child.js';
import { differences } from '../support/compare.js';
import { useMount } from '../support/filesystems.js';
import { holding } from '../support/filter.js';
import { seed, size } from '../support/form.js';
import { makeFiles } from '../support/trees.js';
import { needTool, removeTree, workDirectory } from '../support/work.js';

const work = workDirectory('several-jobs');
const fastcp = [process.execPath, COMMAND, '-q'];
let number = 0;
let at: string;
let src: string;
let dest: string;

beforeEach(() => {
  at = join(work, `${number++}`);
  mkdirSync(at);
  [src, dest] = [join(at, 'src'), join(at, 'dest')];
});

const isLocked = (directory: string): boolean =>
  spawnSync('flock', ['-n', '-x', directory, 'true']).status !== 0;
const descriptors = (): number => readdirSync('/proc/self/fd').length;

/** Runs a program that holds a lock on a directory, until `use` has ended. */
async function whileLocked<T>(
  directory: string,
  use: () => Promise<T>,
  ...how: string[]
): Promise<T> {
  const holder = spawn('flock', [...how, directory, 'cat'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  while (!isLocked(directory)) await sleep(5);
  try {
    return await use();
  } finally {
    holder.stdin.end();
    while (isLocked(directory)) await sleep(5);
  }
}

test('two mirrors into one DEST with thousands of stale files both succeed, and the last one wins', async (context) => {
  needTool(context, 'flock');
  const sources = ['a', 'b'].map((name) => makeUniform(join(at, name), name, 1000));
  makeUniform(dest, 'stale', 2500);
  const ended = await Promise.all(sources.map((from) => run([...fastcp, '--mirror', from, dest])));
  for (const one of ended) expect(one).toEqual({ status: 0, stdout: '', stderr: '' });
  expect(sources.map((from) => differences(from, dest).length === 0)).toContain(true);
  expect(isLocked(dest)).toBe(false);
});

test('two copies that create one wide directory both succeed, and neither lists it for each file', async () => {
  makeFiles(src, Object.fromEntries(Array.from({ length: 8000 }, (_, i) => [`wide/${i}`, ''])));
  const began = process.cpuUsage();
  await Promise.all([1, 2].map(() => copyTree(src, dest)));
  const { user, system } = process.cpuUsage(began);
  // More than 20 s if each file that the other one has created costs a listing.
  expect((user + system) / 1e6).toBeLessThan(5);
  expect(differences(src, dest)).toEqual([]);
});

test('hundreds of SRCs are copied with few descriptors', async () => {
  const sources = Array.from({ length: 300 }, (_, i) => join(at, `${i}`));
  for (const one of sources) makeFiles(one, { a: one });
  const command = ['sh', '-c', 'ulimit -n 256 && exec "$@"', 'sh', ...fastcp];
  for (const how of ['-p', '--mirror']) {
    expect(await run([...command, how, ...sources, `${dest}/`])).toMatchObject({ status: 0 });
  }
  for (const [i, one] of sources.entries()) {
    expect(readFileSync(join(dest, `${i}/a`), 'utf8')).toBe(one);
  }
});

test('two mirrors that both create DEST succeed', async () => {
  const sources = ['a', 'b'].map((name) => makeUniform(join(at, name), name, 500));
  const copies = sources.map((from) => copyTree(from, join(at, 'new/dest'), { mirror: true }));
  await Promise.all(copies);
  expect(sources.map((from) => differences(from, join(at, 'new/dest')).length)).toContain(0);
});

test('a copy of a tree that is replaced meanwhile is the old tree, which is deleted after it', async () => {
  makeFiles(src, { a: 'old', 'sub/b': 'old', 'sub/c/d': 'old' });
  makeFiles(at, {
    'new/a': 'new',
    'expected/a': 'old',
    'expected/sub/b': 'old',
    'expected/sub/c/d': 'old',
  });
  const { filter, begun, goOn } = holding();
  const reading = copyTree(src, dest, { filter });
  await begun;
  let isPlaced = false;
  const publishing = copyTree(join(at, 'new'), src, { atomic: true }).then((result) => {
    isPlaced = true;
    return result;
  });
  while (existsSync(join(src, 'sub'))) await sleep(5);
  await sleep(100);
  expect(isPlaced).toBe(false);
  expect(hiddenTrees(at)).toHaveLength(1);
  goOn();
  expect(await reading).toMatchObject({ files: 3, errorCount: 0 });
  expect(await publishing).toMatchObject({ replaced: true, warnings: [] });
  expect(differences(join(at, 'expected'), dest)).toEqual([]);
  expect(hiddenIn(at)).toEqual([]);
});

test('an old tree that is read for longer than the limit is left to the next copy, with a warning', async () => {
  makeFiles(src, { a: 'old', b: 'old' });
  makeFiles(at, { 'new/a': 'new' });
  const { filter, begun, goOn } = holding();
  const reading = copyTree(src, dest, { filter });
  await begun;
  const options: CopyOptions = { atomic: true, lockTimeout: 0.1 };
  const { warnings, replaced } = await copyTree(join(at, 'new'), src, options);
  expect({ codes: warnings.map(({ code }) => code), replaced }).toEqual({
    codes: ['STAGING_LEFT'],
    replaced: true,
  });
  // Also not by a copy that finds it.
  await copyTree(join(at, 'new'), src, { atomic: true });
  expect(hiddenTrees(at)).toHaveLength(1);
  goOn();
  expect(await reading).toMatchObject({ files: 2, errorCount: 0 });
  await copyTree(join(at, 'new'), src, { atomic: true });
  expect(hiddenIn(at)).toEqual([]);
});

test.for(['lock: false', 'the file system has no locks'])(
  '%s, and SRC is another directory at the end: the copy fails',
  async (what, context) => {
    makeFiles(src, { a: 'old', b: 'old' });
    makeFiles(at, { 'new/a': 'new' });
    const swap = `
      const { copyTree } = require(process.argv[1]);
      const { renameSync } = require('node:fs');
      const [src, dest, other, lock] = process.argv.slice(2);
      const filter = () => {
        try { renameSync(src, src + '.old'); renameSync(other, src); } catch {}
        return true;
      };
      copyTree(src, dest, { filter, lock: lock === 'true' }).catch((error) => console.log(error.code));`;
    const library = join(COMMAND, '../index.cjs');
    const words = [
      process.execPath,
      '-e',
      swap,
      library,
      src,
      dest,
      join(at, 'new'),
      `${what !== 'lock: false'}`,
    ];
    if (what !== 'lock: false') {
      needTool(context, 'strace');
      words.unshift(
        'strace',
        '-f',
        '-qq',
        '-o',
        join(at, 'log'),
        '-e',
        'inject=flock:error=EOPNOTSUPP',
      );
    }
    const { stdout } = await run(words);
    expect(stdout).toBe('ERR_FASTCP_SOURCE_CHANGED\n');
  },
);

test('a program moves SRC away while it is copied under a lock: the copy is complete', async () => {
  makeFiles(src, { a: 'a', 'sub/b': 'b' });
  const filter: CopyOptions['filter'] = (_src, _dest, { name }) => {
    if (name === 'src') return true;
    if (existsSync(src)) renameSync(src, join(at, 'moved'));
    return true;
  };
  expect(await copyTree(src, dest, { filter })).toMatchObject({ files: 2, errorCount: 0 });
  expect(differences(join(at, 'moved'), dest)).toEqual([]);
});

test('an atomic copy of a SRC that is replaced meanwhile has the times of the tree that was copied', async () => {
  makeFiles(src, { a: 'old' });
  makeFiles(at, { 'new/a': 'new' });
  utimesSync(src, 1e9, 1e9);
  const { filter, begun, goOn } = holding();
  const copying = copyTree(src, dest, { filter, atomic: true, preserve: ['timestamps'] });
  await begun;
  renameSync(src, join(at, 'moved'));
  renameSync(join(at, 'new'), src);
  goOn();
  await copying;
  expect(statSync(dest).mtimeMs).toBe(1e12);
});

test('a program moves DEST away while it is filled under a lock: it is an error', async () => {
  makeFiles(src, { a: 'a', 'sub/b': 'b' });
  const filter: CopyOptions['filter'] = (_src, _dest, { name }) => {
    if (name === 'src' || existsSync(join(at, 'moved'))) return true;
    renameSync(dest, join(at, 'moved'));
    mkdirSync(dest);
    return true;
  };
  await expect(copyTree(src, dest, { filter })).rejects.toMatchObject({
    code: 'ERR_FASTCP_DEST_CHANGED',
    path: src,
    dest,
  });
});

test('an atomic copy without modes gives DEST no right that it denied before', async () => {
  makeFiles(src, { a: 'a' });
  makeFiles(dest, { b: 'b' });
  execFileSync('chmod', ['700', dest]);
  await copyTree(src, dest, { atomic: true, preserve: false });
  expect(execFileSync('stat', ['-c', '%a', dest], { encoding: 'utf8' })).toBe('700\n');
});

describe('a directory that another program has locked', () => {
  test('the copy says after a second which one, and waits', async (context) => {
    needTool(context, 'flock');
    makeFiles(src, { a: 'a' });
    makeFiles(dest, { b: 'b' });
    const copied = await whileLocked(dest, async () => {
      const copy = run([process.execPath, COMMAND, '--mirror', src, dest]);
      await sleep(2000);
      expect(existsSync(join(dest, 'b'))).toBe(true);
      return { copy };
    });
    const { status, stderr } = await copied.copy;
    expect(status).toBe(0);
    expect(stderr).toMatch(
      /^fastcp: warning: waiting until another program unlocks .*--no-lock.*\n$/,
    );
    expect(stderr).toContain(`'${dest}'`);
    expect(differences(src, dest)).toEqual([]);
  });

  test.each([
    ['SRC', 'src'],
    ['DEST', 'dest'],
  ])(
    'whose program then puts another %s in its place: the copy waits for the new one',
    async (_, name) => {
      makeFiles(at, { 'src/a': 'old', 'dest/b': 'b', 'new/a': 'new', 'new/c': 'new' });
      const place = join(at, name);
      const script = 'echo; sleep 1; rm -r "$0"; mkdir "$0"; sleep 0.5; cp -r "$1/." "$0"';
      const holder = spawn('flock', [place, 'sh', '-c', script, place, join(at, 'new')]);
      await once(holder.stdout, 'data');
      const { errorCount } = await copyTree(src, dest, { mirror: true });
      expect(errorCount).toBe(0);
      expect(differences(src, dest)).toEqual([]);
      expect(readFileSync(join(src, 'a'), 'utf8')).toBe(name === 'src' ? 'new' : 'old');
    },
  );

  test('is the old tree of an atomic copy: an abort leaves it, with a warning', async () => {
    makeFiles(src, { a: 'new' });
    makeFiles(dest, { a: 'old' });
    await whileLocked(dest, async () => {
      const abort = new AbortController();
      const copy = copyTree(src, dest, { atomic: true, signal: abort.signal });
      while (readFileSync(join(dest, 'a'), 'utf8') === 'old') await sleep(5);
      void sleep(50).then(() => abort.abort());
      const warned: string[] = [];
      const read = (async () => {
        for await (const event of copy)
          if (event.type === 'warning') warned.push(event.warning.code);
      })();
      await expect(copy).rejects.toMatchObject({ name: 'AbortError' });
      await read.catch(() => {});
      expect(warned).toEqual(['STAGING_LEFT']);
    });
    expect(hiddenTrees(at)).toHaveLength(1);
    await copyTree(src, dest, { atomic: true });
    expect(hiddenIn(at)).toEqual([]);
  });

  test('and that is excluded is not waited for', async (context) => {
    needTool(context, 'flock');
    makeFiles(at, { 'src/a': 'a', 'other/b': 'b' });
    await whileLocked(src, async () => {
      const options = { exclude: ['src'], lockTimeout: 0 };
      const { files, warnings } = await copyTree([src, join(at, 'other')], dest, options);
      expect([files, ...warnings.map(({ code }) => code)]).toEqual([1, 'SOURCE_SKIPPED']);
    });
  });

  test('a hundred copies that wait for each other take the lock in turn', async () => {
    makeFiles(src, { a: 'a' });
    const before = descriptors();
    const began = process.cpuUsage();
    const copies = Array.from({ length: 100 }, () => copyTree(src, dest, { sync: true }));
    for (const { errorCount } of await Promise.all(copies)) expect(errorCount).toBe(0);
    const { user, system } = process.cpuUsage(began);
    // 15 s when each looked again and again.
    expect((user + system) / 1e6).toBeLessThan(3);
    expect(descriptors()).toBeLessThanOrEqual(before);
  });

  test('it fails after the limit, with a code', async (context) => {
    needTool(context, 'flock');
    makeFiles(src, { a: 'a' });
    makeFiles(dest, { b: 'b' });
    const before = descriptors();
    await whileLocked(dest, async () => {
      for (const [option, limit] of [
        ['--mirror', '0'],
        ['--sync', '0.2'],
      ] as const) {
        const { status, stdout } = await run([
          process.execPath,
          COMMAND,
          '--json',
          option,
          '--lock-timeout',
          limit,
          src,
          dest,
        ]);
        const last = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
        expect({ status, ...last }).toMatchObject({
          status: 1,
          errors: [{ code: 'ERR_FASTCP_BUSY', path: dest }],
        });
      }
      const copy = copyTree(src, dest, { mirror: true, lockTimeout: 0 });
      await expect(copy).rejects.toMatchObject({
        code: 'ERR_FASTCP_BUSY',
        message: expect.stringContaining('lock: false'),
      });
      expect(await copyTree(src, dest, { mirror: true, lock: false })).toMatchObject({
        files: 1,
        deleted: 1,
      });
    });
    expect(descriptors()).toBe(before);
  });

  test('an abort ends the wait', async (context) => {
    needTool(context, 'flock');
    makeFiles(src, { a: 'a' });
    makeFiles(dest, { b: 'b' });
    const before = descriptors();
    await whileLocked(src, async () => {
      const abort = new AbortController();
      const copy = copyTree(src, dest, { signal: abort.signal });
      const events: CopyEvent[] = [];
      const read = (async () => {
        for await (const event of copy) events.push(event);
      })().catch(() => {});
      await sleep(1300);
      abort.abort(new Error('enough'));
      await expect(copy).rejects.toThrow('enough');
      await read;
      expect(events).toMatchObject([
        { type: 'warning', warning: { code: 'WAITING_FOR_LOCK', path: src } },
      ]);
    });
    expect(readdirSync(dest)).toEqual(['b']);
    expect(descriptors()).toBe(before);
  });

  test('a shared lock delays mirrors only', async (context) => {
    needTool(context, 'flock');
    makeFiles(src, { a: 'a' });
    makeFiles(dest, { b: 'b' });
    await whileLocked(
      dest,
      async () => {
        await copyTree(src, dest, { lockTimeout: 0 });
        await copyTree(dest, join(at, 'third'), { lockTimeout: 0 });
        await copyTree(src, dest, { sync: true, shard: '1/1', lockTimeout: 0 });
        const copy = copyTree(src, dest, { sync: true, lockTimeout: 0 });
        await expect(copy).rejects.toMatchObject({ code: 'ERR_FASTCP_BUSY' });
      },
      '-s',
    );
  });

  test("fastcp/fs takes no locks, as Node's fs does", async (context) => {
    needTool(context, 'flock');
    makeFiles(src, { a: 'a' });
    mkdirSync(dest);
    await whileLocked(dest, () => dropIn.cp(src, dest, { recursive: true }));
    expect(differences(src, dest)).toEqual([]);
  });

  const shell = (script: string): string[] => ['bash', '-c', script, 'bash'];
  test.for([
    ['flock DIR', ['flock', 'DIR']],
    ['flock --no-fork DIR', ['flock', '--no-fork', 'DIR']],
    [
      'flock --close DIR, in which only a process above has the lock',
      ['flock', '--close', 'DIR', ...shell('"$@"; exit')],
    ],
    ['exec 9<DIR; flock 9', shell('exec 9<DIR; flock 9; "$@"')],
  ] as const)('is no obstacle if the lock is that of %s', async ([, before], context) => {
    needTool(context, 'flock');
    makeFiles(src, { a: 'a' });
    makeFiles(dest, { b: 'b' });
    const locking = before.map((word) => word.replace('DIR', dest));
    const mirror = await run([...locking, ...fastcp, '--lock-timeout', '0', '--mirror', src, dest]);
    expect(mirror).toEqual({ status: 0, stdout: '', stderr: '' });
    const atomic = await run([...locking, ...fastcp, '--lock-timeout', '0', '--atomic', src, dest]);
    expect(atomic).toEqual({ status: 0, stdout: '', stderr: '' });
    expect(differences(src, dest)).toEqual([]);
    expect(hiddenIn(at)).toEqual([]);
  });

  test('another copy in the same process is an obstacle, and so is one in the process that runs the command', async () => {
    makeFiles(src, { a: 'a' });
    makeFiles(dest, { b: 'b' });
    const { filter, begun, goOn } = holding();
    const first = copyTree(src, dest, { mirror: true, filter });
    await begun;
    const second = copyTree(src, dest, { mirror: true, lockTimeout: 0 });
    await expect(second).rejects.toMatchObject({ code: 'ERR_FASTCP_BUSY' });
    const child = await run([...fastcp, '--lock-timeout', '0', '--mirror', src, dest]);
    expect(child).toMatchObject({ status: 1 });
    goOn();
    await first;
  });
});

test('a mirror into the directory above leaves the tree that an atomic copy is making', async () => {
  makeFiles(src, { a: 'a', b: 'b' });
  makeFiles(at, { 'other/x': 'x', 'above/stale': '' });
  const { filter, begun, goOn } = holding();
  const atomic = copyTree(src, join(at, 'above/dest'), { atomic: true, filter });
  await begun;
  const { deleted } = await copyTree(join(at, 'other'), join(at, 'above'), { mirror: true });
  expect(deleted).toBe(1);
  goOn();
  expect(await atomic).toMatchObject({ files: 2, errorCount: 0, replaced: true });
  expect(readdirSync(join(at, 'above')).sort()).toEqual(['dest', 'x']);
});

test('a mirror into the directory above leaves what an atomic copy has beside DEST, until its lock is free', async () => {
  const file = '.file.fastcp-0123456789abcdef';
  makeFiles(at, { 'other/x': 'x', [`above/${file}`]: 'half', [`above/${file}.lock`]: '' });
  makeFiles(at, { [`above/${file}.old/a`]: 'old' });
  const mirror = () => copyTree(join(at, 'other'), join(at, 'above'), { mirror: true });
  await whileLocked(join(at, 'above', `${file}.lock`), async () => {
    expect(await mirror()).toMatchObject({ deleted: 0, errorCount: 0 });
  });
  expect(await mirror()).toMatchObject({ deleted: 4 });
});

test.for([{}, { preserve: false }, { preserve: true }])(
  'DEST is created with its mode and counted: %j',
  async (options) => {
    makeFiles(src, { a: 'a' });
    execFileSync('chmod', ['750', src]);
    const umask = process.umask(0o27);
    try {
      const job = copyTree(src, dest, { ...options, entries: true });
      const made: unknown[] = [];
      for await (const event of job)
        if (event.type === 'entry') made.push([event.action, event.dest]);
      expect(made).toEqual([
        ['create', dest],
        ['copy', join(dest, 'a')],
      ]);
      expect(await job).toMatchObject({ directories: 1, files: 1 });
      expect(execFileSync('stat', ['-c', '%a', dest], { encoding: 'utf8' })).toBe('750\n');
    } finally {
      process.umask(umask);
    }
  },
);

describe('copies that wait hold nothing', () => {
  test.for([64, 200, 1000])(
    'a mirror whose filter copies ends while %d copies wait for it',
    async (waiters) => {
      makeFiles(at, { 'src/a': 'a', 'src/b': 'b', 'x/a': 'old' });
      const place = join(at, 'x');
      let readers: Promise<unknown>[] = [];
      const before = descriptors();
      const filter: CopyOptions['filter'] = async (_src, _dest, { path }) => {
        if (path !== 'a') return true;
        readers = Array.from({ length: waiters }, (_, i) => copyTree(place, join(at, `${i}`)));
        await sleep(200);
        // The mirror's own: of both locks, and a few in the engine.
        while (descriptors() - before > 10) await sleep(10);
        await copyTree(src, join(at, 'inner'));
        await copyTree(src, join(at, 'unrelated'), { lock: false });
        return true;
      };
      await copyTree(src, place, { mirror: true, filter, lockTimeout: 20 });
      await Promise.all(readers);
      expect(readFileSync(join(at, `${waiters - 1}/b`), 'utf8')).toBe('b');
      expect(descriptors()).toBeLessThanOrEqual(before);
    },
  );

  test('copies that wait for another program cost little, and no other copy waits for them', async (context) => {
    needTool(context, 'flock');
    makeFiles(src, { a: 'a' });
    mkdirSync(dest);
    const before = descriptors();
    const copies = await whileLocked(dest, async () => {
      const all = Array.from({ length: 200 }, (_, i) => copyTree(src, dest, { sync: i % 2 === 0 }));
      await copyTree(src, join(at, 'unrelated'));
      await sleep(300);
      // One of them looks whether the lock is free.
      expect(descriptors() - before).toBeLessThan(10);
      const began = process.cpuUsage();
      await sleep(1000);
      const { user, system } = process.cpuUsage(began);
      expect((user + system) / 1e6).toBeLessThan(0.5);
      return { all };
    });
    for (const { errorCount } of await Promise.all(copies.all)) expect(errorCount).toBe(0);
    expect(descriptors()).toBeLessThanOrEqual(before);
  });

  test('64 copies and a mirror whose filter copies create one DEST: all end', async () => {
    makeFiles(src, { a: 'a' });
    const filter: CopyOptions['filter'] = async (_src, _dest, { path }) => {
      if (path === 'a') await copyTree(src, join(at, 'inner'));
      return true;
    };
    const options: CopyOptions = { lockTimeout: 10 };
    const mirror = copyTree(src, dest, { ...options, mirror: true, filter });
    await Promise.all([
      mirror,
      ...Array.from({ length: 64 }, () => copyTree(src, dest, { ...options, sync: true })),
    ]);
    expect(differences(src, dest)).toEqual([]);
  });

  test('64 atomic copies wait to delete what is read: another copy ends', async () => {
    const names = Array.from({ length: 64 }, (_, i) => join(at, `to/${i}`));
    for (const name of names) makeFiles(name, { a: 'old' });
    makeFiles(src, { a: 'new' });
    const { filter, begun, goOn } = holding();
    const reading = copyTree(names, `${dest}/`, { filter });
    await begun;
    const replacing = names.map((name) => copyTree(src, name, { atomic: true }));
    for (const name of names)
      while (readFileSync(join(name, 'a'), 'utf8') === 'old') await sleep(5);
    await copyTree(src, join(at, 'unrelated'));
    goOn();
    expect(await reading).toMatchObject({ files: 64, errorCount: 0 });
    for (const { warnings } of await Promise.all(replacing)) expect(warnings).toEqual([]);
    expect(hiddenIn(join(at, 'to'))).toEqual([]);
  });
});

describe('the order in which copies of one process take a lock', () => {
  test('readers without a pause do not hold up a mirror', async () => {
    makeFiles(at, { 'src/a': 'new', 'x/a': 'old' });
    const place = join(at, 'x');
    let isDone = false;
    let copied = 0;
    const lane = async (name: string): Promise<void> => {
      while (!isDone) {
        await copyTree(place, join(at, name), { lockTimeout: 20 });
        copied++;
      }
    };
    const lanes = ['1', '2', '3', '4'].map(lane);
    await sleep(100);
    await copyTree(src, place, { mirror: true, lockTimeout: 3 });
    isDone = true;
    await Promise.all(lanes);
    expect(copied).toBeGreaterThan(4);
  });

  test.for(['filter', 'onProgress'] as const)(
    'while a holder runs %s, readers pass a mirror that waits',
    async (how) => {
      makeFiles(at, { 'src/a': 'old', 'src/b': 'old', 'new/a': 'new' });
      const mirrors: Promise<unknown>[] = [];
      const copyAgain = async (): Promise<boolean> => {
        mirrors.push(copyTree(join(at, 'new'), src, { mirror: true, lockTimeout: 20 }));
        await sleep(100);
        await copyTree(src, join(at, 'inner'), { lockTimeout: 3 });
        return true;
      };
      let once: Promise<boolean> | undefined;
      const call = (): Promise<boolean> => {
        once ??= copyAgain();
        return once;
      };
      await copyTree(src, dest, { [how]: call });
      await Promise.all(mirrors);
      expect(readFileSync(join(at, 'inner/a'), 'utf8')).toBe('old');
      expect(readdirSync(src)).toEqual(['a']);
    },
  );
});

test('no free file descriptor for a lock is an error', async () => {
  makeFiles(src, { a: 'a' });
  const script = `
    const { copyTree } = require(process.argv[1]);
    const fs = require('node:fs');
    const [src, dest] = process.argv.slice(2);
    const taken = [];
    // Those that are free when the filter is called are too late.
    const filter = () => { for (const one of taken.splice(0)) fs.closeSync(one); return true; };
    (async () => {
      await copyTree(src, dest);
      for (;;) try { taken.push(fs.openSync(src)); } catch { break; }
      const ended = await copyTree(src, dest, { filter }).catch((error) => error);
      filter();
      console.log(ended.code, ended.path);
    })();`;
  const library = join(COMMAND, '../index.cjs');
  const words = [...limited(100), process.execPath, '-e', script, library, src, dest];
  expect(await run(words)).toMatchObject({ stdout: `EMFILE ${src}\n` });
});

describe('a file system whose inode numbers differ at every look', () => {
  const mounted = join(work, 'renumbering');
  const server = join(import.meta.dirname, '../support/folding.py');
  const directoryOf = useMount(mounted, ['python3'], () => {
    mkdirSync(`${mounted}.backing`);
    execFileSync('python3', [server, 'renumbering', `${mounted}.backing`, mounted]);
  });

  test.for(['SRC', 'DEST'])(
    'as %s: the copy ends at once, with an error that says so',
    async (which, context) => {
      const there = join(directoryOf(context), which);
      makeFiles(at, { 'src/a': 'a' });
      makeFiles(there, { a: 'a' });
      const [from, to] = which === 'SRC' ? [there, dest] : [src, there];
      const began = Date.now();
      const { status, stderr } = await run([...fastcp, '--mirror', from, to]);
      expect({ status, took: Date.now() - began < 5000 }).toEqual({ status: 1, took: true });
      expect(stderr).toContain('gives no lasting inode numbers');
      expect(stderr).toContain(there);
    },
  );
});

// --- random schedules ------------------------------------------------------------------------------------

const schedules = size(1, 5, 200);

const publishers = ['p0', 'p1', 'p2'];
/** How a copy treats the rest of DEST. */
const whole = [['--mirror'], ['--atomic'], ['--atomic=two-step']];
const merging = [
  [],
  ['--sync'],
  ['--shard', '1/2'],
  ['--shard', '2/2'],
  ['--sync', '--shard', '2/2'],
];

interface Plan {
  from: string;
  to: string;
  how: string[];
  delay: number;
  killed: number | undefined;
  under: 'nothing' | 'flock' | 'exec';
}

/** What is known about a place after all jobs. */
interface Place {
  /** Only whole trees came here. */
  isWhole: boolean;
  /** A copy was killed that does not replace the whole tree, so files may be short. */
  isDamaged: boolean;
}

function planSchedule(random: Random): Plan[] {
  return Array.from({ length: 2 + random.below(5) }, () => {
    const fills = random.chance(45);
    const [from, to] = fills
      ? [random.pick(publishers), random.pick(['c0', 'c1'])]
      : [random.pick(['c0', 'c1']), random.pick(['w0', 'w1', 'w2'])];
    return {
      ...{ from, to },
      how: random.pick(random.chance(60) ? whole : merging),
      delay: random.below(250),
      killed: random.chance(15) ? 50 + random.below(400) : undefined,
      under: random.pick(['nothing', 'nothing', 'nothing', 'flock', 'exec'] as const),
    };
  });
}

function makePublisher(root: string, name: string, random: Random): void {
  const files: Record<string, string> = {};
  const text = (file: string) =>
    `${name} has ${file}\n`.repeat(1 + random.below(random.chance(5) ? 9000 : 40));
  for (let i = 0; i < 150; i++) {
    const file = random.chance(60) ? `common/${i % 7}/${i}` : `${name}-only/${i % 5}/${i}`;
    files[file] = text(file);
  }
  makeFiles(root, files);
}

async function runSchedule(own: number): Promise<Record<string, number>> {
  const random = new Random(own);
  const told = `FASTCP_SEED=${own}`;
  const home = join(at, `${own}`);
  mkdirSync(home);
  for (const name of publishers) makePublisher(join(home, name), name, random);
  const places = ['c0', 'c1', 'w0', 'w1', 'w2'];
  const there = places.filter((name) => name.startsWith('c') || random.chance(50));
  for (const name of there) await copyTree(join(home, random.pick(publishers)), join(home, name));
  const plans = planSchedule(random);
  const counts = { jobs: plans.length, killed: 0, 'whole trees compared': 0, 'files compared': 0 };
  await Promise.all(
    plans.map(async ({ from, to, how, delay, killed, under }) => {
      await sleep(delay);
      const [source, target] = [join(home, from), join(home, to)];
      const canLock = there.includes(to) && under !== 'nothing';
      const exec = ['bash', '-c', 'exec 9<"$0"; flock 9; exec "$@"', target];
      const before = !canLock ? [] : under === 'flock' ? ['flock', '-F', target] : exec;
      const [file = '', ...args] = [...before, ...fastcp, ...how, source, target];
      const child = spawn(file, args, { stdio: ['ignore', 'ignore', 'pipe'] });
      let stderr = '';
      child.stderr.on('data', (piece) => {
        stderr += piece;
      });
      const closed = new Promise<number | null>((resolve) => child.on('close', resolve));
      const limit = setTimeout(() => child.kill('SIGKILL'), killed ?? 30_000);
      const status = await closed;
      clearTimeout(limit);
      if (killed !== undefined && status === null) counts.killed++;
      else
        expect({ status, stderr }, `${told} ${from} ${how.join(' ')} ${to}`).toEqual({
          status: 0,
          stderr: '',
        });
    }),
  );
  const known = new Map<string, Place>();
  for (const name of places) known.set(name, { isWhole: true, isDamaged: false });
  for (const isCache of [true, false]) {
    for (const { from, to, how, killed } of plans) {
      if (to.startsWith('c') !== isCache) continue;
      const [source, target] = [known.get(from), known.get(to) as Place];
      const isAtomic = how[0]?.startsWith('--atomic') ?? false;
      target.isWhole &&= whole.includes(how) && (source?.isWhole ?? true);
      target.isDamaged ||= (killed !== undefined && !isAtomic) || (source?.isDamaged ?? false);
    }
  }
  const digests = publishers.map((name) => digest(join(home, name)));
  for (const [name, { isWhole, isDamaged }] of known) {
    const place = join(home, name);
    if (!existsSync(place)) continue;
    expect(isLocked(place), `${told} ${name}`).toBe(false);
    if (isWhole && !isDamaged) {
      counts['whole trees compared']++;
      expect(digests, `${told} ${name}`).toContain(digest(place));
      continue;
    }
    for (const entry of readdirSync(place, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (!entry.isFile() || (isDamaged && entry.name.startsWith('.fastcp-'))) continue;
      const content = readFileSync(path, 'latin1');
      const originals = publishers.map((one) => join(home, one, path.slice(place.length)));
      const isOne = originals.some((original) => {
        if (!existsSync(original)) return false;
        const text = readFileSync(original, 'latin1');
        return isDamaged ? text.startsWith(content) : text === content;
      });
      counts['files compared']++;
      expect(isOne, `${told} ${path}`).toBe(true);
    }
  }
  // A killed atomic copy leaves hidden trees, which the next one removes.
  if (counts.killed === 0) expect(hiddenIn(home), told).toEqual([]);
  for (const name of places)
    await copyTree(join(home, 'p0'), join(home, name), { atomic: true, lockTimeout: 0 });
  expect(hiddenIn(home), told).toEqual([]);
  removeTree(home);
  return counts;
}

test('random schedules of up to six jobs on two caches and three checkouts', {
  timeout: 30_000 + schedules * 10_000,
}, async (context) => {
  needTool(context, 'flock');
  console.info(`several jobs: ${schedules} schedules, FASTCP_SEED=${seed}`);
  const before = descriptors();
  const sums: Record<string, number> = {};
  for (let n = 0; n < schedules; n++) {
    const counts = await runSchedule(seed + n);
    for (const [what, count] of Object.entries(counts)) sums[what] = (sums[what] ?? 0) + count;
  }
  expect(descriptors()).toBe(before);
  console.info('several jobs:', sums);
});
