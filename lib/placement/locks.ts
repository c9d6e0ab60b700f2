/**
 * Locks the directories of a copy by flock(2), so that copies at the same time do not delete what another one reads or writes: SRC
 * and DEST shared, DEST exclusive for `sync` and `mirror`. All are tried together, and all are released if one of them is busy:
 * nobody waits while holding one, so there is no deadlock. Directories, because jobs in several containers share a volume and
 * nothing else. The engine copies the open directories, wherever the paths lead by then.
 */
import {
  type BigIntStats,
  closeSync,
  constants as flags,
  fstat as systemFstat,
  lstat as systemLstat,
  mkdir as systemMkdir,
  open as systemOpen,
  readdir as systemReaddir,
  readFile as systemReadFile,
  readlink as systemReadlink,
  stat as systemStat,
} from 'node:fs';
import { constants } from 'node:os';
import { promisify } from 'node:util';
import { tryLock } from '../bridge/native.js';
import type { Report } from '../bridge/result.js';
import { pause } from '../builtins.js';
import { refuse } from '../errors/copy-error.js';
import { isMissing } from '../errors/from-node.js';
import { unlessAborted } from '../io/abort.js';
import { now } from '../io/clock.js';
import { identity, isSame } from '../io/look.js';
import { textOrBytes } from '../paths.js';
import type { Request } from '../request/request.js';
import type { Placement, Root } from './placement.js';

const calls = {
  fstat: promisify(systemFstat),
  lstat: promisify(systemLstat),
  mkdir: promisify(systemMkdir),
  open: promisify(systemOpen),
  readdir: promisify(systemReaddir),
  readFile: promisify(systemReadFile),
  readlink: promisify(systemReadlink),
  stat: promisify(systemStat),
};
const bigint = { bigint: true } as const;

/** Has no effect on a directory. By it isLockedOutside() knows the descriptors of copies, in this process and in others. */
const mark = flags.O_NONBLOCK;

/** Each place has a descriptor for as long as the copy runs. */
const mostPlaces = 200;

/** A directory that a copy uses. */
interface LockPlace {
  path: Buffer;
  follow: boolean;
  exclusive: boolean;
  shown: string;
  /** In place of `shown`, what a warning says. */
  what?: string;
  /** Gets the file descriptor for the engine. */
  hold(descriptor: number): void;
  /** DEST, which is created if it is missing. */
  dest?: Root;
  /** A mock of fs has made it up. The engine sees the disk. */
  isMocked?: boolean;
}

interface Held {
  /** With a lock, or under the lock of a program above. */
  descriptor?: number;
  isLocked?: boolean;
  found: BigIntStats;
}

/** A place that another one has locked. Its path may lead to another directory before that one unlocks it. */
interface Busy {
  place: LockPlace;
  descriptor: number;
  found: BigIntStats;
}

/** The locks of this process by directory, and who waits for them: a look again and again would cost each of them time. */
const ours = new Map<string, { held: number; queue: (() => void)[] }>();

type Warned = Pick<Report, 'warn'>;
type How = Pick<Request, 'lock' | 'lockTimeout' | 'signal'>;

