import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { checkRuleFileNames } from '../../lib/selection/index.js';
import { lastMatch, parseRules, rulesBelow, rulesIn } from '../../lib/selection/rules.js';
import { whileMounted } from '../support/filesystems.js';
import { makeFiles } from '../support/trees.js';
import { needRoot, needTool } from '../support/work.js';
import {
  filesOfGit,
  git,
  gitEnvironment,
  makeRepository,
  rulesOfGit,
  track,
} from './support/git.js';
import { filesTaken, type Walked, walk } from './support/walk.js';

/** Whether the rules ignore a path; one that ends in a slash is a directory. Directories on the way are not asked. */
function ignores(rules: string, path: string, fold = false): boolean {
  const bytes = (text: string): string => Buffer.from(text).toString('latin1');
  const file = parseRules(Buffer.from(rules), { shown: '.gitignore', own: false, fold });
  const directories = bytes(path).split('/');
  const isDirectory = directories.at(-1) === '';
  if (isDirectory) directories.pop();
  const name = directories.pop() ?? '';
  const here = directories.reduce(rulesBelow, rulesIn(file));
  const rule = lastMatch(here, fold ? name.toLowerCase() : name, isDirectory);
  return rule !== undefined && !rule.negative;
}

const ignored = true;
const kept = false;

type Row = [rules: string, path: string, verdict: boolean];

const rows: Row[] = [
  // names and paths
  ['a', 'a', ignored],
  ['a', 'b/a', ignored],
  ['a', 'ab', kept],
  ['/a', 'a', ignored],
  ['/a', 'b/a', kept],
  ['b/a', 'b/a', ignored],
  ['b/a', 'c/b/a', kept],
  ['//a', 'a', kept],
  ['/', 'a/', kept],
  ['a//b', 'a/b', kept],
  ['*', '.a', ignored],
  // directories
  ['a/', 'a/', ignored],
  ['a/', 'a', kept],
  ['a/', 'b/a/', ignored],
  ['/a/', 'b/a/', kept],
  ['a//', 'a/', kept],
  // later rules win
  ['*.o\n!b.o', 'b.o', kept],
  ['!b.o\n*.o', 'b.o', ignored],
  ['a\n!a', 'a', kept],
  ['a\n!a\na', 'a', ignored],
  ['a\n!/a', 'a', kept],
  ['/a\n!?', 'a', kept],
  ['a\n!a/', 'a', ignored],
  // stars
  ['*.o', 'b/c.o', ignored],
  ['*.o', '.o', ignored],
  ['a*', 'ab', ignored],
  ['a*c', 'abbc', ignored],
  ['*a*b', 'xaxbxab', ignored],
  ['a/*', 'a/b', ignored],
  ['a/*', 'b/a/c', kept],
  ['a/*/c', 'a/b/c', ignored],
  ['a/*/c', 'a/b/b/c', kept],
  ['/*', '.a', ignored],
  ['?', 'a', ignored],
  ['a?b', 'a/b', kept],
  ['/a?b', 'a/b', kept],
  // double stars
  ['**/a', 'a', ignored],
  ['**/a', 'b/c/a', ignored],
  ['**/a/b', 'c/a/b', ignored],
  ['a/**', 'a/', kept],
  ['a/**', 'a/b/c', ignored],
  ['a/**/b', 'a/b', ignored],
  ['a/**/b', 'a/x/y/b', ignored],
  ['a/**/**/b', 'a/b', ignored],
  ['a**b', 'axxb', ignored],
  ['/a**b', 'a/b', kept],
  ['/x/a**b', 'x/axb', ignored],
  ['***/a', 'b/a', ignored],
  // `**` behind a fixed start counts as one at the start: git compares that start by itself
  ['x/foo**/bar', 'x/foobar', ignored],
  ['x/foo**/bar', 'x/foo/z/bar', ignored],
  ['x/fo?**/bar', 'x/foo/z/bar', kept],
  ['a/**\\/b', 'a/b', kept],
  ['a/**\\/b', 'a/x/b', ignored],
  // brackets
  ['[ab]', 'b', ignored],
  ['[a-c]x', 'bx', ignored],
  ['[!a]', 'a', kept],
  ['[^a]', 'b', ignored],
  ['[]a]', ']', ignored],
  ['[!]]', ']', kept],
  ['[a-]', '-', ignored],
  ['[\\]]', ']', ignored],
  ['[b-a]', 'b', ignored],
  ['[[:alpha:]]', 'q', ignored],
  ['[[:space:]]', '\v', kept],
  ['[[:nope:]]', 'n', kept],
  ['[a', '[a', kept],
  ['a[/]b', 'a/b', kept],
  ['/a[!x]b', 'a/b', kept],
  // bytes, not characters
  ['?', 'é', kept],
  ['??', 'é', ignored],
  ['[é]', 'é', kept],
  ['é', 'é', ignored],
  // escapes
  ['\\#a', '#a', ignored],
  ['#a', '#a', kept],
  ['\\!a', '!a', ignored],
  ['\\a', 'a', ignored],
  ['\\*', '*', ignored],
  ['\\*', 'a', kept],
  ['a\\', 'a\\', kept],
  ['a\\\\', 'a\\', ignored],
  // spaces and line ends
  ['a ', 'a', ignored],
  ['a\\ ', 'a ', ignored],
  ['a\\  ', 'a ', ignored],
  ['a\t', 'a', kept],
  [' a', 'a', kept],
  ['a b', 'a b', ignored],
  ['a\r\nb', 'a', ignored],
  ['a\r', 'a', ignored],
  ['a\r\r\n', 'a\r', ignored],
  ['\ufeffa', 'a', ignored],
  ['b\n\ufeffa', 'a', kept],
  ['a\0b', 'a', ignored],
  ['!', '!', kept],
];

