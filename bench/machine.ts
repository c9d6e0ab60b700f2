import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { peers, root } from './paths.js';
import { sh } from './shell.js';
import type { Tool } from './tools.js';

/** No names and no paths. */
export interface Machine {
  processor: string;
  cores: number;
  memoryGiB: number;
  kernel: string;
  node: string;
}

export function thisMachine(): Machine {
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
  };
}

/** `0.1.0, 1a2b3c4`, and `changed` where the working tree differs from the commit. */
export function fastcpVersion(): string {
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', root, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
  const { version } = manifest(root);
  try {
    const changed = git('status', '--porcelain', '--', 'binding', 'lib', 'bin') ? ', changed' : '';
    return `${version}, ${git('rev-parse', '--short', 'HEAD')}${changed}`;
  } catch {
    return version;
  }
}

export function versionOf({ from, role, command }: Tool): string | undefined {
  if (from && 'crate' in from) return from.version;
  if (from && 'system' in from) return /\d+(\.\d+)+/.exec(sh(from.system, '--version'))?.[0];
  if (from && 'npm' in from) return manifest(join(peers, from.npm)).version;
  if (role === 'start' || role === 'api')
    return sh(command('', '')[0] as string, '--version').slice(1);
  return undefined;
}

function manifest(directory: string): { version: string } {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as { version: string };
}
