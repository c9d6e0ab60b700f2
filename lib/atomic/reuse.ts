/** Reuses files of the old DEST in the new one, so that unchanged files are not written again. */

import { runUnheard } from '../engine/run-engine.js';
import { type CopyError, refuse } from '../errors.js';
import { checkRequest, type Request, withTimes } from '../request/options.js';
import { run } from '../walk/steps.js';
import { existing, findRoots } from '../walk/walk.js';

/** The system calls that create a name of a file of the old DEST, or a clone. */
const reusing = /^link$|clone|duplicate/i;

/**
 * Creates `tree` from the old DEST's files, if there is an old DEST. Returns the request that turns `tree` into
 * SRC: a mirror that compares contents, because the ctimes of new files prove nothing. `shown`: DEST in messages.
 */
export async function reuseOld(
  old: Buffer,
  tree: Buffer,
  request: Request,
  shown: string,
): Promise<Request> {
  const { reuse, preserve, signal, concurrency, fsync } = request;
  if (!reuse) return request;
  // with timestamps, by which the next run detects unchanged files
  const dated = { ...request, preserve: withTimes(preserve) };
  if (!(await run(existing(old, false)))?.isDirectory()) return dated;
  const checked = checkRequest(old, tree, {
    // Without owners, ACLs and xattrs: files created beside would inherit from these ACLs. Without modes: new files get the group
    // that a setgid directory gives.
    preserve: preserve.includes('hardLinks') ? ['timestamps', 'hardLinks'] : ['timestamps'],
    onError: 'continue',
    concurrency,
    fsync: fsync && reuse === 'clone',
    ...(signal && { signal }),
    ...(reuse === 'hardLink' ? { hardLink: true } : { reflink: 'always' }),
  });
  const own = { ...checked, modesFollow: preserve.includes('mode') };
  const { errors, methods, hardLinks } = await runUnheard(await run(findRoots(own)), own);
  // Files that cannot be reused are copied, also those that cannot be read. If the file system refuses all, the option has no
  // effect, which is an error.
  const refused = errors.find(
    // EACCES is about a directory of the old DEST; its files are copied.
    ({ syscall = '', code }) => reusing.test(syscall) && code !== 'EACCES',
  );
  if (refused && methods.clone + hardLinks === 0) {
    const reason = (refused as CopyError).reason ?? refused.code; // its message has paths of the container
    const done = reuse === 'clone' ? 'cloned' : 'hard-linked';
    throw refuse('ERR_FASTCP_NO_REUSE', `no file of it can be ${done}: ${reason}`, shown);
  }
  return {
    ...dated,
    reuses: true,
    sync: true,
    checksum: true,
    mirror: true,
    deleteExcluded: true,
    existingDirectories: true,
  };
}
