/**
 * Locks the directories of a copy by flock(2), so that copies at the same time do not delete what another one reads or writes: SRC
 * and DEST shared, DEST exclusive for `sync` and `mirror`. All are tried together. If one of them is busy, the copy closes all, gives
 * back its turn and waits: nobody waits while holding one, so there is no deadlock. Directories, because jobs in several containers
 * share a volume and nothing else. The engine copies the open directories, wherever the paths lead by then.
 *
 * What another process has locked stays open in one copy of those that wait for it, without a lock: the path may lead to another
 * directory before that process unlocks it, and only by the descriptor can it be asked for its lock.
 */
import { type BigIntStats, closeSync, constants as flags, fstat, open, readlink } from 'node:fs';
import { constants } from 'node:os';
import { promisify } from 'node:util';
import { tryLock } from '../bridge/native.js';
import type { Report } from '../bridge/result.js';
import { clearTimeout, setTimeout } from '../builtins.js';
import { refuse } from '../errors/copy-error.js';
import { asCopyError, codeOf } from '../errors/from-node.js';
import { unlessAborted } from '../io/abort.js';
import { now } from '../io/clock.js';
import { existing, identity, isSame } from '../io/look.js';
import { mkdir, run } from '../io/steps.js';
import type { Request } from '../request/request.js';
import type { ErrorCode } from '../types.js';
import * as line from './line.js';
import { isLockedAbove, mark } from './lock-above.js';
import type { Placement, Root } from './placement.js';

const calls = { fstat: promisify(fstat), open: promisify(open), readlink: promisify(readlink) };
const { EBADF, EWOULDBLOCK } = constants.errno;

/** Each place has a descriptor for as long as the copy runs. */
const mostPlaces = 200;

const bigint = { bigint: true } as const;

const sourceChanged: readonly [ErrorCode, string] = [
  'ERR_FASTCP_SOURCE_CHANGED',
  'another directory has taken the place of the source while it was copied',
];
const destChanged: readonly [ErrorCode, string] = [
  'ERR_FASTCP_DEST_CHANGED',
  'another program has moved or replaced the destination while it was filled',
];

const notLasting: readonly [ErrorCode, string] = [
  'ERR_FASTCP_SOURCE_CHANGED',
  'it is another directory at every look: its file system gives no lasting inode numbers, or another program replaces it again and again',
];

/** A directory that a copy uses. */
interface LockPlace {
  path: Buffer;
  follow: boolean;
  exclusive: boolean;
  shown: string;
  /** In place of `shown`, what a warning says. */
  what?: string;
  /** Has the file descriptor for the engine. */
  root?: Root;
  isDest?: boolean;
}

interface Held {
  found: BigIntStats;
  /** With a lock, or under the lock of a program above. */
  descriptor?: number;
  isCounted?: boolean;
}

type Warned = Pick<Report, 'warn'>;
type How = Pick<Request, 'lock' | 'lockTimeout' | 'signal' | 'turn'>;

export class Locks {
  readonly #places: readonly LockPlace[];
  readonly #how: How;
  readonly #warned: Warned;
  readonly #held = new Map<LockPlace, Held>();
  readonly #waiter: line.Waiter = { number: line.nextNumber(), wanted: new Map(), wake() {} };
  #isTold = false;
  /** What another process has locked. */
  #outside: { place: LockPlace; descriptor: number } | undefined;

  private constructor(places: readonly LockPlace[], how: How, warned: Warned) {
    const isTooMany = places.length > mostPlaces;
    this.#places = process.platform === 'win32' || isTooMany ? [] : places;
    this.#how = how;
    this.#warned = warned;
  }

  /** Of all SRCs that are directories, and of their places in DEST. Without effect before take(). */
  static of({ roots, shown }: Placement, request: Request, warned: Warned): Locks {
    const { like, dryRun, atomic, snapshot, sync, shards } = request;
    const directories = like === 'fastcp' ? roots.filter(({ kind }) => kind === 'directory') : [];
    const places = directories.map((root): LockPlace => {
      const { src: path, followSrc: follow } = root;
      return { path, follow, exclusive: false, shown: shown.src(path), root };
    });
    // An atomic copy and a snapshot create a tree of their own.
    const fills = !dryRun && !atomic && snapshot === 'never';
    for (const root of fills ? directories : []) {
      const { dest: path, followDest: follow } = root;
      const exclusive = sync && shards === 0;
      places.push({ path, follow, exclusive, shown: shown.dest(path), root, isDest: true });
    }
    return new Locks(places, request, warned);
  }

