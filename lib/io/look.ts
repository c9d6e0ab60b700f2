/** Looks at entries, which may be missing. */

import type { BigIntStats } from 'node:fs';
import { asCopyError, codeOf, isMissing } from '../errors/from-node.js';
import { type ShownPaths, showPath } from '../paths.js';
import { type Steps, stat, statAgain } from './steps.js';

export function* statEntry(path: Buffer, follow: boolean, shown: string): Steps<BigIntStats> {
  try {
    return yield* stat(path, follow);
  } catch (error) {
    throw asCopyError(error, shown);
  }
}

/** Returns text that is equal for the looks at one entry. */
export function identity({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

export function isSame(a: BigIntStats, b: BigIntStats): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}

/**
 * Looks at an entry that may be missing. `shownDest`: the entry is DEST or above it; the error names it as the user does, and says
 * that it is about DEST.
 */
export function* existing(
  path: Buffer,
  follow: boolean,
  shownDest?: ShownPaths['dest'],
): Steps<BigIntStats | undefined> {
  try {
    return yield* stat(path, follow);
  } catch (error) {
    if (isMissing(error)) return undefined;
    if (!shownDest) throw asCopyError(error, showPath(path));
    const more = codeOf(error) === 'EACCES' ? 'the destination cannot be looked at' : undefined;
    throw asCopyError(error, shownDest(path), more);
  }
}

/** Returns whether a path is a symlink to nothing now. Another program may have created an entry since the first look. */
export function* isDangling(path: Buffer): Steps<boolean> {
  const entry = yield* existing(path, false);
  if (!entry?.isSymbolicLink()) return false;
  try {
    yield* statAgain(path);
    return false;
  } catch (error) {
    return isMissing(error);
  }
}
