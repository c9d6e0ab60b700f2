/**
 * With `atomic`, DEST is replaced as a whole. The copy is created under a hidden name beside DEST (hidden.ts), and put in its place
 * in one step. A process killed at any moment leaves the old DEST or the new one.
 *
 *   parent/DEST                           the old one   │ exchange │  the new one
 *   parent/.DEST.fastcp-<hex>             the copy      │ <──────> │  the old one, until it has its name
 *   parent/.DEST.fastcp-<hex>.old                       │          │  the old one, removed next
 *
 * The next copy to the same DEST removes what a killed process has left.
 */
import { constants as flags, promises } from 'node:fs';
import { constants } from 'node:os';
import { isNativeError } from 'node:util/types';
import type { Report } from '../bridge/result.js';
import { named } from '../errors/arguments.js';
import { CopyError, refuse } from '../errors/copy-error.js';
import { errorOf } from '../errors/from-engine.js';
import { unlessAborted } from '../io/abort.js';
import { existing } from '../io/looks.js';
import { directoryOf, join, showPath, temporaryName, trimSlashes } from '../paths.js';
import { Locks } from '../placement/locks.js';
import { type Placement, type Root, redirect } from '../placement/placement.js';
import { type Request, selects } from '../request/request.js';
import { Hidden } from './hidden.js';
import { canExchange, exists, Halfway, placeAtOnce, placeInSteps, rename } from './place.js';
import type { Removal } from './remove-tree.js';
import { findTarget, refuseTarget } from './target.js';

interface How {
  report: Report;
  /** Copies as the request says, to the place that the placement says. */
  copy(placement: Placement, request: Request): Promise<void>;
  /** Rejects if a repository in DEST would be deleted. */
  checkRepositories(): Promise<void>;
  /** Of SRC. */
  locks: Locks;
}

/** Returns why DEST itself cannot be moved, although there is room beside it. */
function whyUnmovable(errno: number): string {
  if (errno === -constants.errno.EPERM)
    return ': the destination cannot be moved: it is immutable, or another user owns it in a sticky directory';
  return errno === -constants.errno.EXDEV
    ? `: the destination cannot be moved; ${named('mirror')} changes it in place`
    : '';
}

/** Replaces DEST with a copy of one root. If the copy has any error, DEST stays as it was. */
export class Replacement {
  readonly #root: Root;
  /** SRC and DEST, for messages. */
  readonly #paths: readonly [string, string];

  constructor(
    private readonly placement: Placement,
    private readonly request: Request,
    private readonly how: How,
  ) {
    const { roots, shown } = placement;
    this.#root = roots[0] as Root;
    this.#paths = [shown.src(this.#root.src), shown.dest(this.#root.dest)];
  }

