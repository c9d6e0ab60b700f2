import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, type TestContext, test } from 'vitest';
import { makeFiles } from '../support/trees.js';
import { asUser, needUser } from '../support/user.js';
import { needRoot, removeTree, workDirectory } from '../support/work.js';
import { FASTCP, run } from './support/fastcp.js';

// What a copy that did less than the user meant says about it.

const work = workDirectory('words');
const place = join(work, 'place');

beforeEach(() => {
  removeTree(place);
  makeFiles(place, {
    'src/top.c': 'x',
    'src/x.log': 'x',
    'src/app/lib/deep.c': 'x',
    'src/node_modules/x/index.js': 'x',
    'src/dist/out.js': 'x',
    'empty/.keep': '',
  });
});

async function fastcp(words: string[], before: string[] = [], cwd = place) {
  const [file = '', ...args] = [...before, process.execPath, FASTCP, ...words];
  const { exitCode, stdout, stderr } = await run(file, args, { cwd });
  return { exitCode, stdout, stderr: stderr.trim() };
}

describe('a glob that matches nothing', () => {
  const nothing = (glob: string, hint: string): string =>
    `fastcp: warning: the excluded glob '${glob}' matches nothing: ${hint}`;

  test.for<[string, string, string]>([
    ['is a list', 'node_modules,dist', "give each glob by itself, or write '{node_modules,dist}'"],
    ['is a filter rule', '- *.log', "rsync's filter rules are not supported; exclude '*.log'"],
    ['is a filter rule', '+ *.c', "rsync's filter rules are not supported; include '*.c'"],
  ])('%s: a warning says what to write: %s', async ([, glob, hint]) => {
    const { exitCode, stderr } = await fastcp(['--exclude', glob, 'src', 'out']);
    expect([exitCode, stderr]).toEqual([0, nothing(glob, hint)]);
  });

  test.for(['.cache', 'no/such', '/no/such', '**/no/such', 'lib/*.c', '{a,b}', 'dist'])(
    'may be one that another tree needs: no warning: %s',
    async (glob) => {
      const { exitCode, stderr } = await fastcp(['--exclude', glob, 'src', 'out']);
      expect([exitCode, stderr]).toEqual([0, '']);
    },
  );
});

test("rsync's idiom: '*/' is refused, and '*' excludes everything", async () => {
  const idiom = ['--include', '*/', '--include', '*.c', '--exclude', '*', 'src', 'out'];
  const refused = await fastcp(idiom);
  expect(refused.exitCode).toBe(2);
  expect(refused.stderr).toContain("'*/' would copy every directory whole: leave it out");
  const { stderr } = await fastcp(idiom.slice(2));
  expect(stderr).toBe(
    "fastcp: warning: every entry is excluded by the glob '*': leave it out; with globs to include, only what they match is copied",
  );
});

test('of several SRCs, those that an excluded glob names are skipped; a single one is copied', async () => {
  const names = readdirSync(join(place, 'src'));
  const globs = ['--exclude', 'node_modules', '--exclude', '*.log'];
  const cwd = join(place, 'src');
  const { exitCode, stderr } = await fastcp([...globs, ...names, '../out/'], [], cwd);
  expect(exitCode).toBe(0);
  expect(stderr.split('\n').sort()).toEqual([
    "fastcp: warning: 'node_modules' is not copied: it matches the excluded glob 'node_modules'",
    "fastcp: warning: 'x.log' is not copied: it matches the excluded glob '*.log'",
  ]);
  expect(readdirSync(join(place, 'out')).sort()).toEqual(['app', 'dist', 'top.c']);
  const anchored = await fastcp(['--exclude', '/dist', 'app', 'dist', '../rooted/'], [], cwd);
  expect(anchored.stderr).toBe('');
  expect(readdirSync(join(place, 'rooted'))).toEqual(['app', 'dist']);
  await fastcp([...globs, 'src/node_modules', 'out/']);
  expect(readdirSync(join(place, 'out/node_modules'))).toEqual(['x']);
});

test('of two SRCs of one name the first is copied, and all others', async () => {
  makeFiles(place, { 'a/1': 'a', 'a/other': 'x', 'b/1': 'b' });
  const { exitCode, stderr } = await fastcp(['a/1', 'a/other', 'b/1', 'c/']);
  expect(exitCode).toBe(1);
  expect(stderr).toBe(
    "fastcp: cannot copy 'b/1' to 'c/1': 'a/1' and 'b/1' have the same last name, so both would be copied to the same place",
  );
  expect(readdirSync(join(place, 'c')).sort()).toEqual(['1', 'other']);
});

