// What the engine does with a selection. What is selected is test/selection's matter.

import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { compareTrees, copyTree } from '../../lib/index.js';
import type { EntryFilter } from '../../lib/selection/filter.js';
import type { CopyOptions, EntryEvent } from '../../lib/types.js';
import { makeRepository, track } from '../selection/support/git.js';
import { Random, randomCase, writeCase } from '../selection/support/random.js';
import { walk } from '../selection/support/walk.js';
import { COMMAND, copyInChild, limited, run } from '../support/child.js';
import { readTree } from '../support/compare.js';
import { byEntry } from '../support/filter.js';
import { seed, size } from '../support/form.js';
import { makeFiles, makeSocket } from '../support/trees.js';
import { asUser, needUser } from '../support/user.js';
import { needRoot, needTool, slowness, workDirectory } from '../support/work.js';

const work = workDirectory('selection');
let made = 0;
const newPath = (): string => join(work, `${made++}`);

/** What is in a directory, sorted; directories end in a slash. A byte per character. */
function pathsIn(directory: string): string[] {
  if (!existsSync(directory)) return [];
  const paths = [...readTree(directory)].map(([path, { kind }]) =>
    kind === 'directory' ? `${path}/` : path,
  );
  return paths.filter((path) => path !== '/').sort();
}

function newTree(files: Record<string, string>): string {
  return makeFiles(newPath(), files);
}

async function entriesOf(src: string, dest: string, options: CopyOptions): Promise<EntryEvent[]> {
  const entries: EntryEvent[] = [];
  const job = copyTree(src, dest, { ...options, entries: true });
  for await (const event of job) if (event.type === 'entry') entries.push(event);
  await job;
  return entries;
}

test(`random trees and selections, seed ${seed}: what the rules say is what lands`, {
  timeout: 120_000 * slowness,
}, async () => {
  const random = new Random(seed);
  const globs = ['*', '**/a', 'a*', '**/*.o', 'ab', 'a/**', '*/*', '?', '**/[a-c]', '{a,b}/x.o'];
  const someGlobs = (): string[] =>
    Array.from({ length: random.below(3) }, () => random.pick(globs));
  for (let round = 0; round < size(40, 200); round++) {
    const src = makeRepository(newPath());
    const one = randomCase(random, { ignoreCase: false });
    writeCase(src, one);
    track(src, [...one.tracked]);
    const salt = random.below(1000);
    const wanted = ({ path }: { path: string }): boolean => (path.length * 7 + salt) % 5 > 0;
    const options = {
      gitignore: random.chance(50),
      onlyIgnored: false,
      ignoreFileNames: random.chance(20) ? ['x.o'] : [],
      include: random.chance(40) ? someGlobs() : [],
      exclude: random.chance(40) ? someGlobs() : [],
      ...(random.chance(20) && { filter: wanted }),
      ...(random.chance(20) && { filter: async (entry: { path: string }) => wanted(entry) }),
    };
    options.onlyIgnored = !options.gitignore && random.chance(30);
    const { taken } = await walk(src, options);
    const { filter, ...others } = options as typeof options & { filter?: EntryFilter };
    const asked = { ...others, ...(filter && { filter: byEntry(filter) }) };
    const what = `seed ${seed}, round ${round}: ${JSON.stringify(options)}`;

    const planned = newPath();
    const plan = await copyTree(src, planned, { ...asked, dryRun: true });
    expect(existsSync(planned), what).toBe(false);
    const dest = newPath();
    const result = await copyTree(src, dest, asked);
    expect(pathsIn(dest), what).toEqual(taken);
    const { files, directories, symlinks, scanned, errorCount } = result;
    expect({ errorCount, all: files + directories + symlinks }, what).toEqual({
      errorCount: 0,
      all: taken.length + 1, // DEST itself
    });
    expect(scanned, what).toBe(files + directories + symlinks);
    expect(plan, what).toMatchObject({ files, directories, symlinks, scanned });

    // Once more, over what is there: nothing is made that a rule leaves out.
    await copyTree(src, dest, asked);
    expect(pathsIn(dest), what).toEqual(taken);
  }
});

