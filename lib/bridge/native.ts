/** The only file that loads or types the addon. */

import type { Request } from '../request/request.js';
import { packageRoot } from '../root.js';
import type { EntryKind } from '../types.js';
import { loadBinary } from './load-binary.js';

/** A root for the engine: absolute paths as bytes. */
export interface NativeRoot {
  src: Buffer;
  dest: Buffer;
  /** A symlink at `src` stands for its target. */
  followSrc: boolean;
  /** A symlink to a directory at `dest` is followed, because the user named it. */
  followDest: boolean;
  /** The number by which the engine asks about a directory whose entries JavaScript selects; otherwise 0. */
  scope: number;
  /** Nothing is copied: the directory at `dest` is removed. */
  remove: boolean;
  /** DEST was created just now, and nothing is in it. */
  made?: boolean;
  /** File descriptors of SRC and DEST. The copy is of these directories, wherever the paths lead by then. */
  srcHeld?: number;
  destHeld?: number;
}

interface NativePlacement {
  roots: NativeRoot[];
  /** Devices whose ctimes prove nothing. */
  distrusted?: readonly number[];
}

export interface NativeProblem {
  /** Negative, as in Node. */
  errno: number;
  /**
   * A system call, perhaps with the end that it was about (`open source`, `open dest`), or `cp`, `socket`, `fifo`, `subdirectory`, `collision`, `verify`, `fifo in dest`, … if the
   * engine itself refuses.
   */
  operation: string;
  path: Buffer;
  dest: Buffer;
  /** The first differing byte, if contents differ. */
  offset?: number;
  /** Nothing else is copied, although the copy continues after errors. */
  ends?: boolean;
}

interface NativeProblems {
  /** The number of all problems, stored or not. */
  count: number;
  problems: NativeProblem[];
}

/** Metadata that was not preserved, how often, and the first case. */
export interface NativeLoss {
  count: number;
  first?: NativeProblem;
}

export interface NativeJob {
  /**
   * Starts the job. `notify` is called about every `interval` milliseconds, at least 20, earlier after an error or a
   * warning, and once with `true` after the last worker's end. `asked` is called when questions wait. Neither may throw.
   */
  start(notify: (ended: boolean) => void, asked: () => void, interval: number): void;
  /**
   * Replaces start(): works on the calling thread until only tasks that need an answer are left. After stop()
   * it clears up.
   */
  work(): void;
  /**
   * Ends the job soon. `notify(true)` is still called, at once if no worker is active. `waits`, at the end of the process:
   * returns when the workers have left, or after 200 ms.
   */
  stop(waits?: boolean): void;
  counters(): Float64Array;
  errors(from: number): NativeProblems;
  warnings(from: number): NativeProblems;
  /** Returns losses in the order of `lossKinds`. */
  losses(): NativeLoss[];
  takeEntries(): Buffer;
  /** Calls Questions::take() in binding/src/engine/run/questions.h: about `limit` bytes, empty if none wait. */
  takeQuestions(limit: number): Buffer;
  /** Calls Questions::take_entry(): one entry, empty if none waits. */
  takeEntry(): Buffer;
  /**
   * Answers with a verdict for each entry of the question, and a scope for each directory that will be asked
   * about.
   */
  answer(id: number, verdicts: Uint8Array, scopes: Uint32Array): void;
}

/** Counts the entries below directories on its own thread, from its creation on. */
export interface NativeCount {
  /** Ends the thread soon. */
  stop(waits?: boolean): void;
  /** Returns -1 while the number is unknown. */
  total(): number;
}

interface Binding {
  CountAhead: new (directories: Buffer[], oneFileSystem: boolean) => NativeCount;
  /** `distrusted`: devices whose ctimes prove nothing. `firstTemporary`: the number in the first temporary name. */
  Job: new (
    roots: NativeRoot[],
    request: Request,
    distrusted: readonly number[],
    firstTemporary: number,
  ) => NativeJob;
  /** Whether threads may have tables of file descriptors of their own. */
  hasOwnTables(): boolean;
  // binding/src/platform/platform.h, whole trees. Each returns 0 or a negative errno.
  exchange(one: Buffer, other: Buffer): number;
  /** Returns -EEXIST if `to` exists. */
  renameNew(from: Buffer, to: Buffer): number;
  /** `directory`: a file descriptor, which holds the lock until it is closed. */
  tryLock(directory: number, exclusive: boolean, inode?: number): number;
  /** Returns whether entries can be created in the directory, but neither renamed nor removed. */
  isAppendOnly(directory: Buffer): boolean;
  checkSnapshot(source: Buffer, directory: Buffer): number;
  takeSnapshot(source: Buffer, directory: Buffer, name: Buffer): Promise<number>;
  setAttribute(path: Buffer, name: Buffer, value: Buffer): number;
  /** Returns 0 if `sync` and `mirror` can mark a directory, to detect unchanged files without reading them. */
  checkMarks(directory: Buffer): number;
}

/** In the order of Kind in binding/src/platform/platform.h. */
export const entryKinds = [
  'file', // unknown: an entry without content, which is skipped
  'file',
  'directory',
  'symlink',
  'fifo',
  'characterDevice',
  'blockDevice',
  'socket',
] as const satisfies EntryKind[];

/** In the order of Loss in binding/src/engine/base/report.h: metadata that DEST may not be able to hold. */
export const lossKinds = [
  'mode',
  'timestamps',
  'ownership',
  'xattrs',
  'acls',
  'hardLinks',
] as const;

const binding = loadBinary(packageRoot) as Binding;

export const {
  exchange,
  hasOwnTables,
  isAppendOnly,
  renameNew,
  tryLock,
  setAttribute,
  checkMarks,
} = binding;
export const { checkSnapshot, takeSnapshot } = binding;

const running = new Set<NativeJob | NativeCount>();

const stoppedAtExit = new WeakSet<NativeJob | NativeCount>();

/** process.exit() does not wait for a copy, so the copy must stop before it. */
function stopAll(): void {
  for (const one of running) {
    stoppedAtExit.add(one);
    one.stop();
  }
  // Otherwise half a file would stay where a worker is ended with the process.
  for (const one of running) one.stop(true);
}

/** Returns whether the end of the process has stopped a copy. It must not look complete, so its promise never settles. */
export const isStoppedAtExit = (job: NativeJob): boolean => stoppedAtExit.has(job);

function started<T extends NativeJob | NativeCount>(one: T): T {
  if (running.size === 0) process.on('exit', stopAll);
  running.add(one);
  return one;
}

/** Call it when a job or a count has ended. */
export function forget(one: NativeJob | NativeCount): void {
  running.delete(one);
  if (running.size === 0) process.off('exit', stopAll);
}

/** Creates a job for work(). It has ended when work() returns, and needs no forget(). */
export function createJobHere(
  { roots, distrusted = [] }: NativePlacement,
  request: Request,
): NativeJob {
  return new binding.Job(roots, request, distrusted, Math.random() * 2 ** 64);
}

export function createJob(placement: NativePlacement, request: Request): NativeJob {
  return started(createJobHere(placement, request));
}

export function countAhead(directories: Buffer[], oneFileSystem: boolean): NativeCount {
  return started(new binding.CountAhead(directories, oneFileSystem));
}
