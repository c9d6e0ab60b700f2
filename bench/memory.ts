import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { benchCache } from './paths.js';
import { sh } from './shell.js';

/** A directory in memory. Where mounting is possible it is a tmpfs that ends with our mount namespace. */
export function openMemory(mounts: boolean): { path: string; close: () => void } {
  if (mounts) {
    const path = join(benchCache, 'memory');
    mkdirSync(path, { recursive: true });
    sh('mount', '-t', 'tmpfs', '-o', 'size=100%', 'tmpfs', path);
    return { path, close: () => sh('umount', '--lazy', path) };
  }
  const base = isTmpfs('/dev/shm') ? '/dev/shm' : tmpdir();
  const path = mkdtempSync(join(base, 'fastcp-bench-'));
  return { path, close: () => rmSync(path, { recursive: true, force: true }) };
}

/**
 * Touches as much free memory as a trial needs, just before it. The host of a virtual machine takes back
 * what is free, and is slow to give it again: whoever comes after a pause would pay for that.
 */
export function touchMemory(directory: string, bytes: number): void {
  const path = join(directory, 'touched');
  sh('sh', '-c', 'head -c "$1" /dev/zero >"$2"', 'sh', String(Math.ceil(bytes)), path);
  rmSync(path);
}

function isTmpfs(path: string): boolean {
  return readFileSync('/proc/mounts', 'utf8').includes(` ${path} tmpfs `);
}

export function availableMemory(): number {
  const line = /^MemAvailable:\s+(\d+) kB/m.exec(readFileSync('/proc/meminfo', 'utf8'));
  return Number(line?.[1] ?? 0) * 1024;
}
