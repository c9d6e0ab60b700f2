import { spawn } from 'node:child_process';
import { basename, dirname } from 'node:path';
import { slowness } from '../../support/work.js';

const DIST = new URL('../../../dist/', import.meta.url);

/** The Node that runs the tests, and those that FASTCP_NODES lists, separated by colons. */
export const nodes = [
  process.execPath,
  ...(process.env.FASTCP_NODES ?? '').split(':').filter(Boolean),
].map((path) => ({ path, name: `${basename(path)} in ${dirname(path)}` }));

/** What every child and, in CommonJS, every worker of one begins with. */
const PRELUDE = `
  import fs from 'node:fs';
  import path from 'node:path';
  import { once } from 'node:events';
  import { setTimeout as sleep } from 'node:timers/promises';
  import { Worker } from 'node:worker_threads';
  import { copyTree } from '${new URL('index.js', DIST)}';
  const given = JSON.parse(process.argv[1]);
  const answer = (value) => fs.writeSync(1, JSON.stringify(value));
  const startWorker = (code, workerData) =>
    new Worker(\`
      const fs = require('node:fs');
      const { parentPort, workerData } = require('node:worker_threads');
      const { copyTree } = require('${new URL('index.cjs', DIST).pathname}');
      \${code}\`, { eval: true, execArgv: [], workerData });
  const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
  const openFiles = () => fs.readdirSync('/dev/fd').length;
`;

export interface Ended<T> {
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  stderr: string;
  /** What the child gave to answer(); undefined where it did not. */
  answer: T;
  /** As of Date.now(). */
  endedAt: number;
}

/** Runs a module in a process of its own, with `given` for it to read. */
export function runChild<T = undefined>(
  node: string | readonly string[],
  code: string,
  given: unknown,
  env: NodeJS.ProcessEnv = {},
): Promise<Ended<T>> {
  const [file = '', ...before] = [node].flat();
  const args = [
    ...before,
    '--input-type=module',
    '-e',
    PRELUDE + code,
    '--',
    JSON.stringify(given),
  ];
  const { NODE_OPTIONS, UV_THREADPOOL_SIZE, ...environment } = process.env;
  const child = spawn(file, args, {
    env: { ...environment, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A child that hangs must not outlive its test.
    timeout: 50_000 * slowness,
    killSignal: 'SIGKILL',
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (piece) => {
    stdout += piece;
  });
  child.stderr.setEncoding('utf8').on('data', (piece) => {
    stderr += piece;
  });
  let endedAt = 0;
  child.once('exit', () => {
    endedAt = Date.now();
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode, signal) => {
      const answer = stdout === '' ? undefined : JSON.parse(stdout);
      resolve({ exitCode, signal, stderr, answer: answer as T, endedAt });
    });
  });
}