const foldingRows: Row[] = [
  ['AB', 'ab', ignored],
  ['*.O', 'a.o', ignored],
  ['/A/b', 'a/B', ignored],
  ['A*b', 'aXB', ignored],
  ['[A-C]', 'b', ignored],
  ['[[:upper:]]', 'b', ignored],
  // git forgets these two
  ['[A]', 'a', kept],
  ['\\A', 'A', kept],
  // ASCII only: bytes of UTF-8 that look like letters of another encoding are none
  ['É', 'é', kept],
];

describe('one rule file', () => {
  test.each(rows)('%j %j', (rules, path, verdict) => {
    expect(ignores(rules, path)).toBe(verdict);
  });

  test.each(foldingRows)('core.ignoreCase: %j %j', (rules, path, verdict) => {
    expect(ignores(rules, path, true)).toBe(verdict);
  });

  test.each([
    [false, rows],
    [true, foldingRows],
  ])('git says the same, core.ignoreCase %s', (ignoreCase, table) => {
    const files = table.flatMap(([rules, path], i) => {
      const file = path.endsWith('/') ? `${path}x` : path;
      return [
        [`${i}/.gitignore`, rules],
        [`${i}/${file}`, ''],
      ];
    });
    const src = repository(Object.fromEntries(files), ignoreCase);
    const matched = rulesOfGit(
      src,
      table.map(([, path], i) => Buffer.from(`${i}/${path}`).toString('latin1').replace(/\/$/, '')),
    );
    const ignoredByGit = new Set<number>();
    for (const [path, rule] of matched) {
      if (!/^.*:\d+:!/s.test(rule)) ignoredByGit.add(Number.parseInt(path, 10));
    }
    const gits = table.map(([rules, path], i): Row => [rules, path, ignoredByGit.has(i)]);
    expect(gits).toEqual(table);
  });

  test('a rule made to be slow', () => {
    const began = performance.now();
    expect(ignores(`${'*a'.repeat(60)}b`, 'a'.repeat(255))).toBe(false);
    expect(ignores(`${'**/a/'.repeat(30)}b`, 'a/'.repeat(1000))).toBe(false);
    expect(performance.now() - began).toBeLessThan(1000);
  });
});

let room = '';
let made = 0;
beforeAll(() => {
  room = mkdtempSync(join(tmpdir(), 'fastcp-gitignore-'));
  for (const [name, value] of Object.entries(gitEnvironment)) vi.stubEnv(name, value);
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(room, { recursive: true, force: true });
});

