/** Puts a whole copy in DEST's place. */
import { constants as flags, promises } from 'node:fs';
import { constants } from 'node:os';
import { pause } from '../builtins.js';
import { exchange, renameNew } from '../engine/native.js';
import { runUnheard } from '../engine/run-engine.js';
import { nativeErrno } from '../errors.js';
import { checkRequest } from '../request/options.js';
import { join, showPath, textOrBytes } from '../walk/paths.js';
import { run } from '../walk/steps.js';
import { findRoots } from '../walk/walk.js';
import type { Container } from './container.js';
import { emptyDirectory, removeTree } from './remove-tree.js';

const { EACCES, EEXIST, EINVAL, EISDIR, ENOENT, ENOSYS, ENOTDIR, ENOTEMPTY, EXDEV } =
  constants.errno;

/** How many times a DEST is emptied if another program creates entries in it. */
const tries = 10;

/**
 * Returns whether the file system can exchange two directories in one step, by trying it in the container. A
 * process killed here must leave no `ready`, because the next run would put that in DEST's place.
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
 * Puts `container.tree` in the place of `dest` at once, by an exchange if `dest` exists. Returns 0 or a
 * negative errno; -EXDEV if only two steps are possible.
 */
export async function placeAtOnce(container: Container, dest: Buffer): Promise<number> {
  const { tree } = container;
  for (;;) {
    let error = await withAccess([tree, dest], () => exchange(tree, dest));
    if (error === -ENOENT) error = await withAccess([tree], () => renameNew(tree, dest));
    if (error === -EINVAL || error === -ENOSYS) return -EXDEV;
    // Otherwise another process put its copy there meanwhile: the last one wins.
    if (error !== -EEXIST) return error;
  }
}

/** Returns whether what is at DEST now is to be replaced; rejects if it must not be. */
type Check = () => Promise<boolean>;

/**
 * Does the same in two steps. Between them there is no `dest`. The next run finishes an interrupted placing.
 */
export async function placeInSteps(
  container: Container,
  dest: Buffer,
  check: Check,
): Promise<void> {
  const { tree, ready } = container;
  await promises.rename(tree, ready);
  try {
    await finishSteps(container, dest, check);
  } catch (error) {
    // If this fails, too, the next atomic copy removes it.
    if (!(error instanceof Halfway)) await rename(ready, tree);
    throw error;
  }
}

/** DEST or a part of it is gone, and the copy is not in its place. */
export class Halfway extends Error {
  /** `stays`: what came to DEST since is not replaced. */
  constructor(
    readonly ready: Buffer,
    readonly reason: unknown,
    readonly stays = false,
  ) {
    super('neither the old DEST nor the new one');
  }
}

/** Whether the old DEST was taken away, by this process or a killed one, and did not come back. */
interface Old {
  isGone: boolean;
}

/**
 * Continues from any interrupted step, once there is `container.ready`. Returns false if the check ends it. Rejects with Halfway,
 * or with other errors if `dest` is as it was found.
 */
export async function finishSteps(
  container: Container,
  dest: Buffer,
  check: Check,
): Promise<boolean> {
  const old: Old = { isGone: await container.hasBegun() };
  try {
    return await takeSteps(container, dest, check, old);
  } catch (error) {
    // If that cannot be found out, DEST may be gone.
    const goesOn = await isHalfway(container, dest).catch(() => true);
    if (goesOn || old.isGone) throw new Halfway(container.ready, error, !goesOn);
    throw error;
  }
}

async function takeSteps(
  container: Container,
  dest: Buffer,
  check: Check,
  old: Old,
): Promise<boolean> {
  let from = container.ready;
  for (;;) {
    const moved = await container.unusedName();
    const away = await takeAway(container, dest, moved, check, old);
    if (away === undefined) return false;
    const wasGone = old.isGone;
    old.isGone ||= away !== -ENOENT;
    const error = await withAccess([from], () => rename(from, dest));
    if (error === 0) return true;
    // Another process put its copy there meanwhile.
    if ([EEXIST, ENOTEMPTY, ENOTDIR, EISDIR].includes(-error)) continue;
    let reason: unknown = failure(error, 'rename');
    if (error === -EXDEV && from === container.ready) {
      try {
        from = await copyOf(container, dest);
        continue;
      } catch (failed) {
        reason = failed;
      }
    }
    // Puts back what was moved away, which may be somebody else's.
    const isBack = away === 0 && (await withAccess([moved], () => rename(moved, dest))) === 0;
    if (isBack) old.isGone = wasGone;
    throw reason;
  }
}

/**
 * Moves DEST to `moved`, and returns 0, or -ENOENT if there is no DEST. If DEST cannot be moved, because a part of it is in a layer of
 * an overlay, deletes it where it is, and returns -EXDEV. Returns undefined if the check ends it.
 */
async function takeAway(
  container: Container,
  dest: Buffer,
  moved: Buffer,
  check: Check,
  old: Old,
): Promise<number | undefined> {
  // Until something is deleted, others may put another directory, or a symlink, in the place of DEST. The held directory stays the
  // same one. Only Linux has overlays.
  const held = O_PATH ? await openDirectory(dest) : undefined;
  try {
    if (!(await check())) return undefined;
    const error = await withAccess([dest], () => rename(dest, moved));
    if (error === 0 || error === -ENOENT) return error;
    const isDirectory = !O_PATH || held; // an overlay moves everything else
    if (error !== -EXDEV || !isDirectory) throw failure(error, 'rename');
    await deleteInPlace(container, dest, old, held);
    return error;
  } finally {
    await held?.close();
  }
}

