/** Finds the target of an atomic copy, and refuses targets that must not be replaced. */
import { constants } from 'node:os';
import { isAppendOnly } from '../bridge/native.js';
import { type CopyError, refuse } from '../errors/copy-error.js';
import { errorOf } from '../errors/from-engine.js';
import { unlessMissing } from '../errors/from-node.js';
import { Looks, lstat, realpath } from '../io/looks.js';
import { baseName, directoryOf, join, type ShownPaths } from '../paths.js';
import { mountsWithin } from '../placement/mounts.js';
import type { Root } from '../placement/placement.js';
import { fetchChain, isAtOrBelow } from '../placement/real-paths.js';
import type { ErrorCode } from '../types.js';

/** Returns DEST's own path: without symlinks on the way, and with a name at its end. */
export async function findTarget({ dest }: Root): Promise<Buffer> {
  const name = baseName(dest);
  if (['', '.', '..'].includes(name.toString())) return await realpath(dest);
  return join(await realpath(directoryOf(dest)), name);
}

/**
 * Throws if DEST must not be replaced. Called before anything is copied, and again before the copy is placed.
 */
export async function refuseTarget(root: Root, target: Buffer, shown: ShownPaths): Promise<void> {
  const [path, dest] = [shown.src(root.src), shown.dest(root.dest)];
  const no = (code: ErrorCode, why: string): CopyError => refuse(code, why, path, dest);
  const [mounted] = await mountsWithin(target);
  if (mounted?.equals(target)) {
    throw no('ERR_FASTCP_MOUNT_POINT', 'a mount point cannot be replaced (atomic)');
  }
  if (mounted) {
    const why = `'${mounted}' is mounted in the directory to be replaced (atomic)`;
    throw no('ERR_FASTCP_MOUNT_POINT', why);
  }
  if (isAppendOnly(directoryOf(target))) {
    throw errorOf({ errno: -constants.errno.EPERM, operation: 'append-only' }, path, dest);
  }
  const there = await lstat(target).catch(unlessMissing);
  if (!there) return;
  if (there.isSymbolicLink()) {
    const why =
      'the destination is a symlink, which an atomic copy does not replace: name its target';
    throw no('ERR_FASTCP_DEST_IS_LINK', why);
  }
  if (!there.isFile() && !there.isDirectory()) {
    const what = there.isFIFO() ? 'fifo' : there.isSocket() ? 'socket' : 'device';
    throw errorOf({ errno: -constants.errno.EEXIST, operation: `${what} in dest` }, path, dest);
  }
  if (root.kind === 'directory' && !there.isDirectory()) {
    throw no('ERR_FS_CP_DIR_TO_NON_DIR', 'the destination is not a directory');
  }
  if (root.kind !== 'directory' && there.isDirectory()) {
    throw no('ERR_FS_CP_NON_DIR_TO_DIR', 'the destination is a directory');
  }
  if (isAppendOnly(target)) {
    throw no(
      'ERR_FASTCP_APPEND_ONLY',
      'the destination is append-only, so it cannot be moved (atomic)',
    );
  }
  const kept = root.followSrc ? root.src : directoryOf(root.src);
  const looks = new Looks();
  await fetchChain(kept, looks);
  if (isAtOrBelow(kept, there, looks)) {
    throw no('ERR_FS_CP_EINVAL', 'cannot replace a directory that the source is in (atomic)');
  }
}
