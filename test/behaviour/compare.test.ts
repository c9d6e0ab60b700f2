import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { compareTrees, copyTree } from '../../lib/index.js';
import type { PreserveKind } from '../../lib/types.js';
import { COMMAND } from '../support/child.js';
import { byEntry } from '../support/filter.js';
import { makeFiles, makeSocket, makeZoo } from '../support/trees.js';
import { asUser, needUser } from '../support/user.js';
import { isRoot, needRoot, workDirectory } from '../support/work.js';

const work = workDirectory('compare');
let number = 0;
let a: string;
let b: string;
beforeEach(() => {
  const directory = join(work, `${number++}`);
  a = join(directory, 'a');
  b = join(directory, 'b');
  makeFiles(a, {
    same: 's',
    'directory/content': 'one',
    'directory/mode': '',
    'gone/x': '',
    'gone/y': '',
  });
  execFileSync('cp', ['-a', a, b]);
});

const compare = async (
  ...options: Parameters<typeof compareTrees> extends [unknown, unknown, ...infer O] ? O : never
) =>
  (await compareTrees(a, b, ...options)).differences.map(
    ({ type, kind, a: path }) => `${type} ${kind} ${path.slice(a.length)}`,
  );

test('equal trees, and one with itself', async () => {
  expect(await compare()).toEqual([]);
  expect(await compare({ preserve: ['mode', 'timestamps', 'ownership'] })).toEqual([]);
  expect((await compareTrees(a, a)).differences).toEqual([]);
  makeZoo(join(a, 'zoo'), { wide: 100 });
  execFileSync('cp', ['-a', join(a, 'zoo'), join(b, 'zoo')]);
  expect(await compare()).toEqual([]);
});

test('every difference, by path; a directory stands for what is in it', async () => {
  writeFileSync(join(b, 'directory/content'), 'two');
  chmodSync(join(b, 'directory/mode'), 0o600);
  rmSync(join(b, 'gone'), { recursive: true });
  makeFiles(b, { 'extra/deep/file': '', 'directory/new': '' });
  rmSync(join(b, 'same'));
  mkdirSync(join(b, 'same'));
  symlinkSync('x', join(a, 'link'));
  symlinkSync('y', join(b, 'link'));
  expect(await compare()).toEqual([
    'content file /directory/content',
    'metadata file /directory/mode',
    'onlyInB file /directory/new',
    'onlyInB directory /extra',
    'onlyInA directory /gone',
    'content symlink /link',
    'onlyInA file /same',
    'onlyInB directory /same',
  ]);
});

test('contents decide, not times; times count when asked', async () => {
  utimesSync(join(b, 'same'), 5, 5);
  expect(await compare()).toEqual([]);
  expect(await compare({ preserve: ['timestamps'] })).toEqual(['metadata file /same']);
  writeFileSync(join(b, 'directory/content'), 'eno');
  utimesSync(join(b, 'directory/content'), 1, 1);
  utimesSync(join(a, 'directory/content'), 1, 1);
  expect(await compare()).toEqual(['content file /directory/content']);
});

test('a selection holds on both sides', async () => {
  makeFiles(b, { 'x.log': '', 'directory/y.log': '' });
  makeFiles(a, { 'z.log': '' });
  expect(await compare({ exclude: ['**/*.log'] })).toEqual([]);
});

test('an excluded file or directory is no part of B, where A has the other', async () => {
  makeFiles(a, { 'x/wanted': '', y: '', z: '' });
  makeFiles(b, { x: '', 'y/z': '', 'z/z': '' });
  expect(await compare({ include: ['wanted'] })).toEqual(['onlyInA directory /x']);
  const filter = byEntry((entry) => entry.kind === 'file' || !/^[yz]$/.test(entry.path));
  expect(await compare({ filter })).toEqual([
    'onlyInA directory /x',
    'onlyInB file /x',
    'onlyInA file /y',
    'onlyInA file /z',
  ]);
  const { scanned } = await compareTrees(a, b, { filter });
  expect(scanned).toBe((await compareTrees(a, a, { filter })).scanned);
});

