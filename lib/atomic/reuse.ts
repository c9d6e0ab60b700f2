/** Files of the old DEST in the new one: what is the same need not be written again. */

import { runUnheard } from '../engine/run-engine.js';
import { refuse } from '../errors.js';
import { checkRequest, type Request, withTimes } from '../request/options.js';
import { run } from '../walk/steps.js';
import { existing, findRoots } from '../walk/walk.js';

/**
 * Makes `tree` of the old one's files where there is an old one, and returns what turns it into what SRC is:
 * a mirror by contents, since the times of change of what was just made prove nothing.
 */
export async function reuseOld(old: Buffer, tree: Buffer, request: Request): Promise<Request> {
  const { reuse, preserve, signal } = request;
  if (!reuse) return request;
  const dated = { ...request, preserve: withTimes(preserve) }; // by which the next run knows what is the same
  if (!(await run(existing(old, false)))?.isDirectory()) return dated;
  const own = checkRequest(old, tree, {
    // Not its owners, ACLs and xattrs: files that are made beside would inherit from its ACLs.
    preserve: ['mode', 'timestamps', 'hardLinks'],
    onError: 'continue',
    ...(signal && { signal }),
    ...(reuse === 'hardLink' ? { hardLink: true } : { reflink: 'always' }),
  });
  const { errors, files, hardLinks } = await runUnheard(await run(findRoots(own)), own);
  const [error] = errors;
  // What cannot be reused is copied; where nothing can be, that was not what was asked for.
  if (error && files + hardLinks === 0) {
    const why = `nothing of it can be reused (${reuse}): ${error.message}`;
    throw refuse('ERR_FASTCP_NO_REUSE', why, old.toString());
  }
  return {
    ...dated,
    stripAttributes: true, // one more name of an old file has what the file has
    sync: true,
    checksum: true,
    mirror: true,
    deleteExcluded: true,
    existingDirectories: true,
  };
}
