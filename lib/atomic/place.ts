/** Puts a whole copy in DEST's place. */
import { constants as flags, promises } from 'node:fs';
import { constants } from 'node:os';
import { exchange, renameNew } from '../bridge/native.js';
import { nativeErrno } from '../errors/from-node.js';
import { textOrBytes } from '../paths.js';
import type { Container } from './container.js';

const { EACCES, EEXIST, EINVAL, ENOENT, ENOSYS } = constants.errno;

/** Returns whether the file system can exchange two directories in one step, by trying it in the container. */
export async function canExchange(container: Container): Promise<boolean> {
  const { tree: one, old: other } = container;
  await promises.mkdir(textOrBytes(one));
  await promises.mkdir(textOrBytes(other));
  const error = exchange(one, other);
  await promises.rmdir(one);
  await promises.rmdir(other);
  return error === 0;
}

/**
 * Puts `container.tree` in the place of `dest` at once, by an exchange if `dest` exists. Returns 0 or a
 * negative errno: -EINVAL if only two steps are possible, -EXDEV if DEST cannot be moved.
 */
export async function placeAtOnce(container: Container, dest: Buffer): Promise<number> {
  const { tree } = container;
  for (;;) {
    let error = await withAccess([tree, dest], () => exchange(tree, dest));
    if (error === -ENOENT) error = await withAccess([tree], () => renameNew(tree, dest));
    if (error === -ENOSYS) return -EINVAL;
    // Otherwise another process has put its copy there: the last one wins.
    if (error !== -EEXIST) return error;
  }
}

/** Neither the old DEST nor the new one is in its place. The container has both. */
export class Halfway extends Error {
  constructor(
    readonly container: Buffer,
    readonly errno: number,
  ) {
    super('neither the old DEST nor the new one');
  }
}

/**
 * Does the same by two renames, between which there is no `dest`. If the second one fails, renames back. If that also fails, rejects
 * with Halfway.
 */
export async function placeInSteps({ path, tree, old }: Container, dest: Buffer): Promise<number> {
  const away = await withAccess([dest], () => rename(dest, old));
  if (away !== 0 && away !== -ENOENT) return away;
  const error = await withAccess([tree], () => rename(tree, dest));
  if (error === 0 || away !== 0) return error;
  const back = await withAccess([old], () => rename(old, dest));
  if (back !== 0) throw new Halfway(path, error);
  return error;
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

/** Returns 0 or a negative errno. */
function rename(from: Buffer, to: Buffer): Promise<number> {
  return promises.rename(from, to).then(
    () => 0,
    (error: NodeJS.ErrnoException) => {
      if (error.errno === undefined) throw error;
      return nativeErrno(error);
    },
  );
}

/**
 * Takes a step that the modes of directories may deny. Moving one needs write permission in it, because its '..' changes. So
 * directories of the user that deny something to their owner allow it for that time.
 */
async function withAccess(
  directories: readonly Buffer[],
  step: () => number | Promise<number>,
): Promise<number> {
  const error = await step();
  // Windows checks the modes of files only.
  if (error !== -EACCES || process.platform === 'win32') return error;
  const opened: promises.FileHandle[] = [];
  const restore: (() => Promise<void>)[] = [];
  try {
    for (const directory of directories) {
      const handle = await openDirectory(directory);
      if (!handle) continue;
      opened.push(handle);
      const mode = (await handle.stat()).mode & 0o7777;
      if ((mode & 0o700) === 0o700) continue;
      await changeMode(handle, mode | 0o700);
      restore.push(() => changeMode(handle, mode));
    }
    return restore.length === 0 ? error : await step();
  } finally {
    try {
      await each(restore);
    } finally {
      await each(opened.map((handle) => () => handle.close()));
    }
  }
}

/** Runs all steps, even if some fail. Rejects with the first error. */
async function each(steps: readonly (() => Promise<void>)[]): Promise<void> {
  const settled = await Promise.allSettled(steps.map((step) => step()));
  for (const one of settled) if (one.status === 'rejected') throw one.reason;
}

/** Linux: opens an entry that its owner may not read. Node does not define it. */
const O_PATH = process.platform === 'linux' ? 0o10000000 : 0;

/** Returns undefined if it is not a directory. */
async function openDirectory(path: Buffer): Promise<promises.FileHandle | undefined> {
  const how = O_PATH | flags.O_RDONLY | flags.O_DIRECTORY | flags.O_NOFOLLOW;
  return promises.open(path, how).catch((error: NodeJS.ErrnoException) => {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(error.code ?? '')) return undefined;
    throw error;
  });
}

/** Uses the open directory, because its path may lead to another one by now. */
function changeMode(handle: promises.FileHandle, mode: number): Promise<void> {
  return O_PATH ? promises.chmod(`/proc/self/fd/${handle.fd}`, mode) : handle.chmod(mode);
}
