import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fastcp, type Settings } from './support/fastcp.js';
import { makeLargeTree, temporaryDirectory } from './support/trees.js';

// Windows has no signals that a process could send.
describe.skipIf(process.platform === 'win32')('a signal', () => {
  const cwd = temporaryDirectory();
  const src = makeLargeTree(join(cwd, 'src'));

  /** Sends it with the first output. */
  function onFirst(stream: 'stdout' | 'stderr', act: (child: ChildProcess) => void): Settings {
    let acted = false;
    const onOutput: Settings['onOutput'] = (child, from) => {
      if (from !== stream || acted) return;
      acted = true;
      act(child);
    };
    return { cwd, onOutput };
  }

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
    ['SIGXCPU', 152],
  ] as const)('%s stops the copy and says what is there', async (signal, expected) => {
    const { exitCode, stderr } = await fastcp(
      ['-v', src, signal],
      onFirst('stdout', (child) => child.kill(signal)),
    );
    expect(exitCode).toBe(expected);
    expect(stderr).toMatch(
      new RegExp(`^fastcp: interrupted: [\\d,]+ files? copied, ${signal} may be incomplete\n$`),
    );
  });

  test('sent twice, as timeout(1) does, is one', async () => {
    const { exitCode, signal, stderr } = await fastcp(
      ['-v', src, 'twice'],
      onFirst('stdout', (child) => {
        child.kill('SIGTERM');
        setTimeout(() => child.kill('SIGTERM'), 20);
      }),
    );
    // The second may come in the last milliseconds, when Node has taken its handlers back: it then
    // kills the process, which has said everything. A shell shows 143 for both.
    expect(signal ?? exitCode).toBe(signal ? 'SIGTERM' : 143);
    expect(stderr).toMatch(/^fastcp: interrupted: .*, twice may be incomplete\n$/);
  });

  test('leaves --json whole, its result included', async () => {
    const { exitCode, stdout, stderr } = await fastcp(
      ['--json', '--progress', src, 'json'],
      onFirst('stdout', (child) => child.kill('SIGINT')),
    );
    // Where the copy takes longer than a moment, the progress bar has begun.
    const others = stderr.replace(/^.*\bentries .*\n/gm, '');
    expect({ exitCode, others }).toEqual({ exitCode: 130, others: '' });
    const lines = stdout.trimEnd().split('\n');
    const events = lines.map((line) => JSON.parse(line));
    expect(events.at(-1)).toMatchObject({ type: 'result', outcome: 'interrupted', exitCode: 130 });
    expect(events.at(-1).files).toBeLessThan(30_000);
  });

  test.each([
    ['plain', []],
    ['atomic', ['--atomic']],
  ])('at any time says what is true of DEST: %s', { timeout: 120_000 }, async (_, options) => {
    for (const [round, existed] of [true, false, true, false, true, false].entries()) {
      const dest = join(cwd, `early ${options} ${round}`);
      if (existed) mkdirSync(dest);
      const started = Date.now();
      const { exitCode, stderr } = await fastcp([...options, src, dest], {
        cwd,
        onSpawn: (child) => setTimeout(() => child.kill('SIGINT'), 60 + 25 * round),
      });
      if (exitCode === 0 || exitCode === undefined) continue; // it was done, or Node had not yet begun
      expect({ exitCode, took: Date.now() - started < 20_000 }).toEqual({
        exitCode: 130,
        took: true,
      });
      const entries = existsSync(dest) ? readdirSync(dest, { recursive: true }).length : undefined;
      if (stderr.includes('was not created')) expect(entries).toBeUndefined();
      if (stderr.includes('was left as it was')) expect(entries).toBe(0);
      if (stderr.includes('nothing was copied')) expect(entries ?? 0).toBe(0);
      if (stderr.includes('may be incomplete')) expect(entries).toBeGreaterThanOrEqual(0);
      expect(stderr).toMatch(
        options.length > 0
          ? /was (not created|left as it was|replaced)/
          : /may be incomplete|nothing was copied/,
      );
    }
  });

  test('stops a dry run', async () => {
    const { exitCode, stderr } = await fastcp(
      ['--dry-run', src, 'dry'],
      // The plan comes at the end, all at once: by then the pipe is full and fastcp waits.
      onFirst('stdout', (child) => {
        child.stdout?.pause();
        setTimeout(() => child.kill('SIGINT'), 500);
        setTimeout(() => child.stdout?.resume(), 1000);
      }),
    );
    expect({ exitCode, stderr }).toEqual({ exitCode: 130, stderr: 'fastcp: interrupted\n' });
  });

  test('does not wait for a reader that is slow, and another one, a second later, kills at once', async () => {
    const first = onFirst('stdout', (child) => {
      child.stdout?.pause();
      // By then the pipe is full and the copy waits.
      setTimeout(() => child.kill('SIGINT'), 500);
    });
    const settings: Settings = {
      cwd,
      onOutput(child, stream, sofar) {
        first.onOutput?.(child, stream, sofar);
        if (stream === 'stdout' || !sofar.endsWith('\n')) return;
        setTimeout(() => {
          child.kill('SIGINT');
          child.stdout?.resume();
        }, 1200);
      },
    };
    const { signal, stderr } = await fastcp(['-v', src, 'second'], settings);
    expect(signal).toBe('SIGINT');
    expect(stderr).toMatch(/^fastcp: interrupted: .*\n$/);
  });
});
