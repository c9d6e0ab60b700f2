/**
 * Locks the directories of a copy by flock(2), so that copies at the same time do not delete what another one reads or writes: SRC
 * and DEST shared, DEST exclusive for `sync` and `mirror`. All are tried together. If one of them is busy, the copy closes all, gives
 * back its turn and waits: nobody waits while holding one, so there is no deadlock. Directories, because jobs in several containers
 * share a volume and nothing else. The engine copies the open directories, wherever the paths lead by then.
 *
 * What another process has locked stays open in one copy of those that wait for it, without a lock: the path may lead to another
 * directory before that process unlocks it, and only by the descriptor can it be asked for its lock.
 */
import { type BigIntStats, closeSync } from 'node:fs';
import { constants } from 'node:os';
import { tryLock } from '../bridge/native.js';
import type { Report } from '../bridge/result.js';
import { clearTimeout, setTimeout } from '../builtins.js';
import { named } from '../errors/arguments.js';
import { refuse } from '../errors/copy-error.js';
import { unlessAborted } from '../io/abort.js';
import { now } from '../io/clock.js';
import { existing, identity, isSame } from '../io/looks.js';
import type { Request } from '../request/request.js';
import * as line from './line.js';
import { isLockedAbove } from './lock-above.js';
import { type Held, hold, type LockPlace, mostPlaces, openPlace, placesOf } from './lock-places.js';
import type { Placement, Root } from './placement.js';

const { EBADF, EWOULDBLOCK } = constants.errno;

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
  static of(placement: Placement, request: Request, warned: Warned): Locks {
    return new Locks(placesOf(placement, request), request, warned);
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

  /** Returns what is open, and what it was when it was opened. */
  get held(): ReadonlyMap<LockPlace, Held> {
    return this.#held;
  }

  /** Returns the roots whose DEST should be locked, and could not be opened. */
  get withoutDest(): Root[] {
    const missing = this.#places.filter((place) => place.isDest && !this.#held.has(place));
    return missing.flatMap(({ root }) => (root && this.#how.lock ? [root] : []));
  }

  release(): void {
    for (const [place, { descriptor, found, isCounted }] of this.#held) {
      if (descriptor !== undefined) closeSync(descriptor);
      hold(place, -1);
      if (isCounted) this.#count(place, found, -1);
    }
    this.#held.clear();
    line.review();
  }

  /** Opens and locks what it does not have. Returns one that is busy. What cannot be opened or locked is copied without a lock. */
  async #try(looks = 9): Promise<LockPlace | undefined> {
    const wanted = new Map<string, LockPlace>();
    const opened: LockPlace[] = [];
    const left = this.#places.filter((place) => !this.#held.has(place));
    const outcomes = await Promise.allSettled(left.map((at) => openPlace(at, this.#how.lock)));
    for (const [i, place] of left.entries()) {
      const held = outcomes[i]?.status === 'fulfilled' && outcomes[i].value;
      if (!held) continue;
      const isOwn = [...this.#held.values()].some(({ found }) => isSame(found, held.found));
      this.#held.set(place, held);
      if (held.descriptor === undefined) continue;
      opened.push(place);
      if (!isOwn) wanted.set(identity(held.found), place);
    }
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    this.#waiter.wanted = wanted;
    this.#waiter.outside = undefined;
    line.join(this.#waiter);
    if (this.#waiter.busy !== undefined) return wanted.get(this.#waiter.busy);
    const errors = opened.map((place) => this.#lock(place, wanted));
    const there = await Promise.all(opened.map(({ path, follow }) => existing(path, follow)));
    for (const [i, place] of opened.entries()) {
      const { shown, isDest, root } = place;
      const { found, descriptor = -1 } = this.#held.get(place) as Held;
      const id = identity(found);
      const error = errors[i];
      const isBusy = error === -EWOULDBLOCK;
      if (isBusy && wanted.get(id) === place && !(await isLockedAbove(found))) {
        this.#waiter.outside = id;
        this.#held.delete(place);
        this.#outside = { place, descriptor };
        return place;
      }
      // Another one may have been put in its place before it was locked.
      const named = there[i];
      const isThere = named !== undefined && isSame(named, found);
      if (!isThere && looks === 0) {
        const why =
          'it is another directory at every look: its file system gives no lasting inode numbers, or another program replaces it again and again';
        throw refuse('ERR_FASTCP_SOURCE_CHANGED', why, shown);
      }
      if (!isThere) {
        this.release();
        return this.#try(looks - 1);
      }
      if (error === 0 || isBusy) continue;
      // Without a lock, the engine looks whether DEST stays where it is, and refuseChanged() whether SRC does.
      closeSync(descriptor);
      wanted.delete(id);
      this.#held.delete(place);
      if (error !== -EBADF) this.#held.set(place, { found });
      else if (isDest && root) root.made = false; // a mock of fs has made it up
    }
    for (const place of opened) {
      const held = this.#held.get(place);
      if (held?.descriptor === undefined) continue;
      hold(place, held.descriptor);
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

  #count({ exclusive }: LockPlace, found: BigIntStats, by: 1 | -1): void {
    line.count(identity(found), by, exclusive, this.#how.turn?.callsUser ?? false);
  }

  /** It may have the lock for a moment afterwards if this returns false. */
  #isBusy(): boolean {
    if (this.#waiter.busy !== undefined || !this.#outside) return this.#waiter.busy !== undefined;
    return tryLock(this.#outside.descriptor, this.#outside.place.exclusive) !== 0;
  }

  /** Throws at the limit, and warns once after a second. */
  #tell({ shown: path, what = `'${path}'` }: LockPlace, waited: number): void {
    if (waited >= this.#how.lockTimeout * 1000) {
      const why = `another program or copy has locked it; ${named('lock', false)} copies nevertheless`;
      throw refuse('ERR_FASTCP_BUSY', why, path);
    }
    if (this.#isTold || waited < 1000) return;
    this.#isTold = true;
    const message = `waiting until another program unlocks ${what}; ${named('lock', false)} does not wait`;
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