  async run(): Promise<void> {
    const { request, how } = this;
    const { report, locks } = how;
    report.replaced = false;
    if (request.dryRun) return await this.#plan();
    const target = await this.#findTarget();
    request.signal?.throwIfAborted();
    const hidden = await this.#own(Hidden.make(target));
    let keepsOld = false;
    try {
      keepsOld = await this.#own(this.#removeLeft(hidden, target));
      await this.#own(this.#refuseExchange(hidden, target));
      await this.#copyTo(hidden.tree, target);
      if (report.result.errorCount > 0) return;
      if (this.#selectsNothing()) await this.#refuseEmptyTree(target);
      await this.#refuseTarget(target); // somebody may have changed DEST since
      await unlessAborted(request.signal, how.checkRepositories()); // its errors are also the user's
      if (!request.preserve.includes('mode')) await this.#own(keepPrivate(hidden.tree, target));
      report.replaced = await this.#own(this.#place(hidden, target));
    } finally {
      locks.release(); // nobody waits while holding one
      // If the old DEST was moved away and the new one is not in its place, the user needs both.
      const isHalfway = !report.replaced && (await exists(hidden.old).catch(() => true));
      if (isHalfway) await hidden.release();
      else await this.#removeUnread(hidden);
    }
    if (keepsOld && report.replaced) await this.#removeLeft(hidden, target);
  }

  async #plan(): Promise<void> {
    const dest = trimSlashes(this.#root.dest);
    const parent = directoryOf(dest);
    const target = (await this.#own(exists(parent))) ? await this.#findTarget() : dest;
    // Plans a new tree under a name that does not exist, because the real run also creates one.
    await this.#copyTo(join(parent, temporaryName()), target);
    if (this.#selectsNothing()) await this.#refuseEmptyTree(dest);
  }

  #copyTo(tree: Buffer, replaces: Buffer): Promise<void> {
    const { placement, request, how } = this;
    // Another user may have put a symlink there.
    const root = { ...this.#root, followDest: false };
    return how.copy(redirect(placement, root, tree), { ...request, replaces });
  }

  async #findTarget(): Promise<Buffer> {
    const target = await this.#own(unlessAborted(this.request.signal, findTarget(this.#root)));
    await this.#refuseTarget(target);
    return target;
  }

  async #refuseTarget(target: Buffer): Promise<void> {
    const { placement, request } = this;
    const refused = refuseTarget(this.#root, target, placement.shown);
    await this.#own(unlessAborted(request.signal, refused));
  }

  /** Removes what killed copies to DEST have left. While there is no DEST, an old one stays. Returns whether one does. */
  async #removeLeft(hidden: Hidden, target: Buffer): Promise<boolean> {
    const isThere = await exists(target);
    let stays = false;
    for await (const left of hidden.abandoned()) {
      if (isThere || !(await exists(left.old).catch(() => true))) {
        await this.#removeUnread(left, 0, this.request.signal);
      } else {
        stays = true;
        await left.release();
      }
    }
    return stays;
  }

  /**
   * Removes hidden trees when no other copy reads or writes the old DEST any more. If that takes longer than `lockTimeout`, the
   * next copy to DEST removes them.
   */
  async #removeUnread(
    hidden: Hidden,
    lockTimeout = this.request.lockTimeout,
    signal?: AbortSignal,
  ): Promise<void> {
    const { src, dest } = this.#root;
    const how = { ...this.request, lockTimeout };
    const old = [hidden.tree, hidden.old];
    const locks = Locks.ofOld(old, showPath(dest), how, this.how.report);
    try {
      await locks.take();
      // A bind mount may have brought SRC into the old DEST.
      await this.#remove(hidden, { signal, spared: src });
    } catch (error) {
      await hidden.release();
      const isBusy = error instanceof CopyError && error.code === 'ERR_FASTCP_BUSY';
      if (!isBusy || lockTimeout > 0) {
        const why = isBusy ? 'another program uses it' : 'the copy was stopped';
        const later = `the next atomic copy to '${showPath(dest)}' removes it`;
        await this.#warnOfLeft(hidden, `, because ${why}; ${later}`);
      }
      if (!isBusy) throw error;
    } finally {
      locks.release();
    }
  }

