import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { environment, FASTCP, fastcp, run } from './support/fastcp.js';
import { makeLargeTree, makeTree, temporaryDirectory } from './support/trees.js';

const cwd = temporaryDirectory();
makeTree(cwd, {
  'src/a': 'content of a',
  'src/sub/b': 'b',
  'other/c': 'c',
  // A file where SRC has a directory.
  'conflict/sub': 'in the way',
});
const inside = (args: string) => fastcp(args.split(' ').filter(Boolean), { cwd });
const done = { exitCode: 0, signal: undefined, stderr: '' };

test('--help fits a screen of 30 lines', async () => {
  const { stdout, ...rest } = await inside('--help');
  expect(rest).toEqual(done);
  const lines = stdout.trimEnd().split('\n');
  expect(lines.length).toBeLessThan(30);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  for (const shown of [
    'Example: fastcp ',
    '--worktree',
    '-L, ',
    '-q, ',
    '--doctor',
    'Exit codes: ',
  ])
    expect(stdout).toContain(shown);
  expect(stdout).toMatch(/each SRC lands inside DEST/);
});

test('--help-all has what --help has, and the rest', async () => {
  const [help, all] = await Promise.all([inside('--help'), inside('--help-all')]);
  expect(all).toMatchObject(done);
  const options = (text: string): string[] => text.match(/(?<=^ +)-.*?(?= {2})/gm) ?? [];
  expect(options(help.stdout).length).toBeGreaterThan(10);
  expect(options(all.stdout)).toEqual(expect.arrayContaining(options(help.stdout)));
  expect(options(all.stdout)).toEqual(
    expect.arrayContaining([
      '-x, --one-file-system',
      '--ignore-file-name <name>',
      '--fail-fast',
      '--no-preserve[=list]',
      '--fsync',
      '--atomic[=two-step]',
      '--snapshot[=when]',
      '--doctor',
    ]),
  );
  for (const line of all.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
});

test('--version', async () => {
  expect(await inside('--version')).toEqual({ ...done, stdout: `${manifest.version}\n` });
});

describe('wrong usage ends with 2 and names what is wrong', () => {
  test.each([
    ['', 'missing arguments SRC and DEST'],
    ['src', "missing argument DEST after 'src'"],
    ['src dest --jsn', "unknown option '--jsn'\n(Did you mean --json?)"],
    [
      'src dest --reflink=maybe',
      "option '--reflink [=when]' argument 'maybe' is invalid. Allowed choices are auto, always, never.",
    ],
    ['src dest -j 0', '--jobs must be an integer from 1 to 1024. Received 0'],
    ['src dest --exclude a[b', '--exclude must be a glob that parses'],
    ['src dest --ignore-file-name a/b', '--ignore-file-name must be a file name without slashes'],
    ['src dest --atomic -n', '--atomic cannot be combined with --no-clobber'],
    ['src other dest --atomic', '--atomic cannot be combined with several sources'],
    ['src dest --gitignore --only-ignored', '--only-ignored cannot be combined with --gitignore'],
    ['src dest -q -v', '--quiet cannot be combined with --verbose'],
  ])('fastcp %s', async (args, message) => {
    const { exitCode, stdout, stderr } = await inside(args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(/^fastcp: /);
    expect(stderr).toContain(message);
    expect(stderr).toContain("Try 'fastcp --help'.");
    expect(existsSync(join(cwd, 'dest'))).toBe(false);
  });

  test('what only the library finds wrong', async () => {
    const { exitCode, stderr } = await fastcp(['', 'dest'], { cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^fastcp: .+\nTry 'fastcp --help'\.\n$/);
  });
});

describe('a copy', () => {
  test('lands at DEST and says so', async () => {
    const { stdout, ...rest } = await inside('src exact');
    expect(rest).toEqual(done);
    expect(stdout).toMatch(/^Copied 2 files, 2 directories, 13 bytes in \d+ ms$/m);
    expect(readFileSync(join(cwd, 'exact/a'), 'utf8')).toBe('content of a');
    expect(readdirSync(join(cwd, 'exact'), { recursive: true }).sort()).toEqual([
      'a',
      'sub',
      join('sub', 'b'),
    ]);
  });

  test('of several sources lands inside DEST', async () => {
    expect((await inside('src other several')).exitCode).toBe(0);
    expect(readdirSync(join(cwd, 'several')).sort()).toEqual(['other', 'src']);
  });

  test('lands inside a DEST with a slash', async () => {
    expect((await inside('src slash/')).exitCode).toBe(0);
    expect(readdirSync(join(cwd, 'slash'))).toEqual(['src']);
  });

  test('creates missing parents, but not with --no-mkpath', async () => {
    const { exitCode, stderr } = await inside('--no-mkpath src no/parents/here');
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^fastcp: cannot copy .*no\/parents.*\n$/);
    expect(existsSync(join(cwd, 'no'))).toBe(false);
    expect(await inside('src with/parents/here')).toMatchObject(done);
  });

  test('says once that DEST/ is a file, also with --atomic', async () => {
    makeTree(cwd, { file: 'x' });
    const stderr = "fastcp: cannot copy 'src/a' to 'file/': 'file' is not a directory\n";
    for (const options of ['', '--atomic'])
      expect(await inside(`${options} src/a file/`)).toMatchObject({ exitCode: 1, stderr });
  });

  test.for([
    ['missing', 'no such file or directory'],
    ['src/a', 'not a directory'],
  ])('with --doctor %s names it', async ([path, reason]) => {
    const stderr = `fastcp: cannot examine '${path}': ${reason}\n`;
    expect(await inside(`--doctor ${path}`)).toMatchObject({ exitCode: 1, stderr });
  });

  test('keeps what DEST has with -n', async () => {
    makeTree(cwd, { 'kept/a': 'mine' });
    const { exitCode, stdout } = await inside('-n src kept');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/; 1 skipped\n$/);
    expect(readFileSync(join(cwd, 'kept/a'), 'utf8')).toBe('mine');
  });

  test('fails on what DEST has with --error-on-exist', async () => {
    makeTree(cwd, { 'existing/a': 'mine' });
    const { exitCode, stdout, stderr } = await inside('--error-on-exist src existing');
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^fastcp: .*existing\/a/);
    expect(stdout).toMatch(/; 1 error\n$/);
    expect(readFileSync(join(cwd, 'existing/a'), 'utf8')).toBe('mine');
  });
});