export class Locks {
  readonly #places: readonly LockPlace[];
  readonly #how: How;
  readonly #warned: Warned;
  readonly #held = new Map<LockPlace, Held>();

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
      const hold = (descriptor: number) => {
        root.srcHeld = descriptor;
      };
      const { src: path, followSrc: follow } = root;
      return { path, follow, exclusive: false, shown: shown.src(path), hold };
    });
    // An atomic copy and a snapshot create a tree of their own.
    const fills = !dryRun && !atomic && snapshot === 'never';
    for (const root of fills ? directories : []) {
      const hold = (descriptor: number) => {
        root.destHeld = descriptor;
      };
      const { dest: path, followDest: follow } = root;
      const exclusive = sync && shards === 0;
      places.push({ path, follow, exclusive, shown: shown.dest(path), hold, dest: root });
    }
    return new Locks(places, request, warned);
  }

  /** Of the old trees that an atomic copy to `dest` removes. */
  static ofOld(paths: readonly Buffer[], dest: string, how: How, warned: Warned): Locks {
    const what = `the old tree of '${dest}', which has been replaced and is to be deleted`;
    const places = paths.map((path) => {
      return { path, follow: false, exclusive: true, shown: dest, what, hold() {} };
    });
    return new Locks(places, how, warned);
  }

  /** Opens and locks all that exist, and waits for those that are busy. Rejects with `ERR_FASTCP_BUSY` or `signal.reason`. */
  async take(): Promise<void> {
    const { lockTimeout, signal } = this.#how;
    const began = now();
    let isTold = false;
    let busy = await this.#tryAll();
    try {
      for (let wait = 10; busy; wait = Math.min(2 * wait, 100)) {
        const waited = now() - began;
        const { shown: path, what = `'${path}'` } = busy.place;
        if (waited >= lockTimeout * 1000) {
          const why = 'another program or copy has locked it; lock: false copies nevertheless';
          throw refuse('ERR_FASTCP_BUSY', why, path);
        }
        if (!isTold && waited >= 1000) {
          isTold = true;
          const message = `waiting until another program unlocks ${what}; lock: false does not wait`;
          this.#warned.warn({ code: 'WAITING_FOR_LOCK', message, path });
        }
        const { held = 0, queue = [] } = ours.get(identity(busy.found)) ?? {};
        const left = lockTimeout * 1000 - waited;
        if (held > 0) await unlessAborted(signal, turnIn(queue, Math.min(100, left)));
        else await unlessAborted(signal, pause(Math.min(wait, left)));
        if (tryLock(busy.descriptor, busy.place.exclusive, numberOf(busy.found)) !== 0) continue;
        closeSync(busy.descriptor);
        const { place, found }: Busy = busy;
        busy = undefined;
        busy = await this.#tryAll();
        if (!busy && !place.exclusive) ours.get(identity(found))?.queue.shift()?.(); // it may be shared
      }
    } finally {
      if (busy) closeSync(busy.descriptor);
    }
  }

  /** Creates each DEST of `roots` that is missing, and locks it as well. */
  async makeDests(roots: readonly Root[]): Promise<void> {
    for (const place of this.#how.lock ? this.#places : []) {
      const { path, dest } = place;
      if (!dest || !roots.includes(dest) || this.#held.has(place)) continue;
      const isNew = await calls.mkdir(textOrBytes(path), { mode: dest.mode }).then(
        () => true,
        () => false, // the engine reports why, unless another copy has created it
      );
      dest.made = isNew;
      const busy = await this.#try(place);
      if (place.isMocked) dest.made = false;
      if (!busy) continue;
      closeSync(busy.descriptor);
      // The copy that has it may have filled it.
      this.release();
      await this.take();
      for (const { dest: made } of this.#places) if (made) made.made = false;
    }
  }

  /**
   * Rejects if the directory that was copied is not at SRC any more, unless its lock has kept others from changing it. Under a lock,
   * DEST may be elsewhere only if an atomic copy has replaced it, which is then the later one.
   */
  async refuseChanged({ roots, shown }: Placement, request: Request): Promise<void> {
    // These read files of SRC by its path.
    const readsRules =
      request.gitignore || request.onlyIgnored || request.ignoreFileNames.length > 0;
    for (const [{ path, follow, dest }, { found, descriptor }] of this.#held) {
      if (dest ? descriptor === undefined : descriptor !== undefined && !readsRules) continue;
      const named = await look(path, follow);
      if (named && isSame(named, found)) continue;
      if (dest) {
        if (!named?.isDirectory()) continue; // the engine has reported it
        const where = await calls.readlink(`/proc/self/fd/${descriptor}`).catch(() => undefined);
        if (where === undefined || /\.fastcp-[0-9a-f]{16}(\/|$)/.test(where)) continue;
        const moved = 'another program has moved or replaced the destination while it was filled';
        throw refuse('ERR_FASTCP_DEST_CHANGED', moved, shown.src(dest.src), shown.dest(path));
      }
      const to = roots.find(({ src }) => src === path)?.dest;
      const why = 'another directory has taken the place of the source while it was copied';
      throw refuse('ERR_FASTCP_SOURCE_CHANGED', why, shown.src(path), to && shown.dest(to));
    }
  }

  /** Returns the first that is busy, and then holds none. */
  async #tryAll(): Promise<Busy | undefined> {
    for (const place of this.#places) {
      const busy = await this.#try(place);
      if (!busy) continue;
      this.release();
      return busy;
    }
    return undefined;
  }

  /** Returns the directory if it is busy. One that cannot be opened or locked is copied without a lock. */
  async #try(place: LockPlace): Promise<Busy | undefined> {
    const { path, follow, exclusive } = place;
    if (!this.#how.lock) {
      const found = place.dest ? undefined : await look(path, follow).catch(() => undefined);
      if (found?.isDirectory()) this.#held.set(place, { found });
      return undefined;
    }
    const how = flags.O_RDONLY | flags.O_DIRECTORY | mark | (follow ? 0 : flags.O_NOFOLLOW);
    for (;;) {
      const descriptor = await calls.open(path, how).catch(() => undefined);
      if (descriptor === undefined) return undefined;
      let isKept = false;
      try {
        const found = await calls.fstat(descriptor, bigint);
        const error = tryLock(descriptor, exclusive, numberOf(found));
        const isBusy = error === -constants.errno.EWOULDBLOCK;
        if (error === 0) noteLocked(found);
        if (error === -constants.errno.EBADF) place.isMocked = true;
        const isOurs = [...this.#held.values()].some((held) => isSame(held.found, found));
        const isOtherCopy = (ours.get(identity(found))?.held ?? 0) > 0;
        if (isBusy && !isOurs && (isOtherCopy || !(await isLockedOutside(found)))) {
          isKept = true;
          return { place, descriptor, found };
        }
        // Another one may have been put in its place before it was locked.
        const named = await look(path, follow);
        if (!named || !isSame(named, found)) {
          if (error === 0) noteUnlocked(found);
          continue;
        }
        // Without a lock, the engine looks whether DEST stays where it is, and refuseChanged() whether SRC does.
        isKept = error === 0 || isBusy;
        this.#held.set(place, { ...(isKept && { descriptor }), found, isLocked: error === 0 });
        if (isKept) place.hold(descriptor);
        return undefined;
      } finally {
        if (!isKept) closeSync(descriptor);
      }
    }
  }

  release(): void {
    for (const [place, { descriptor, found, isLocked }] of this.#held) {
      if (descriptor === undefined) continue;
      place.hold(-1);
      closeSync(descriptor);
      if (isLocked) noteUnlocked(found);
    }
    this.#held.clear();
  }
}

