/** Creates missing parents of DEST, and makes their names durable. */

import { refuse } from '../errors/copy-error.js';
import { asCopyError, codeOf } from '../errors/from-node.js';
import { existing, isDangling } from '../io/look.js';
import { mkdir, type Steps, statAgain, syncDirectory } from '../io/steps.js';
import { directoryOf, isRoot, join, namesFrom, trimSlashes } from '../paths.js';
import type { Request } from '../request/request.js';
import type { Placement } from './placement.js';
import { nearest } from './real-paths.js';

/**
 * Creates missing parents of DEST if the user wants that. Always creates a directory named by a slash, or for
 * several sources. Returns the nearest directory that existed.
 */
export function* makeParents(placement: Placement, request: Request): Steps<Buffer> {
  const { shown } = placement;
  const { parents, dryRun } = request;
  const needed = parentOf(placement, request);
  const parent = directoryOf(request.dest);
  const src = shown.src(request.sources[0] ?? needed);
  const found = yield* existing(needed, true, shown.dest);
  if (found?.isDirectory()) return needed;
  if (found || (yield* isDangling(needed))) {
    const why = `'${shown.dest(needed)}' is ${found ? 'not a directory' : 'a symlink to nothing'}`;
    throw refuse('ERR_FS_CP_DIR_TO_NON_DIR', why, src, shown.dest(request.dest));
  }
  if (!parents && !(yield* existing(parent, true))) {
    const why = `the parent directory '${shown.dest(parent)}' does not exist`;
    throw refuse('ENOENT', why, src, shown.dest(request.dest));
  }
  const there = yield* nearest(directoryOf(needed));
  if (dryRun) return there;
  let at = there;
  // One by one, because Node's recursive form hides why the first one cannot be created.
  for (const name of namesFrom(there, needed)) {
    at = join(at, name);
    try {
      yield* mkdir(at, {});
    } catch (error) {
      // Another program may have created it since the look.
      const isThere = codeOf(error) === 'EEXIST' && (yield* statAgain(at)).isDirectory();
      if (!isThere) throw asCopyError(error, shown.dest(at));
    }
  }
  return there;
}

/**
 * Makes names durable that the engine does not see: those of the roots, and of directories created above them.
 * `there` is the result of makeParents().
 */
export function* syncParents(placement: Placement, request: Request, there: Buffer): Steps<void> {
  for (let at = parentOf(placement, request); ; at = directoryOf(at)) {
    try {
      yield* syncDirectory(at);
    } catch (error) {
      // The directory may be unreadable, or its file system may not support that.
      const isExpected = ['EACCES', 'EINVAL', 'EPERM'].includes(codeOf(error) ?? '');
      if (!isExpected) throw asCopyError(error, placement.shown.dest(at));
    }
    if (at.equals(there) || isRoot(at)) return;
  }
}

/** Returns the directory that has the roots. */
function parentOf({ into }: Placement, request: Request): Buffer {
  const dest = trimSlashes(request.dest);
  return into ? dest : directoryOf(dest);
}