test('nothing is written', async () => {
  makeFiles(b, { extra: '' });
  rmSync(join(b, 'gone'), { recursive: true });
  const state = () =>
    execFileSync('find', [a, b, '-printf', '%p %C@ %T@ %m\n'], { encoding: 'utf8' });
  const before = state();
  await compare();
  expect(state()).toBe(before);
});

test('what is not there, or asked for in vain', async () => {
  await expect(compareTrees(a, join(b, 'nowhere'))).rejects.toMatchObject({
    code: 'ENOENT',
    path: join(b, 'nowhere'),
  });
});

test.for<[string, object]>([
  ['verify', { verify: true }],
  ['mirror', { mirror: true }],
  ['checksum', { checksum: true }],
  ['atomic', { atomic: 'two-step' }],
  ['strict', { strict: false }],
  ['entries', { entries: true }],
  ['parents', { parents: true }],
  ['dryRun', { dryRun: true }],
  ['unknown', { unknown: true }],
])('an option that means nothing to a comparison is refused: %s', async ([name, options]) => {
  await expect(compareTrees(a, b, options)).rejects.toMatchObject({
    code: 'ERR_INVALID_ARG_VALUE',
    message: expect.stringContaining(`"options.${name}"`),
  });
  // What is undefined was not given.
  const nothing = { verify: undefined, exclude: undefined } as object;
  expect(await compare(nothing)).toEqual([]);
});

test.for([null, 'mode', []])('options must be an object, not %j', async (options) => {
  await expect(compareTrees(a, b, options as never)).rejects.toMatchObject({
    code: 'ERR_INVALID_ARG_TYPE',
    message: expect.stringContaining('options'),
  });
});

describe('hard links', () => {
  const link = (root: string, ...names: string[]) => {
    const [first = '', ...others] = names.map((name) => join(root, name));
    writeFileSync(first, 'linked');
    for (const other of others) {
      mkdirSync(dirname(other), { recursive: true });
      linkSync(first, other);
    }
  };
  const links = () => compare({ preserve: ['mode', 'hardLinks'] });

  test('the same groups', async () => {
    for (const root of [a, b]) {
      link(root, 'p', 'q', 'directory/r');
      link(root, 's', 't');
    }
    expect(await links()).toEqual([]);
  });

  test.for<[string, string[][], string[][], string[]]>([
    ['only A has them', [['p', 'q', 'r']], [['p'], ['q'], ['r']], ['q', 'r']],
    ['only B has them', [['p'], ['q'], ['r']], [['p', 'q', 'r']], ['q', 'r']],
    [
      'another group',
      [
        ['p', 'q'],
        ['r', 's'],
      ],
      [
        ['p', 'r'],
        ['q', 's'],
      ],
      ['q', 'r', 's'],
    ],
    ['one less', [['p', 'q', 'r']], [['p', 'q'], ['r']], ['r']],
    ['the first less', [['p', 'q', 'r']], [['p'], ['q', 'r']], ['q', 'r']],
  ])('%s', async ([, ofA, ofB, names]) => {
    for (const names of ofA) link(a, ...names);
    for (const names of ofB) link(b, ...names);
    const expected = names.map((name) => `metadata file /${name}`);
    for (let i = 0; i < 5; i++) expect(await links()).toEqual(expected);
    expect(await compare()).toEqual([]);
  });

  test('names outside the trees, names of one side only, and other differences', async () => {
    link(a, 'p', 'q', '../elsewhere');
    link(b, 'p', 'q', 'onlyB');
    expect(await links()).toEqual(['onlyInB file /onlyB']);
    // A mode is a matter of the file: both names have it.
    chmodSync(join(b, 'p'), 0o600);
    expect(await links()).toEqual(['onlyInB file /onlyB', 'metadata file /p', 'metadata file /q']);
    writeFileSync(join(b, 'q'), 'other');
    expect(await links()).toEqual(['onlyInB file /onlyB', 'content file /p', 'content file /q']);
  });

  test('large files, symlinks and FIFOs', async () => {
    for (const root of [a, b]) {
      makeFiles(root, { large: Buffer.alloc(70 << 20, 'x') });
      symlinkSync('x', join(root, 'link'));
      execFileSync('mkfifo', [join(root, 'fifo')]);
    }
    for (const name of ['large', 'link', 'fifo']) linkSync(join(a, name), join(a, `${name} too`));
    for (const name of ['large', 'link', 'fifo']) {
      execFileSync('cp', ['-a', join(b, name), join(b, `${name} too`)]);
    }
    expect(await links()).toEqual([
      'metadata fifo /fifo too',
      'metadata file /large too',
      'metadata symlink /link too',
    ]);
    expect(await compare()).toEqual([]);
  });

  test('with dereference, names that lead to one file', async () => {
    makeFiles(a, { p: 'content' });
    symlinkSync('p', join(a, 'q'));
    link(b, 'p', 'q');
    for (const name of ['p', 'q']) writeFileSync(join(b, name), 'content');
    const options = { preserve: ['hardLinks'], dereference: true } as const;
    expect(await compare(options)).toEqual([]);
    rmSync(join(b, 'q'));
    writeFileSync(join(b, 'q'), 'content');
    expect(await compare(options)).toEqual(['metadata file /q']);
  });

  test('what -a has copied is the same; what it would do without is not', async () => {
    for (const root of [a]) link(root, 'p', 'q', 'directory/r');
    rmSync(b, { recursive: true });
    await copyTree(a, b, { preserve: true });
    expect(await compare({ preserve: true })).toEqual([]);
    rmSync(b, { recursive: true });
    await copyTree(a, b, { preserve: ['mode', 'timestamps', 'ownership', 'xattrs'] });
    expect(await compare({ preserve: true })).toEqual(['metadata file /p', 'metadata file /q']);
  });
});

