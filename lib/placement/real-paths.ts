/** Real paths, the directories above them, and parents that exist. */
import type { BigIntStats } from 'node:fs';
import { type CopyError, refuse } from '../errors/copy-error.js';
import { codeOf, deniedByNode, isMissing } from '../errors/from-node.js';
import { isSame, type Looks } from '../io/looks.js';
import { baseName, isRoot, showPath, upwards } from '../paths.js';

/** A directory by its real path, and what a look at it found. */
interface Ancestor {
  real: Buffer;
  found: BigIntStats;
}

/**
 * Returns whether `directory` is the one at `path`, or at its nearest existing parent, or one above it. Compares identities, not
 * names, because symlinks and bind mounts lead to the same directory on other ways.
 */
export function isAtOrBelow(path: Buffer, directory: BigIntStats, looks: Looks): boolean {
  return namesBelow(path, directory, looks) !== undefined;
}

/**
 * Returns the names that lead from `directory` to `path`, also those of missing directories. Returns undefined if `path` is not at
 * or below it.
 */
export function namesBelow(
  path: Buffer,
  directory: BigIntStats,
  looks: Looks,
): Buffer[] | undefined {
  const { here, missing } = chainUp(path, looks);
  const depth = here.findIndex(({ found }) => isSame(directory, found));
  if (depth < 0) return undefined;
  const names = here.slice(0, depth).map(({ real }) => baseName(real));
  return [...names.reverse(), ...missing];
}

interface Chain {
  here: Ancestor[];
  /** The names from there to the entry. */
  missing: Buffer[];
}

/** Returns an entry, or its nearest existing parent, and all directories above it. */
export function chainUp(path: Buffer, looks: Looks): Chain {
  const missing: Buffer[] = [];
  const here = upwards(realNearest(path, missing, looks)).flatMap((real) => {
    const found = statIfAllowed(real, looks);
    return found ? [{ real, found }] : [];
  });
  return { here, missing };
}

/** Looks ahead at what chainUp() needs for a path that exists. */
export async function fetchChain(path: Buffer, looks: Looks): Promise<void> {
  const fetchAbove = (from: Buffer) => Promise.all(upwards(from).map((at) => looks.fetchEntry(at)));
  const [real] = await Promise.all([looks.fetch('realpath', path), fetchAbove(path)]);
  if (real && !real.equals(path)) await fetchAbove(real);
}

/** Returns undefined where Node's permission model forbids the look. SRC is not there, because it may be read. */
function statIfAllowed(path: Buffer, looks: Looks): BigIntStats | undefined {
  try {
    return looks.stat(path, true);
  } catch (error) {
    if (codeOf(error) !== deniedByNode) throw error;
    return undefined;
  }
}

/** An entry may be there one moment and gone the next: another atomic copy replaces DEST in two steps. */
function realNearest(path: Buffer, missing: Buffer[], looks: Looks): Buffer {
  for (const at of upwards(path)) {
    try {
      return looks.realpath(at);
    } catch (error) {
      if (!isMissing(error)) throw error;
      missing.unshift(baseName(at));
    }
  }
  throw noDrive(path);
}

/** Returns the path itself if it is too long, or no name leads to the directory any more. */
export function realIfThere(path: Buffer, looks: Looks): Buffer {
  try {
    return looks.realpath(path);
  } catch {
    return path;
  }
}

/** On Windows: there is no such drive. */
function noDrive(path: Buffer): CopyError {
  const root = upwards(path).find(isRoot) ?? path;
  return refuse('ENOENT', 'no such file or directory', showPath(root));
}

/** Looks ahead at what nearest() needs. Resolves with its result, or with the root. */
export async function fetchNearest(path: Buffer, looks: Looks): Promise<Buffer> {
  let near = path;
  for (const at of upwards(path)) {
    near = at;
    if (await looks.fetchEntry(at)) break;
  }
  return near;
}

/** Returns a path itself or its nearest existing parent. */
export function nearest(path: Buffer, looks: Looks): Buffer {
  const found = upwards(path).find((at) => looks.existing(at, true));
  if (!found) throw noDrive(path);
  return found;
}