test.for([
  ['src/**/*.ts', "--include='**/*.ts' with SRC 'src/'"],
  ['*.ts', "--include='*.ts' with SRC './'"],
])('a missing SRC with wildcards names --include: %s', async ([src = '', hint]) => {
  const { exitCode, stderr } = await fastcp([src, 'out']);
  expect(exitCode).toBe(1);
  expect(stderr).toContain(`no such file or directory: it is not read as a glob: use ${hint}`);
});

describe('an error names its cause', () => {
  test('a symlink to a file, with a slash', async () => {
    makeFiles(place, { 'slash/file': 'x' });
    symlinkSync('file', join(place, 'slash/link'));
    const { exitCode, stderr } = await fastcp(['slash/link/', 'slash/out']);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: "fastcp: cannot copy 'slash/link/': not a directory",
    });
  });

  test('a symlink that leads nowhere, with -L', async () => {
    symlinkSync('nowhere', join(place, 'src/link'));
    const why = "cannot copy 'src/link'";
    for (const words of [
      ['-L', 'src', 'out'],
      ['-L', 'src/link', 'out2'],
    ]) {
      const { exitCode, stderr } = await fastcp(words);
      expect(exitCode).toBe(1);
      expect(stderr).toContain(why);
      expect(stderr).toMatch(/: it is a symlink that leads nowhere$/);
    }
  });

  test('a file of DEST that is a mount point', async (context) => {
    mount(context, ['--bind', join(place, 'src/x.log'), join(place, 'empty/.keep')]);
    try {
      const { exitCode, stderr } = await fastcp(['src/top.c', 'empty/.keep']);
      expect(exitCode).toBe(1);
      expect(stderr).toMatch(/: it is a mount point, which can be neither replaced nor deleted$/);
    } finally {
      execFileSync('umount', [join(place, 'empty/.keep')]);
    }
  });

  test("somebody's sticky directory, and one that cannot be written", async (context) => {
    needRoot(context);
    needUser(context);
    for (const [mode, why] of [
      [0o1777, 'its directory is sticky, and the entry belongs to another user'],
      [0o755, 'its directory cannot be written, in which fastcp creates the new file'],
    ] as const) {
      chmodSync(join(place, 'empty'), mode);
      chownSync(join(place, 'empty/.keep'), 0, 0);
      chmodSync(join(place, 'empty/.keep'), 0o666);
      const { exitCode, stderr } = await fastcp(['src/top.c', 'empty/.keep'], asUser);
      expect(exitCode).toBe(1);
      expect(stderr.endsWith(`: ${why}`)).toBe(true);
    }
  });

  test('a file system without a free inode', async (context) => {
    const disk = join(place, 'disk');
    mkdirSync(disk);
    mount(context, ['-t', 'tmpfs', '-o', 'nr_inodes=2', 'tmpfs', disk]);
    try {
      const { exitCode, stderr } = await fastcp(['src', 'disk/new']);
      expect(exitCode).toBe(1);
      expect(stderr).toMatch(
        /no space left on device: its file system has no inode left \(df -i\)/,
      );
    } finally {
      execFileSync('umount', [disk]);
    }
  });

  test('a full disk: what is incomplete', async (context) => {
    const disk = join(place, 'disk');
    mkdirSync(disk);
    makeFiles(
      place,
      Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`big/${i}`, 'x'.repeat(8000)])),
    );
    mount(context, ['-t', 'tmpfs', '-o', 'size=200k', 'tmpfs', disk]);
    try {
      const { exitCode, stdout, stderr } = await fastcp(['big', 'disk/new']);
      expect([exitCode, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(
        /\nfastcp: stopped: no space left on device: \d+ files copied, disk\/new is incomplete$/,
      );
    } finally {
      execFileSync('umount', [disk]);
    }
  });
});

test('a glob that matches only what git ignores is told, and brings nothing', async () => {
  makeFiles(place, { 'ignoring/.gitignore': '.env', 'ignoring/.env': '' });
  const { stderr } = await fastcp(['--gitignore', '--include', '.env', 'ignoring', 'out']);
  expect(stderr).toBe(
    "fastcp: warning: no entry of the source matches the included glob '.env', or what matches is excluded",
  );
});

