import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const source = join(import.meta.dirname, '../faults/support/shim.c');

/** Builds the library that lets system calls fail or take long; shim.c says how. Returns its path. */
export function buildShim(folder: string): string {
  const shim = join(folder, 'shim.so');
  execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', shim, source, '-ldl']);
  return shim;
}