test(`random DESTs of other kinds, seed ${seed}: after a mirror they have what is selected, and nothing else`, {
  timeout: 120_000 * slowness,
}, async () => {
  const random = new Random(seed);
  for (let round = 0; round < size(40, 200); round++) {
    const src = makeRepository(newPath());
    const one = randomCase(random, { ignoreCase: false });
    writeCase(src, one);
    track(src, [...one.tracked]);
    const options = {
      gitignore: random.chance(60),
      include: random.chance(40) ? [random.pick(['**/a', '**/*.o', 'a*', '**/[a-c]'])] : [],
      exclude: ['.git', ...(random.chance(30) ? [random.pick(['a*', '**/b', '*/*'])] : [])],
    };
    const { taken } = await walk(src, options);
    if (taken.length === 0) continue; // nothing selected: refused
    const inSrc = pathsIn(src).filter((path) => !path.startsWith('.git/'));
    const dest = newTree({});
    mkdirSync(dest, { recursive: true });
    const made = new Set(['.']);
    for (const path of inSrc) {
      if (!made.has(dirname(path)) || random.chance(30)) continue;
      const at = Buffer.from(join(dest, path.replace(/\/$/, '')), 'latin1');
      const kind = random.below(10);
      if (kind < 5) made.add(path.replace(/\/$/, ''));
      if (kind < 5) mkdirSync(at);
      else if (kind < 7) symlinkSync('nowhere', at);
      else writeFileSync(at, 'of DEST');
    }
    const what = `seed ${seed}, round ${round}: ${JSON.stringify(options)}`;
    const asked = { ...options, mirror: true, deleteExcluded: true };
    const before = pathsIn(dest);
    const plan = await copyTree(src, dest, { ...asked, dryRun: true });
    expect((await compareTrees(src, dest, options)).errors, what).toEqual([]);
    expect(pathsIn(dest), what).toEqual(before);
    const { files, deleted } = await copyTree(src, dest, asked);
    const { differences } = await compareTrees(src, dest, options);
    expect(
      differences.filter(({ type }) => type !== 'onlyInB'),
      what,
    ).toEqual([]);
    expect(plan, what).toMatchObject({ files, deleted });
    const [left, wanted] = [new Set(pathsIn(dest)), new Set(taken)];
    expect(
      taken.filter((path) => !left.has(path)),
      what,
    ).toEqual([]);
    // A directory that SRC has stays, whatever is selected in it.
    const extra = [...left].filter((path) => !wanted.has(path));
    expect(
      extra.filter((path) => !(path.endsWith('/') && inSrc.includes(path))),
      what,
    ).toEqual([]);
  }
});

describe('directories that are made only for something taken', () => {
  const deep = { 'a/b/c/wanted.ts': 'x', 'a/b/other': '', 'a/d/other': '', 'e/other': '' };

  test('have the mode of their source', async () => {
    const src = newTree(deep);
    chmodSync(join(src, 'a/b/c'), 0o711);
    chmodSync(join(src, 'a/b'), 0o555);
    chmodSync(join(src, 'a'), 0o1777);
    const dest = newPath();
    await copyTree(src, dest, { include: ['**/*.ts'] });
    expect(pathsIn(dest)).toEqual(['a/', 'a/b/', 'a/b/c/', 'a/b/c/wanted.ts']);
    const modes = ['a', 'a/b', 'a/b/c'].map((path) => lstatSync(join(dest, path)).mode & 0o7777);
    expect(modes).toEqual([0o1777, 0o555, 0o711]);
  });

  test('are merged with those that are there, whose mode stays', async () => {
    const src = newTree(deep);
    const dest = newTree({ 'a/b/old': 'kept', 'e/old': 'kept' });
    chmodSync(join(dest, 'a/b'), 0o700);
    const { directories } = await copyTree(src, dest, { include: ['**/*.ts'] });
    expect(directories).toBe(1);
    expect(pathsIn(dest)).toEqual(
      ['a/', 'a/b/', 'a/b/c/', 'a/b/c/wanted.ts', 'a/b/old', 'e/', 'e/old'].sort(),
    );
    expect(lstatSync(join(dest, 'a/b')).mode & 0o777).toBe(0o700);
  });

  test('are no error where something else is in their place and nothing is taken', async () => {
    const src = newTree(deep);
    const dest = newTree({ e: 'a file', 'a/d': 'another' });
    await copyTree(src, dest, { include: ['**/*.ts'] });
    expect(readFileSync(join(dest, 'e'), 'utf8')).toBe('a file');
  });

  test('are one error where something else is in their place, and the rest is copied', async () => {
    const src = newTree({ ...deep, 'a/b/2.ts': '', 'a/b/x/3.ts': '', 'z/4.ts': '' });
    const dest = newTree({ 'a/b': 'a file' });
    const result = await copyTree(src, dest, { include: ['**/*.ts'], onError: 'continue' });
    expect(result.errors).toMatchObject([
      { code: 'ERR_FS_CP_DIR_TO_NON_DIR', path: join(src, 'a/b'), dest: join(dest, 'a/b') },
    ]);
    expect(pathsIn(dest)).toEqual(['a/', 'a/b', 'z/', 'z/4.ts']);
  });

  test('never lead through a link in DEST', async () => {
    const src = newTree(deep);
    const outside = newTree({ 'b/c/kept': '' });
    const dest = newPath();
    mkdirSync(dest);
    execFileSync('ln', ['-s', outside, join(dest, 'a')]);
    const error = await copyTree(src, dest, { include: ['**/*.ts'] }).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'ERR_FS_CP_DIR_TO_NON_DIR', dest: join(dest, 'a') });
    expect(pathsIn(outside)).toEqual(['b/', 'b/c/', 'b/c/kept']);
  });

  test('in trees that are deeper than descriptors go', async () => {
    const path = Array.from({ length: 300 }, (_, i) => `level ${i}`).join('/');
    const src = newTree({ [`${path}/a.ts`]: 'x', [`${path}/a.js`]: '', [`${path}/n/b.js`]: '' });
    const child = `
      const { copyTree } = require('${new URL('../../dist/index.cjs', import.meta.url).pathname}');
      copyTree(...process.argv.slice(1), { include: ['**/*.ts'] }).then((r) => console.log(r.files, r.directories));`;
    const dest = newPath();
    const command = [process.execPath, '-e', child, '--', src, dest];
    const [file = '', ...args] = [...limited(64), ...command];
    expect(execFileSync(file, args, { encoding: 'utf8' })).toBe('1 301\n');
    expect(readFileSync(join(dest, path, 'a.ts'), 'utf8')).toBe('x');
  });
});