  /** Converts the errors of a step. The reason of an abort is the user's, as are the errors of the copy itself. */
  #own<T>(step: Promise<T>): Promise<T> {
    const { signal } = this.request;
    return step.catch((error: unknown) => {
      throw signal?.aborted && error === signal.reason ? error : this.#inOwnWords(error);
    });
  }

  #selectsNothing(): boolean {
    const { isEmpty, result } = this.how.report;
    return selects(this.request) && isEmpty && result.errorCount === 0;
  }

  /** A selection that selects nothing is a mistake: an empty tree must not take the place of DEST. */
  async #refuseEmptyTree(target: Buffer): Promise<void> {
    if (!(await exists(target))) return;
    const why = 'nothing is selected, so an empty tree would replace the destination';
    throw refuse('ERR_FASTCP_DEST_PROTECTED', why, ...this.#paths);
  }

  /** A new DEST, and one that is no directory, need no exchange. */
  async #refuseExchange(hidden: Hidden, target: Buffer): Promise<void> {
    const isNeeded = this.#root.kind === 'directory' && this.request.atomic !== 'two-step';
    if (isNeeded && (await exists(target)) && !(await canExchange(hidden)))
      throw this.#noExchange('the file system cannot exchange two directories');
  }

  async #place(hidden: Hidden, target: Buffer): Promise<boolean> {
    const { atomic, signal } = this.request;
    const { tree } = hidden;
    const { kind } = this.#root;
    if (!(await exists(tree))) {
      if (kind === 'socket') return false; // it was not copied
      const why = `another program has removed the new tree, '${showPath(tree)}'`;
      throw refuse('ENOENT', why, ...this.#paths);
    }
    // After this moment an abort no longer leaves DEST as it was.
    signal?.throwIfAborted();
    let errno = await (kind === 'directory' ? placeAtOnce(hidden, target) : rename(tree, target));
    if (errno === -constants.errno.EINVAL) {
      if (atomic !== 'two-step')
        throw this.#noExchange('the file system cannot exchange the destination for a new one');
      errno = await placeInSteps(hidden, target);
    }
    if (errno === 0) return true;
    const why = whyUnmovable(errno);
    throw errorOf({ errno, operation: 'rename' }, ...this.#paths, why);
  }

  #noExchange(why: string): CopyError {
    const instead = `${why}; ${named('atomic', 'two-step')} replaces it in two steps`;
    return refuse('ERR_FASTCP_NO_EXCHANGE', instead, ...this.#paths);
  }

  /** Warns if something cannot be removed. Rejects only with `signal.reason`. */
  async #remove(hidden: Hidden, how: Removal): Promise<void> {
    try {
      await hidden.remove(how);
    } catch (error) {
      how.signal?.throwIfAborted();
      await this.#warnOfLeft(hidden, `: ${(error as Error).message}`);
    }
  }

  async #warnOfLeft({ tree, old, lock }: Hidden, why: string): Promise<void> {
    const isOld = await exists(old).catch(() => true);
    const isTree = await exists(tree).catch(() => true);
    const path = showPath(isOld ? old : isTree ? tree : lock);
    const message = `not removed: '${path}', left of an atomic copy${why}`;
    this.how.report.warn({ code: 'STAGING_LEFT', message, path });
  }

  /** Converts Node's errors to fastcp's, with DEST in place of hidden paths. */
  #inOwnWords(error: unknown): unknown {
    if (error instanceof Halfway) {
      const { reason } = errorOf({ errno: error.errno, operation: 'rename' }, ...this.#paths);
      const where = `'${showPath(error.hidden.old)}' is the old tree and '${showPath(error.hidden.tree)}' the new one`;
      const why = `${reason}, after the old tree was moved away. ${where}: move one back, or copy again; the next atomic copy removes both when its own tree is in place`;
      return refuse('ERR_FASTCP_HALFWAY', why, ...this.#paths);
    }
    if (!isNativeError(error) || error instanceof CopyError) return error;
    const { errno, syscall } = error as NodeJS.ErrnoException;
    if (errno === undefined || syscall === undefined) return error;
    return errorOf({ errno, operation: syscall }, ...this.#paths);
  }
}

/** Without modes, the new tree gets no right that the old DEST denied. */
async function keepPrivate(tree: Buffer, target: Buffer): Promise<void> {
  const old = await existing(target, false);
  if (!old?.isDirectory()) return;
  const handle = await promises.open(tree, flags.O_DIRECTORY | flags.O_NOFOLLOW);
  try {
    const mode = (await handle.stat()).mode & 0o7777;
    const kept = mode & (Number(old.mode) | 0o7000);
    if (kept !== mode) await handle.chmod(kept);
  } finally {
    await handle.close();
  }
}