describe('an error', () => {
  test('that stops the copy is reported once', async () => {
    const { exitCode, stderr } = await inside('--fail-fast src conflict');
    expect(exitCode).toBe(1);
    expect(stderr.match(/conflict\/sub/g)).toHaveLength(1);
    const { stdout } = await inside('--fail-fast --json src conflict');
    const types = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).type);
    expect(types.filter((type) => type === 'error')).toHaveLength(1);
  });

  test('leaves the rest to be copied', async () => {
    const { exitCode, stdout, stderr } = await inside('src conflict');
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^fastcp: .*sub.*\n$/);
    expect(stdout).toMatch(/^Copied 1 file, .*; 1 error\n$/);
    expect(readFileSync(join(cwd, 'conflict/a'), 'utf8')).toBe('content of a');
  });

  test('ends the copy with --fail-fast', async () => {
    makeTree(cwd, { 'stopped/sub': 'in the way' });
    const { exitCode, stdout, stderr } = await inside('--fail-fast src stopped');
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^fastcp: .*sub/);
  });

  test('that refuses the copy is told once', async () => {
    const { exitCode, stdout, stderr } = await inside('missing dest');
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toBe("fastcp: cannot copy 'missing': no such file or directory\n");
  });

  test('is all that --quiet leaves', async () => {
    makeTree(cwd, { 'quiet-conflict/sub': 'in the way' });
    expect(await inside('-q src quiet')).toEqual({ ...done, stdout: '' });
    const { exitCode, stdout, stderr } = await inside('-q src quiet-conflict');
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^fastcp: .*\n$/);
  });
});

describe('entries', () => {
  const lines = (dest: string) => [
    `copy ${join('src', 'a')} -> ${join(dest, 'a')}`,
    `copy ${join('src', 'sub', 'b')} -> ${join(dest, 'sub', 'b')}`,
    `create src -> ${dest}`,
    `create ${join('src', 'sub')} -> ${join(dest, 'sub')}`,
  ];

  test('are printed with --verbose', async () => {
    const { stdout, ...rest } = await inside('-v src verbose');
    expect(rest).toEqual(done);
    const printed = stdout.trimEnd().split('\n');
    expect(printed.pop()).toMatch(/^Copied 2 files, 2 directories, /);
    expect(printed.sort()).toEqual(lines('verbose'));
  });

  test('are printed with --dry-run, and nothing is written', async () => {
    const { stdout, ...rest } = await inside('--dry-run src dry');
    expect(rest).toEqual(done);
    const printed = stdout.trimEnd().split('\n');
    expect(printed.pop()).toBe('Would copy 2 files, 2 directories, 13 bytes');
    expect(printed).toEqual(['create .', 'copy a', 'create sub', 'copy sub/b']);
    expect(existsSync(join(cwd, 'dry'))).toBe(false);
  });

  test.skipIf(process.platform === 'win32')('have names that no terminal obeys', async () => {
    makeTree(cwd, { 'controls/\u001b[31mred\n': '' });
    const { stdout } = await inside('-v controls verbose-controls');
    expect(stdout).toContain("copy $'controls/\\u001b[31mred\\n' -> ");
    expect(stdout).not.toContain('\u001b');
  });
});

