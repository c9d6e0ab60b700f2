/**
 * With `atomic`, DEST is replaced as a whole. The copy is created in a container beside DEST, and put in its place in
 * one step. A process killed at any moment leaves the old DEST or the new one.
 *
 *   parent/DEST                              the old one      │ exchange │  the new one
 *   parent/.DEST.fastcp-<random>/tree        the copy         │ <──────> │  the old one, removed next
 *
 * The next copy to the same DEST removes the container of a killed process.
 */
import { promises } from 'node:fs';
import { constants } from 'node:os';
import { isNativeError } from 'node:util/types';
import { copyTimes } from '../bridge/native.js';
import type { Report } from '../bridge/result.js';
import { CopyError, refuse } from '../errors/copy-error.js';
import { errorOf } from '../errors/from-engine.js';
import { lossWarning } from '../errors/warnings.js';
import { unlessAborted } from '../io/abort.js';
import { existing } from '../io/look.js';
import { run } from '../io/steps.js';
import { directoryOf, join, showPath, temporaryName, textOrBytes, trimSlashes } from '../paths.js';
import { Locks } from '../placement/locks.js';
import { type Placement, type Root, redirect } from '../placement/placement.js';
import { type Request, selects } from '../request/request.js';

import { Container } from './container.js';
import { canExchange, exists, Halfway, placeAtOnce, placeInSteps } from './place.js';
import type { Removal } from './remove-tree.js';
import { findTarget, refuseTarget } from './target.js';

interface Replacing {
  report: Report;
  /** Copies as the request says, to the place that the placement says. */
  copy(placement: Placement, request: Request): Promise<void>;
  /** Rejects if a repository in DEST would be deleted. */
  checkRepositories(): Promise<void>;
  /** Of SRC. */
  locks: Locks;
}

/** Replaces DEST with a copy of one root. If the copy has any error, DEST stays as it was. */
export async function replaceWhole(
  placement: Placement,
  request: Request,
  { report, copy, checkRepositories, locks }: Replacing,
): Promise<void> {
  report.replaced = false;
  const root = placement.roots[0] as Root;
  const { signal } = request;
  // Excludes errors of copy(): they are the user's.
  const own = ownWords(root, placement, request);
  if (request.dryRun) {
    const dest = trimSlashes(root.dest);
    const parent = directoryOf(dest);
    let replaces = dest;
    if (await own(exists(parent))) {
      replaces = await own(unlessAborted(signal, findTarget(root)));
      await own(unlessAborted(signal, refuseTarget(root, replaces, placement.shown)));
    }
    // Plans a new tree under a name that does not exist, because the real run also creates one.
    await copy(redirect(placement, root, join(parent, temporaryName())), { ...request, replaces });
    if (selectsNothing(request, report)) await refuseEmptyTree(dest, root, placement);
    return;
  }
  const target = await own(unlessAborted(signal, findTarget(root)));
  await own(unlessAborted(signal, refuseTarget(root, target, placement.shown)));
  const keepsOld = await own(removeLeft(target, report, request, root));
  const container = await own(prepare(target, root, placement, request, report));
  try {
    await copy(redirect(placement, root, container.tree), { ...request, replaces: target });
    if (report.result.errorCount > 0) return;
    if (selectsNothing(request, report)) await refuseEmptyTree(target, root, placement);
    // Somebody may have changed DEST meanwhile.
    await own(unlessAborted(signal, refuseTarget(root, target, placement.shown)));
    await unlessAborted(signal, checkRepositories()); // its errors are the user's, too
    if (!request.preserve.includes('mode')) await own(keepPrivate(container.tree, target));
    report.replaced = await own(place(container, target, root, placement, request));
    if (!report.replaced) return;
    const lost = keepTimes(root, target, request, placement);
    if (lost && request.strict) {
      report.fail(lost);
    } else if (lost) {
      report.warn(lossWarning('timestamps', 1, lost));
    }
  } finally {
    locks.release(); // nobody waits while holding one
    // If the old DEST was moved away and the new one is not in its place, the user needs both.
    const isHalfway = !report.replaced && (await exists(container.old).catch(() => true));
    if (isHalfway) await container.release();
    else await removeUnread(container, report, request, root);
  }
  if (keepsOld) await removeLeft(target, report, request, root);
}

