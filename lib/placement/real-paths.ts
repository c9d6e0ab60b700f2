/** Real paths, the directories above them, and parents that exist. */
import type { BigIntStats } from 'node:fs';
import { type CopyError, refuse } from '../errors/copy-error.js';
import { codeOf, deniedByNode, isMissing } from '../errors/from-node.js';
import { existing, isSame } from '../io/look.js';
import { all, realpath, type Steps, stat } from '../io/steps.js';
import { baseName, directoryOf, isRoot, showPath } from '../paths.js';

/** A directory by its real path, and what a look at it found. */
interface Ancestor {
  real: Buffer;
  found: BigIntStats;
}

/**
 * Returns whether `directory` is the one at `path`, or at its nearest existing parent, or one above it. Compares identities, not
 * names, because symlinks and bind mounts lead to the same directory on other ways.
 */
export function* isAtOrBelow(path: Buffer, directory: BigIntStats): Steps<boolean> {
  return (yield* namesBelow(path, directory)) !== undefined;
}

/**
 * Returns the names that lead from `directory` to `path`, also those of missing directories. Returns undefined if `path` is not at
 * or below it.
 */
export function* namesBelow(path: Buffer, directory: BigIntStats): Steps<Buffer[] | undefined> {
  const { here, missing } = yield* chainUp(path);
  for (const [depth, { found }] of here.entries()) {
    if (isSame(directory, found))
      return here
        .slice(0, depth)
        .map((one) => baseName(one.real))
        .reverse()
        .concat(missing);
  }
  return undefined;
}

interface Chain {
  here: Ancestor[];
  /** The names from there to the entry. */
  missing: Buffer[];
}

/** Returns an entry, or its nearest existing parent, and all directories above it. */
export function* chainUp(path: Buffer): Steps<Chain> {
  const missing: Buffer[] = [];
  let at = yield* realNearest(path, missing);
  const here = [at];
  while (!isRoot(at)) {
    at = directoryOf(at);
    here.push(at);
  }
  const looks = yield* all(here.map((one) => () => statIfAllowed(one)));
  const places = here.flatMap((real, index) => {
    const found = looks[index];
    return found ? [{ real, found }] : [];
  });
  return { here: places, missing };
}

/** Returns undefined where Node's permission model forbids the look. SRC is not there, because it may be read. */
function* statIfAllowed(path: Buffer): Steps<BigIntStats | undefined> {
  try {
    return yield* stat(path, true);
  } catch (error) {
    if (codeOf(error) !== deniedByNode) throw error;
    return undefined;
  }
}

/** An entry may be there one moment and gone the next: another atomic copy replaces DEST in two steps. */
function* realNearest(path: Buffer, missing: Buffer[]): Steps<Buffer> {
  for (let at = path; ; at = directoryOf(at)) {
    try {
      return yield* realpath(at);
    } catch (error) {
      if (!isMissing(error)) throw error;
      if (isRoot(at)) throw noDrive(at);
      missing.unshift(baseName(at));
    }
  }
}

/** Returns the path itself if it is too long, or no name leads to the directory any more. */
export function* realIfThere(path: Buffer): Steps<Buffer> {
  try {
    return yield* realpath(path);
  } catch {
    return path;
  }
}

/** On Windows: there is no such drive. */
function noDrive(root: Buffer): CopyError {
  return refuse('ENOENT', 'no such file or directory', showPath(root));
}

/** Returns a path itself or its nearest existing parent. */
export function* nearest(path: Buffer): Steps<Buffer> {
  for (let at = path; ; at = directoryOf(at)) {
    if (yield* existing(at, true)) return at;
    if (isRoot(at)) throw noDrive(at);
  }
}
