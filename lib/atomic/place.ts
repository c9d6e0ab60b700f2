/** How a whole copy comes to stand in DEST's place. */
import { constants as flags, promises } from 'node:fs';
import { constants } from 'node:os';
import { exchange, renameNew } from '../engine/native.js';
import { nativeErrno } from '../errors.js';
import { textOrBytes } from '../walk/paths.js';
import type { Container } from './container.js';
import { removeTree } from './remove-tree.js';

const { EACCES, EEXIST, EINVAL, EISDIR, ENOENT, ENOSYS, ENOTDIR, ENOTEMPTY, EXDEV } =
  constants.errno;

/**
 * Whether the file system can exchange two directories in one step, tried in the container. A process killed
 * here must leave no `ready`, which the next run would put in DEST's place.
 */
export async function canExchange(container: Container): Promise<boolean> {
  const [one, other] = [container.tree, await container.unusedName()];
  await promises.mkdir(textOrBytes(one));
  await promises.mkdir(textOrBytes(other));
  const error = exchange(one, other);
  await promises.rmdir(one);
  await promises.rmdir(other);
  return error === 0;
}

/**
 * Puts `container.tree` in the place of `dest`, at once: where there is a `dest`, by exchanging them. 0 or
 * a negative errno; -EXDEV where only two steps would do.
 */
export async function placeAtOnce(container: Container, dest: Buffer): Promise<number> {
  const { tree } = container;
  for (;;) {
    let error = await moveDirectories([tree, dest], () => exchange(tree, dest));
    if (error === -ENOENT) error = await moveDirectories([tree], () => renameNew(tree, dest));
    if (error === -EINVAL || error === -ENOSYS) return -EXDEV;
    // Otherwise somebody else's copy was put there meanwhile: the last one wins.
    if (error !== -EEXIST) return error;
  }
}

/** The same in two steps, between which there is no `dest`. The next run ends what was begun. */
export async function placeInSteps(container: Container, dest: Buffer): Promise<void> {
  const { tree, ready } = container;
  await promises.rename(tree, ready);
  try {
    await finishSteps(container, dest);
  } catch (error) {
    if (!(error instanceof Halfway)) await promises.rename(ready, tree);
    throw error;
  }
}

/** DEST is gone, or part of it, and what was to take its place does not stand there. */
export class Halfway extends Error {
  constructor(
    readonly ready: Buffer,
    reason: Error,
  ) {
    super(reason.message);
  }
}

/**
 * From wherever it was left, once there is `container.ready`. Rejects with Halfway, or with Node's errors
 * where `dest` is as it was found.
 */
export async function finishSteps(container: Container, dest: Buffer): Promise<void> {
  const { ready } = container;
  for (;;) {
    const old = await container.unusedName();
    const away = await moveDirectories([dest], () => rename(dest, old));
    if (away === -EXDEV) {
      // Part of it lies in a layer that cannot be changed.
      await removeTree(dest).catch((error: Error) => Promise.reject(new Halfway(ready, error)));
    } else if (away !== 0 && away !== -ENOENT) {
      throw failure(away, 'rename');
    }
    const error = await moveDirectories([ready], () => rename(ready, dest));
    if (error === 0) return;
    // Somebody else's copy was put there meanwhile.
    if ([EEXIST, ENOTEMPTY, ENOTDIR, EISDIR].includes(-error)) continue;
    const asFound =
      away === 0
        ? (await moveDirectories([old], () => rename(old, dest))) === 0
        : away === -ENOENT && !(await container.hasOld());
    throw asFound ? failure(error, 'rename') : new Halfway(ready, failure(error, 'rename'));
  }
}

/** Whether a container that was left holds a copy that was to be put in place. */
export async function isHalfway(container: Container, dest: Buffer): Promise<boolean> {
  if (!(await exists(container.ready))) return false;
  // What DEST was is here: then what is there now came later.
  return !((await container.hasOld()) && (await exists(dest)));
}

export async function exists(path: Buffer): Promise<boolean> {
  return promises.lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}

async function rename(from: Buffer, to: Buffer): Promise<number> {
  return promises.rename(from, to).then(
    () => 0,
    (error: NodeJS.ErrnoException) => {
      if (error.errno === undefined) throw error;
      return nativeErrno(error);
    },
  );
}

/** As Node's own errors say it. */
export function failure(errno: number, syscall: string): Error {
  return Object.assign(new Error(`${syscall} failed: ${-errno}`), { errno, syscall });
}

/**
 * Who moves a directory to another must be allowed to write in it, as its '..' changes: read-only ones of
 * our own allow it while they are moved.
 */
async function moveDirectories(
  directories: readonly Buffer[],
  move: () => number | Promise<number>,
): Promise<number> {
  const error = await move();
  // Windows looks at the modes of files only.
  if (error !== -EACCES || process.platform === 'win32') return error;
  const opened: promises.FileHandle[] = [];
  const restore: (() => Promise<void>)[] = [];
  try {
    for (const path of directories) {
      const handle = await openDirectory(path);
      if (!handle) continue;
      opened.push(handle);
      const mode = (await handle.stat()).mode & 0o7777;
      if ((mode & 0o200) !== 0) continue;
      await changeMode(handle, mode | 0o700);
      restore.push(() => changeMode(handle, mode));
    }
    return restore.length === 0 ? error : await move();
  } finally {
    try {
      await each(restore);
    } finally {
      await each(opened.map((handle) => () => handle.close()));
    }
  }
}

/** Does all of them, whatever becomes of the others. Rejects with the first error. */
async function each(steps: readonly (() => Promise<void>)[]): Promise<void> {
  const settled = await Promise.allSettled(steps.map((step) => step()));
  for (const one of settled) if (one.status === 'rejected') throw one.reason;
}

/** Linux: opens what its owner may not read. Node does not name it. */
const O_PATH = process.platform === 'linux' ? 0o10000000 : 0;

/** Undefined if it is no directory. */
async function openDirectory(path: Buffer): Promise<promises.FileHandle | undefined> {
  const how = O_PATH | flags.O_RDONLY | flags.O_DIRECTORY | flags.O_NOFOLLOW;
  return promises.open(path, how).catch((error: NodeJS.ErrnoException) => {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(error.code ?? '')) return undefined;
    throw error;
  });
}

/** By the open directory, not by its path, which may lead to another one meanwhile. */
function changeMode(handle: promises.FileHandle, mode: number): Promise<void> {
  return O_PATH ? promises.chmod(`/proc/self/fd/${handle.fd}`, mode) : handle.chmod(mode);
}