/**
 * Removes what killed copies to DEST have left. While there is no DEST, a container with the old one stays. Returns whether one does.
 */
async function removeLeft(
  target: Buffer,
  report: Report,
  request: Request,
  root: Root,
): Promise<boolean> {
  const isThere = await exists(target);
  let stays = false;
  for await (const container of Container.abandoned(target)) {
    if (isThere || !(await exists(container.old).catch(() => true))) {
      await removeUnread(container, report, { ...request, lockTimeout: 0 }, root, request.signal);
    } else {
      stays = true;
      await container.release();
    }
  }
  return stays;
}

/**
 * Removes a container when no other copy reads or writes the old DEST in it any more. If that takes longer than `lockTimeout`, the
 * next copy to DEST removes it.
 */
async function removeUnread(
  container: Container,
  report: Report,
  request: Request,
  { src, dest }: Root,
  signal?: AbortSignal,
): Promise<void> {
  const locks = Locks.ofOld([container.tree, container.old], showPath(dest), request, report);
  try {
    await locks.take();
    // A bind mount may have brought SRC into the old DEST.
    await remove(container, report, { signal, spared: src });
  } catch (error) {
    await container.release();
    const isBusy = error instanceof CopyError && error.code === 'ERR_FASTCP_BUSY';
    if (!isBusy || request.lockTimeout > 0) {
      const why = isBusy ? 'another program uses it' : 'the copy was stopped';
      warnOfLeft(
        container,
        `, because ${why}; the next atomic copy to '${showPath(dest)}' removes it`,
        report,
      );
    }
    if (!isBusy) throw error;
  } finally {
    locks.release();
  }
}

/** Converts the errors of a step. The reason of an abort is the user's. */
function ownWords(root: Root, placement: Placement, { signal }: Request) {
  return <T>(step: Promise<T>): Promise<T> =>
    step.catch((error: unknown) => {
      throw signal?.aborted && error === signal.reason ? error : inOwnWords(error, root, placement);
    });
}

function selectsNothing(request: Request, { isEmpty, result }: Report): boolean {
  return selects(request) && isEmpty && result.errorCount === 0;
}

/** A selection that selects nothing is a mistake: an empty tree must not take the place of DEST. */
async function refuseEmptyTree(
  target: Buffer,
  { src, dest }: Root,
  { shown }: Placement,
): Promise<void> {
  if (!(await exists(target))) return;
  const why = 'nothing is selected, so an empty tree would replace the destination';
  throw refuse('ERR_FASTCP_DEST_PROTECTED', why, shown.src(src), shown.dest(dest));
}

async function prepare(
  target: Buffer,
  root: Root,
  placement: Placement,
  { atomic, signal }: Request,
  report: Report,
): Promise<Container> {
  signal?.throwIfAborted();
  const container = await Container.make(target);
  try {
    if (atomic === 'two-step' || (await canExchange(container))) return container;
    throw noExchange(root, placement, 'the file system cannot exchange two directories');
  } catch (error) {
    await remove(container, report);
    throw error;
  }
}

/** Without modes, the new tree gets no right that the old DEST denied. */
async function keepPrivate(tree: Buffer, target: Buffer): Promise<void> {
  const [now, old] = await Promise.all([tree, target].map((path) => run(existing(path, false))));
  if (!now?.isDirectory() || !old?.isDirectory()) return;
  const mode = Number(now.mode) & 0o7777;
  const kept = mode & (Number(old.mode) | 0o7000);
  if (kept !== mode) await promises.chmod(textOrBytes(tree), kept);
}

/** Why DEST itself cannot be moved, although there is room beside it. */
const cannotMove = new Map([
  [-constants.errno.EACCES, ': moving the destination needs write permission in it'],
  [
    -constants.errno.EPERM,
    ': the destination cannot be moved: it is immutable, or another user owns it in a sticky directory',
  ],
  [
    -constants.errno.EXDEV,
    ': the destination comes from a lower layer of an overlay, and cannot be moved; mirror (--mirror) changes it in place',
  ],
]);

