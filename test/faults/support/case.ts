import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { COMMAND } from '../../support/child.js';
import type { Mode } from './modes.js';

const PROBE = fileURLToPath(new URL('probe.cjs', import.meta.url));

export interface Report {
  type: string;
  action?: string;
  kind?: string;
  code?: string;
  syscall?: string;
  path?: string;
  dest?: string;
  message?: string;
}

export interface Ran {
  status: number | null;
  events: Report[];
  stderr: string;
  /** A line for each fault that was done, or with a trace for each call. */
  log: string[];
  open: string[];
  threads: number;
}

export interface Place {
  /** All of it, which the shim keeps to. */
  root: string;
  src: string;
  shim: string;
}

/** How many workers copy, and whether they wait for random moments at locks and before renamings. */
export interface Turns {
  workers: number;
  pauses: boolean;
}

/** Runs the command with the faults; one that takes 10 s is killed, and has no status. */
export async function copyWith(
  mode: Mode,
  { root, src, shim }: Place,
  dest: string,
  faults: string,
  { workers, pauses }: Turns,
  trace = false,
): Promise<Ran> {
  const [log, probe] = [`${dest}.log`, `${dest}.probe`];
  const args = [
    '-r',
    PROBE,
    COMMAND,
    '--json',
    '-v',
    '--no-progress',
    `--jobs=${workers}`,
    ...(mode.args ?? []),
    src,
    dest,
  ];
  const words = ['-c', 'umask "$0"; exec "$@"', mode.umask ?? '022', process.execPath, ...args];
  const child = spawn('sh', words, {
    env: {
      ...process.env,
      LD_PRELOAD: shim,
      FAULT_ROOT: root,
      FAULT_LOG: log,
      FAULTS: [mode.always, faults].filter(Boolean).join(' '),
      ...(trace && { FAULT_TRACE: '1' }),
      ...(pauses && { FAULT_PAUSE: '20' }),
      PROBE: probe,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 10_000,
    killSignal: 'SIGKILL',
  });
  const output = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (piece: string) => {
      output[stream] += piece;
    });
  }
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const seen = existsSync(probe)
    ? (JSON.parse(readFileSync(probe, 'utf8')) as { open: string[]; threads: number })
    : { open: [], threads: 0 };
  const lines = existsSync(log) ? readFileSync(log, 'utf8').split('\n').filter(Boolean) : [];
  rmSync(log, { force: true });
  rmSync(probe, { force: true });
  return {
    status,
    events: output.stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Report),
    stderr: output.stderr,
    log: lines,
    open: seen.open.filter((path) => path.startsWith(root) && path !== log),
    threads: seen.threads,
  };
}