function noteLocked(found: BigIntStats): void {
  const own = ours.get(identity(found)) ?? { held: 0, queue: [] };
  ours.set(identity(found), own);
  own.held += 1;
}

/** Wakes the next one. */
function noteUnlocked(found: BigIntStats): void {
  const own = ours.get(identity(found));
  if (!own) return;
  own.held -= 1;
  const next = own.queue.shift();
  if (own.held <= 0 && own.queue.length === 0) ours.delete(identity(found));
  next?.();
}

/** Waits for a turn, at most `ms`: whoever was woken before may not have taken the lock, or another process has. */
async function turnIn(queue: (() => void)[], ms: number): Promise<void> {
  let wake = (): void => {};
  const turn = new Promise<void>((resolve) => {
    wake = resolve;
  });
  queue.push(wake);
  await Promise.race([pause(ms), turn]);
  const at = queue.indexOf(wake);
  if (at >= 0) queue.splice(at, 1);
}

/** As has_inode() of the addon takes it. */
function numberOf({ ino }: BigIntStats): number {
  return Number(BigInt.asUintN(32, ino));
}

async function look(path: Buffer, follow: boolean): Promise<BigIntStats | undefined> {
  return calls[follow ? 'stat' : 'lstat'](path, bigint).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
}

/**
 * Linux: returns whether a program that runs this one has locked the directory exclusively, as in `flock DIR fastcp …` and
 * `exec 9<DIR; flock 9; fastcp …`. The descriptor is open in this process, or in one above it.
 */
async function isLockedOutside(found: BigIntStats): Promise<boolean> {
  try {
    for (let pid = process.pid; pid > 0; ) {
      for (const name of await calls.readdir(`/proc/${pid}/fdinfo`).catch(() => [])) {
        const read = calls.readFile(`/proc/${pid}/fdinfo/${name}`, 'latin1');
        const info = await read.catch(() => ''); // closed by now
        if (!/^lock:.* FLOCK .* WRITE /m.test(info)) continue;
        const [, octal = ''] = /^flags:\s+(\d+)/m.exec(info) ?? [];
        if (Number.parseInt(octal, 8) & mark) continue;
        const there = await calls.stat(`/proc/${pid}/fd/${name}`, bigint).catch(() => undefined);
        if (there && isSame(there, found)) return true;
      }
      const stat = await calls.readFile(`/proc/${pid}/stat`, 'latin1');
      pid = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    }
  } catch {} // no procfs, or one that hides processes
  return false;
}