test.each([[], ['--json']])('interrupted: %s', async (...json) => {
  makeFiles(a, { 'n/x': '' });
  makeFiles(b, { 'n/x': '' });
  // Git waits for it.
  execFileSync('sh', ['-ec', 'git init -q n; mkfifo n/.git/index'], { cwd: a });
  const child = spawn(process.execPath, [COMMAND, '--compare', '--gitignore', ...json, a, b]);
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (text) => {
    stdout += text;
  });
  child.stderr.on('data', (text) => {
    stderr += text;
  });
  // A child of its own says that it listens to signals.
  const children = `/proc/${child.pid}/task/${child.pid}/children`;
  while (child.exitCode === null && readFileSync(children, 'utf8') === '') await sleep(20);
  child.kill('SIGINT');
  const [status] = await once(child, 'close');
  expect({ status, stderr }).toEqual({
    status: 130,
    stderr: json.length > 0 ? '' : 'fastcp: interrupted: the comparison is not complete\n',
  });
  if (json.length > 0)
    expect(JSON.parse(stdout)).toEqual({
      type: 'result',
      version: 1,
      outcome: 'interrupted',
      exitCode: 130,
      errors: [],
    });
  else expect(stdout).toBe('');
});

test('a socket and a directory', async () => {
  makeSocket(join(a, 'here'));
  makeFiles(b, { 'here/x': '' });
  makeFiles(a, { 'there/x': '' });
  makeSocket(join(b, 'there'));
  expect((await compareTrees(a, b)).errors).toEqual([]);
  expect(await compare()).toEqual([
    'onlyInB directory /here',
    'onlyInA directory /there',
    'onlyInB socket /there',
  ]);
});

