import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The bundled command line, as it is published. `npm run build` makes it. */
export const FASTCP = fileURLToPath(new URL('../../../dist/fastcp.cjs', import.meta.url));

export interface Outcome {
  /** Undefined after a signal. */
  exitCode: number | undefined;
  signal: NodeJS.Signals | undefined;
  stdout: string;
  stderr: string;
}

export interface Settings {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  onSpawn?: (child: ChildProcess) => void;
  /** Called with everything a stream has brought so far, at each piece of it. */
  onOutput?: (child: ChildProcess, stream: 'stdout' | 'stderr', sofar: string) => void;
}

/** Runs the command line in a process of its own, with none of its streams a terminal. */
export function fastcp(args: readonly string[], settings: Settings = {}): Promise<Outcome> {
  return run(process.execPath, [FASTCP, ...args], settings);
}

export function run(
  file: string,
  args: readonly string[],
  { cwd, env, onSpawn, onOutput }: Settings = {},
): Promise<Outcome> {
  const child = spawn(file, args, {
    ...(cwd !== undefined && { cwd }),
    env: { ...environment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A copy that hangs must not outlive its test.
    timeout: 50_000,
    killSignal: 'SIGKILL',
  });
  onSpawn?.(child);
  const output = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (piece: string) => {
      output[stream] += piece;
      onOutput?.(child, stream, output[stream]);
    });
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode, signal) =>
      resolve({ exitCode: exitCode ?? undefined, signal: signal ?? undefined, ...output }),
    );
  });
}

/** Ours without what would change the outcome. */
export function environment(): NodeJS.ProcessEnv {
  const { CI, NO_COLOR, FORCE_COLOR, NODE_OPTIONS, UV_THREADPOOL_SIZE, FASTCP_DEBUG, ...rest } =
    process.env;
  return rest;
}