  /** Of the old trees that an atomic copy to `dest` removes. */
  static ofOld(paths: readonly Buffer[], dest: string, how: How, warned: Warned): Locks {
    const what = `the old tree of '${dest}', which has been replaced and is to be deleted`;
    const old = { follow: false, exclusive: true, shown: dest, what };
    const places = paths.map((path) => ({ ...old, path }));
    return new Locks(places, how, warned);
  }

  /**
   * Takes a turn, opens and locks all that exist, and waits while one is busy. Returns whether it had to wait, and so has released
   * what it had. Rejects with `ERR_FASTCP_BUSY`, `signal.reason`, or `EMFILE`.
   */
  async take(): Promise<boolean> {
    const { signal, turn } = this.#how;
    const began = now();
    let isTaken = false;
    try {
      for (let hasWaited = false; ; hasWaited = true) {
        await turn?.take(signal);
        const busy = await this.#try();
        isTaken = !busy;
        if (!busy) return hasWaited;
        this.release();
        turn?.end();
        for (let wait = 10; this.#isBusy(); wait = Math.min(2 * wait, 100)) {
          const waited = now() - began;
          this.#tell(busy, waited);
          await unlessAborted(signal, this.#sleep(this.#outside ? wait : 500, waited));
        }
        this.#wakeUp();
      }
    } finally {
      this.#wakeUp();
      if (!isTaken) this.release();
      line.leave(this.#waiter);
    }
  }

  /** Creates each DEST of `roots` that is missing, and locks it as well. `mode`: of a new one. */
  async makeDests(roots: readonly Root[], mode: number): Promise<void> {
    const missing = this.#places.filter(
      (place) => place.isDest && place.root && roots.includes(place.root) && !this.#held.has(place),
    );
    if (!this.#how.lock || missing.length === 0) return;
    for (const { path, root } of missing as Required<LockPlace>[]) {
      root.made = await run(mkdir(path, { mode })).then(
        () => true,
        () => false, // the engine reports why, unless another copy has created it
      );
    }
    // The copy that had it may have filled it.
    if (await this.take()) for (const { root } of missing) if (root) root.made = false;
  }

  /**
   * Rejects if the directory that was copied is not at SRC any more, unless its lock has kept others from changing it. Under a lock,
   * DEST may be elsewhere only if an atomic copy has replaced it, which is then the later one.
   */
  async refuseChanged({ shown }: Placement, request: Request): Promise<void> {
    const { gitignore, onlyIgnored, ignoreFileNames } = request;
    const readsRules = gitignore || onlyIgnored || ignoreFileNames.length > 0; // by SRC's path
    for (const [{ path, follow, root, isDest }, { found, descriptor }] of this.#held) {
      if (!root || (isDest ? descriptor === undefined : descriptor !== undefined && !readsRules))
        continue;
      const named = await run(existing(path, follow));
      // Some file systems give a directory another number at each look.
      if (named && (isSame(named, found) || named.ctimeNs === found.ctimeNs)) continue;
      if (descriptor !== undefined && !isSame(await calls.fstat(descriptor, bigint), found))
        continue;
      let [code, why] = sourceChanged;
      if (isDest) {
        if (!named?.isDirectory()) continue; // the engine has reported it
        const where = await calls.readlink(`/proc/self/fd/${descriptor}`).catch(() => undefined);
        if (where === undefined || /\.fastcp-[0-9a-f]{16}(\/|$)/.test(where)) continue;
        [code, why] = destChanged;
      }
      throw refuse(code, why, shown.src(root.src), shown.dest(root.dest));
    }
  }

  release(): void {
    for (const [place, { descriptor, found, isCounted }] of this.#held) {
      if (descriptor !== undefined) closeSync(descriptor);
      this.#hold(place, -1);
      if (isCounted) this.#count(place, found, -1);
    }
    this.#held.clear();
    line.review();
  }

  /** Opens and locks what it does not have. Returns one that is busy. What cannot be opened or locked is copied without a lock. */
  async #try(looks = 9): Promise<LockPlace | undefined> {
    const wanted = new Map<string, LockPlace>();
    const opened: LockPlace[] = [];
    for (const place of this.#places) {
      if (this.#held.has(place)) continue;
      const held = await this.#open(place);
      if (!held) continue;
      const isOwn = [...this.#held.values()].some(({ found }) => isSame(found, held.found));
      this.#held.set(place, held);
      if (held.descriptor === undefined) continue;
      opened.push(place);
      if (!isOwn) wanted.set(identity(held.found), place);
    }
    this.#waiter.wanted = wanted;
    this.#waiter.outside = undefined;
    line.join(this.#waiter);
    if (this.#waiter.busy !== undefined) return wanted.get(this.#waiter.busy);
    const errors = opened.map((place) => this.#lock(place, wanted));
    for (const [i, place] of opened.entries()) {
      const { path, follow, shown, isDest, root } = place;
      const { found, descriptor = -1 } = this.#held.get(place) as Held;
      const id = identity(found);
      const error = errors[i];
      const isOther = error === -EBADF; // a mock of fs has made the descriptor up
      const isBusy = error === -EWOULDBLOCK;
      if (isBusy && wanted.get(id) === place && !(await isLockedAbove(found))) {
        this.#waiter.outside = id;
        this.#held.delete(place);
        this.#outside = { place, descriptor };
        return place;
      }
      // Another one may have been put in its place before it was locked.
      const named = await run(existing(path, follow));
      const isThere = named !== undefined && isSame(named, found);
      if (!isThere && looks === 0) throw refuse(...notLasting, shown);
      if (!isThere) {
        this.release();
        return this.#try(looks - 1);
      }
      if (error === 0 || isBusy) continue;
      // Without a lock, the engine looks whether DEST stays where it is, and refuseChanged() whether SRC does.
      closeSync(descriptor);
      wanted.delete(id);
      this.#held.delete(place);
      if (!isOther) this.#held.set(place, { found });
      else if (isDest && root) root.made = false;
    }
    for (const place of opened) {
      const held = this.#held.get(place);
      if (held?.descriptor === undefined) continue;
      this.#hold(place, held.descriptor);
      held.isCounted = true;
      this.#count(place, held.found, 1);
    }
    return undefined;
  }

  /** Locks an open directory. If another process has, the other copies wait until this one knows whether that is a program above. */
  #lock(place: LockPlace, wanted: ReadonlyMap<string, LockPlace>): number {
    const { found, descriptor = -1 } = this.#held.get(place) as Held;
    const error = tryLock(descriptor, place.exclusive, Number(BigInt.asUintN(32, found.ino)));
    const id = identity(found);
    if (error === -EWOULDBLOCK && wanted.get(id) === place) this.#waiter.outside ??= id;
    return error;
  }

  async #open({ path, follow, shown, isDest }: LockPlace): Promise<Held | undefined> {
    if (!this.#how.lock) {
      const found = isDest ? undefined : await run(existing(path, follow)).catch(() => undefined);
      return found?.isDirectory() ? { found } : undefined;
    }
    const how = flags.O_RDONLY | flags.O_DIRECTORY | mark | (follow ? 0 : flags.O_NOFOLLOW);
    const descriptor = await calls.open(path, how).catch((error: unknown) => {
      if (/^E[MN]FILE$/.test(codeOf(error) ?? '')) throw asCopyError(error, shown);
    });
    if (descriptor === undefined) return undefined;
    try {
      return { found: await calls.fstat(descriptor, bigint), descriptor };
    } catch (error) {
      closeSync(descriptor);
      throw asCopyError(error, shown);
    }
  }

  #hold({ root, isDest }: LockPlace, descriptor: number): void {
    if (root) root[isDest ? 'destHeld' : 'srcHeld'] = descriptor;
  }

  #count({ exclusive }: LockPlace, found: BigIntStats, by: 1 | -1): void {
    line.count(identity(found), by, exclusive, this.#how.turn?.callsUser ?? false);
  }

  #isBusy(): boolean {
    if (this.#waiter.busy !== undefined) return true;
    if (!this.#outside) return false;
    const { place, descriptor } = this.#outside;
    return tryLock(descriptor, place.exclusive) !== 0;
  }

  /** Throws at the limit, and warns once after a second. */
  #tell({ shown: path, what = `'${path}'` }: LockPlace, waited: number): void {
    if (waited >= this.#how.lockTimeout * 1000) {
      const why =
        'another program or copy has locked it; lock: false (--no-lock) copies nevertheless';
      throw refuse('ERR_FASTCP_BUSY', why, path);
    }
    if (this.#isTold || waited < 1000) return;
    this.#isTold = true;
    const message = `waiting until another program unlocks ${what}; lock: false (--no-lock) does not wait`;
    this.#warned.warn({ code: 'WAITING_FOR_LOCK', message, path });
  }

  /** Waits until it is woken, at most `ms` and to the limit. */
  #sleep(ms: number, waited: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.min(ms, this.#how.lockTimeout * 1000 - waited));
      this.#waiter.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Ends a wait. */
  #wakeUp(): void {
    this.#waiter.wake();
    this.#waiter.outside = undefined;
    if (this.#outside) closeSync(this.#outside.descriptor);
    this.#outside = undefined;
  }
}