function tree(files: Record<string, string>): string {
  made += 1;
  const root = join(room, `${made}`);
  mkdirSync(root);
  return makeFiles(root, files);
}

function repository(files: Record<string, string>, ignoreCase = false): string {
  return makeRepository(tree(files), { ignoreCase });
}

describe('files on the way', () => {
  test('outside a repository, too', async () => {
    const src = tree({ '.gitignore': 'b\n', a: '', b: '', 'c/.gitignore': 'a\n', 'c/a': '' });
    expect(await filesTaken(src, { gitignore: true })).toEqual(['.gitignore', 'a', 'c/.gitignore']);
  });

  test('a directory that is ignored is never opened, and what is in it cannot come back', async () => {
    const src = repository({ '.gitignore': 'a/\n!a/b\n', 'a/b': '', 'a/.gitignore': '!b\n' });
    const walked = await walk(src, { gitignore: true });
    expect(walked.taken).toEqual(['.gitignore']);
    expect(walked.opened).toEqual(['']);
  });

  test('a directory brought back by a file further down', async () => {
    const src = repository({
      '.gitignore': 'a/*\n',
      'a/.gitignore': '!b\n',
      'a/b/c': '',
      'a/d': '',
    });
    expect(await filesTaken(src, { gitignore: true })).toEqual(filesOfGit(src).sort());
    expect(await filesTaken(src, { onlyIgnored: true })).toEqual(['a/.gitignore', 'a/d']);
  });

  test('directories above SRC, up to the root of the repository', async () => {
    const root = tree({
      '.gitignore': 'z\n',
      'r/.gitignore': '/x/src/a\n*.o\n',
      'r/x/.gitignore': '!k.o\n',
      'r/x/src/.gitignore': 'c\n',
      ...Object.fromEntries(['a', 'b.o', 'k.o', 'c', 'z'].map((name) => [`r/x/src/${name}`, ''])),
    });
    makeRepository(join(root, 'r'));
    const src = join(root, 'r/x/src');
    expect(await filesTaken(src, { gitignore: true })).toEqual(['.gitignore', 'k.o', 'z']);
    expect(filesOfGit(src).sort()).toEqual(['.gitignore', 'k.o', 'z']);
  });

  test('none above a mount point, as for git', async (context) => {
    needRoot(context);
    const root = repository({ '.gitignore': 'a\n', 'mounted/x': '' });
    const mounted = join(root, 'mounted');
    await whileMounted(['-t', 'tmpfs', 'tmpfs'], mounted, async () => {
      const src = makeFiles(join(mounted, 'src'), { a: '', b: '' });
      expect(await filesTaken(src, { gitignore: true })).toEqual(['a', 'b']);
    });
    const src = makeFiles(join(mounted, 'src'), { a: '', b: '' });
    expect(await filesTaken(src, { gitignore: true })).toEqual(['b']);
  });

  test('SRC is ignored itself: only what is tracked, and a warning', async () => {
    const root = repository({
      '.gitignore': 'x\n',
      'x/a': '',
      'x/y/b': '',
      'x/.gitignore': '!a\n',
    });
    track(root, ['x/y/b']);
    const src = join(root, 'x');
    const { taken, selection } = await walk(src, { gitignore: true }, 'x');
    expect(taken).toEqual(['y/', 'y/b']);
    expect(filesOfGit(src)).toEqual(['y/b']);
    expect(selection?.warnings).toMatchObject([{ code: 'SOURCE_IGNORED', path: 'x' }]);
    expect(await filesTaken(src, { onlyIgnored: true })).toEqual(['.gitignore', 'a']);
  });

  test('links to directories are no directories, and a .gitignore behind a link is none', async () => {
    const src = repository({ rules: 'a\n', a: '', 'd/e': '' });
    symlinkSync('rules', join(src, '.gitignore'));
    symlinkSync('d', join(src, 'l'));
    writeFileSync(join(src, '.git/info/exclude'), 'l/\n');
    mkdirSync(join(src, 'd/.gitignore'));
    expect(await filesTaken(src, { gitignore: true })).toEqual(filesOfGit(src).sort());
  });
});

