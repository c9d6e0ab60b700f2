/** Creates missing parents of DEST, and makes their names durable. */

import {
  close,
  fsync,
  mkdirSync,
  open,
  statSync,
  mkdir as systemMkdir,
  stat as systemStat,
} from 'node:fs';
import { promisify } from 'node:util';
import { refuse } from '../errors/copy-error.js';
import { asCopyError, codeOf } from '../errors/from-node.js';
import { Looks } from '../io/looks.js';
import { directoryOf, join, namesFrom, textOrBytes, trimSlashes, upwards } from '../paths.js';
import type { Request } from '../request/request.js';
import type { Placement } from './placement.js';
import { fetchNearest, nearest } from './real-paths.js';

// Not fs/promises: loading it takes longer than copying a small tree.
const calls = {
  mkdir: promisify(systemMkdir),
  stat: promisify(systemStat),
  open: promisify(open),
  fsync: promisify(fsync),
  close: promisify(close),
};

/** The directory that has the roots, or is to have them. */
export interface Parents {
  /** The nearest directory that exists. */
  there: Buffer;
  /** Those to be created below it, in this order. */
  missing: Buffer[];
}

/** Looks ahead at what findParents() needs. */
export async function lookAtParents(placement: Placement, request: Request): Promise<Looks> {
  const looks = new Looks();
  await fetchNearest(parentOf(placement, request), looks);
  return looks;
}

/**
 * Finds the missing parents of DEST. They are created if the user wants that, and always if a slash or several sources name a
 * directory.
 */
export function findParents(placement: Placement, request: Request, looks: Looks): Parents {
  const { shown } = placement;
  const needed = parentOf(placement, request);
  const parent = directoryOf(request.dest);
  const src = shown.src(request.sources[0] ?? needed);
  const found = looks.existing(needed, true, shown.dest);
  if (found?.isDirectory()) return { there: needed, missing: [] };
  if (found || looks.isDangling(needed)) {
    const why = `'${shown.dest(needed)}' is ${found ? 'not a directory' : 'a symlink to nothing'}`;
    throw refuse('ERR_FS_CP_DIR_TO_NON_DIR', why, src, shown.dest(request.dest));
  }
  if (!request.parents && !looks.existing(parent, true)) {
    const why = `the parent directory '${shown.dest(parent)}' does not exist`;
    throw refuse('ENOENT', why, src, shown.dest(request.dest));
  }
  const there = nearest(directoryOf(needed), looks);
  let at = there;
  const missing = namesFrom(there, needed).map((name) => (at = join(at, name)));
  return { there, missing: request.dryRun ? [] : missing };
}

export async function makeDirectory(path: Buffer, mode?: number): Promise<void> {
  await calls.mkdir(textOrBytes(path), { mode });
}

// One by one, because Node's recursive form hides why the first one cannot be created. Another program may have created one.

export async function makeParents({ missing }: Parents, { shown }: Placement): Promise<void> {
  for (const path of missing) {
    try {
      await makeDirectory(path);
    } catch (error) {
      const isThere = codeOf(error) === 'EEXIST' && (await calls.stat(path)).isDirectory();
      if (!isThere) throw asCopyError(error, shown.dest(path));
    }
  }
}

export function makeParentsNow({ missing }: Parents, { shown }: Placement): void {
  for (const path of missing) {
    try {
      mkdirSync(textOrBytes(path));
    } catch (error) {
      const isThere = codeOf(error) === 'EEXIST' && statSync(path).isDirectory();
      if (!isThere) throw asCopyError(error, shown.dest(path));
    }
  }
}

/** Makes names durable that the engine does not see: those of the roots, and of directories created above them. */
export async function syncParents(
  placement: Placement,
  request: Request,
  { there }: Parents,
): Promise<void> {
  const all = upwards(parentOf(placement, request));
  const last = all.findIndex((at) => at.equals(there));
  for (const at of last < 0 ? all : all.slice(0, last + 1)) {
    try {
      await syncDirectory(at);
    } catch (error) {
      // The directory may be unreadable, or its file system may not support that.
      const isExpected = ['EACCES', 'EINVAL', 'EPERM'].includes(codeOf(error) ?? '');
      if (!isExpected) throw asCopyError(error, placement.shown.dest(at));
    }
  }
}

/** Waits until the names in a directory are on disk. */
async function syncDirectory(path: Buffer): Promise<void> {
  const directory = await calls.open(path, 'r');
  try {
    await calls.fsync(directory);
  } finally {
    await calls.close(directory);
  }
}

/** Returns the directory that has the roots. */
function parentOf({ into }: Placement, request: Request): Buffer {
  const dest = trimSlashes(request.dest);
  return into ? dest : directoryOf(dest);
}
