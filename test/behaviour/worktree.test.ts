// Copies between worktrees: what lands, against git, and what the command says.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readlinkSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { copyTree } from '../../lib/index.js';
import type { CopyOptions } from '../../lib/types.js';
import { fastcp } from '../bin/support/fastcp.js';
import { git, gitEnvironment, makeRepository, track } from '../selection/support/git.js';
import { Random, randomCase, randomRules, writeCase } from '../selection/support/random.js';
import { readTree } from '../support/compare.js';
import { seed, size } from '../support/form.js';
import { makeFiles } from '../support/trees.js';
import { needTool, needToolHere, workDirectory } from '../support/work.js';

const work = workDirectory('worktree');
let made = 0;
const newPath = (): string => join(work, `${made++}`);

const environment: Record<string, string> = {
  ...gitEnvironment,
  GIT_AUTHOR_NAME: 'x',
  GIT_AUTHOR_EMAIL: 'x',
  GIT_COMMITTER_NAME: 'x',
  GIT_COMMITTER_EMAIL: 'x',
};
beforeAll(() => {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
});
afterAll(() => {
  vi.unstubAllEnvs();
});

function shell(script: string, cwd: string): string {
  needToolHere('git');
  return execFileSync('sh', ['-ec', script], { cwd, encoding: 'utf8', stdio: 'pipe' });
}

/** All but directories and all `.git`, sorted; a byte per character. */
function filesIn(directory: string): string[] {
  const isGit = (path: string): boolean => path.split('/').includes('.git');
  return [...readTree(directory)]
    .filter(([path, { kind }]) => kind !== 'directory' && !isGit(path))
    .map(([path]) => path)
    .sort();
}