describe('what else git asks', () => {
  afterEach(() => vi.stubEnv('XDG_CONFIG_HOME', gitEnvironment.XDG_CONFIG_HOME));

  test('info/exclude, weaker than any .gitignore', async () => {
    const src = repository({ '.gitignore': '!a.o\n', 'a.o': '', 'b.o': '' });
    writeFileSync(join(src, '.git/info/exclude'), '*.o\n');
    expect(await filesTaken(src, { gitignore: true })).toEqual(['.gitignore', 'a.o']);
  });

  test('core.excludesFile, weaker than info/exclude; empty means none', async () => {
    const src = repository({ a: '', b: '', 'c/a': '' });
    const rules = join(tree({ rules: '/a\nb\n' }), 'rules');
    git(src, ['config', 'core.excludesFile', rules]);
    writeFileSync(join(src, '.git/info/exclude'), '!b\n');
    expect(await filesTaken(src, { gitignore: true })).toEqual(['b', 'c/a']);
    git(src, ['config', 'core.excludesFile', '']);
    expect(await filesTaken(src, { gitignore: true })).toEqual(['a', 'b', 'c/a']);
  });

  test('the default for core.excludesFile', async () => {
    vi.stubEnv('XDG_CONFIG_HOME', tree({ 'git/ignore': 'a\n' }));
    const src = repository({ a: '', b: '' });
    expect(await filesTaken(src, { gitignore: true })).toEqual(['b']);
  });

  test('core.ignoreCase', async (context) => {
    needTool(context, 'git'); // tells the setting
    const files = { '.gitignore': 'A\n', a: '', B: '', '.GIT/x': '' };
    const exact = repository(files);
    expect(await filesTaken(exact, { gitignore: true })).toEqual([
      '.GIT/x',
      '.gitignore',
      'B',
      'a',
    ]);
    const folding = repository(files, true);
    expect(await filesTaken(folding, { gitignore: true })).toEqual(['.gitignore', 'B']);
  });

  test('tracked files are not ignored, wherever they are', async () => {
    const src = repository({
      '.gitignore': 'a\nd/\n',
      a: '',
      'd/a': '',
      'd/e/f': '',
      'd/e/g': '',
      'd/h/i': '',
    });
    track(src, ['a', 'd/e/f']);
    const walked = await walk(src, { gitignore: true });
    expect(walked.taken).toEqual(['.gitignore', 'a', 'd/', 'd/e/', 'd/e/f']);
    expect(walked.opened).not.toContain('d/h/');
    const ignoredOnes = ['d/a', 'd/e/g', 'd/h/i'];
    expect(await filesTaken(src, { onlyIgnored: true })).toEqual(ignoredOnes);
  });

  test('tracked files are not ignored, whatever their order where case is folded', async () => {
    // Git lists capitals first, and after folding they are not.
    const files = ['Zebra', 'apple', 'Beta/x', 'beta.y', 'Alpha', 'm/N', 'M.o', 'a_b'];
    const src = repository(
      { '.gitignore': '*\n!.gitignore\n', ...Object.fromEntries(files.map((name) => [name, ''])) },
      true,
    );
    track(src, files);
    const taken = await filesTaken(src, { gitignore: true });
    expect(taken).toEqual(['.gitignore', ...files].sort());
  });

  test('a repository that git does not want to answer for', async () => {
    const src = repository({ '.gitignore': 'a\n', a: '' });
    const { PATH } = process.env;
    vi.stubEnv('PATH', '/nonexistent');
    const walked = walk(src, { gitignore: true });
    await expect(walked).rejects.toMatchObject({ code: 'ERR_FASTCP_GIT_UNAVAILABLE', path: src });
    vi.stubEnv('PATH', PATH);
  });

  test("a hook's environment does not lead to another repository", async () => {
    const src = repository({ '.gitignore': 'a\n', a: '' });
    track(src, ['a']);
    vi.stubEnv('GIT_DIR', join(repository({}), '.git'));
    vi.stubEnv('GIT_INDEX_FILE', '/nonexistent');
    const taken = await filesTaken(src, { gitignore: true });
    vi.stubEnv('GIT_DIR', undefined);
    vi.stubEnv('GIT_INDEX_FILE', undefined);
    expect(taken).toEqual(['.gitignore', 'a']);
  });

  test("a repository's file system monitor is not run", async () => {
    const src = repository({ '.gitignore': 'a\n', a: '' });
    track(src, ['a']);
    const ran = join(src, '.git/ran');
    git(src, ['config', 'core.fsmonitor', `touch '${ran}'; false`]);
    expect(await filesTaken(src, { gitignore: true })).toEqual(['.gitignore', 'a']);
    expect(existsSync(ran)).toBe(false);
    git(src, ['ls-files', '-z']);
    expect(existsSync(ran)).toBe(true); // else it would prove nothing
  });
});

