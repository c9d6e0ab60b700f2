/**
 * The hidden entries beside DEST by which an atomic copy replaces it:
 *
 *   .DEST.fastcp-<hex>        the new tree, until it is DEST
 *   .DEST.fastcp-<hex>.old    the old one, until it is deleted; kept while there is no DEST
 *   .DEST.fastcp-<hex>.lock   locked by the process that works with the two
 *
 * All are in DEST's directory, because a sandbox may forbid renames between two directories. The lock is a file of its own: trees
 * change their names and owners, may be files or snapshots, and Windows locks no directories. It is created first and deleted
 * last, so trees beside an unlocked one are left from a killed process, and trees without one are not fastcp's.
 */
import { createHash, randomBytes } from 'node:crypto';
import { constants as flags, promises } from 'node:fs';
import { constants } from 'node:os';
import { tryLock } from '../bridge/native.js';
import { pause } from '../builtins.js';
import { CopyError } from '../errors/copy-error.js';
import { errorOf } from '../errors/from-engine.js';
import { baseName, directoryOf, join, showPath } from '../paths.js';
import { type Removal, removeTree } from './remove-tree.js';

/**
 * How often fastcp tries to lock a new file, which a process that cleans up may lock and remove first. Also how often it tries to
 * remove a tree, in which another process may still create entries.
 */
const tries = 10;

export class Hidden {
  readonly tree: Buffer;
  readonly old: Buffer;
  readonly lock: Buffer;

  private constructor(
    private readonly dest: Buffer,
    hex: string,
    private readonly handle: promises.FileHandle,
    /** Of the lock file. Some file systems show one owner for all entries, or another one than root for root's. */
    private readonly owner: number,
  ) {
    this.tree = beside(dest, `.fastcp-${hex}`);
    this.old = beside(dest, `.fastcp-${hex}.old`);
    this.lock = lockOf(dest, hex);
  }

  /** Takes new names beside `dest`. */
  static async make(dest: Buffer): Promise<Hidden> {
    for (let left = tries; left > 0; left--) {
      const hex = randomBytes(8).toString('hex');
      const made = await Hidden.#take(dest, hex, flags.O_CREAT | flags.O_EXCL);
      if (made) return made;
    }
    const path = showPath(directoryOf(dest));
    const reason = 'another program locks or removes each file that is created there (atomic)';
    throw new CopyError('EBUSY', `cannot lock a file in '${path}': ${reason}`, { path, reason });
  }

  /** Returns what killed processes of the same user have left beside the same DEST, locked. */
  async *abandoned(): AsyncGenerator<Hidden> {
    const start = baseName(beside(this.dest, '.fastcp-')).toString('latin1');
    // The directory may be unreadable. Then nothing is found.
    const names = await promises.readdir(directoryOf(this.dest), 'buffer').catch(() => []);
    for (const name of names) {
      const text = name.toString('latin1');
      const [, hex] = /^([0-9a-f]{16})\.lock$/.exec(text.slice(start.length)) ?? [];
      if (!text.startsWith(start) || !hex) continue;
      const found = await Hidden.#take(this.dest, hex).catch(() => undefined);
      if (found?.owner === this.owner) yield found;
      else await found?.release();
    }
  }

  /** Returns undefined if another process has locked or removed the lock file. */
  static async #take(dest: Buffer, hex: string, how = 0): Promise<Hidden | undefined> {
    const path = lockOf(dest, hex);
    const safe = flags.O_RDWR | (flags.O_NOFOLLOW ?? 0) | (flags.O_NONBLOCK ?? 0);
    const handle = await promises.open(path, safe | how, 0o600);
    let taken: Hidden | undefined;
    try {
      const error = tryLock(handle.fd, true);
      if (error === -constants.errno.EWOULDBLOCK) return undefined;
      if (error !== 0) {
        if (how & flags.O_CREAT) await promises.unlink(path); // nobody could ever lock it
        throw errorOf({ errno: error, operation: 'flock' }, showPath(path));
      }
      const found = await handle.stat();
      if (found.isFile() && found.nlink > 0) taken = new Hidden(dest, hex, handle, found.uid);
      return taken;
    } finally {
      if (!taken) await handle.close();
    }
  }

  /** Removes everything. Rejects if something cannot be removed, and with `signal.reason`; the rest is left to the next run. */
  async remove(how: Removal = {}): Promise<void> {
    try {
      for (const path of [this.tree, this.old]) await emptied(path, how);
      await removeTree(this.lock);
    } finally {
      await this.release();
    }
  }

  async release(): Promise<void> {
    await this.handle.close();
  }
}

/** Removes a tree, in which another copy, which began before the exchange, may still create entries. */
async function emptied(path: Buffer, how: Removal): Promise<void> {
  for (let left = tries; left > 1; left--) {
    try {
      return await removeTree(path, how);
    } catch (error) {
      if ((error as CopyError).code !== 'ENOTEMPTY') throw error;
    }
    await pause(20);
  }
  await removeTree(path, how);
}

function lockOf(dest: Buffer, hex: string): Buffer {
  return beside(dest, `.fastcp-${hex}.lock`);
}

function beside(dest: Buffer, end: string): Buffer {
  const name = baseName(dest);
  const isLong = name.length > 200; // a name has at most 255 bytes
  const start = isLong ? Buffer.from(createHash('sha256').update(name).digest('hex')) : name;
  return join(directoryOf(dest), Buffer.concat([Buffer.from('.'), start, Buffer.from(end)]));
}
