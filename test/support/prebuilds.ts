import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { hasTool } from './work.js';

const root = join(import.meta.dirname, '../..');

/** Builds binaries that are older than their sources. Test files that need the same one take turns. */
export function buildPrebuilds(...targets: string[]): void {
  mkdirSync(join(root, 'build'), { recursive: true });
  const lock = hasTool('flock') ? ['flock', join(root, 'build/prebuild.lock')] : [];
  const [command = '', ...args] = [
    ...lock,
    ...[process.execPath, join(root, 'scripts/prebuild.mjs'), '--ci', '--if-stale', ...targets],
  ];
  // npm's own variables and the tests' would change the build.
  const outside = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|PREBUILD|ZIG|NODE_OPTIONS$)/i.test(name),
  );
  execFileSync(command, args, {
    cwd: root,
    env: Object.fromEntries(outside),
    stdio: ['ignore', 2, 2],
    timeout: 9 * 60_000,
    killSignal: 'SIGKILL',
  });
}
