/** Reuses files of the old DEST in the new one, so that unchanged files are not written again. */

import { runUnheard } from '../engine/run-engine.js';
import { refuse } from '../errors.js';
import { checkRequest, type Request, withTimes } from '../request/options.js';
import { run } from '../walk/steps.js';
import { existing, findRoots } from '../walk/walk.js';

/**
 * Creates `tree` from the old DEST's files, if there is an old DEST. Returns the request that turns `tree` into
 * SRC: a mirror that compares contents, because the ctimes of new files prove nothing.
 */
export async function reuseOld(old: Buffer, tree: Buffer, request: Request): Promise<Request> {
  const { reuse, preserve, signal } = request;
  if (!reuse) return request;
  // with timestamps, by which the next run detects unchanged files
  const dated = { ...request, preserve: withTimes(preserve) };
  if (!(await run(existing(old, false)))?.isDirectory()) return dated;
  const own = checkRequest(old, tree, {
    // Without owners, ACLs and xattrs: files created beside would inherit from these ACLs.
    preserve: ['mode', 'timestamps', 'hardLinks'],
    onError: 'continue',
    ...(signal && { signal }),
    ...(reuse === 'hardLink' ? { hardLink: true } : { reflink: 'always' }),
  });
  const { errors, files, hardLinks } = await runUnheard(await run(findRoots(own)), own);
  const [error] = errors;
  // Files that cannot be reused are copied. If none can be reused, the option has no effect, which is an error.
  if (error && files + hardLinks === 0) {
    const why = `nothing of it can be reused (${reuse}): ${error.message}`;
    throw refuse('ERR_FASTCP_NO_REUSE', why, old.toString());
  }
  return {
    ...dated,
    stripAttributes: true, // a hard link to an old file has the attributes of that file
    sync: true,
    checksum: true,
    mirror: true,
    deleteExcluded: true,
    existingDirectories: true,
  };
}