/** What git says that has to be copied. A nested repository is one entry of git's, and stands for all in it. */
function expectedByGit(src: string): string[] {
  const list = (how: string): string[] => git(src, ['ls-files', '-z', '-o', '-i', how]);
  const ignored = list('--exclude-standard');
  const included = existsSync(join(src, '.worktreeinclude'))
    ? new Set(list('--exclude-from=.worktreeinclude'))
    : undefined;
  const worktrees = git(src, ['worktree', 'list', '--porcelain', '-z']).flatMap((line) =>
    line.startsWith(`worktree ${src}/`) ? [`${line.slice(`worktree ${src}/`.length)}/`] : [],
  );
  return ignored
    .filter((path) => !included || included.has(path))
    .flatMap((path) => {
      if (!path.endsWith('/')) return [path];
      return filesIn(Buffer.from(join(src, path), 'latin1').toString()).map((one) => path + one);
    })
    .filter((path) => !/^(\.worktrees\/b|build\/x)\//.test(path))
    .filter((path) => !worktrees.some((one) => path.startsWith(one)))
    .sort();
}

/** Copies, and returns what DEST has got. */
async function copied(src: string, dest: string, options: CopyOptions = {}): Promise<string[]> {
  const before = existsSync(dest) ? readTree(dest) : new Map();
  const { errorCount } = await copyTree(src, dest, { worktree: true, ...options });
  expect(errorCount).toBe(0);
  const after = readTree(dest);
  for (const [path, entry] of before) {
    if (entry.kind !== 'directory') expect([path, after.get(path)]).toEqual([path, entry]);
  }
  const dots = (tree: ReadonlyMap<string, unknown>): string[] =>
    [...tree.keys()].filter((path) => path.split('/').includes('.git'));
  expect(dots(after)).toEqual(dots(before));
  return filesIn(dest).filter((path) => !before.has(path));
}

/** In a new directory: the repository `main`, whose files are committed unless it ignores them. */
function newMain(files: Record<string, string>): { room: string; main: string } {
  const room = newPath();
  const main = makeFiles(join(room, 'main'), files);
  shell('git init -q -b main; git add .; git commit -q --allow-empty -m x', main);
  return { room, main };
}

interface Situation {
  files: Record<string, string>;
  /** Runs in `main`, before `git worktree add ../fix`. */
  script?: string;
  /** Runs in `main`, after that. */
  after?: string;
  src?: string;
  dest?: string;
  /** A directory in both. */
  part?: string;
  copied: string[];
}

const env = { '.gitignore': '.env*\nbuild/\nnode_modules/\n*.log\n', '.env': 'SRC', 'build/a': '' };
const modules = { 'node_modules/a/index.js': '', 'node_modules/b/index.js': '' };

const situations: Record<string, Situation> = {
  'no .worktreeinclude': {
    files: { ...env, ...modules, 'sub/x.log': '', tracked: '' },
    copied: ['.env', 'build/a', 'node_modules/a/index.js', 'node_modules/b/index.js', 'sub/x.log'],
  },
  'a file and a directory are listed': {
    files: { ...env, ...modules, '.worktreeinclude': '.env\nnode_modules/\n' },
    copied: ['.env', 'node_modules/a/index.js', 'node_modules/b/index.js'],
  },
  'an empty list': { files: { ...env, '.worktreeinclude': '# nothing\n\n' }, copied: [] },
  'a pattern matches what git does not ignore': {
    files: { ...env, '.worktreeinclude': '*.txt\n.env\n' },
    script: 'touch new.txt',
    copied: ['.env'],
  },
  'a tracked file matches a rule and a pattern': {
    files: { ...env, '.worktreeinclude': '.env*\n', '.env.example': '' },
    script: 'git add -f .env.example; git commit -qm x; echo changed > .env.example',
    copied: ['.env'],
  },
  'a tracked file in an ignored directory that is listed': {
    files: { ...env, '.worktreeinclude': 'build/\n', 'build/kept': '' },
    script: 'git add -f build/kept; git commit -qm x',
    copied: ['build/a'],
  },
  'a directory of which one file matches': {
    files: {
      ...env,
      '.worktreeinclude': 'node_modules/a/index.js\n',
      ...modules,
      'node_modules/a/other.js': '',
    },
    copied: ['node_modules/a/index.js'],
  },
  'a name matches at any depth of an ignored directory': {
    files: { ...env, '.worktreeinclude': 'index.js\n', ...modules, 'node_modules/a/other.js': '' },
    copied: ['node_modules/a/index.js', 'node_modules/b/index.js'],
  },
  'a negation': {
    files: {
      ...env,
      '.worktreeinclude': '.env*\n!.env.production\n',
      '.env.production': '',
      '.env.local': '',
    },
    copied: ['.env', '.env.local'],
  },
  'the last match wins': {
    files: { ...env, '.worktreeinclude': '!.env.local\n.env*\n', '.env.local': '' },
    copied: ['.env', '.env.local'],
  },
  'a negation in a directory that matches': {
    files: { ...env, '.worktreeinclude': 'node_modules/\n!node_modules/a/\n', ...modules },
    copied: ['node_modules/a/index.js', 'node_modules/b/index.js'],
  },
  'a negation below a star': {
    files: { ...env, '.worktreeinclude': 'node_modules/*\n!node_modules/a\n', ...modules },
    copied: ['node_modules/b/index.js'],
  },
  'a pattern for directories, and a file of that name': {
    files: {
      '.gitignore': 'cache\n',
      '.worktreeinclude': 'cache/\n',
      'cache/a': '',
      'sub/cache': '',
    },
    copied: ['cache/a'],
  },
  'a pattern for directories, and a symlink to one': {
    files: { ...env, '.worktreeinclude': 'build\n.env.d/\n' },
    script: 'ln -s build .env.d',
    copied: ['build/a'],
  },
  'core.excludesFile': {
    files: { '.worktreeinclude': '*.local\n', 'a.local': '', 'b.local': '' },
    script:
      'git rm -q --cached a.local; git commit -qm x; echo a.local > ../mine; git config core.excludesFile ../mine',
    copied: ['a.local'],
  },
  'info/exclude': {
    files: { '.worktreeinclude': 'a*\n', 'a.local': '' },
    script: 'git rm -q --cached a.local; git commit -qm x; echo a.local > .git/info/exclude',
    copied: ['a.local'],
  },
  'a .gitignore further down negates': {
    files: { ...env, 'sub/.gitignore': '!.env\n', 'sub/.env': '', 'sub/.env.local': '' },
    copied: ['.env', 'build/a', 'sub/.env.local'],
  },
  'a .worktreeinclude further down': {
    files: { ...env, 'sub/.worktreeinclude': '.env.local\n', 'sub/.env': '' },
    copied: ['.env', 'build/a', 'sub/.env'],
  },
  'spaces and non-ASCII': {
    files: {
      '.gitignore': 'mit Leerzeichen/\ncaf\u00e9*\n\u65e5\u672c\n',
      '.worktreeinclude': 'mit Leerzeichen/\ncaf\u00e9.env\n',
      'mit Leerzeichen/a b': '',
      'caf\u00e9.env': '',
      'caf\u00e9.log': '',
      '\u65e5\u672c': '',
    },
    copied: ['caf\u00e9.env', 'mit Leerzeichen/a b'],
  },
  CRLF: {
    files: { ...env, '.worktreeinclude': '.env\r\nnode_modules/\r\n', ...modules },
    copied: ['.env', 'node_modules/a/index.js', 'node_modules/b/index.js'],
  },
  'a byte order mark': { files: { ...env, '.worktreeinclude': '\ufeff.env\n' }, copied: ['.env'] },
  'core.ignoreCase': {
    files: { ...env, '.worktreeinclude': '.ENV\nBuild/\n' },
    script: 'git config core.ignoreCase true',
    copied: ['.env', 'build/a'],
  },
  'a sparse checkout': {
    files: { ...env, 'left/tracked': '', 'left/x.log': '', 'kept/tracked': '' },
    script: 'git sparse-checkout set kept; mkdir -p left; touch left/x.log kept/y.log',
    copied: ['.env', 'build/a', 'kept/y.log', 'left/x.log'],
  },
  'a worktree in an ignored directory': {
    files: { ...env, '.gitignore': `${env['.gitignore']}.worktrees/\n`, '.worktrees/notes': '' },
    script: 'git worktree add -q --detach .worktrees/other; touch .worktrees/other/.env',
    copied: ['.env', '.worktrees/notes', 'build/a'],
  },
  'worktrees whose repository was moved': {
    files: { ...env, '.gitignore': `${env['.gitignore']}.worktrees/\n`, '.worktrees/notes': '' },
    script:
      'git worktree add -q --detach .worktrees/a; touch .worktrees/a/.env; mv .worktrees/a .worktrees/b; git worktree prune; mkdir build/x; touch build/x/y; echo "gitdir: /nonexistent/.git/worktrees/x" > build/x/.git',
    copied: ['.env', '.worktrees/notes', 'build/a'],
  },
  'a worktree that is not ignored': {
    files: env,
    script: 'git worktree add -q --detach other; touch other/.env',
    copied: ['.env', 'build/a'],
  },
  'a worktree deep in a directory that is listed': {
    files: { ...env, ...modules, '.worktreeinclude': 'node_modules\n' },
    script: 'git worktree add -q --detach node_modules/a/b/other; touch node_modules/a/b/c',
    copied: ['node_modules/a/b/c', 'node_modules/a/index.js', 'node_modules/b/index.js'],
  },
  'a worktree in a worktree': {
    files: { ...env, '.gitignore': `${env['.gitignore']}inner/\n` },
    script:
      'git worktree add -q --detach ../outer; cd ../outer; touch .env; git worktree add -q --detach inner; touch inner/.env',
    src: 'outer',
    copied: ['.env'],
  },
  'SRC lies in the worktree that is DEST': {
    files: { ...env, '.gitignore': `${env['.gitignore']}inner/\n` },
    script:
      'git worktree add -q --detach inner; touch inner/.env inner/.env.local; mkdir inner/build; touch inner/build/b',
    src: 'main/inner',
    dest: 'main',
    copied: ['.env.local', 'build/b'],
  },
  'DEST lies in SRC': {
    files: { ...env, '.gitignore': `${env['.gitignore']}inner/\n` },
    script: 'git worktree add -q --detach inner',
    dest: 'main/inner',
    copied: ['.env', 'build/a'],
  },
  'a bare repository beside its worktrees': {
    files: env,
    script:
      'git clone -q --bare . ../.bare; cd ..; echo "gitdir: ./.bare" > .git; git worktree add -q --detach one; cp main/.env one; git worktree add -q --detach two',
    src: 'one',
    dest: 'two',
    copied: ['.env'],
  },
  'a submodule': {
    files: { ...env, '.worktreeinclude': '.env\n' },
    script:
      'git clone -q . ../lib; git -c protocol.file.allow=always submodule --quiet add ../lib lib; git commit -qm x; touch lib/.env',
    copied: ['.env'],
  },
  'a repository in an ignored directory': {
    files: { ...env, ...modules, 'node_modules/c/deep/x': '' },
    script:
      'git init -q node_modules/a; git init -q node_modules/c; git init -q node_modules/c/deep',
    copied: [
      '.env',
      'build/a',
      'node_modules/a/index.js',
      'node_modules/b/index.js',
      'node_modules/c/deep/x',
    ],
  },
  'a repository that is ignored, and a pattern for a file in it': {
    files: { ...env, ...modules, '.worktreeinclude': 'index.js\n' },
    script: 'git init -q node_modules/a',
    copied: ['node_modules/b/index.js'],
  },
  'a repository that is not ignored': {
    files: env,
    script: 'git init -q other; cp .gitignore .env other',
    copied: ['.env', 'build/a'],
  },
  'DEST has own files': {
    files: { ...env, 'build/b': 'SRC' },
    after: 'cd ../fix; mkdir build; echo own > build/b; echo own > .env; echo own > build/c',
    copied: ['build/a'],
  },
  'the branch of DEST tracks what SRC ignores': {
    files: { ...env, 'build/b': 'SRC' },
    after: 'cd ../fix; echo tracked > .env; git add -f .env; git commit -qm x',
    copied: ['build/a', 'build/b'],
  },
  'a subdirectory': {
    files: {
      ...env,
      '.worktreeinclude': '/sub/*.log\n/.env\n',
      'sub/deep/x.log': '',
      'sub/y.log': '',
      'sub/tracked': '',
    },
    part: 'sub',
    copied: ['y.log'],
  },
  'a subdirectory that is ignored and listed': {
    files: { ...env, '.worktreeinclude': 'node_modules\n', ...modules },
    part: 'node_modules/a',
    copied: ['index.js'],
  },
  'a subdirectory that is ignored and not listed': {
    files: { ...env, '.worktreeinclude': '.env\n', ...modules },
    part: 'node_modules/a',
    copied: [],
  },
};

describe('what lands is what git ignores and .worktreeinclude lists', () => {
  test.each(Object.entries(situations))('%s', async (_, situation) => {
    const { files, script = '', after = '', part = '', src = 'main', dest = 'fix' } = situation;
    const { room, main } = newMain(files);
    shell(script, main);
    if (dest === 'fix') shell('git worktree add -q --detach ../fix', main);
    shell(after, main);
    const from = join(room, src);
    const wanted = expectedByGit(from)
      .filter((path) => path.startsWith(part && `${part}/`))
      .map((path) => path.slice(part ? part.length + 1 : 0))
      .filter(
        (path) => !existsSync(join(room, dest, part, Buffer.from(path, 'latin1').toString())),
      );
    const bytes = situation.copied.map((path) => Buffer.from(path).toString('latin1'));
    expect(wanted).toEqual(bytes);
    expect(await copied(join(from, part), join(room, dest, part))).toEqual(wanted);
  });
});

const repositories = size(30, 200, 1000);

test(`${repositories} random repositories, seed ${seed}`, { timeout: 0 }, async () => {
  const random = new Random(seed);
  for (let i = 0; i < repositories; i++) {
    const one = randomCase(random, { ignoreCase: false });
    const src = newPath();
    const dest = newPath();
    const paths = [...one.files.keys()].filter((path) => !path.endsWith('.gitignore'));
    if (random.chance(75)) one.files.set('.worktreeinclude', randomRules(random, '', paths));
    writeCase(src, one);
    makeRepository(src);
    shell(
      'git update-ref HEAD $(git commit-tree -m x 4b825dc642cb6eb9a060e54bf8d69288fbee4904)',
      src,
    );
    git(src, ['worktree', 'add', '-q', '--detach', dest]);
    track(src, [...one.tracked]);
    const directories = [...readTree(src)].filter(
      ([path, { kind }]) => kind === 'directory' && path !== '' && !path.startsWith('.git'),
    );
    const isText = (path: string): boolean => !/[\x80-\xff\n]/.test(path);
    for (const [path] of directories) {
      if (!isText(path) || one.tracked.has(path)) continue;
      const odds = random.below(100);
      if (odds < 8) makeRepository(join(src, path));
      else if (odds < 16) {
        git(src, ['worktree', 'add', '-q', '--detach', join(src, path, 'worktree')]);
        makeFiles(join(src, path, 'worktree'), { a: '', 'b/x.o': '' });
      }
    }
    const wanted = expectedByGit(src);
    expect({ seed, i, copied: await copied(src, dest) }).toEqual({ seed, i, copied: wanted });
  }
});

test('without .worktreeinclude the result has no paths that are left out, with it those of ignored entries', async () => {
  const { room, main } = newMain({ ...env, ...modules });
  shell('git worktree add -q ../fix', main);
  const dest = join(room, 'fix');
  expect((await copyTree(main, dest, { worktree: true, dryRun: true })).leftOut).toEqual([]);
  expect((await copyTree(main, dest, { onlyIgnored: true, dryRun: true })).leftOut).toBeUndefined();
  makeFiles(main, { '.worktreeinclude': 'b\n!.env\n' });
  const { leftOut, files } = await copyTree(main, dest, { worktree: true });
  const names = ['.env', 'build', 'node_modules'];
  expect(leftOut).toEqual(names.map((name) => join(main, name)));
  expect(files).toBe(1);
});

test('a directory that .worktreeinclude cannot match below is not entered', async () => {
  const { room, main } = newMain({ ...env, ...modules, '.worktreeinclude': '/node_modules/a\n' });
  shell('git worktree add -q ../fix', main);
  const { leftOut, scanned } = await copyTree(main, join(room, 'fix'), { worktree: true });
  expect(leftOut).toEqual(['.env', 'build', 'node_modules'].map((name) => join(main, name)));
  expect(scanned).toBe(4); // SRC, node_modules, a and its file
});

describe('a pattern of .worktreeinclude that matches nothing is a warning', () => {
  const rules = '.env*\n.evn\n!never\nnode_modules/\n*.js\n.env\ntracked\nlocal/\nsub/\n';
  const files = {
    ...env,
    ...modules,
    '.worktreeinclude': rules,
    tracked: '',
    'local/a': '',
    'sub/x.log': '',
  };
  const unmatched = async (options: CopyOptions, part = ''): Promise<string[]> => {
    const { room, main } = newMain(files);
    shell('git worktree add -q ../fix', main);
    const [src, dest] = [join(main, part), join(room, 'fix', part)];
    const { warnings } = await copyTree(src, dest, { worktree: true, ...options });
    expect(warnings.every(({ code }) => code === 'INCLUDE_UNMATCHED')).toBe(true);
    return warnings.map(({ message }) => /'.*:\d+\)/.exec(message)?.[0] ?? message);
  };
  const all = [
    "'.evn' (.worktreeinclude:2)",
    "'*.js' (.worktreeinclude:5)",
    "'tracked' (.worktreeinclude:7)",
    "'local/' (.worktreeinclude:8)",
  ];

  test('at the root', async () => expect(await unmatched({})).toEqual(all));
  test('not where other options exclude entries', async () =>
    expect(await unmatched({ exclude: '.evn' })).toEqual([]));
  test('not in a part of the worktree', async () => expect(await unmatched({}, 'sub')).toEqual([]));
});

test('each exclusion is explained', async () => {
  const rules = '/.env*\n!.env.local\n/node_modules/a\n';
  const { room, main } = newMain({
    ...env,
    ...modules,
    '.env.local': '',
    '.worktreeinclude': rules,
    tracked: '',
  });
  shell(
    'git init -q sub; touch sub/x.log; git worktree add -q ../fix; git worktree add -q other',
    main,
  );
  const { stdout, stderr, exitCode } = await fastcp(
    ['--worktree', '--dry-run', '-v', 'main', 'fix'],
    { cwd: room, env: environment },
  );
  expect(stdout.split('\n').sort()).toEqual([
    '',
    'Left out by .worktreeinclude, wholly or in part: main/.env.local, main/build, main/node_modules',
    'Would copy 2 files, 2 directories, 3 bytes',
    'copy .env',
    'copy node_modules/a/index.js',
    'create node_modules',
    'create node_modules/a',
    'excluded .env.local (.worktreeinclude:2:!.env.local)',
    'excluded .git (.git stays behind)',
    'excluded .gitignore (not ignored)',
    'excluded .worktreeinclude (not ignored)',
    'excluded build (not in .worktreeinclude)',
    'excluded node_modules/b (not in .worktreeinclude)',
    'excluded other (another worktree)',
    'excluded sub (no pattern of .worktreeinclude can match in it)',
    'excluded tracked (not ignored)',
  ]);
  expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
});

test('the summary says what .worktreeinclude left out', async () => {
  const many = Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`${index}.log`, '']));
  const { room, main } = newMain({ ...env, ...many, '.worktreeinclude': '.env\n' });
  shell('git worktree add -q ../fix', main);
  const settings = { cwd: room, env: environment };
  const { stdout } = await fastcp(['--worktree', 'main', 'fix'], settings);
  expect(stdout).toMatch(
    /^Copied 1 file, 3 bytes in .*\nLeft out by .worktreeinclude, wholly or in part: main\/0.log, .*, main\/3.log and 4 more\n$/,
  );
  const again = await fastcp(['--worktree', '--json', 'main', 'fix'], settings);
  expect(JSON.parse(again.stdout)).toMatchObject({ files: 0, skipped: 1, leftOut: { length: 8 } });
  expect((await fastcp(['--worktree', '-q', 'main', 'fix'], settings)).stdout).toBe('');
});