test('a metadata difference says which metadata differ', async () => {
  const told = async (preserve: PreserveKind[]): Promise<unknown[]> => {
    const { differences } = await compareTrees(a, b, { preserve });
    return differences.map(({ metadata }) => metadata);
  };
  for (const tree of [a, b]) {
    makeFiles(tree, { f: 'x' });
    chmodSync(tree, 0o755);
    utimesSync(join(tree, 'f'), 1, 1);
    utimesSync(tree, 1, 1);
  }
  chmodSync(join(a, 'f'), 0o644);
  chmodSync(join(b, 'f'), 0o600);
  expect(await told(['mode'])).toEqual([['mode 644 != 600']]);
  utimesSync(join(b, 'f'), 1, 2);
  expect(await told(['mode', 'timestamps'])).toEqual([['mode 644 != 600', 'mtime']]);
  expect(await told(['timestamps'])).toEqual([['mtime']]);
  if (isRoot) chownSync(join(b, 'f'), 1000, 1001);
  expect(await told(['ownership'])).toEqual(isRoot ? [['owner 0:0 != 1000:1001']] : []);
});

test('a socket differs from what is none, and is no difference where only the source has it', async () => {
  makeSocket(join(a, 'socket'));
  expect(await compare()).toEqual([]);
  makeFiles(b, { socket: '' });
  expect(await compare()).toEqual(['content socket /socket']);
  rmSync(join(b, 'socket'));
  makeSocket(join(b, 'socket'));
  expect(await compare()).toEqual([]);
});

test('a glob that matches nothing is a warning', async () => {
  const { warnings } = await compareTrees(a, b, { include: '*.tx' });
  expect(warnings).toMatchObject([{ code: 'INCLUDE_UNMATCHED' }]);
});