describe('--json', () => {
  const parse = (stdout: string) =>
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));

  test('ends with the result', async () => {
    const { stdout, ...rest } = await inside('--json src json');
    expect(rest).toEqual(done);
    const events = parse(stdout);
    expect(events.pop()).toMatchObject({
      type: 'result',
      files: 2,
      errors: [],
      version: 1,
      outcome: 'done',
      exitCode: 0,
    });
    expect(events).toEqual([]);
    const shown = parse((await inside('--json --progress src json-progress')).stdout);
    expect(shown.length).toBeGreaterThan(1);
    expect(shown.slice(0, -1).every((event) => event.type === 'progress')).toBe(true);
  });

  test('brings entries with --verbose', async () => {
    const { stdout } = await inside('--json -v src json-verbose');
    const entries = parse(stdout).filter((event) => event.type === 'entry');
    expect(entries).toHaveLength(4);
    expect(entries).toContainEqual({
      type: 'entry',
      action: 'copy',
      kind: 'file',
      path: join('src', 'a'),
      dest: join('json-verbose', 'a'),
    });
  });

  test('brings errors whole', async () => {
    makeTree(cwd, { 'json-conflict/sub': 'in the way' });
    const { exitCode, stdout, stderr } = await inside('--json src json-conflict');
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: '' });
    const events = parse(stdout);
    const error = { code: expect.any(String), message: expect.stringContaining('sub') };
    expect(events.at(-1)).toMatchObject({ type: 'result', errorCount: 1, errors: [error] });
    expect(events.filter((event) => event.type === 'error')).toMatchObject([error]);
  });

  test('brings what refused the copy, and a result even then', async () => {
    const { exitCode, stdout } = await inside('--json missing dest');
    expect(exitCode).toBe(1);
    expect(parse(stdout)).toMatchObject([
      { type: 'error', code: 'ENOENT' },
      { type: 'result', outcome: 'failed', exitCode: 1, files: 0, errorCount: 1 },
    ]);
  });
});

test.skipIf(process.platform === 'win32')('a socket is left out with a warning', async () => {
  makeTree(cwd, { 'socket/file': '' });
  const server = createServer().listen(join(cwd, 'socket/s'));
  const { exitCode, stderr } = await inside('socket no-socket');
  server.close();
  expect(exitCode).toBe(0);
  expect(stderr).toMatch(/^fastcp: warning: .*socket.*\n$/);
});

