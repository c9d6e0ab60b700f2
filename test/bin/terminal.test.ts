import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { FASTCP, fastcp, type Outcome, run } from './support/fastcp.js';
import { makeLargeTree, makeTree, temporaryDirectory } from './support/trees.js';

// Python's pty gives a process a terminal of 80 columns: all three streams, or all but stdout.
const IN_TERMINAL = `
import fcntl, os, pty, signal, struct, sys, termios
stdout, sign, *command = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
    if stdout: os.dup2(os.open(stdout, os.O_WRONLY | os.O_CREAT), 1)
    os.execvp(command[0], command)
sent = False
while True:
    try: piece = os.read(terminal, 65536)
    except OSError: break
    if not piece: break
    sys.stdout.buffer.write(piece)
    if sign and not sent and b' entries' in piece:
        os.kill(pid, int(sign))
        sent = True
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;
const ESC = '\u001b';
const CLEAR = `\r${ESC}[2K`;
const hasPty = spawnSync('python3', ['-c', 'import pty, fcntl']).status === 0;

interface Terminal {
  env?: NodeJS.ProcessEnv;
  stdout?: string;
  signal?: number;
}

describe.skipIf(!hasPty)('in a terminal', () => {
  const cwd = temporaryDirectory();
  // One worker needs several times as long for it as the bar waits before it shows.
  const src = makeLargeTree(join(cwd, 'src'), 100_000);
  const small = makeTree(join(cwd, 'small'), { file: '' });

  afterEach(() => {
    for (const name of readdirSync(cwd)) {
      if (name !== 'src' && name !== 'small') rmSync(join(cwd, name), { recursive: true });
    }
  });

  function inTerminal(args: string[], { env, stdout, signal }: Terminal = {}): Promise<Outcome> {
    const wrapper = ['-c', IN_TERMINAL, stdout ?? '', String(signal ?? '')];
    const settings = { cwd, env: { TERM: 'xterm', ...env } };
    return run('python3', [...wrapper, process.execPath, FASTCP, ...args], settings);
  }

  test('a bar shows, and is gone in the end', async () => {
    const { exitCode, stdout } = await inTerminal(['-j', '1', src, 'bar']);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/\[=*-*\] {2,}\d+% {2} *[\d,]+\/100,335 entries {2}/);
    const screen = afterLastClear(stdout);
    expect(screen).toMatch(/^Copied 100,000 files, 335 directories, .*\r\n$/);
    for (const frame of stdout.split(CLEAR).slice(0, -1)) {
      expect(frame).toMatch(/^[ [].* entries\b/);
      expect(frame.length).toBeLessThan(79);
    }
  });

  test('no colour, and no state of the terminal is touched', async () => {
    const { stdout } = await inTerminal(['-j', '1', src, 'colour'], { env: { NO_COLOR: '1' } });
    expect(stdout).toContain(' entries');
    // SGR; then the modes that would have to be put back: a hidden cursor, no wrapping.
    const sequences = stdout.split(`${ESC}[`).slice(1);
    expect(sequences.filter((sequence) => /^(?:[\d;]*m|\?)/.test(sequence))).toEqual([]);
  });

  test('an interrupt takes the bar away first', async () => {
    const { exitCode, stdout } = await inTerminal(['-j', '1', src, 'interrupted'], { signal: 2 });
    expect(exitCode).toBe(130);
    expect(afterLastClear(stdout)).toMatch(/^fastcp: interrupted: [\d,]+ files copied, .*\r\n$/);
  });

  test('an error is printed above the bar, not over it', async () => {
    makeTree(cwd, { 'conflict/directory-99': 'in the way' });
    const { exitCode, stdout } = await inTerminal(['-j', '1', src, 'conflict']);
    expect(exitCode).toBe(1);
    const [before = '', message] = stdout.split(/(fastcp: .*directory-99.*\r\n)/);
    expect(message).toBeDefined();
    expect(before === '' || before.endsWith(CLEAR)).toBe(true);
    expect(afterLastClear(stdout)).toContain('; 1 error\r\n');
  });

  test('a bar shows beside lines that go elsewhere', async () => {
    const { stdout } = await inTerminal(['-v', '-j', '1', src, 'log'], { stdout: 'log.txt' });
    expect(stdout).toContain(' entries');
    expect(existsSync(join(cwd, 'log.txt'))).toBe(true);
  });

  test.each<[string, string[], NodeJS.ProcessEnv]>([
    ['in CI', [src, 'ci'], { CI: 'true' }],
    ['on a terminal that cannot', [src, 'dumb'], { TERM: 'dumb' }],
    ['for a small copy', [small, 'small-copy'], {}],
    ['with --no-progress', ['--no-progress', src, 'no-progress'], {}],
    ['with --quiet', ['--quiet', src, 'quiet'], {}],
    ['with --json', ['--json', src, 'json'], {}],
    ['among lines', ['-v', small, 'verbose'], {}],
  ])('no bar %s', async (_name, args, env) => {
    const { exitCode, stdout } = await inTerminal(args, { env });
    expect(exitCode).toBe(0);
    expect(stdout).not.toContain(ESC);
    expect(stdout).not.toContain(' entries');
  });

  test('off a terminal progress shows only with --progress, a line at a time', async () => {
    expect((await fastcp(['-j', '1', src, 'off'], { cwd })).stderr).toBe('');
    const { stderr } = await fastcp(['--progress', '-j', '1', src, 'forced'], { cwd });
    expect(stderr).toMatch(/^(?:.*[\d,]+ entries {2}.*\n)+$/);
  });
});

function afterLastClear(output: string): string {
  return output.split(CLEAR).at(-1) ?? '';
}