describe('SRC and DEST must be the same part of two worktrees', () => {
  test.each<[name: string, src: string, dest: string, text: string | RegExp]>([
    ['SRC in no worktree', '.', 'fix', /the source is in no worktree of git: not a git repository/],
    [
      'DEST in no worktree',
      'main',
      'new',
      /the destination is in no worktree of git: .*; 'git worktree add' creates one/,
    ],
    ['SRC in a repository', 'main/.git', 'fix', /the source is in no worktree of git: /],
    [
      'SRC is bare',
      'bare',
      'fix',
      'the source is in no worktree of git: this is a repository without a work tree',
    ],
    ['SRC is a file', 'main/.env', 'fix/.env', 'the source is not a directory'],
    [
      'a part to the root',
      'main/sub',
      'fix',
      "the source is 'sub' of its worktree, so the destination must be 'sub' of its own, not the root",
    ],
    [
      'the root into the other one',
      'main',
      'fix/sub',
      "the source is the root of its worktree, so the destination must be the root of its own, not 'sub'",
    ],
  ])('%s', async (_, src, dest, text) => {
    const { room, main } = newMain({ ...env, 'sub/tracked': '' });
    shell('git worktree add -q ../fix; git init -q --bare ../bare', main);
    const settings = { cwd: room, env: environment };
    const { stderr, exitCode } = await fastcp(['--worktree', src, dest], settings);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(text);
    const copy = copyTree(join(room, src), join(room, dest), { worktree: true });
    await expect(copy).rejects.toMatchObject({ code: 'ERR_FASTCP_NO_WORKTREE' });
    expect(existsSync(join(room, 'new'))).toBe(false);
  });

  test('git is missing', async () => {
    const { room, main } = newMain(env);
    shell('git worktree add -q ../fix', main);
    const { PATH } = process.env;
    vi.stubEnv('PATH', '/nonexistent');
    const copy = copyTree(main, join(room, 'fix'), { worktree: true });
    await expect(copy).rejects.toMatchObject({ code: 'ERR_FASTCP_GIT_UNAVAILABLE' });
    vi.stubEnv('PATH', PATH);
  });

  test('another repository, by a symlink, and a part that DEST lacks', async () => {
    const { room, main } = newMain(env);
    shell('git clone -q . ../clone; git worktree add -q ../fix; ln -s fix ../linked', main);
    await expect(copyTree(main, join(room, 'clone'), { worktree: true })).rejects.toThrow(
      'the destination is a worktree of another repository',
    );
    symlinkSync('main', join(room, 'source'));
    await copyTree(join(room, 'source'), `${join(room, 'linked')}/`, { worktree: true });
    expect(filesIn(join(room, 'fix'))).toEqual(['.env', '.gitignore', 'build/a']);
    expect(await copied(join(main, 'build'), join(room, 'fix/build'))).toEqual([]);
  });
});

