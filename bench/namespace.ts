import { spawn, spawnSync } from 'node:child_process';
import { which } from './shell.js';

const marker = 'FASTCP_BENCH_NAMESPACE';
/** What asks us to end. */
export const endings = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const isRoot = process.getuid?.() === 0;

/** Whether file systems can be mounted, or why not. */
export function mountObstacle(): string | undefined {
  if (!isRoot) return 'mounting takes root';
  if (!which('unshare')) return 'mounting takes unshare, of util-linux';
  if (spawnSync('unshare', ['--mount', 'true']).status !== 0) {
    return 'this container may not mount';
  }
  return undefined;
}

/**
 * Starts this program again in a mount namespace of its own, where that can be: whatever ends it, the
 * kernel then unmounts everything and frees its memory. Returns the exit code, or undefined where this is
 * the second process, or the only one.
 */
export async function runInNamespace(): Promise<number | undefined> {
  if (process.env[marker] || mountObstacle()) return undefined;
  return handOver('unshare', ['--mount', process.execPath, ...process.argv.slice(1)], {
    ...process.env,
    [marker]: '1',
  });
}

/** Runs a program in our place, and returns its exit code. */
export async function handOver(program: string, args: string[], env = process.env) {
  const child = spawn(program, args, { stdio: 'inherit', env });
  // From a terminal the child has it already, and does not mind a second one.
  for (const signal of endings) process.on(signal, () => child.kill(signal));
  return new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