test('a .git that is no file is not read, and */ alone includes the directories', async () => {
  execFileSync('mkfifo', [join(place, 'src/.git')]);
  expect(await fastcp(['--include', '*/', 'src', 'out'])).toMatchObject({
    exitCode: 0,
    stderr: '',
  });
  expect(await fastcp(['src', 'out'])).toMatchObject({ exitCode: 0, stderr: '' });
});

test('a mirror or an atomic copy with slashes at both ends is refused, with both spellings', async () => {
  mkdirSync(join(place, 'out'));
  for (const option of ['--mirror', '--atomic']) {
    const { exitCode, stderr } = await fastcp([option, 'src/', 'out/']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(
      `${option} 'src/' 'out/' can mean two places: for DEST write 'out' or 'out/src'`,
    );
    expect((await fastcp([option, '-t', 'out/', 'src/'])).exitCode).toBe(0);
    expect((await fastcp([option, '-T', 'src/', 'exactly/'])).exitCode).toBe(0);
  }
});

test('the summary says into which directory SRC went', async () => {
  mkdirSync(join(place, 'out'));
  const said = async (...words: string[]) => (await fastcp(words)).stdout;
  expect(await said('src', 'out/')).toContain(' into out/src in ');
  expect(await said('src/top.c', 'out/')).toContain(' into out in ');
  expect(await said('src', 'empty', 'out')).toContain(' into out in ');
  expect(await said('--mirror', 'src', '-t', 'out')).toContain(' unchanged in out/src (');
  expect(await said('src', 'new')).not.toContain('into');
});

test('the summary of a copy into a worktree names no directory in it', async () => {
  makeFiles(place, { 'main/.gitignore': 'cache', 'main/cache': 'x' });
  const git = ['-C', 'main', '-c', 'user.name=x', '-c', 'user.email=x'];
  for (const words of ['init -q', 'add .', 'commit -qm x', 'worktree add -q ../fix'])
    execFileSync('git', [...git, ...words.split(' ')], { cwd: place, stdio: 'ignore' });
  const { stdout } = await fastcp(['--worktree', 'main', 'fix/']);
  expect(stdout).toMatch(/^Copied 1 file, 1 byte in /);
  expect(readdirSync(join(place, 'fix')).sort()).toEqual(['.git', '.gitignore', 'cache']);
});

test('the summary says what --verify has read back', async () => {
  const said = async (...words: string[]) => (await fastcp(['--verify', ...words])).stdout;
  expect(await said('src/top.c', 'new.c')).toMatch(/^Copied and verified 1 file, 1 byte in /);
  expect(await said('-n', 'src/top.c', 'new.c')).toMatch(/^Copied nothing in .*; 1 skipped\n$/);
});

test('the command speaks of its own option where an atomic copy cannot exclude DEST', async () => {
  const { stderr } = await fastcp(['--atomic', 'src', 'src/new']);
  expect(stderr).toContain('the destination is inside the source, which --atomic cannot exclude');
});

test('a line of a file of globs cannot steer the terminal', async () => {
  makeFiles(place, { globs: '!\u001b[31m' });
  const { stderr } = await fastcp(['--exclude-from', 'globs', 'src', 'out']);
  expect(stderr).toContain(
    "globs:1 must be a glob that does not begin with '!'. Received '!\\u001b[31m'",
  );
});

test('a .git file of SRC that leads outside is told, unless it is excluded; that of a submodule is not', async () => {
  makeFiles(place, {
    'tree/.git': 'gitdir: ../main/.git/worktrees/tree',
    'tree/sub/.git': 'gitdir: ../.git/modules/sub',
  });
  const { exitCode, stderr } = await fastcp(['tree', 'out']);
  expect([exitCode, stderr.split('\n').length]).toEqual([0, 1]);
  expect(stderr).toContain("'tree/.git' leads to a repository outside the source");
  expect((await fastcp(['--exclude', '.git', 'tree', 'out2'])).stderr).toBe('');
  expect((await fastcp(['tree/sub/.git', 'out3'])).stderr).toBe('');
});

test('a line of --include-from that is no glob is named by file and line', async () => {
  makeFiles(place, { globs: '*.c\n!*.log\n' });
  for (const option of ['--include-from', '--exclude-from']) {
    const { exitCode, stderr } = await fastcp([option, 'globs', 'src', 'out']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(
      "fastcp: globs:2 must be a glob that does not begin with '!'. Received '!*.log'",
    );
  }
});

function mount(context: TestContext, words: string[]): void {
  needRoot(context);
  try {
    execFileSync('mount', words, { stdio: 'pipe' });
  } catch (error) {
    context.skip(`nothing can be mounted here: ${error}`);
  }
}