test('options that contradict it are refused', async () => {
  const refused: CopyOptions[] = [
    { gitignore: true },
    { onlyIgnored: true },
    { ignoreFileNames: ['.x'] },
    { dereference: true },
    { shard: '1/2' },
    { mirror: true },
    { sync: true },
    { checksum: true },
    { update: true },
    { backup: 'numbered' },
    { atomic: true },
    { snapshot: 'auto' },
  ];
  for (const options of refused) {
    const [name] = Object.keys(options);
    const text = `"options.worktree" property cannot be combined with options.${name}`;
    expect(() => copyTree('a', 'b', { worktree: true, ...options })).toThrow(text);
  }
  const { stderr, exitCode } = await fastcp(['--worktree', '--delete', '--sync', 'a', 'b']);
  expect(exitCode).toBe(2);
  expect(stderr).toContain(
    '--worktree cannot be combined with --mirror: existing entries of DEST stay',
  );
});

test('--only-ignored skips worktrees, and names them', async () => {
  const ignores = `${env['.gitignore']}.worktrees/\n`;
  const { room, main } = newMain({ ...env, '.gitignore': ignores, '.worktrees/notes': '' });
  shell(
    'git worktree add -q .worktrees/one; git worktree add -q --detach two; touch two/.env; mkdir .worktrees/moved; echo "gitdir: ../x/.git/worktrees/m" > .worktrees/moved/.git; touch .worktrees/moved/a',
    main,
  );
  const { stdout, stderr, exitCode } = await fastcp(['--only-ignored', 'main', 'new'], {
    cwd: room,
    env: environment,
  });
  expect({ stderr: stderr.split('\n').sort(), exitCode }).toEqual({
    stderr: [
      '',
      "fastcp: warning: 'main/.worktrees/moved' is not copied: it is a worktree of its own",
      "fastcp: warning: 'main/.worktrees/one' is not copied: it is a worktree of its own",
      "fastcp: warning: 'main/two' is not copied: it is a worktree of its own",
    ],
    exitCode: 0,
  });
  expect(stdout).toMatch(/^Copied 3 files/);
  expect(filesIn(join(room, 'new'))).toEqual(['.env', '.worktrees/notes', 'build/a']);
  const { warnings } = await copyTree(main, join(main, 'two'), { onlyIgnored: true });
  expect(warnings.sort((a, b) => a.message.localeCompare(b.message))).toMatchObject([
    { code: 'WORKTREE_SKIPPED', path: join(main, '.worktrees/moved') },
    { code: 'WORKTREE_SKIPPED', path: join(main, '.worktrees/one') },
  ]);
});

