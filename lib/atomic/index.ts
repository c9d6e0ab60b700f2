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
import { errorOf, lossWarning } from '../errors/from-engine.js';
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

interface How {
  report: Report;
  /** Copies as the request says, to the place that the placement says. */
  copy(placement: Placement, request: Request): Promise<void>;
  /** Rejects if a repository in DEST would be deleted. */
  checkRepositories(): Promise<void>;
  /** Of SRC. */
  locks: Locks;
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
    const keepsOld = await this.#own(this.#removeLeft(target));
    const container = await this.#own(this.#prepare(target));
    try {
      await this.#copyTo(container.tree, target);
      if (report.result.errorCount > 0) return;
      if (this.#selectsNothing()) await this.#refuseEmptyTree(target);
      await this.#refuseTarget(target); // somebody may have changed DEST since
      await unlessAborted(request.signal, how.checkRepositories()); // its errors are also the user's
      if (!request.preserve.includes('mode')) await this.#own(keepPrivate(container.tree, target));
      report.replaced = await this.#own(this.#place(container, target));
      if (!report.replaced) return;
      const lost = this.#keepTimes(target);
      if (lost && request.strict) report.fail(lost);
      else if (lost) report.warn(lossWarning('timestamps', 1, lost));
    } finally {
      locks.release(); // nobody waits while holding one
      // If the old DEST was moved away and the new one is not in its place, the user needs both.
      const isHalfway = !report.replaced && (await exists(container.old).catch(() => true));
      if (isHalfway) await container.release();
      else await this.#removeUnread(container);
    }
    if (keepsOld) await this.#removeLeft(target);
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
    return how.copy(redirect(placement, this.#root, tree), { ...request, replaces });
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

  /**
   * Removes what killed copies to DEST have left. While there is no DEST, a container with the old one stays. Returns whether one does.
   */
  async #removeLeft(target: Buffer): Promise<boolean> {
    const isThere = await exists(target);
    let stays = false;
    for await (const container of Container.abandoned(target)) {
      if (isThere || !(await exists(container.old).catch(() => true))) {
        await this.#removeUnread(container, 0, this.request.signal);
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
  async #removeUnread(
    container: Container,
    lockTimeout = this.request.lockTimeout,
    signal?: AbortSignal,
  ): Promise<void> {
    const { src, dest } = this.#root;
    const how = { ...this.request, lockTimeout };
    const old = [container.tree, container.old];
    const locks = Locks.ofOld(old, showPath(dest), how, this.how.report);
    try {
      await locks.take();
      // A bind mount may have brought SRC into the old DEST.
      await this.#remove(container, { signal, spared: src });
    } catch (error) {
      await container.release();
      const isBusy = error instanceof CopyError && error.code === 'ERR_FASTCP_BUSY';
      if (!isBusy || lockTimeout > 0) {
        const why = isBusy ? 'another program uses it' : 'the copy was stopped';
        const later = `the next atomic copy to '${showPath(dest)}' removes it`;
        this.#warnOfLeft(container, `, because ${why}; ${later}`);
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

  async #prepare(target: Buffer): Promise<Container> {
    const { atomic, signal } = this.request;
    signal?.throwIfAborted();
    const container = await Container.make(target);
    try {
      if (atomic === 'two-step' || (await canExchange(container))) return container;
      throw this.#noExchange('the file system cannot exchange two directories');
    } catch (error) {
      await this.#remove(container);
      throw error;
    }
  }

  async #place(container: Container, target: Buffer): Promise<boolean> {
    const { atomic, signal } = this.request;
    if (!(await exists(container.tree))) {
      if (this.#root.kind === 'socket') return false; // it was not copied
      const why = `another program has removed the new tree, '${showPath(container.tree)}'`;
      throw refuse('ENOENT', why, ...this.#paths);
    }
    // After this moment an abort no longer leaves DEST as it was.
    signal?.throwIfAborted();
    let errno = await placeAtOnce(container, target);
    if (errno === -constants.errno.EINVAL) {
      if (atomic !== 'two-step')
        throw this.#noExchange('the file system cannot exchange the destination for a new one');
      errno = await placeInSteps(container, target);
    }
    if (errno === 0) return true;
    throw errorOf({ errno, operation: 'rename' }, ...this.#paths, cannotMove.get(errno));
  }

  /**
   * Sets the timestamps of DEST again, because XFS changes them when a directory moves to another directory.
   * Returns an error if that fails.
   */
  #keepTimes(target: Buffer): CopyError | undefined {
    const { src, followSrc, kind, srcHeld = -1 } = this.#root;
    if (kind !== 'directory' || !this.request.preserve.includes('timestamps')) return undefined;
    // Another directory may be at SRC's path by now.
    const opened = process.platform === 'linux' ? srcHeld : -1;
    const errno =
      opened < 0
        ? copyTimes(src, target, followSrc)
        : copyTimes(Buffer.from(`/proc/self/fd/${opened}`), target, true);
    return errno === 0 ? undefined : errorOf({ errno, operation: 'utimensat' }, ...this.#paths);
  }

  #noExchange(why: string): CopyError {
    const instead = `${why}; atomic 'two-step' (--atomic=two-step) replaces it in two steps`;
    return refuse('ERR_FASTCP_NO_EXCHANGE', instead, ...this.#paths);
  }

  /** Warns if something cannot be removed. Rejects only with `signal.reason`. */
  async #remove(container: Container, how: Removal = {}): Promise<void> {
    try {
      await container.remove(how);
    } catch (error) {
      how.signal?.throwIfAborted();
      this.#warnOfLeft(container, `: ${(error as Error).message}`);
    }
  }

  #warnOfLeft({ path: bytes }: Container, why: string): void {
    const path = showPath(bytes);
    const message = `not removed: '${path}', left of an atomic copy${why}`;
    this.how.report.warn({ code: 'STAGING_LEFT', message, path });
  }

  /** Converts Node's errors to fastcp's, with DEST in place of paths in the container. */
  #inOwnWords(error: unknown): unknown {
    if (error instanceof Halfway) {
      const { reason } = errorOf({ errno: error.errno, operation: 'rename' }, ...this.#paths);
      const where = `'${showPath(error.container)}' has the old tree and the new one`;
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
  const [now, old] = await Promise.all([tree, target].map((path) => run(existing(path, false))));
  if (!now?.isDirectory() || !old?.isDirectory()) return;
  const mode = Number(now.mode) & 0o7777;
  const kept = mode & (Number(old.mode) | 0o7000);
  if (kept !== mode) await promises.chmod(textOrBytes(tree), kept);
}
