import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { benchCache } from './paths.js';

/** What one run of a command cost. Times in milliseconds. */
export interface Trial {
  wallMs: number;
  /** User and system time of the process and of those that it waited for. NaN where nobody could tell. */
  cpuMs: number;
  peakKiB: number;
  /** Around the call, in the process: the median where it was called more than once. */
  inProcessMs?: number;
  /** Copies that the process made, each in a directory of its own. */
  copies?: number;
  /** `durationMs` of fastcp's result. */
  durationMs?: number;
  /** Read from the device that the file system lies on, in cold benchmarks. */
  readBytes?: number;
  /** How the process failed: its times say nothing. */
  failed?: string;
  /** How the copy differs from its source. */
  flaw?: string;
}

/** What measure.c writes. */
interface Costs {
  wallMs: number;
  userMs: number;
  systemMs: number;
  peakKiB: number;
  exit: number;
  signal: number;
}

const limitMs = 15 * 60_000;

/** Runs a command in a fresh process. A process that fails is a trial with a flaw. */
export async function measure(
  words: string[],
  signal: AbortSignal,
  program = join(benchCache, 'bin/measure'),
): Promise<Trial> {
  const child = spawn(program, words, {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    signal: AbortSignal.any([signal, AbortSignal.timeout(limitMs)]),
    killSignal: 'SIGKILL',
  });
  let failure: Error | undefined;
  child.once('error', (error) => {
    failure = error;
  });
  const [, out, err, costs] = child.stdio as unknown as [null, Readable, Readable, Readable];
  const [printed, complaints, report] = await Promise.all([text(out), text(err), text(costs)]);
  signal.throwIfAborted();
  if (!report) {
    throw new Error(`${words[0]}: ${failure?.message ?? complaints.trim()}`);
  }
  const { wallMs, userMs, systemMs, peakKiB, exit, signal: killedBy } = JSON.parse(report) as Costs;
  const trial: Trial = { wallMs, cpuMs: round(userMs + systemMs), peakKiB };
  if (killedBy) trial.failed = `ended by signal ${killedBy}`;
  else if (exit !== 0) trial.failed = `exit code ${exit}${firstLine(complaints)}`;
  return Object.assign(trial, inner(printed));
}

/** The same without measure.c's program: CPU time and memory are not known. */
export async function measureWall([program = '', ...args]: string[], signal: AbortSignal) {
  const start = performance.now();
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
    killSignal: 'SIGKILL',
  });
  const ended = once(child, 'exit').then(([code]: (number | null)[]) => ({
    wallMs: round(performance.now() - start),
    code,
  }));
  const [{ wallMs, code }, printed, complaints] = await Promise.all([
    ended,
    text(child.stdout),
    text(child.stderr),
  ]);
  const trial: Trial = { wallMs, cpuMs: Number.NaN, peakKiB: Number.NaN };
  if (code !== 0) trial.failed = `exit code ${code}${firstLine(complaints)}`;
  return Object.assign(trial, inner(printed));
}

/** What a process prints that times a call itself, and nobody else does. */
function inner(printed: string): Partial<Trial> {
  if (!printed.startsWith('{"inProcessMs"')) return {};
  return JSON.parse(printed) as Partial<Trial>;
}

/** Paths are shortened: they are of this machine. */
function firstLine(complaints: string): string {
  const lines = complaints.split('\n').filter((line) => /\S/.test(line));
  const line =
    lines.find((one) => /^\w*Error\b.*: /.test(one)) ??
    lines.find((one) => /error|fail|cannot|invalid|not/i.test(one)) ??
    lines[0];
  if (!line) return '';
  const shortened = line.trim().replace(/(\/[^\s/:'"`]+)+\//g, '…/');
  return `: ${shortened.slice(0, 160)}`;
}

const round = (ms: number): number => Math.round(ms * 1000) / 1000;