test('make builds anew after --worktree, and after --only-ignored believes the old output', (context) => {
  needTool(context, 'make');
  const rules = 'out: in\n\tcp in out\n';
  const { room, main } = newMain({ Makefile: rules, in: 'v1', '.gitignore': 'out\n' });
  shell(
    'make; git switch -qc v2; echo v2 > in; git commit -qam v2; git switch -q main; make',
    main,
  );
  // The output is older than the checkout, as it is in practice.
  execFileSync('touch', ['-d', '1 hour ago', 'in', 'out'], { cwd: main });
  const built = async (options: CopyOptions): Promise<string> => {
    const dest = join(room, `fix${made++}`);
    shell(`git worktree add -q --detach ${dest} v2`, main);
    await copyTree(main, dest, options);
    shell('make', dest);
    return readFileSync(join(dest, 'out'), 'utf8');
  };
  return Promise.all([built({ onlyIgnored: true }), built({ worktree: true })]).then((outputs) =>
    expect(outputs).toEqual(['v1', 'v2\n']),
  );
});

test('modes and timestamps of existing directories stay', async () => {
  const { room, main } = newMain({ ...env, ...modules });
  shell('git worktree add -q ../fix; mkdir -m 700 ../fix/build', main);
  const before = statSync(join(room, 'fix')).mtimeMs;
  execFileSync('touch', ['-d', '1 hour ago', main, join(main, 'build')]);
  await copyTree(main, join(room, 'fix'), { worktree: true, preserve: true });
  expect(statSync(join(room, 'fix')).mtimeMs).toBeGreaterThanOrEqual(before);
  expect(statSync(join(room, 'fix/build')).mode & 0o777).toBe(0o700);
  const [from, to] = [main, join(room, 'fix')].map((at) =>
    statSync(join(at, 'node_modules/a/index.js')),
  );
  expect(to?.mtimeMs).toBe(from?.mtimeMs);
});