describe('what is left out', () => {
  test('is named with its rule, file and line', async () => {
    const src = newTree({
      '.gitignore': '# logs\n*.log\n',
      'a.log': '',
      'sub/.gitignore': '/out/\n',
      'sub/out/x': '',
      'sub/a.map': '',
      'sub/no': '',
    });
    const options: CopyOptions = {
      gitignore: true,
      exclude: ['**/*.map'],
      filter: byEntry(({ name }) => name !== 'no'),
    };
    const entries = await entriesOf(src, newPath(), options);
    const left = entries.filter(({ action }) => action === 'exclude');
    const reasons = left.map(({ path, kind, reason }) => [path, kind, reason]);
    expect(reasons.sort()).toEqual([
      [join(src, 'a.log'), 'file', `${src}/.gitignore:2:*.log`],
      [join(src, 'sub/a.map'), 'file', 'exclude: **/*.map'],
      [join(src, 'sub/no'), 'file', 'filter'],
      [join(src, 'sub/out'), 'directory', `${src}/sub/.gitignore:1:/out/`],
    ]);
  });

  test('is never opened', (context) => {
    needTool(context, 'strace');
    const src = newTree({ '.gitignore': 'no/\n', 'no/x': '', 'yes/x': '', 'map/x': '' });
    const log = newPath();
    const code = `require('${new URL('../../dist/index.cjs', import.meta.url).pathname}')
      .copyTree(...process.argv.slice(1), { gitignore: true, exclude: ['map'] })`;
    const args = ['-f', '-qq', '-e', 'trace=openat,newfstatat,statx', '-o', log];
    const command = [process.execPath, '-e', code, '--', src, newPath()];
    expect(spawnSync('strace', [...args, ...command]).status).toBe(0);
    const calls = readFileSync(log, 'utf8');
    expect(calls).toMatch(/openat\(\d+, "yes"/);
    expect(calls).not.toMatch(/openat\(\d+, "(no|map)"|stat[^"]*"(no|map)"/);
  });

  test('of several sources each has its own rules', async () => {
    const one = newTree({ '.gitignore': 'a\n', a: '', b: '' });
    const two = newTree({ '.gitignore': 'b\n', a: '', b: '' });
    const file = join(newTree({ 'a.log': '' }), 'a.log');
    const dest = newPath();
    const options = { gitignore: true, exclude: ['*.log'] };
    const { warnings } = await copyTree([one, two, file], dest, options);
    expect(warnings).toMatchObject([{ code: 'SOURCE_SKIPPED', path: file }]);
    const [first, second] = [one, two].map((path) => path.slice(work.length + 1));
    expect(pathsIn(dest)).toEqual(
      [
        `${first}/`,
        `${first}/.gitignore`,
        `${first}/b`,
        `${second}/`,
        `${second}/.gitignore`,
        `${second}/a`,
      ].sort(),
    );
  });
});

test.for([true, false])(
  'a tracked symlink to a directory, dereference %s',
  async (dereference, context) => {
    needTool(context, 'git');
    const src = makeRepository(newTree({ '.gitignore': 'link\n', 'real/x': '' }));
    symlinkSync('real', join(src, 'link'));
    track(src, ['link'], '120000');
    const dest = newPath();
    await copyTree(src, dest, { gitignore: true, dereference });
    const link = dereference ? ['link/', 'link/x'] : ['link'];
    expect(pathsIn(dest)).toEqual(['.gitignore', ...link, 'real/', 'real/x']);
  },
);

test('a wide directory is judged bit by bit and copied whole', {
  timeout: 60_000 * slowness,
}, async () => {
  const src = newPath();
  mkdirSync(src);
  for (let i = 0; i < 20_000; i++) writeFileSync(join(src, `file-${i}`), `${i}`);
  writeFileSync(join(src, '.gitignore'), '*7\n');
  const dest = newPath();
  const { files } = await copyTree(src, dest, { gitignore: true, filter: () => true });
  expect(files).toBe(18_001);
  expect(readFileSync(join(dest, 'file-19999'), 'utf8')).toBe('19999');
});

test('subdirectories are themselves wherever they are in a wide directory', async () => {
  const src = newPath();
  const files: Record<string, string> = {};
  for (let i = 0; i < 1100; i++) files[i % 5 === 0 ? `d${i}/keep` : `f${i}`] = '';
  makeFiles(src, { ...files, 'd500/x.log': '', 'd995/x.log': '' });
  const dest = newPath();
  const asked: string[] = [];
  const filter = ({ path, name, kind }: { path: string; name: string; kind: string }): boolean => {
    if (kind === 'file') asked.push(path);
    return name !== 'x.log';
  };
  await copyTree(src, dest, { exclude: ['d500/keep'], filter: byEntry(filter) });
  const expected = Object.keys(files).filter((path) => path !== 'd500/keep');
  expect(pathsIn(dest).filter((path) => !path.endsWith('/'))).toEqual(expected.sort());
  expect(asked.sort()).toEqual([...expected, 'd500/x.log', 'd995/x.log'].sort());
});

test('more names than may wait for an answer at a time', {
  timeout: 20_000 * slowness,
}, async () => {
  // 17 directories of 255 kB of names each: more than 4 MiB in all.
  const src = newPath();
  for (let i = 0; i < 17_000; i++) {
    const directory = join(src, `${Math.floor(i / 1000)}`);
    if (i % 1000 === 0) mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, `${i}`.padEnd(250, 'x')), '');
  }
  const options: CopyOptions = { dryRun: true, filter: () => true };
  expect(await copyTree(src, newPath(), options)).toMatchObject({ files: 17_000, directories: 18 });
});

describe('rules that cannot be read', () => {
  const child = `
    const [src, dest, options] = process.argv.slice(1);
    require('${new URL('../../dist/index.cjs', import.meta.url).pathname}')
      .copyTree(src, dest, JSON.parse(options))
      .then((result) => result, ({ code, path, message, result }) => ({ ...result, errors: [], code, path, message }))
      .then((value) => console.log(JSON.stringify(value)));`;

  function copyAsUser(src: string, dest: string, options: CopyOptions) {
    const [file = '', ...args] = [...asUser, process.execPath, '-e', child, '--', src, dest];
    const output = execFileSync(file, [...args, JSON.stringify(options)], { encoding: 'utf8' });
    return JSON.parse(output);
  }

  function unreadable(path: string): { src: string; dest: string } {
    const src = newTree({ [path]: 'secret\n', 'sub/a': '', b: '' });
    chmodSync(join(src, path), 0);
    const parent = newPath();
    mkdirSync(parent);
    chmodSync(parent, 0o777);
    return { src, dest: join(parent, 'new/dest') };
  }

  test.for(['file', 'device', 'socket', 'fifo', 'directory'])(
    'a %s in the place of a rule file: what is no file has no rules',
    async (kind, context) => {
      if (kind === 'device') needRoot(context);
      const src = makeRepository(newTree({ 'a.log': '', 'sub/a.log': '', 'sub/t': '' }));
      track(src, ['sub/t']); // or git itself reads rules, and waits for a FIFO
      const make: Record<string, (path: string) => void> = {
        file: (path) => writeFileSync(path, '*.log\n'),
        device: (path) => execFileSync('mknod', [path, 'c', '1', '5']), // /dev/zero has no end
        socket: makeSocket,
        fifo: (path) => execFileSync('mkfifo', [path]),
        directory: (path) => mkdirSync(path),
      };
      const excludes = `${newPath()}.rules`;
      for (const path of ['.gitignore', 'sub/.gitignore', '.git/info/exclude', excludes]) {
        const at = path === excludes ? path : join(src, path);
        rmSync(at, { force: true });
        make[kind]?.(at);
      }
      execFileSync('git', ['config', 'core.excludesFile', excludes], { cwd: src });
      const dest = newPath();
      await copyTree(src, dest, { gitignore: true, exclude: ['.gitignore'] });
      expect(pathsIn(dest)).toEqual(
        kind === 'file' ? ['sub/', 'sub/t'] : ['a.log', 'sub/', 'sub/a.log', 'sub/t'],
      );
    },
  );

  test('one that says it has no bytes, though it has some: git reads as many as it says', async () => {
    const src = makeRepository(newTree({ Linux: '', 'n/Linux': '', 'n/.git/x': '' }));
    for (const path of ['.git/info/exclude', 'n/.git/HEAD']) {
      rmSync(join(src, path), { force: true });
      symlinkSync('/proc/sys/kernel/ostype', join(src, path));
    }
    const dest = newPath();
    await copyTree(src, dest, { gitignore: true });
    expect(pathsIn(dest)).toEqual(['Linux', 'n/', 'n/Linux']);
    expect(
      execFileSync('git', ['ls-files', '-oi', '--exclude-standard'], { cwd: src }),
    ).toHaveLength(0);
  });

  test('the default for core.excludesFile, where git warns as well', (context) => {
    needUser(context);
    const { src, dest } = unreadable('home/.config/git/ignore');
    vi.stubEnv('HOME', join(src, 'home'));
    vi.stubEnv('XDG_CONFIG_HOME', '');
    try {
      const { warnings } = copyAsUser(join(src, 'sub'), dest, { gitignore: true });
      const path = join(src, 'home/.config/git/ignore');
      expect(warnings).toMatchObject([{ code: 'GIT_UNAVAILABLE', path }]);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test('one that is too large, even for a string: the error names it', async () => {
    const src = newTree({ 'sub/.gitignore': '*.log\n', 'sub/a': '', b: '' });
    const path = join(src, 'sub/.gitignore');
    truncateSync(path, 600 << 20);
    const dest = newPath();
    const { errors } = await copyTree(src, dest, { gitignore: true, onError: 'continue' });
    expect(errors).toMatchObject([{ code: 'EFBIG', path }]);
    expect(pathsIn(dest)).toEqual(['b', 'sub/']);
  });

  test('of SRC: nothing is made', (context) => {
    needUser(context);
    const { src, dest } = unreadable('.gitignore');
    const error = copyAsUser(src, dest, { gitignore: true, onError: 'continue' });
    const path = join(src, '.gitignore');
    expect(error).toMatchObject({ code: 'EACCES', path });
    expect(error.message).toBe(`EACCES: cannot read the rules in '${path}'`);
    expect(existsSync(join(dest, '..'))).toBe(false);
  });

  test('of a directory within: nothing of it is copied, and the copy fails', (context) => {
    needUser(context);
    const { src, dest } = unreadable('sub/.rules');
    const path = join(src, 'sub/.rules');
    const stopped = copyAsUser(src, dest, { ignoreFileNames: ['.rules'] });
    expect(stopped).toMatchObject({ code: 'EACCES', path, errorCount: 1 });
    expect(existsSync(join(dest, 'sub/a'))).toBe(false);
    const went = copyAsUser(src, `${dest}2`, { ignoreFileNames: ['.rules'], onError: 'continue' });
    expect(went).toMatchObject({
      errorCount: 1,
      errors: [{ code: 'EACCES', path }],
      files: 1,
      warnings: [],
    });
    expect(pathsIn(`${dest}2`)).toEqual(['b', 'sub/']);
  });

  test('of a directory within, and excluded entries would be deleted: nothing of it is', (context) => {
    needUser(context);
    const { src, dest } = unreadable('sub/.rules');
    makeFiles(dest, { 'sub/a': '', 'sub/kept': '' });
    execFileSync('chmod', ['-R', 'a+rwX', join(dest, '..')]);
    for (const onError of ['stop', 'continue'] as const) {
      const rules = { ignoreFileNames: ['.rules'], mirror: true, deleteExcluded: true, onError };
      expect(copyAsUser(src, dest, rules)).toMatchObject({ code: 'EACCES' });
      expect(pathsIn(join(dest, 'sub'))).toEqual(['a', 'kept']);
    }
  });

  /** What is in `b` is decided when the error of `sub` was heard; then DEST has a directory for its file. */
  const afterError = `
    const [src, dest, onError] = process.argv.slice(1);
    let heard;
    const error = new Promise((resolve) => { heard = resolve; });
    const filter = (_src, _dest, { path }) => (path.startsWith('b/') ? error.then(() => true) : true);
    const job = require('${new URL('../../dist/index.cjs', import.meta.url).pathname}')
      .copyTree(src, dest, { ignoreFileNames: ['.rules'], filter, onError });
    (async () => {
      for await (const event of job) if (event.type === 'error') heard();
    })().catch(() => {});
    job.catch(() => {}).then(() => console.log(JSON.stringify(
      [job.result.files, job.result.errorCount, job.result.errors.map(({ code }) => code)])));`;

  test.for([
    ['stop', 0, ['EACCES']],
    ['continue', 1, ['EACCES', 'ERR_FS_CP_NON_DIR_TO_DIR']],
  ] as const)('%s: what comes after the error', ([onError, files, codes], context) => {
    needUser(context);
    const { src, dest } = unreadable('sub/.rules');
    rmSync(join(src, 'b'));
    makeFiles(src, { 'b/c': 'c', 'b/d': 'd' });
    makeFiles(dest, { 'b/d/e': '' });
    execFileSync('chmod', ['-R', 'a+rwX', dest]);
    const [file = '', ...args] = [...asUser, process.execPath, '-e', afterError, '--'];
    const output = execFileSync(file, [...args, src, dest, onError], { encoding: 'utf8' });
    expect(JSON.parse(output)).toEqual([files, codes.length, codes]);
    expect(existsSync(join(dest, 'b/c'))).toBe(onError === 'continue');
  });
});

test.each<[string, (repository: string) => void]>([
  [
    'the repository of a worktree is gone',
    (src) => writeFileSync(join(src, '.git'), 'gitdir: /nowhere\n'),
  ],
  ['an empty file', (src) => writeFileSync(join(src, '.git'), '')],
  ['a symlink to nothing', (src) => symlinkSync('nowhere', join(src, '.git'))],
  [
    'a repository without HEAD',
    (src) => makeFiles(src, { '.git/objects/x': '', '.git/refs/x': '' }),
  ],
])('git that refuses: %s', async (_, breakIt) => {
  const src = newTree({ '.gitignore': '*.log\n', 'a.log': '', b: '' });
  breakIt(src);
  for (const options of [{ gitignore: true }, { onlyIgnored: true }]) {
    const copy = copyTree(src, newPath(), options);
    await expect(copy).rejects.toMatchObject({ code: 'ERR_FASTCP_GIT_UNAVAILABLE', path: src });
  }
});

describe('a .git in a repository that may be none, as git itself sees it', {
  tags: ['all'],
}, () => {
  const init = 'git init -q -b main';
  const commit = 'git -c user.name=x -c user.email=x commit -q --allow-empty -m x';
  test.for([
    'mkdir .git .git/objects',
    'mkdir .git; touch .git/x',
    'ln -s nowhere .git',
    'touch .git',
    'echo gitdir: nowhere > .git',
    init,
    `${init}; rm .git/HEAD`,
    `${init}; : > .git/HEAD`,
    `${init}; echo garbage > .git/HEAD`,
    `${init}; echo 'ref: heads/main' > .git/HEAD`,
    `${init}; ${commit}; git checkout -q --detach`,
    `${init}; ${commit}; git pack-refs --all; ln -sf refs/heads/main .git/HEAD`,
    `${init}; ln -sf ../x .git/HEAD`,
    `${init}; echo 'ref: Refs/heads/main' > .git/HEAD`,
    `${init}; rm -r .git/refs`,
    `${init}; rm -r .git/objects; echo > .git/objects`,
    `${init} --separate-git-dir=../own`,
    `${init} --separate-git-dir=../own; rm ../own/HEAD`,
  ])('%s', async (commands) => {
    const files = { '.gitignore': '*.log\n', 'sub/a.log': '', 'sub/b': '' };
    const outer = makeRepository(newTree(files));
    const sub = join(outer, 'sub');
    execFileSync('sh', ['-ec', commands], { cwd: sub, stdio: 'pipe' });
    const git = spawnSync('git', ['rev-parse', '--show-toplevel'], { cwd: sub, encoding: 'utf8' });
    const copied = async (src: string) => {
      const dest = newPath();
      const copy = copyTree(src, dest, { gitignore: true, exclude: ['.git', 'own'] });
      return copy.then(
        ({ warnings }) => [...pathsIn(dest), ...warnings],
        ({ code, path }) => [code, path],
      );
    };
    const isKnown = git.stdout === `${sub}\n`;
    const unavailable = (path: string) => ['ERR_FASTCP_GIT_UNAVAILABLE', path];
    expect(await copied(sub)).toEqual(
      git.status !== 0 ? unavailable(sub) : isKnown ? ['a.log', 'b'] : ['b'],
    );
    // As a part of the outer one, its own rules and tracked files count.
    const whole = ['.gitignore', 'sub/', ...(isKnown ? ['sub/a.log'] : []), 'sub/b'];
    expect(await copied(outer)).toEqual(whole);
    // For git it is a submodule from now on.
    track(outer, ['sub'], '160000');
    expect(await copied(outer)).toEqual(isKnown ? whole : unavailable(sub));
    if (isKnown) return;
    // Also if it is SRC itself, or has SRC.
    makeFiles(sub, { 'deep/c.log': '' });
    expect(await copied(sub)).toEqual(unavailable(sub));
    const [code] = await copied(join(sub, 'deep'));
    expect(code).toBe('ERR_FASTCP_GIT_UNAVAILABLE');
  });
});

test('a .gitignore that a sparse checkout leaves out counts, as for git', async () => {
  const files = { '.gitignore': '*.tmp\n', 'sub/.gitignore': '*.log\n', 'sub/f': '', 'keep/k': '' };
  const src = makeRepository(newTree(files));
  const git = (...args: string[]) => execFileSync('git', args, { cwd: src, stdio: 'pipe' });
  git('add', '.');
  git('-c', 'user.name=x', '-c', 'user.email=x', 'commit', '-qm', 'x');
  git('sparse-checkout', 'set', '--no-cone', '/keep');
  makeFiles(src, {
    'a.tmp': '',
    'sub/b.log': '',
    'sub/c': '',
    'sub/deep/d.log': '',
    'sub/deep/e': '',
    'sub/deep/x.tmp': '',
  });
  expect(pathsIn(src)).not.toContain('sub/.gitignore');
  const ignored = execFileSync('git', ['ls-files', '-oi', '--exclude-standard'], { cwd: src });
  expect(`${ignored}`).toBe('a.tmp\nsub/b.log\nsub/deep/d.log\nsub/deep/x.tmp\n');
  const expectTaken = async (options: CopyOptions): Promise<void> => {
    for (const [below, taken] of [
      ['', ['keep/', 'keep/k', 'sub/', 'sub/c', 'sub/deep/', 'sub/deep/e']],
      ['sub', ['c', 'deep/', 'deep/e']],
      ['sub/deep', ['e']],
    ] as const) {
      const dest = newPath();
      await copyTree(join(src, below), dest, { gitignore: true, ...options });
      expect(pathsIn(dest)).toEqual(taken);
    }
  };
  await expectTaken({});
  git('config', '--worktree', 'core.sparseCheckout', 'false'); // the index tells, not the setting
  for (const [below, taken] of [
    ['', ['a.tmp', 'sub/', 'sub/b.log', 'sub/deep/', 'sub/deep/d.log', 'sub/deep/x.tmp']],
    ['sub/deep', ['d.log', 'x.tmp']],
  ] as const) {
    const dest = newPath();
    await copyTree(join(src, below), dest, { onlyIgnored: true });
    expect(pathsIn(dest)).toEqual(taken);
  }
  makeFiles(src, { 'sub/.gitignore': '' });
  const between = newPath();
  await copyTree(join(src, 'sub/deep'), between, { onlyIgnored: true });
  expect(pathsIn(between)).toEqual(['x.tmp']);
  rmSync(join(src, 'sub/.gitignore'));
  makeFiles(src, { 'sub/other': '#' });
  const exclude = ['.gitignore', 'other'];
  for (const target of ['nowhere', 'other']) {
    symlinkSync(target, join(src, 'sub/.gitignore'));
    for (const dereference of [false, true]) await expectTaken({ exclude, dereference });
    rmSync(join(src, 'sub/.gitignore'));
  }
  // Its content is not there. A rule file in the work tree needs none.
  execFileSync('sh', ['-c', "rm -rf .git/objects/??; echo '*.log' > sub/.gitignore"], { cwd: src });
  const copy = copyTree(src, newPath(), { gitignore: true });
  await expect(copy).rejects.toMatchObject({ code: 'ERR_FASTCP_GIT_UNAVAILABLE', path: src });
});

test('git fetches nothing for a repository in SRC, which could make it run a program', async () => {
  const src = makeRepository(newTree({ a: '' }));
  const nested = join(src, 'nested');
  makeFiles(nested, {
    'sub/.gitignore': '*.log\n',
    'sub/x': '',
    '.gitignore': '',
    'empty/x.log': '',
  });
  const ran = join(src, 'ran');
  const script = `git init -q; git add .gitignore sub
    git update-index --skip-worktree .gitignore sub/.gitignore; rm .gitignore sub/.gitignore; rm -r .git/objects/??
    git config core.repositoryFormatVersion 1
    git config extensions.partialClone origin; git config remote.origin.promisor true
    git config remote.origin.url ssh://nowhere/x; git config core.sshCommand "touch '${ran}'; false"`;
  execFileSync('sh', ['-ec', script], { cwd: nested, stdio: 'pipe' });
  for (const from of [src, nested, join(nested, 'empty')]) {
    const copy = copyTree(from, newPath(), { gitignore: true });
    await expect(copy).rejects.toMatchObject({ code: 'ERR_FASTCP_GIT_UNAVAILABLE' });
    expect(existsSync(ran)).toBe(false);
  }
});

const processes = (): number =>
  process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length;

test('git that does not answer ends with the copy', async () => {
  const src = newTree({ 'n/a': '' });
  const nested = join(src, 'n');
  execFileSync('sh', ['-ec', 'git init -q; mkfifo .git/index'], { cwd: nested });
  const others = 0;
  await expect.poll(processes).toBe(others); // one of a copy that failed may still run
  for (const from of [nested, src]) {
    const stop = new AbortController();
    const copy = copyTree(from, newPath(), { gitignore: true, signal: stop.signal });
    await expect.poll(processes).toBeGreaterThan(others);
    stop.abort();
    await expect(copy).rejects.toMatchObject({ name: 'AbortError' });
    await expect.poll(processes).toBe(others);
  }
  makeFiles(src, { 'a/x': '' });
  const dest = newTree({ 'a/x/y': '' });
  // The error comes when git runs.
  const filter = byEntry(async ({ path }) => {
    while (path === 'a/x' && processes() <= others) await sleep(5);
    return true;
  });
  const failing = copyTree(src, dest, { gitignore: true, filter });
  await expect(failing).rejects.toMatchObject({ code: 'ERR_FS_CP_NON_DIR_TO_DIR' });
  await expect.poll(processes).toBe(others);
});

test('many repositories in SRC, at once: no warning of Node about listeners', async () => {
  const src = newPath();
  const make = 'for i in $(seq 30); do git init -q "$0/$i"; touch "$0/$i/a"; done';
  execFileSync('sh', ['-ec', make, src]);
  const command = [process.execPath, COMMAND, '-q', '--gitignore', src, newPath()];
  expect(await run(command)).toMatchObject({ status: 0, stdout: '', stderr: '' });
});

test('a FIFO in the place of a HEAD, for which git would wait: no repository', async () => {
  const src = makeRepository(newTree({ '.gitignore': '*.log\n', 'n/a.log': '', 'n/b': '' }));
  const broken = 'git init -q; rm .git/HEAD; mkfifo .git/HEAD .git/commondir';
  execFileSync('sh', ['-ec', broken], { cwd: join(src, 'n') });
  const dest = newPath();
  await copyTree(src, dest, { gitignore: true, exclude: '.git' });
  expect(pathsIn(join(dest, 'n'))).toEqual(['b']);
});

test('a repository below a name that is not UTF-8: git cannot be asked', async () => {
  const above = newPath();
  mkdirSync(above);
  // Node passes no such words.
  const commands = `cd "${above}" && d=$(printf '\\377 x\n/') && mkdir "$d" && cd "$d" && git init -q r && cd r &&
    echo '*.log' > .gitignore && touch a.log b.log && git add -f a.log`;
  execFileSync('sh', ['-ec', commands]);
  const src = Buffer.concat([Buffer.from(`${above}/`), Buffer.from([0xff]), Buffer.from(' x\n/r')]);
  const copy = copyTree(src, newPath(), { gitignore: true, exclude: '.git' });
  const message = expect.stringMatching(/not UTF-8;/);
  await expect(copy).rejects.toMatchObject({ code: 'ERR_FASTCP_GIT_UNAVAILABLE', message });
});

test('a bare repository in a repository, as tests have them', async () => {
  const outer = makeRepository(newTree({ 'sub/x': '' }));
  execFileSync('git', ['init', '-q', '--bare', 'sub/bare.git'], { cwd: outer });
  const { warnings } = await copyTree(join(outer, 'sub/bare.git'), newPath(), { gitignore: true });
  expect(warnings).toEqual([]);
});

test('git that is not there, without a repository: a warning if there may be settings', async () => {
  const src = newTree({ '.gitignore': '*.log\n', 'a.log': '', b: '' });
  const home = newTree({ x: '' });
  vi.stubEnv('HOME', home);
  vi.stubEnv('XDG_CONFIG_HOME', '');
  vi.stubEnv('GIT_CONFIG_NOSYSTEM', '1');
  vi.stubEnv('PATH', '/nonexistent');
  try {
    expect((await copyTree(src, newPath(), { gitignore: true })).warnings).toEqual([]);
    makeFiles(home, { '.gitconfig': '[core]\n\texcludesFile = rules\n' });
    const { warnings } = await copyTree(src, newPath(), { gitignore: true });
    expect(warnings).toMatchObject([{ code: 'GIT_UNAVAILABLE', path: src }]);
    expect(warnings[0]?.message).toMatch(
      /git's settings for .*, so they do not apply: git is not installed/,
    );
  } finally {
    vi.unstubAllEnvs();
  }
});

test('git that a signal ends: the error names the signal, and no other git stays', async () => {
  const src = makeRepository(newTree({ '.gitignore': '*.log\n', 'a.log': '' }));
  const bin = newTree({
    git: '#!/bin/sh\ncase $* in *config*) exec sleep 60; esac\nkill -SEGV $$\n',
  });
  chmodSync(join(bin, 'git'), 0o755);
  vi.stubEnv('PATH', `${bin}:${process.env.PATH}`);
  try {
    const copy = copyTree(src, newPath(), { gitignore: true });
    const message = expect.stringMatching(/: SIGSEGV ended git;/);
    await expect(copy).rejects.toMatchObject({ code: 'ERR_FASTCP_GIT_UNAVAILABLE', message });
    await expect.poll(processes).toBe(0);
  } finally {
    vi.unstubAllEnvs();
  }
});

test('git that is not there: an error, without which tracked files were lost; its remedy', async () => {
  const src = makeRepository(newTree({ '.gitignore': '*.log\n', 'a.log': '', b: '' }));
  track(src, ['a.log']);
  const { PATH } = process.env;
  process.env.PATH = '/nonexistent';
  try {
    const dest = newPath();
    await copyTree(src, dest, { ignoreFileNames: ['.gitignore'], exclude: '.git' });
    expect(pathsIn(dest)).toEqual(['.gitignore', 'b']);
    const compared = compareTrees(src, dest, { gitignore: true });
    await expect(compared).rejects.toMatchObject({ code: 'ERR_FASTCP_GIT_UNAVAILABLE', path: src });
    makeFiles(dest, { 'a.log': 'tracked' });
    const options = [{}, { atomic: true }, { mirror: true, deleteExcluded: true }];
    for (const how of options) {
      const copy = copyTree(src, dest, { gitignore: true, onError: 'continue', ...how });
      await expect(copy).rejects.toMatchObject({
        ...{ code: 'ERR_FASTCP_GIT_UNAVAILABLE', path: src },
        message: `cannot apply git's rules in '${src}': git is not installed; ignoreFileNames '.gitignore' and exclude '.git' instead go by rules alone`,
      });
      expect(pathsIn(dest)).toEqual(['.gitignore', 'a.log', 'b']);
    }
  } finally {
    process.env.PATH = PATH;
  }
});

test('gitignore and a mirror for a user without a home directory', async (context) => {
  needRoot(context);
  const at = join(work, 'homeless');
  makeFiles(at, { 'src/.gitignore': '*.log', 'src/a.log': '', 'src/b': 'b' });
  execFileSync('chown', ['-R', '4711:4711', at]);
  const homeless = [
    'env',
    '-u',
    'HOME',
    'setpriv',
    '--reuid=4711',
    '--regid=4711',
    '--clear-groups',
  ];
  for (const options of [{ gitignore: true }, { gitignore: true, mirror: true }] as const) {
    const { error } = await copyInChild(
      { src: join(at, 'src'), dest: join(at, 'dest'), options },
      homeless,
    );
    expect(error).toBeUndefined();
    expect(readdirSync(join(at, 'dest'))).toEqual(['.gitignore', 'b']);
  }
});