describe('repositories in repositories', () => {
  test('a nested one goes by its own rules, and its .git stays behind, too', async () => {
    const src = repository({
      '.gitignore': '*.o\n',
      'n/a.o': '',
      'n/b': '',
      'n/.gitignore': 'b\n',
    });
    makeRepository(join(src, 'n'));
    track(join(src, 'n'), ['b']);
    expect(filesOfGit(src).sort()).toEqual(['.gitignore', 'n/']);
    expect(filesOfGit(join(src, 'n')).sort()).toEqual(['.gitignore', 'a.o', 'b']);
    const kept = ['.gitignore', 'n/.gitignore', 'n/a.o', 'n/b'];
    expect(await filesTaken(src, { gitignore: true })).toEqual(kept);
  });

  test('an ignored one stays out, or comes whole', async () => {
    const src = repository({ '.gitignore': 'n/\n', 'n/a': '' });
    makeRepository(join(src, 'n'));
    expect(await filesTaken(src, { gitignore: true })).toEqual(['.gitignore']);
    const all = ['n/.git/HEAD', 'n/.git/config', 'n/a'];
    expect(await filesTaken(src, { onlyIgnored: true })).toEqual(all);
  });

  test('a .git that is no repository changes nothing', async () => {
    const src = repository({
      '.gitignore': '*.o\n',
      'n/.git/x': '',
      'n/a.o': '',
      'm/.git': '?',
      'm/a.o': '',
    });
    expect(await filesTaken(src, { gitignore: true })).toEqual(['.gitignore']);
  });

  test('a worktree, where .git is a file', async () => {
    const main = repository({});
    writeFileSync(join(main, '.git/info/exclude'), '*.o\n');
    const gitDir = join(main, '.git/worktrees/w');
    const src = tree({ '.git': `gitdir: ${gitDir}\n`, 'a.o': '', 'b.o': '', c: '' });
    makeFiles(gitDir, {
      HEAD: 'ref: refs/heads/w\n',
      commondir: '../..\n',
      gitdir: `${src}/.git\n`,
    });
    track(src, ['b.o']);
    expect(await filesTaken(src, { gitignore: true })).toEqual(['b.o', 'c']);
    expect(await filesTaken(src, { onlyIgnored: true })).toEqual(['a.o']);
  });

  test('a submodule that a rule matches is tracked all the same', async () => {
    const src = repository({ '.gitignore': 'sub\n', 'sub/a': '', 'sub/b': '' });
    const gitDir = join(src, '.git/modules/sub');
    makeRepository(join(room, 'sub'));
    cpSync(join(room, 'sub/.git'), gitDir, { recursive: true });
    writeFileSync(join(src, 'sub/.git'), 'gitdir: ../.git/modules/sub\n');
    writeFileSync(join(gitDir, 'info/exclude'), 'b\n');
    const commit = '0123456789012345678901234567890123456789';
    git(src, ['update-index', '-z', '--index-info'], `160000 ${commit} 0\tsub\0`);
    expect(await filesTaken(src, { gitignore: true })).toEqual(['.gitignore', 'sub/a']);
    expect(await filesTaken(src, { onlyIgnored: true })).toEqual(['sub/b']);
    // Nobody knows what it tracks, unless it has not been fetched yet.
    rmSync(join(src, 'sub/.git'));
    const taken = filesTaken(src, { gitignore: true });
    await expect(taken).rejects.toMatchObject({ code: 'ERR_FASTCP_GIT_UNAVAILABLE' });
    for (const file of ['a', 'b']) rmSync(join(src, 'sub', file));
    expect(await filesTaken(src, { gitignore: true })).toEqual(['.gitignore']);
  });
});