test('a symlink of DEST in the place of a directory stays, with an error', async () => {
  const { room, main } = newMain({ ...env, ...modules });
  shell('git worktree add -q ../fix', main);
  symlinkSync('../main/node_modules', join(room, 'fix/node_modules'));
  const { errors } = await copyTree(main, join(room, 'fix'), {
    worktree: true,
    onError: 'continue',
  });
  expect(errors).toMatchObject([{ code: 'ERR_FS_CP_DIR_TO_NON_DIR' }]);
  expect(readlinkSync(join(room, 'fix/node_modules'))).toBe('../main/node_modules');
});

describe('GIT_CEILING_DIRECTORIES', () => {
  test.each<[name: string, value: (room: string) => string, found: boolean]>([
    ['the root itself', (room) => `${room}/main`, false],
    ['a directory on the way', (room) => `/nonexistent:${room}/main/sub`, false],
    ['SRC', (room) => `${room}/main/sub/deep`, true],
    ['above the root', (room) => room, true],
    ['elsewhere', (room) => `${room}/other`, true],
    ['relative', () => 'main', true],
    ['by a symlink', (room) => `${room}/symlink`, false],
    ['by a symlink that is not to be resolved', (room) => `:${room}/symlink`, true],
  ])('%s', async (_, value, found) => {
    const { room, main } = newMain({ ...env, 'sub/deep/x.log': '', 'sub/deep/y': '' });
    symlinkSync('main', join(room, 'symlink'));
    vi.stubEnv('GIT_CEILING_DIRECTORIES', value(room));
    const src = join(main, 'sub/deep');
    const isFound = ((): boolean => {
      try {
        shell('git rev-parse', src);
        return true;
      } catch {
        return false;
      }
    })();
    const dest = newPath();
    await copyTree(src, dest, { onlyIgnored: true });
    vi.stubEnv('GIT_CEILING_DIRECTORIES', undefined);
    expect([isFound, existsSync(dest) && filesIn(dest).length > 0]).toEqual([found, found]);
  });
});

test('with -L a rule for directories matches an untracked symlink to one', async () => {
  const { main } = newMain({ '.gitignore': 'built/\n', 'real/a': '' });
  shell('ln -s real built', main);
  const taken = async (options: CopyOptions): Promise<string[]> => {
    const dest = newPath();
    await copyTree(main, dest, { gitignore: true, ...options });
    return filesIn(dest);
  };
  expect(await taken({})).toEqual(['.gitignore', 'built', 'real/a']);
  expect(await taken({ dereference: true })).toEqual(['.gitignore', 'real/a']);
  shell('git add built', main);
  expect(await taken({ dereference: true })).toEqual(['.gitignore', 'built/a', 'real/a']);
});
