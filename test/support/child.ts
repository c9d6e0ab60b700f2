import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { CopyErrorLike, CopyOptions, CopyResult } from '../../lib/types.js';

const built = (name: string): string =>
  fileURLToPath(new URL(`../../dist/${name}`, import.meta.url));

/** The library and the command line as they are published. `npm run build` makes them. */
export const CHILD = built('index.cjs');
export const COMMAND = built('fastcp.cjs');

/** What lets a command have so few descriptors, soft limit and hard. */
export const limited = (descriptors: number): string[] => [
  'sh',
  '-c',
  `ulimit -n ${descriptors}; exec "$@"`,
  'sh',
];

export interface Request {
  src: string | string[];
  dest: string;
  options?: CopyOptions;
  umask?: number;
}

export interface Outcome {
  /** Absent where the copy succeeded. */
  error?: CopyErrorLike;
  result: CopyResult;
}

const script = `
const { copyTree } = require(process.argv[1]);
const { src, dest, options, umask } = JSON.parse(process.argv[2]);
if (umask !== undefined) process.umask(umask);
const plain = (_, value) =>
  value instanceof Error ? { message: value.message, ...value, result: undefined } : value;
copyTree(src, dest, options)
  .then((result) => ({ result }), (error) => ({ error, result: error.result }))
  .then((outcome) => process.stdout.write(JSON.stringify(outcome, plain)));
`;

/** Copies in a process of its own, which the words of `before` start: a user's, or strace's. */
export async function copyInChild(request: Request, before: string[] = []): Promise<Outcome> {
  const { status, stdout, stderr } = await run([
    ...before,
    process.execPath,
    '-e',
    script,
    CHILD,
    JSON.stringify(request),
  ]);
  if (status !== 0) throw new Error(`the copying process ended with ${status}: ${stderr}`);
  return JSON.parse(stdout);
}

export interface Ended {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a command; one that hangs is killed before its test is over. */
export function run(words: string[], cwd?: string): Promise<Ended> {
  const [file = '', ...args] = words;
  const child = spawn(file, args, {
    ...(cwd !== undefined && { cwd }),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 50_000,
    killSignal: 'SIGKILL',
  });
  const ended: Ended = { status: null, stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (piece: string) => {
      ended[stream] += piece;
    });
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve({ ...ended, status }));
  });
}