describe('other rule files', () => {
  test('rank above .gitignore in their directory, and reach tracked files and nested repositories', async () => {
    const src = repository({
      '.gitignore': 'a\n',
      '.copyignore': '!a\nb\n',
      a: '',
      b: '',
      'n/b': '',
      'n/a': '',
    });
    makeRepository(join(src, 'n'));
    track(src, ['b']);
    const options = { gitignore: true, ignoreFileNames: ['.copyignore'] };
    expect(await filesTaken(src, options)).toEqual(['.copyignore', '.gitignore', 'a', 'n/a']);
  });

  test('alone: git has no say, and .git is a directory like others', async () => {
    const src = repository({
      '.gitignore': 'a\n',
      '.x': 'b\n',
      a: '',
      b: '',
      'c/.x': '!b\n',
      'c/b': '',
    });
    const taken = await filesTaken(src, { ignoreFileNames: ['.x'] });
    expect(taken).toEqual(['.git/HEAD', '.git/config', '.gitignore', '.x', 'a', 'c/.x', 'c/b']);
  });

  test.each(['', '.', '..', 'a/b'])('no name: %j', (name) => {
    expect(() => checkRuleFileNames([name], 'options.ignoreFileNames')).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_ARG_VALUE',
        message: expect.stringContaining('options.ignoreFileNames[0]'),
      }),
    );
  });
});

describe('why', () => {
  test('as git check-ignore -v says it', async () => {
    const src = repository({
      '.gitignore': '# logs\n*.log\n',
      'a.log': '',
      'd/.gitignore': '/é \n',
      'd/é': '',
      b: '',
    });
    const { left } = await walk(src, { gitignore: true }, 'src');
    expect(Object.fromEntries(left)).toEqual({
      '.git': '.git stays behind',
      'a.log': 'src/.gitignore:2:*.log',
      [`d/${Buffer.from('é').toString('latin1')}`]: 'src/d/.gitignore:1:/é',
    });
    const other = await walk(src, { onlyIgnored: true });
    expect(other.left.get('b')).toBe('not ignored');
  });
});

describe('names that are not UTF-8', () => {
  test('match by their bytes', async () => {
    const src = repository({});
    const bytes = (text: string): Buffer => Buffer.from(`${src}/${text}`, 'latin1');
    for (const name of ['a\xff', 'b\xff', 'c']) writeFileSync(bytes(name), '');
    writeFileSync(bytes('.gitignore'), Buffer.from('a\xff\nb?\n', 'latin1'));
    expect(await filesTaken(src, { gitignore: true })).toEqual(['.gitignore', 'c']);
  });
});

describe('a rule file that cannot be read', () => {
  const cannotRead = { name: 'CopyError', code: 'EACCES', errno: -13, syscall: 'open' };

  /** Root may read everything, so the error is made. */
  async function walkWithout(file: string, src: string): Promise<Walked> {
    vi.resetModules();
    vi.doMock('node:fs', async (original) => {
      const fs = await original<typeof import('node:fs')>();
      const openSync: typeof fs.openSync = (path, ...rest) => {
        if (!path.toString().endsWith(file)) return fs.openSync(path, ...rest);
        throw Object.assign(new Error(), { code: 'EACCES', errno: -13, syscall: 'open' });
      };
      return { ...fs, openSync };
    });
    try {
      const { walk } = await import('./support/walk.js');
      return await walk(src, { gitignore: true }, 'src');
    } finally {
      vi.doUnmock('node:fs');
    }
  }

  test.each(['.gitignore', 'd/.gitignore'])('%s', async (file) => {
    const src = tree({ [file]: 'a\n' });
    const error = { ...cannotRead, path: `src/${file}` };
    await expect(walkWithout(file, src)).rejects.toMatchObject(error);
  });

  test('info/exclude', async () => {
    const src = repository({});
    const file = join(src, '.git/info/exclude');
    makeFiles(src, { '.git/info/exclude': 'a\n' });
    await expect(walkWithout(file, src)).rejects.toMatchObject({ ...cannotRead, path: file });
  });
});
