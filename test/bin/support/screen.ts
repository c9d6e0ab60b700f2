import { execFileSync } from 'node:child_process';
import { setTimeout } from 'node:timers/promises';
import { afterAll } from 'vitest';
import { environment } from './fastcp.js';

const socket = `fastcp-${process.pid}`;
let count = 0;

function tmux(...args: string[]): string {
  return execFileSync('tmux', ['-f', '/dev/null', '-L', socket, ...args], {
    encoding: 'utf8',
    env: { ...environment(), LC_ALL: 'C.UTF-8' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

afterAll(() => {
  if (count > 0) tmux('kill-server');
});

/** A terminal of that size in which a shell without settings runs; what it shows can be read. */
export class Screen {
  readonly #name = `screen${count++}`;

  constructor(columns: number, rows: number, cwd: string, env: NodeJS.ProcessEnv = {}) {
    const size = ['-x', String(columns), '-y', String(rows)];
    const words = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const shell = ['env', 'PS1=$ ', ...words, 'bash', '--norc', '--noprofile'];
    tmux('new-session', '-d', '-s', this.#name, ...size, '-c', cwd, ...shell);
  }

  type(text: string): void {
    tmux('send-keys', '-t', this.#name, '-l', '--', text);
  }

  /** A name of tmux's: `Enter`, `Tab`, `C-c`. */
  press(key: string): void {
    tmux('send-keys', '-t', this.#name, key);
  }

  resize(columns: number, rows: number): void {
    tmux('resize-window', '-t', this.#name, '-x', String(columns), '-y', String(rows));
  }

  /** Lines as they are shown, or have been scrolled away, without the empty ones at the end. */
  lines(): string[] {
    return tmux('capture-pane', '-p', '-S', '-', '-t', this.#name).trimEnd().split('\n');
  }

  /** Lines once one of them matches. */
  async until(pattern: RegExp): Promise<string[]> {
    const end = Date.now() + 30_000;
    for (;;) {
      const lines = this.lines();
      if (lines.some((line) => pattern.test(line))) return lines;
      if (Date.now() > end) throw new Error(`no ${pattern} in\n${lines.join('\n')}`);
      await setTimeout(20);
    }
  }
}
