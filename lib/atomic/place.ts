/** Puts a whole copy in DEST's place. */
import { promises } from 'node:fs';
import { constants } from 'node:os';
import { exchange, renameNew } from '../bridge/native.js';
import { nativeErrno, unlessMissing } from '../errors/from-node.js';
import { lstat } from '../io/looks.js';
import { textOrBytes } from '../paths.js';
import type { Hidden } from './hidden.js';

const { EEXIST, EINVAL, ENOENT, ENOSYS } = constants.errno;

/** How often fastcp looks again whether there is a DEST, which other processes may create and remove. */
const looks = 100;

/** Returns whether the file system can exchange two directories in one step, by trying it. */
export async function canExchange({ tree, old }: Hidden): Promise<boolean> {
  await promises.mkdir(textOrBytes(tree));
  await promises.mkdir(textOrBytes(old));
  const error = exchange(tree, old);
  await promises.rmdir(textOrBytes(tree));
  await promises.rmdir(textOrBytes(old));
  return error === 0;
}

/**
 * Puts the new tree, a directory, in the place of `dest` at once, by an exchange if `dest` exists. Returns 0 or a negative errno:
 * -EINVAL if only two steps are possible.
 */
export async function placeAtOnce({ tree, old }: Hidden, dest: Buffer): Promise<number> {
  let error = 0;
  for (let left = looks; left > 0; left--) {
    error = exchange(tree, dest);
    if (error === 0) await rename(tree, old);
    if (error === 0 || (error !== -ENOENT && (await exists(dest))))
      return error === -ENOSYS ? -EINVAL : error;
    error = renameNew(tree, dest);
    if (error === 0) return 0;
    // Otherwise another process has put its copy there: the last one wins.
    if (error !== -EEXIST) return await rename(tree, dest); // the file system may lack only the flag
  }
  return error;
}

/** Neither the old DEST nor the new one is in its place. Both are hidden. */
export class Halfway extends Error {
  constructor(
    readonly hidden: Hidden,
    readonly errno: number,
  ) {
    super('neither the old DEST nor the new one');
  }
}

/**
 * Does the same by two renames, between which there is no `dest`. If the second one fails, renames back. If that also fails, rejects
 * with Halfway.
 */
export async function placeInSteps(hidden: Hidden, dest: Buffer): Promise<number> {
  const { tree, old } = hidden;
  const away = await rename(dest, old);
  if (away !== 0 && away !== -ENOENT) return away;
  const error = await rename(tree, dest);
  if (error === 0 || away !== 0) return error;
  if ((await rename(old, dest)) !== 0) throw new Halfway(hidden, error);
  return error;
}

export async function exists(path: Buffer): Promise<boolean> {
  return (await lstat(path).catch(unlessMissing)) !== undefined;
}

/** Returns 0 or a negative errno. */
export function rename(from: Buffer, to: Buffer): Promise<number> {
  return promises.rename(from, to).then(
    () => 0,
    (error: NodeJS.ErrnoException) => {
      if (error.errno === undefined) throw error;
      return nativeErrno(error);
    },
  );
}
