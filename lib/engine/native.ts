/** The only file that loads or types the addon. */
import { packageRoot } from '../root.js';
import type { nativeFlags } from '../request/table.js';
import type { EntryKind } from '../types.js';
import { loadBinary } from './load-binary.js';

/** What the engine copies: absolute paths as bytes. */
export interface NativeRoot {
  src: Buffer;
  dest: Buffer;
  /** A link at `src` stands for what it points to. */
  followSrc: boolean;
  /** Of a directory of which JavaScript decides what is copied, by which the engine asks about it; else 0. */
  scope: number;
  /** Nothing is copied: the directory at `dest` is removed. */
  remove: boolean;
}

export interface NativeOptions extends Record<(typeof nativeFlags)[number], boolean> {
  /** A dry run that tells how two trees differ. */
  compares: boolean;
  stopOnError: boolean;
  /** A bit for each of `lossKinds`. */
  preserve: number;
  /** Directories that exist in DEST get the metadata of SRC's as well. */
  existingDirectories: boolean;
  /** Existing entries lose attributes that are not preserved. */
  bare: boolean;
  /** Relative symlinks become absolute. */
  absoluteSymlinks: boolean;
  /** FIFOs, sockets and some symlinks are errors, as in Node's fs.cp. */
  likeNode: boolean;
  /** Ranges of zeros become holes. */
  findHoles: boolean;
  /** Index into `backupModes`. */
  backup: number;
  /** Counted from 0. */
  shard: number;
  shards: number;
  /** Index into `insteadModes`. */
  instead: number;
  /** Index into `reflinkModes`. */
  reflink: number;
}

export interface NativeProblem {
  /** Negative, as in Node. */
  errno: number;
  /** A system call, or `cp`, `socket`, `fifo`, `subdirectory`, `collision`, `verify` and `fifo in dest`, … where the engine itself refuses. */
  operation: string;
  path: Buffer;
  dest: Buffer;
  /** Where contents differ, in bytes. */
  offset?: number;
}

interface NativeProblems {
  /** All, the kept ones and those beyond. */
  count: number;
  problems: NativeProblem[];
}

/** Something that was not preserved, how often, and the first time. */
export interface NativeLoss {
  count: number;
  first?: NativeProblem;
}

export interface NativeJob {
  /**
   * `notify` is called about every 20 ms, and once with `true`, after the last worker's end; `asked` when
   * questions wait. Neither may throw.
   */
  start(notify: (ended: boolean) => void, asked: () => void): void;
  /**
   * Instead of start(): works on the calling thread until nothing is left that needs no answer. After
   * stop() it clears up.
   */
  work(): void;
  /** Ends it soon; `notify(true)` still comes, at once where no worker is active. */
  stop(): void;
  counters(): Float64Array;
  errors(from: number): NativeProblems;
  warnings(from: number): NativeProblems;
  /** In the order of `lossKinds`. */
  losses(): NativeLoss[];
  takeEntries(): Buffer;
  /** Questions::take() in binding/src/engine/run/questions.h: about `limit` bytes, empty where none wait. */
  takeQuestions(limit: number): Buffer;
  /** A verdict for each entry of the question, a scope for each directory that is to be asked about. */
  answer(id: number, verdicts: Uint8Array, scopes: Uint32Array): void;
}

/** Counts the entries below directories on a thread of its own, from its creation on. */
export interface NativeCount {
  /** Ends the thread soon. */
  stop(): void;
  /** -1 while it is not known. */
  total(): number;
}

interface Binding {
  CountAhead: new (directories: Buffer[], oneFileSystem: boolean) => NativeCount;
  Job: new (roots: NativeRoot[], options: NativeOptions, concurrency: number) => NativeJob;
  /** How many threads of libuv's pool all copies of the process may use together. */
  mostWorkers: number;
  // binding/src/platform/platform.h, whole trees. Each gives 0 or a negative errno.
  exchange(one: Buffer, other: Buffer): number;
  /** -EEXIST where there is a `to`. */
  renameNew(from: Buffer, to: Buffer): number;
  /** `directory`: a descriptor, which holds the lock until it is closed. */
  tryLock(directory: number): number;
  /** Entries can be made in the directory, and neither renamed nor removed. */
  isAppendOnly(directory: Buffer): boolean;
  checkSnapshot(source: Buffer, directory: Buffer): number;
  takeSnapshot(source: Buffer, directory: Buffer, name: Buffer): Promise<number>;
  makeSnapshotSource(directory: Buffer, name: Buffer): number;
  /** Gives `to` the access time and mtime of `from`. */
  copyTimes(from: Buffer, to: Buffer, follow: boolean): number;
  setAttribute(path: Buffer, name: Buffer, value: Buffer): number;
  /** Whether `sync` and `mirror` can mark a directory, by which unchanged files are known without being read. */
  checkMarks(directory: Buffer): number;
}

/** The order of Kind in binding/src/platform/platform.h. */
export const entryKinds = [
  'file', // unknown, which the engine has looked up by then
  'file',
  'directory',
  'symlink',
  'fifo',
  'characterDevice',
  'blockDevice',
  'socket',
] as const satisfies EntryKind[];

/** The order of Instead in binding/src/engine/base/request.h. */
export const insteadModes = ['copy', 'hardLink', 'symlink'] as const;

/** The order of Backup in the same file. */
export const backupModes = ['none', 'numbered', 'existing'] as const;

/** binding/src/engine/base/report.h, Loss: what an entry has, and DEST may not take. */
export const lossKinds = [
  'mode',
  'timestamps',
  'ownership',
  'xattrs',
  'acls',
  'hardLinks',
] as const;

// Loaded when fastcp is, not later: UV_THREADPOOL_SIZE as it is now is what libuv's pool goes by,
// while a value set after the first use of the pool (an ESM entry's own statements) means nothing.
const binding = loadBinary(packageRoot) as Binding;

export const mostWorkers: number = binding.mostWorkers;

export const { exchange, isAppendOnly, renameNew, tryLock, setAttribute, checkMarks, copyTimes } =
  binding;
export const { checkSnapshot, takeSnapshot, makeSnapshotSource } = binding;

const running = new Set<NativeJob | NativeCount>();

/** process.exit() does not wait for a copy, and the copy must not wait for it to be over. */
function stopAll(): void {
  for (const one of running) one.stop();
}

function started<T extends NativeJob | NativeCount>(one: T): T {
  if (running.size === 0) process.on('exit', stopAll);
  running.add(one);
  return one;
}

/** To be called when a job or a count has ended. */
export function forget(one: NativeJob | NativeCount): void {
  running.delete(one);
  if (running.size === 0) process.off('exit', stopAll);
}

/** One for work(): it is over when that returns, and need not be forgotten. */
export function createJobHere(
  roots: NativeRoot[],
  options: NativeOptions,
  concurrency = 1,
): NativeJob {
  return new binding.Job(roots, options, concurrency);
}

export function createJob(
  roots: NativeRoot[],
  options: NativeOptions,
  concurrency: number,
): NativeJob {
  return started(createJobHere(roots, options, concurrency));
}

export function countAhead(directories: Buffer[], oneFileSystem: boolean): NativeCount {
  return started(new binding.CountAhead(directories, oneFileSystem));
}