describe('command', { tags: ['all'] }, () => {
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [COMMAND, ...args], {
      encoding: 'utf8',
    });
    return { status, stdout, stderr };
  };

  test('0 and a word where there is none, 1 and the list where there are', () => {
    expect(run('--compare', a, b)).toEqual({
      status: 0,
      stdout: 'no difference: 8 entries\n',
      stderr: '',
    });
    writeFileSync(join(b, 'same'), 't');
    rmSync(join(b, 'gone'), { recursive: true });
    makeFiles(b, { new: '' });
    const found = [`only in ${a}/gone`, `only in ${b}/new`, `differ: ${a}/same and ${b}/same`];
    expect(run('--compare', a, b)).toEqual({
      status: 1,
      stdout: `${found.join('\n')}\n1 differ, 1 only in SRC, 1 only in DEST; 8 entries compared\n`,
      stderr: '',
    });
    expect(run('--compare', '-q', a, b)).toEqual({ status: 1, stdout: '', stderr: '' });
    const lines = run('--compare', '--json', a, b).stdout.trim().split('\n');
    const parsed = lines.map((line) => JSON.parse(line));
    expect(parsed[2]).toMatchObject({ type: 'difference', difference: 'content', kind: 'file' });
    expect(parsed.at(-1)).toMatchObject({ type: 'result', differences: 3, errorCount: 0 });
  });

  const bash = (script: string) => {
    const { status, stdout, stderr } = spawnSync(
      'bash',
      ['--norc', '-c', script, 'bash', process.execPath, COMMAND, '--compare'],
      { cwd: a, encoding: 'utf8' },
    );
    return { status, stdout, stderr };
  };

  test('one entry', () => {
    expect(run('--compare', join(a, 'same'), join(b, 'same')).stdout).toBe(
      'no difference: 1 entry\n',
    );
  });

  test.for([
    ['"$@" same /dev/stdin', '< same', '< directory/content'],
    ['"$@" /dev/fd/5 same', '5< same', '5< directory/content'],
    ['"$@" . /dev/fd/5', '5< .', '5< ../b/directory'],
  ])('names of descriptors, on both sides: %s', ([command, same, other]) => {
    expect(bash(`${command} ${same}`)).toMatchObject({ status: 0, stderr: '' });
    expect(bash(`${command} ${other}`)).toMatchObject({ status: 1, stderr: '' });
  });

  test.for([
    'echo s | "$@" same /dev/stdin',
    'echo s | "$@" /dev/stdin same',
    '"$@" same <(echo s)',
  ])('a stream is trouble: %s', (script) => {
    const { status, stderr } = bash(script);
    expect([status, stderr]).toEqual([2, expect.stringContaining('a pipe')]);
  });

  test.for(['same same', 'same directory/content', '--json same same'])(
    'so is an output that fails: %s',
    (words) => {
      const { status, stderr } = bash(`"$@" ${words} > /dev/full`);
      expect([status, stderr]).toEqual([2, expect.stringContaining('ENOSPC')]);
    },
  );

  test('wrong use', () => {
    expect(run('--compare', a)).toMatchObject({ status: 2 });
    expect(run('--compare', a, b, 'c').stderr).toContain('--compare takes two trees');
  });

  test.for(['a', 'b'])('2 where a file of %s cannot be read', (which, context) => {
    needUser(context);
    needRoot(context);
    for (const tree of [a, b]) {
      rmSync(tree, { recursive: true });
      mkdirSync(tree);
      writeFileSync(join(tree, 'file'), 'same');
    }
    chmodSync(join(which === 'a' ? a : b, 'file'), 0);
    const [command = '', ...words] = [...asUser, process.execPath, COMMAND, '--compare', a, b];
    const { status, stdout, stderr } = spawnSync(command, words, { encoding: 'utf8' });
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toContain(join(which === 'a' ? a : b, 'file'));
  });

  test('2 and a message where there is trouble', () => {
    for (const trees of [
      [a, '/nowhere'],
      ['/nowhere', b],
    ]) {
      const { status, stderr } = run('--compare', ...trees);
      expect([status, stderr]).toEqual([2, expect.stringContaining('no such file or directory')]);
    }
    // Where there are differences, too.
    writeFileSync(join(b, 'same'), 't');
    symlinkSync('nowhere', join(a, 'dangling'));
    const { status, stdout, stderr } = run('--compare', '-L', a, b);
    expect(stdout).toContain('differ: ');
    expect([status, stderr]).toEqual([2, expect.stringContaining('dangling')]);
  });

  test.for([
    [['--sync'], '--sync'],
    [['-u'], '--update'],
    [['--update'], '--update'],
    [['--mirror'], '--mirror'],
    [['--checksum'], '--checksum'],
    [['-n'], '--no-clobber'],
    [['--atomic'], '--atomic'],
    [['--verify'], '--verify'],
    [['-v'], '--verbose'],
    [['--dry-run'], '--dry-run'],
    [['--no-mkpath'], '--no-mkpath'],
    [['--reflink=never'], '--reflink'],
    [['--shard', '1/2'], '--shard'],
  ] as const)('%s means nothing to it', ([words, name]) => {
    const { status, stdout, stderr } = run('--compare', ...words, a, b);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(`fastcp: ${name} means nothing to a comparison\n`);
  });

  test('all that means something to it', () => {
    makeFiles(a, { '.x': '' });
    execFileSync('cp', ['-aT', a, b]);
    for (const words of [
      '-a',
      '-p',
      '--no-preserve',
      '--preserve=all',
      '--preserve=mode,links,xattr',
      '-L',
      '-x',
      '-j 2',
      '--fail-fast',
      '--gitignore',
      '--only-ignored',
      '--ignore-file-name .x',
      '--include **',
      '--exclude x',
      '-q',
      '--json',
    ]) {
      expect(run('--compare', ...words.split(' '), a, b)).toMatchObject({ status: 0, stderr: '' });
    }
  });
});

test('trees that lie in each other', async () => {
  const outer = join(a, 'outer');
  makeFiles(outer, { 'in/same': 's', 'in/in/deep': 'd' });
  const inner = join(outer, 'in');
  const found = async (one: string, other: string) =>
    (await compareTrees(one, other)).differences
      .map(({ type, a: path }) => `${type} ${path.slice(one.length)}`)
      .sort();
  const all = (near: string, deeper: string) =>
    [`${near} /in/in`, `${near} /in/same`, `${deeper} /in/deep`, `${deeper} /same`].sort();
  expect(await found(outer, inner)).toEqual(all('onlyInA', 'onlyInB'));
  expect(await found(inner, outer)).toEqual(all('onlyInB', 'onlyInA'));
  expect(await found(inner, inner)).toEqual([]);
});
