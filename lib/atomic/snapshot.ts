/**
 * Copies a whole tree in one call if the file system can: a btrfs subvolume, or on macOS a directory of APFS.
 */
import { constants } from 'node:os';
import { checkSnapshot, takeSnapshot as takeNative } from '../bridge/native.js';
import type { Report } from '../bridge/result.js';
import { refuse } from '../errors/copy-error.js';
import { errorOf } from '../errors/from-engine.js';
import { unlessAborted } from '../io/abort.js';
import { existing, Looks, realpath } from '../io/looks.js';
import { baseName, directoryOf } from '../paths.js';
import { mountsWithin } from '../placement/mounts.js';
import type { Placement, Root } from '../placement/placement.js';
import { fetchNearest } from '../placement/real-paths.js';
import { type Request, snapshotObstacle } from '../request/request.js';

/**
 * Takes a snapshot. Returns false if the tree has to be copied entry by entry. Rejects if the user excludes
 * that.
 */
export async function takeSnapshot(
  { roots, shown }: Placement,
  request: Request,
  report: Report,
): Promise<boolean> {
  if (snapshotObstacle(request)) return false;
  const root = roots[0] as Root;
  const [path, dest] = [shown.src(root.src), shown.dest(root.dest)];
  const obstacle = await unlessAborted(request.signal, obstacleAt(root));
  if (obstacle !== undefined) {
    if (request.snapshot === 'auto') return false;
    throw refuse('ERR_FASTCP_NO_SNAPSHOT', `no snapshot: ${obstacle}`, path, dest);
  }
  request.signal?.throwIfAborted();
  if (!request.dryRun) {
    const errno = await takeNative(root.src, directoryOf(root.dest), baseName(root.dest));
    if (errno !== 0 && request.snapshot === 'auto') return false;
    if (errno !== 0) throw errorOf({ errno, operation: 'snapshot' }, path, dest);
  }
  report.snapshots += 1;
  if (request.entries) {
    report.events.push({ type: 'entry', action: 'copy', kind: 'directory', path, dest });
  }
  return true;
}

const { EINVAL, ENOTEMPTY, EOPNOTSUPP, EXDEV } = constants.errno;

const reasons = new Map([
  [-EOPNOTSUPP, 'the file system has none'],
  [-EINVAL, 'the source is not the root of a subvolume (btrfs subvolume create makes one)'],
  [-ENOTEMPTY, 'subvolumes are nested in the source, or volumes mounted'],
  [-EXDEV, 'the destination is on another file system'],
]);

async function obstacleAt({ src, dest, kind }: Root): Promise<string | undefined> {
  if (kind !== 'directory') return 'the source is not a directory';
  if (await existing(dest, false)) return 'the destination exists';
  const there = await fetchNearest(directoryOf(dest), new Looks());
  const errno = checkSnapshot(src, there);
  if (errno !== 0) return reasons.get(errno) ?? errorOf({ errno, operation: 'open' }, '').message;
  const real = await realpath(src);
  const mounted = (await mountsWithin(real)).find((mount) => !mount.equals(real));
  return mounted && `'${mounted}' is mounted in the source`;
}
