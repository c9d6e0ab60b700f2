import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isPortable, needToolHere } from './work.js';

const source = join(import.meta.dirname, '../faults/support/shim.c');

/** Builds the library that lets system calls fail or take long; shim.c says how. Returns its path. */
export function buildShim(directory: string): string {
  const shim = join(directory, 'shim.so');
  if (!isPortable) execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', shim, source, '-ldl']);
  return shim;
}

export interface Faults {
  shim: string;
  /** All of it, which the shim keeps to. */
  root: string;
  /** A file that is not there yet. */
  log: string;
  /** As shim.c takes them. */
  faults: string;
  /** What somebody else does at each call with the fault `run`; $1 is the call's path. */
  script?: string;
  /** The log gets a line for every call. */
  trace?: boolean;
}

/** What lets system calls of a command fail, or has somebody else change the tree meanwhile. */
export const withFaults = ({ shim, root, log, faults, script, trace }: Faults): string[] => {
  needToolHere('cc');
  return [
    'env',
    `LD_PRELOAD=${shim}`,
    `FAULT_ROOT=${root}`,
    `FAULT_LOG=${log}`,
    `FAULTS=${faults}`,
    ...(script === undefined ? [] : [`FAULT_RUN=${script}`]),
    ...(trace ? ['FAULT_TRACE=1'] : []),
  ];
};

/** The calls that a fault was done to, or all of them: `call path`. A test of none tests nothing. */
export function faultLog(log: string): string[] {
  return existsSync(log) ? readFileSync(log, 'utf8').split('\n').filter(Boolean) : [];
}