/**
 * Deletes a DEST that cannot be moved. From here on there is no way back. Until nothing else is left in DEST, an empty directory
 * in it tells the next run what it is: on an overlay, inode numbers may change at any time.
 */
async function deleteInPlace(
  container: Container,
  dest: Buffer,
  old: Old,
  held?: promises.FileHandle,
): Promise<void> {
  const { deleting, marker } = container;
  await promises.mkdir(textOrBytes(deleting)).catch(unlessThere);
  await promises.chmod(textOrBytes(deleting), 0o700); // umask may deny that
  const directory = held ? descriptorPath(held) : dest;
  const mark = join(directory, marker);
  /** Takes a step that changes DEST. Returns 0, or one of the expected errors. */
  const take = async (call: string, step: () => Promise<unknown>, ...expected: number[]) => {
    const errno = -(await withAccess([held ?? dest], () => errnoOf(step())));
    if (errno !== 0 && !expected.includes(errno)) throw failure(-errno, call);
    return errno;
  };
  const addMark = () =>
    take('mkdir', () => promises.mkdir(textOrBytes(mark), 0o700), EEXIST, ENOENT);
  const removeEmpty = (path: Buffer) =>
    take('rmdir', () => promises.rmdir(textOrBytes(path)), EEXIST, ENOTEMPTY, ENOENT);
  for (let tried = 0; tried < tries; tried++) {
    // Two placings that delete each other's directory would go on doing that at the same pace.
    if (tried > 0) await pause(Math.random() * 2 ** (tried + 2));
    if ((await addMark()) === ENOENT) return; // another placing has deleted it
    old.isGone = true;
    const isEmpty = await emptyDirectory(directory, {
      path: dest,
      kept: marker,
      empty: deleting,
    }).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        // Another placing is deleting it, too.
        if (!['ENOENT', 'ERR_FASTCP_DEST_CHANGED'].includes(error.code ?? '')) throw error;
        return false;
      },
    );
    if (!isEmpty) continue;
    if ([EEXIST, ENOTEMPTY].includes(await removeEmpty(mark))) await removeTree(mark);
    // Otherwise another program has created something meanwhile.
    if ([0, ENOENT].includes(await removeEmpty(dest))) return;
  }
  await addMark();
  throw failure(-ENOTEMPTY, 'rmdir');
}

/** Copies the copy itself if it cannot be moved, because it has come into a lower layer of an overlay (`docker commit`). */
async function copyOf({ ready, tree }: Container, dest: Buffer): Promise<Buffer> {
  await removeTree(tree);
  const request = checkRequest(ready, tree, { preserve: true, onError: 'continue' });
  const shown = { src: () => showPath(dest), dest: () => showPath(dest) };
  const walk = { ...(await run(findRoots(request))), shown };
  const [error] = (await runUnheard(walk, request)).errors;
  if (error) throw error;
  return tree;
}

/**
 * Returns whether a container has a copy that still has to be placed, because DEST is gone, or is what is left of the one that
 * was being deleted. A DEST that somebody has created since stays.
 */
export async function isHalfway(container: Container, dest: Buffer): Promise<boolean> {
  if (!(await exists(container.ready))) return false;
  const found = await promises.lstat(dest).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  if (!found) return container.hasBegun();
  if (!found.isDirectory() || !(await exists(container.deleting))) return false;
  let isRest = false;
  const look = async () => {
    isRest =
      (await exists(join(dest, container.marker))) ||
      (await promises.readdir(textOrBytes(dest))).length === 0;
  };
  const error = await withAccess([dest], () => errnoOf(look()));
  if (error !== 0) throw failure(error, 'open');
  return isRest;
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

function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

function rename(from: Buffer, to: Buffer): Promise<number> {
  return errnoOf(promises.rename(from, to));
}

/** Returns 0 or a negative errno. */
async function errnoOf(step: Promise<unknown>): Promise<number> {
  return step.then(
    () => 0,
    (error: NodeJS.ErrnoException) => {
      if (error.errno === undefined) throw error;
      return nativeErrno(error);
    },
  );
}

/** Returns an error in the form of Node's own. */
function failure(errno: number, syscall: string): Error {
  return Object.assign(new Error(`${syscall} failed: ${-errno}`), { errno, syscall });
}

/**
 * Takes a step that the modes of directories may deny. Moving one needs write permission in it, because its '..' changes. So
 * directories of the user that deny something to their owner allow it meanwhile.
 */
async function withAccess(
  directories: readonly (Buffer | promises.FileHandle)[],
  step: () => number | Promise<number>,
): Promise<number> {
  const error = await step();
  // Windows checks the modes of files only.
  if (error !== -EACCES || process.platform === 'win32') return error;
  const opened: promises.FileHandle[] = [];
  const restore: (() => Promise<void>)[] = [];
  try {
    for (const directory of directories) {
      const isPath = Buffer.isBuffer(directory);
      const handle = isPath ? await openDirectory(directory) : directory;
      if (!handle) continue;
      if (isPath) opened.push(handle);
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

/** Uses the open directory, because its path may lead to another one meanwhile. */
function changeMode(handle: promises.FileHandle, mode: number): Promise<void> {
  return O_PATH ? promises.chmod(descriptorPath(handle), mode) : handle.chmod(mode);
}

/** Linux: a path that leads to an open directory, wherever that is now. */
function descriptorPath({ fd }: promises.FileHandle): Buffer {
  return Buffer.from(`/proc/self/fd/${fd}`);
}
