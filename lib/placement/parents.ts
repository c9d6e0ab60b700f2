/** Creates missing parents of DEST, and makes their names durable. */

import { type BigIntStats, mkdir, mkdirSync, promises } from 'node:fs';
import { promisify } from 'node:util';
import { refuse } from '../errors/copy-error.js';
import { asCopyError, codeOf } from '../errors/from-node.js';
import { existing, Looks } from '../io/looks.js';
import { directoryOf, join, namesFrom, textOrBytes, trimSlashes, upwards } from '../paths.js';
import type { Request } from '../request/request.js';
import type { Placement } from './placement.js';
import { fetchNearest, nearest } from './real-paths.js';

// Not of fs/promises: loading it takes longer than copying a small tree.
const systemMkdir = promisify(mkdir);

/** Looks again at what makeParents() needs. */
export async function lookAtParents(placement: Placement, request: Request): Promise<void> {
  placement.looks = new Looks();
  await fetchNearest(parentOf(placement, request), placement.looks);
}

/**
 * Finds the missing parents of DEST, if the user wants them to be created. A directory named by a slash, or for several sources, is
 * always created. Also returns the nearest directory that exists.
 */
function findParents(placement: Placement, request: Request): { there: Buffer; missing: Buffer[] } {
  const { shown, looks } = placement;
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

/**
 * Creates missing parents, one by one, because Node's recursive form hides why the first one cannot be created. Returns the nearest
 * directory that existed.
 */
export async function makeParents(placement: Placement, request: Request): Promise<Buffer> {
  const { there, missing } = findParents(placement, request);
  for (const path of missing) {
    await makeDirectory(path).catch(async (error: unknown) => {
      unlessThere(error, path, await existing(path, true), placement);
    });
  }
  return there;
}

/** Does the same before it returns. */
export function makeParentsNow(placement: Placement, request: Request): void {
  for (const path of findParents(placement, request).missing) {
    try {
      mkdirSync(textOrBytes(path));
    } catch (error) {
      unlessThere(error, path, new Looks().existing(path, true), placement);
    }
  }
}

/** Throws the error of mkdir, unless another program has created the directory since the look. */
function unlessThere(
  error: unknown,
  path: Buffer,
  found: BigIntStats | undefined,
  { shown }: Placement,
): void {
  const isThere = codeOf(error) === 'EEXIST' && found?.isDirectory();
  if (!isThere) throw asCopyError(error, shown.dest(path));
}

export async function makeDirectory(path: Buffer, mode = 0o777): Promise<void> {
  await systemMkdir(textOrBytes(path), mode);
}

/**
 * Makes names durable that the engine does not see: those of the roots, and of directories created above them.
 * `there` is the result of makeParents().
 */
export async function syncParents(
  placement: Placement,
  request: Request,
  there: Buffer,
): Promise<void> {
  for (const at of upwards(parentOf(placement, request))) {
    try {
      const directory = await promises.open(at, 'r');
      await directory.sync().finally(() => directory.close());
    } catch (error) {
      // The directory may be unreadable, or its file system may not support that.
      const isExpected = ['EACCES', 'EINVAL', 'EPERM'].includes(codeOf(error) ?? '');
      if (!isExpected) throw asCopyError(error, placement.shown.dest(at));
    }
    if (at.equals(there)) return;
  }
}

/** Returns the directory that has the roots. */
function parentOf({ into }: Placement, request: Request): Buffer {
  const dest = trimSlashes(request.dest);
  return into ? dest : directoryOf(dest);
}