async function place(
  container: Container,
  target: Buffer,
  root: Root,
  placement: Placement,
  { atomic, signal }: Request,
): Promise<boolean> {
  if (!(await exists(container.tree))) {
    if (root.kind === 'socket') return false; // it was not copied
    const why = `another program has removed the new tree, '${showPath(container.tree)}'`;
    throw refuse('ENOENT', why, placement.shown.src(root.src), placement.shown.dest(root.dest));
  }
  // After this moment an abort no longer leaves DEST as it was.
  signal?.throwIfAborted();
  let errno = await placeAtOnce(container, target);
  if (errno === -constants.errno.EINVAL) {
    if (atomic !== 'two-step') {
      throw noExchange(
        root,
        placement,
        'the file system cannot exchange the destination for a new one',
      );
    }
    errno = await placeInSteps(container, target);
  }
  if (errno === 0) return true;
  const [path, dest] = [placement.shown.src(root.src), placement.shown.dest(root.dest)];
  throw errorOf({ errno, operation: 'rename' }, path, dest, cannotMove.get(errno));
}

/**
 * Sets the timestamps of DEST again, because XFS changes them when a directory moves to another directory.
 * Returns an error if that fails.
 */
function keepTimes(
  { src, dest, followSrc, kind, srcHeld = -1 }: Root,
  target: Buffer,
  { preserve }: Request,
  { shown }: Placement,
): CopyError | undefined {
  if (kind !== 'directory' || !preserve.includes('timestamps')) return undefined;
  // Another directory may be at SRC's path by now.
  const opened = process.platform === 'linux' ? srcHeld : -1;
  const errno =
    opened < 0
      ? copyTimes(src, target, followSrc)
      : copyTimes(Buffer.from(`/proc/self/fd/${opened}`), target, true);
  if (errno === 0) return undefined;
  return errorOf({ errno, operation: 'utimensat' }, shown.src(src), shown.dest(dest));
}

function noExchange({ src, dest }: Root, { shown }: Placement, why: string): CopyError {
  const instead = `${why}; atomic 'two-step' (--atomic=two-step) replaces it in two steps`;
  return refuse('ERR_FASTCP_NO_EXCHANGE', instead, shown.src(src), shown.dest(dest));
}

/** Warns if something cannot be removed. Rejects only with `signal.reason`. */
async function remove(container: Container, report: Report, how: Removal = {}): Promise<void> {
  try {
    await container.remove(how);
  } catch (error) {
    how.signal?.throwIfAborted();
    warnOfLeft(container, `: ${(error as Error).message}`, report);
  }
}

function warnOfLeft({ path: bytes }: Container, why: string, report: Report): void {
  const path = showPath(bytes);
  const message = `not removed: '${path}', left of an atomic copy${why}`;
  report.warn({ code: 'STAGING_LEFT', message, path });
}

/** Converts Node's errors to fastcp's, with DEST in place of paths in the container. */
function inOwnWords(error: unknown, root: Root, placement: Placement): unknown {
  const { src, dest } = root;
  const { shown } = placement;
  const [path, to] = [shown.src(src), shown.dest(dest)];
  if (error instanceof Halfway) {
    const { reason } = errorOf({ errno: error.errno, operation: 'rename' }, path, to);
    const where = `'${showPath(error.container)}' has the old tree and the new one`;
    const why = `${reason}, after the old tree was moved away. ${where}: move one back, or copy again; the next atomic copy removes both when its own tree is in place`;
    return refuse('ERR_FASTCP_HALFWAY', why, path, to);
  }
  if (!isNativeError(error) || error instanceof CopyError) return error;
  const { errno, syscall } = error as NodeJS.ErrnoException;
  if (errno === undefined || syscall === undefined) return error;
  return errorOf({ errno, operation: syscall }, path, to);
}
