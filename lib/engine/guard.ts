/** Checks that need the selection: DEST within SRC, and a mirror of another repository. */
import { refuse } from '../errors.js';
import type { Request } from '../request/options.js';
import { join } from '../walk/paths.js';
import { run } from '../walk/steps.js';
import { existing, type Walk } from '../walk/walk.js';
import type { Answers } from './answers.js';

/** The directories of version control in the root of a repository. */
const repositories = ['.git', '.hg', '.svn'];

/**
 * Rejects with `ERR_FS_CP_EINVAL` if a root's DEST lies within its SRC and is not excluded. Rejects
 * with `ERR_FASTCP_DEST_PROTECTED` if a mirror would delete a repository that SRC does not have.
 */
export async function refuseBySelection(
  { roots, shown }: Walk,
  answers: Answers,
  request: Request,
): Promise<void> {
  for (const root of roots) {
    const [src, dest] = [shown.src(root.src), shown.dest(root.dest)];
    if (root.inside && !(await answers.isExcluded(root, root.inside))) {
      const why = 'the destination is inside the source; exclude it to copy everything else';
      throw refuse('ERR_FS_CP_EINVAL', why, src, dest);
    }
    const deletes = (request.mirror || request.atomic) && !request.compares;
    if (!deletes || root.kind !== 'directory') continue;
    const keepsExcluded = request.mirror && !request.deleteExcluded;
    for (const name of repositories.map((one) => Buffer.from(one))) {
      const isLost =
        (await isThere(join(root.dest, name))) &&
        !(await run(existing(join(root.src, name), false))) &&
        !(keepsExcluded && (await answers.isExcluded(root, [name])));
      if (!isLost) continue;
      const remedy = request.mirror ? `exclude '${name}' to keep it` : `remove '${name}' first`;
      const why = `this would delete the repository of the destination; ${remedy}`;
      throw refuse('ERR_FASTCP_DEST_PROTECTED', why, src, dest);
    }
  }
}

/** A directory whose mode keeps its owner out is opened up later, if at all. */
async function isThere(path: Buffer): Promise<boolean> {
  try {
    return (await run(existing(path, false))) !== undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return false;
    throw error;
  }
}
