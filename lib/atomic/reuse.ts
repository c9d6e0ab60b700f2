/** Reuses files of the old DEST in the new one, so that unchanged files are not written again. */

import { runUnheard } from '../engine/run-engine.js';
import { type CopyError, refuse } from '../errors.js';
import { checkRequest, type Request, withTimes } from '../request/options.js';
import type { CopyOptions, CopyResult, EntryKind, Filter } from '../types.js';
import { run } from '../walk/steps.js';
import { existing, findRoots } from '../walk/walk.js';
import { removeTree } from './remove-tree.js';

/** The system calls that create a name of a file of the old DEST, or a clone. */
const reuses = /^link$|clone|duplicate/i;

function isReused(kind: EntryKind): boolean {
  return kind === 'file' || kind === 'directory' || kind === 'symlink';
}

async function copyOld(old: Buffer, tree: Buffer, how: CopyOptions): Promise<CopyResult> {
  const own = checkRequest(old, tree, how);
  return runUnheard(await run(findRoots(own)), own);
}

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
  const { reuse, preserve, signal } = request;
  if (!reuse) return request;
  // with timestamps, by which the next run detects unchanged files
  const dated = { ...request, preserve: withTimes(preserve) };
  if (!(await run(existing(old, false)))?.isDirectory()) return dated;
  const how: CopyOptions = {
    // Without owners, ACLs and xattrs: files created beside would inherit from these ACLs.
    preserve: ['mode', 'timestamps', 'hardLinks'],
    onError: 'continue',
    ...(signal && { signal }),
    ...(reuse === 'hardLink' ? { hardLink: true } : { reflink: 'always' }),
  };
  let { errors, methods, hardLinks, special } = await copyOld(old, tree, how);
  if (special > 0) {
    // They stand in the way of SRC's entries, because a copy replaces none. Few trees have any.
    await removeTree(tree);
    const filter: Filter = (_src, _dest, { kind }) => isReused(kind);
    ({ errors, methods, hardLinks } = await copyOld(old, tree, { ...how, filter }));
  }
  // Files that cannot be reused are copied, also those that cannot be read. If the file system refuses all, the option has no
  // effect, which is an error.
  const refused = errors.find(({ syscall = '' }) => reuses.test(syscall));
  if (refused && methods.clone + hardLinks === 0) {
    const reason = (refused as CopyError).reason ?? refused.code; // its message has paths of the container
    const done = reuse === 'clone' ? 'cloned' : 'hard-linked';
    throw refuse('ERR_FASTCP_NO_REUSE', `no file of it can be ${done}: ${reason}`, shown);
  }
  return {
    ...dated,
    stripAttributes: reuse === 'hardLink', // such a link has the attributes of the old file
    sync: true,
    checksum: true,
    mirror: true,
    deleteExcluded: true,
    existingDirectories: true,
  };
}