describe.skipIf(process.platform === 'win32')('a reader that goes', () => {
  const large = makeLargeTree(join(cwd, 'large'), 3_000);
  const shell = (line: string) =>
    run('sh', ['-c', line], {
      cwd,
      env: { ...environment(), NODE: process.execPath, FASTCP, LARGE: large },
    });

  test.each([
    ['-v', 'create '],
    ['--json -v', '{"'],
  ])('%s | head -1: silent, and the copy is whole', async (options, beginning) => {
    const dest = `head${options.length}`;
    // The exit code of a pipeline is that of its end.
    const { stdout, stderr } = await shell(
      `{ "$NODE" "$FASTCP" ${options} "$LARGE" ${dest}; echo $? > ${dest}.code; } | head -1`,
    );
    expect(stderr).toBe('');
    expect(stdout.startsWith(beginning)).toBe(true);
    expect(readFileSync(join(cwd, `${dest}.code`), 'utf8')).toBe('0\n');
    expect(readdirSync(join(cwd, dest), { recursive: true })).toHaveLength(3_010);
  });

  test('of errors', async () => {
    makeTree(cwd, { 'head-conflict/sub': 'in the way' });
    const { stdout } = await shell(
      '{ "$NODE" "$FASTCP" src head-conflict 3>&1 >&2 2>&3 | true; } 2>&1',
    );
    expect(stdout).toMatch(/^Copied 1 file, .*; 1 error\n$/);
  });

  test.skipIf(!existsSync('/dev/full'))('a full disk is told', async () => {
    const { exitCode, stderr } = await shell('"$NODE" "$FASTCP" -v src full > /dev/full');
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^fastcp: cannot write to standard output: ENOSPC: /);
  });

  test.skipIf(!existsSync('/dev/full'))('a full disk for the only line', async () => {
    for (const words of ['src full-2', '--version']) {
      const { exitCode, stderr } = await shell(`"$NODE" "$FASTCP" ${words} > /dev/full`);
      expect(exitCode).toBe(1);
      expect(stderr).toMatch(/^fastcp: cannot write to standard output: ENOSPC: /);
    }
  });

  test.skipIf(!existsSync('/dev/full'))('a full disk for warnings is no error', async () => {
    const warning = '--exclude src/file'; // no such path in src
    for (const [words, code] of [
      [`${warning} src full-3`, 0],
      [`${warning} src full-3/no/such --no-mkpath`, 1],
    ] as const) {
      const { exitCode, stderr } = await shell(`"$NODE" "$FASTCP" ${words} 2> /dev/full`);
      expect([exitCode, stderr]).toEqual([code, '']);
    }
  });

  test('a reader that has gone before the only line', async () => {
    const { stderr } = await shell(
      '{ sleep 0.2; "$NODE" "$FASTCP" src gone; echo $? > gone.code; } | true',
    );
    expect(stderr).toBe('');
    expect(readFileSync(join(cwd, 'gone.code'), 'utf8')).toBe('0\n');
  });

  /** Opens a pipe whose writers have no room. */
  function openFull(pipe: string): number {
    execFileSync('mkfifo', [pipe]);
    const fd = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    const dots = Buffer.alloc(4096, '.');
    expect(() => {
      for (;;) writeSync(fd, dots);
    }).toThrow(/EAGAIN/);
    return fd;
  }

  test.skipIf(process.platform === 'win32')(
    'a full pipe, and nobody reads: signals end it',
    async () => {
      const fd = openFull(join(cwd, 'full pipe'));
      try {
        const child = spawn(
          'sh',
          ['-c', 'exec "$0" "$1" src unread > "full pipe"', process.execPath, FASTCP],
          { cwd, stdio: 'ignore' },
        );
        const ended = once(child, 'exit');
        const kill = setInterval(() => child.kill('SIGTERM'), 1200);
        await ended;
        clearInterval(kill);
      } finally {
        closeSync(fd);
      }
    },
  );

  test.skipIf(process.platform === 'win32')('a pipe that is full and does not block', async () => {
    const fd = openFull(join(cwd, 'pipe'));
    try {
      const child = spawn(process.execPath, [FASTCP, 'src', 'slowly'], {
        cwd,
        stdio: ['ignore', fd, 'inherit'],
      });
      const ended = once(child, 'exit');
      await new Promise((resolve) => setTimeout(resolve, 300));
      let text = '';
      while (!text.endsWith('\n')) {
        const piece = Buffer.alloc(4096);
        try {
          text += piece.toString('utf8', 0, readSync(fd, piece));
        } catch (error) {
          expect(error).toMatchObject({ code: 'EAGAIN' });
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
      }
      expect(text).toMatch(/^\.+Copied .*\n$/);
      expect(await ended).toEqual([0, null]);
    } finally {
      closeSync(fd);
    }
  });
});

test('a file as SRC', async () => {
  writeFileSync(join(cwd, 'single'), 'one');
  expect(await inside('single single-copy')).toMatchObject(done);
  expect(readFileSync(join(cwd, 'single-copy'), 'utf8')).toBe('one');
});

describe('files of globs', () => {
  const cwd = temporaryDirectory();
  const src = join(cwd, 'globs');
  const list = join(cwd, 'list');
  const copied = async (round: string, ...options: string[]) => {
    const { exitCode, stderr } = await fastcp([...options, src, round], { cwd });
    expect(exitCode).toBe(0);
    const names = readdirSync(join(cwd, round), { encoding: 'latin1' }).sort();
    return { names, stderr };
  };

  test('a byte order mark, CRLF, comments and names that are not UTF-8', async () => {
    mkdirSync(src);
    for (const name of ['a.log', 'b', 'c', 'é', '\xe9.txt', '\xff']) {
      const bytes = name === 'é' ? Buffer.from(name) : Buffer.from(name, 'latin1');
      writeFileSync(Buffer.concat([Buffer.from(`${src}/`), bytes]), '');
    }
    writeFileSync(
      list,
      Buffer.from('\xef\xbb\xbf*.log\r\n# b\r\n\r\n\xe9.txt\n\xc3\xa9\n', 'latin1'),
    );
    const { names } = await copied('excluded', '--exclude-from', list);
    expect(names).toEqual(['b', 'c', '\xff']);
    const included = await copied('included', '--include-from', list);
    expect(included).toEqual({ names: ['a.log', '\xc3\xa9', '\xe9.txt'], stderr: '' });
  });

  test('an empty one includes nothing, and says so', async () => {
    writeFileSync(list, '# nothing\n');
    expect(await copied('nothing', '--include-from', list)).toEqual({
      names: [],
      stderr: 'fastcp: warning: the list of globs to include is empty\n',
    });
    expect((await copied('one', '--include-from', list, '--include', 'b')).names).toEqual(['b']);
  });
});
