/** What SRC and DEST have to be for a copy between worktrees. */
import { CopyError, refuse } from '../errors/copy-error.js';
import { Looks, realpath } from '../io/looks.js';
import { join, type ShownPaths } from '../paths.js';
import type { Root } from '../placement/placement.js';
import { fetchNearest } from '../placement/real-paths.js';
import { Git, lacksGit, saidBy } from './git.js';
import { repositoryAround } from './repository.js';
import { textOf } from './verdict.js';

/** Rejects with `ERR_FASTCP_NO_WORKTREE` unless SRC and DEST are the same part of their worktrees. */
export async function refuseUnlessWorktrees(
  { src, dest, kind }: Root,
  shown: ShownPaths,
  signal: AbortSignal | undefined,
): Promise<void> {
  const git = new Git(signal);
  const fail = (why: string): never => {
    throw refuse('ERR_FASTCP_NO_WORKTREE', why, shown.src(src), shown.dest(dest));
  };
  const locate = async (path: Buffer, what: string, hint = '') => {
    const there = await fetchNearest(path, new Looks());
    const part = await git.partOf(there).catch((error: NodeJS.ErrnoException) => {
      signal?.throwIfAborted();
      const said = saidBy(error);
      if (!lacksGit(error)) return fail(`${what} is in no worktree of git: ${said}${hint}`);
      const why = `cannot look for a worktree: ${said}`;
      throw new CopyError('ERR_FASTCP_GIT_UNAVAILABLE', why, { path: shown.src(src) });
    });
    const missing = join(path, Buffer.alloc(0)).subarray(join(there, Buffer.alloc(0)).length);
    const repository = await repositoryAround(await realpath(there));
    const shared = repository && (await realpath(repository.commonDir));
    return { part: part + missing.toString('latin1'), shared };
  };
  if (kind !== 'directory') fail('the source is not a directory');
  const { part: from, shared } = await locate(src, 'the source');
  const hint = "; 'git worktree add' creates one";
  const { part: to, shared: other } = await locate(dest, 'the destination', hint);
  if (!shared || !other?.equals(shared))
    fail('the destination is a worktree of another repository');
  if (from === to) return;
  const nameOf = (part: string): string => (part ? `'${textOf(part.slice(0, -1))}'` : 'the root');
  const must = `the destination must be ${nameOf(from)} of its own, not ${nameOf(to)}`;
  fail(`the source is ${nameOf(from)} of its worktree, so ${must}`);
}
