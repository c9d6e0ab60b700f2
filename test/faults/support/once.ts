import type { Outcome } from './judge.js';

/** Cases that showed a bug, or that every run has to try: mode, call, fault, first occurrence, how many, and what is to come of it. */
export const once: readonly [
  mode: string,
  call: string,
  fault: string,
  first: number,
  count: number,
  outcome: Outcome,
][] = [
  // Rights that SRC does not give stayed, and nobody said so.
  ['archive over', 'fremovexattr', 'ENOMEM', 1, 999_999, 'error'],
  ['archive over', 'removexattr', 'EIO', 1, 999_999, 'error'],
  ['mirror archive', 'fgetxattr', 'EIO', 1, 999_999, 'error'],
  // A file became shorter than its source.
  ['sparse', 'pread64', 'zero', 1, 1, 'error'],
  ['large file, read and write', 'pread64', 'zero', 3, 1, 'error'],
  // Of a write that wrote a part the rest is still to be written.
  ['large file, read and write', 'pwrite64', 'short', 1, 1, 'goes on'],
  // What a server says last was not listened to.
  ['default', 'close', 'EIO', 1, 999_999, 'error'],
  ['over', 'close', 'ENOSPC', 1, 999_999, 'error'],
  // It waited a second for each file.
  ['over', 'openat(O_CREAT)', 'EMFILE', 1, 999_999, 'error'],
  ['default', 'openat', 'ENFILE', 1, 999_999, 'error'],
  // Another name of the file led to what DEST had before.
  ['mirror archive', 'pread64', 'EPERM', 1, 999_999, 'error'],
  // Two contents of which nothing could be read were taken for equal.
  ['mirror', 'pread64', 'zero', 1, 999_999, 'goes on'],
  ['verify', 'pread64', 'zero', 1, 999_999, 'error'],
  // The mode is narrowed before an access list is removed: the error named that call.
  ['archive over', 'chmod', 'ENOMEM', 1, 1, 'error'],
];
