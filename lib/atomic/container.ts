/**
 * The directory beside DEST in which an atomic copy is created, and which has the old DEST afterwards. Nobody
 * else may look inside. The process that works in it holds its lock; an unlocked container is left from a
 * killed process.
 */
import { createHash, randomBytes } from 'node:crypto';
import { constants, promises } from 'node:fs';
import { constants as system } from 'node:os';
import { tryLock } from '../bridge/native.js';
import { pause } from '../builtins.js';
import { CopyError } from '../errors/copy-error.js';
import { errorOf } from '../errors/from-engine.js';
import { mkdirOwn, run } from '../io/steps.js';
import { baseName, directoryOf, join, showPath, textOrBytes } from '../paths.js';
import { type Removal, removeTree } from './remove-tree.js';

type FileHandle = promises.FileHandle;

const isWindows = process.platform === 'win32';

/** The file that is locked on Windows, which locks no directories. */
const lockName = Buffer.from('lock');

/** At the end of a container's name. */
const hexDigits = 16;

/**
 * How often fastcp tries to create a container: a process that cleans up may remove it before it is locked. Also how often it
 * tries to remove one: another process may still write there.
 */
const tries = 10;

export class Container {
  readonly path: Buffer;
  /** The copy while it is created; the old DEST after the exchange. */
  readonly tree: Buffer;
  /** The old DEST while the copy is put in its place in two steps. */
  readonly old: Buffer;
  #lock: FileHandle;

  private constructor(path: Buffer, lock: FileHandle) {
    this.path = path;
    this.tree = join(path, Buffer.from('tree'));
    this.old = join(path, Buffer.from('old'));
    this.#lock = lock;
  }

  /** Creates a new container beside `dest`. */
  static async make(dest: Buffer): Promise<Container> {
    for (let left = tries; left > 0; left--) {
      const name = `${prefixFor(dest)}${randomBytes(hexDigits / 2).toString('hex')}`;
      const path = join(directoryOf(dest), Buffer.from(name, 'latin1'));
      await run(mkdirOwn(path));
      const lock = await lockNew(path).catch(async (error) => {
        await removeEmpty(path).catch(() => {}); // the first error is the one to report
        throw error;
      });
      if (lock) return new Container(path, lock);
      await removeEmpty(path);
    }
    const path = showPath(directoryOf(dest));
    const reason =
      'another program removes each directory that is created there, or its owner is unknown (atomic)';
    throw new CopyError('EBUSY', `cannot lock a directory in '${path}': ${reason}`, {
      path,
      reason,
    });
  }

  /** Returns the containers beside `dest` that nobody works in, locked. */
  static async *abandoned(dest: Buffer): AsyncGenerator<Container> {
    const directory = directoryOf(dest);
    const prefix = prefixFor(dest);
    // The directory may be unreadable. Then no container is found.
    const names = await promises.readdir(directory, 'buffer').catch(() => []);
    for (const name of names) {
      const text = name.toString('latin1');
      if (!text.startsWith(prefix) || !/^[0-9a-f]{16}$/.test(text.slice(prefix.length))) continue;
      const path = join(directory, name);
      if (!(await looksLikeOne(path).catch(() => false))) continue;
      const lock = await lockDirectory(path).catch(() => undefined);
      if (lock) yield new Container(path, lock);
    }
  }

  /**
   * Removes the container and everything in it. Rejects if something cannot be removed, and with
   * `signal.reason`; the rest is left to the next run.
   */
  async remove(how?: Removal): Promise<void> {
    if (isWindows) await this.release(); // a file in the directory, which would prevent its removal
    try {
      await this.#removeAll(how);
    } finally {
      if (!isWindows) await this.release();
    }
  }

  /** Another copy, which began before the exchange, may still create entries in the old tree. */
  async #removeAll(how?: Removal): Promise<void> {
    for (let left = tries; left > 1; left--) {
      try {
        await removeTree(this.path, how);
        return;
      } catch (error) {
        if ((error as CopyError).code !== 'ENOTEMPTY') throw error;
      }
      await pause(20);
    }
    await removeTree(this.path, how);
  }

  async release(): Promise<void> {
    await this.#lock.close();
  }
}

/** Locks a container that this process has created. Returns undefined if another process has removed or locked it. */
async function lockNew(path: Buffer): Promise<FileHandle | undefined> {
  try {
    // If umask denies even that. Changes no more than necessary, because chmod() would clear an inherited setgid.
    const { mode } = await promises.lstat(path);
    if ((mode & 0o700) !== 0o700) await promises.chmod(path, mode | 0o700);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  return lockDirectory(path);
}

/**
 * Removes a container without a tree, if it is still there and unused. Rejects if nobody may remove it: in a sticky
 * directory whose entries all show another owner, each further try would leave one more.
 */
async function removeEmpty(path: Buffer): Promise<void> {
  try {
    if (isWindows) await promises.rm(join(path, lockName), { force: true });
    await promises.rmdir(textOrBytes(path));
  } catch (error) {
    const { code = '', errno } = error as NodeJS.ErrnoException;
    if (!['EPERM', 'EACCES'].includes(code)) return; // another process has removed it, or works in it
    // Beside the container, the directory that asks for the owner of new entries may stay as well.
    const shown = `${showPath(path.subarray(0, -hexDigits))}*`;
    const reason = 'entries of this directory cannot be removed (atomic)';
    throw new CopyError(code, `temporary directories '${shown}' stay: ${reason}`, {
      path: shown,
      reason,
      ...(errno && { errno }),
    });
  }
}

/** Returns the prefix of container names for `dest`, bytes as latin1. */
function prefixFor(dest: Buffer): string {
  const name = baseName(dest);
  const long = name.length > 200; // a name has at most 255 bytes
  return `.${long ? createHash('sha256').update(name).digest('hex') : name.toString('latin1')}.fastcp-`;
}

/**
 * Returns whether everything in a directory could be fastcp's. A name alone proves nothing, because a user may
 * have chosen it.
 */
async function looksLikeOne(path: Buffer): Promise<boolean> {
  if (!(await promises.lstat(path)).isDirectory()) return false;
  const names = await promises.readdir(textOrBytes(path), 'latin1');
  return names.every((name) => /^(tree|old|lock)$/.test(name));
}

/**
 * Locks a container. Returns undefined if another process has the lock, or the directory is gone or is no
 * container.
 */
async function lockDirectory(path: Buffer): Promise<FileHandle | undefined> {
  const { O_RDONLY, O_RDWR, O_CREAT, O_DIRECTORY, O_NOFOLLOW } = constants;
  if (!isWindows) return lock(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  // Windows locks no directories. A symlink to one is no container.
  const found = await promises.lstat(path).catch(() => undefined);
  return found?.isDirectory() ? lock(join(path, lockName), O_RDWR | O_CREAT) : undefined;
}

/**
 * Returns the owner that an entry gets beside a container, or undefined if none can be created. Some file systems give
 * all entries one owner (FAT, exFAT, NTFS with `uid=`), or root's another one (NFS). Elsewhere a container of another
 * user has another owner than that. Nothing is created in the container, because that user may swap it for a symlink.
 */
async function ownerOfNewEntry(path: Buffer): Promise<bigint | undefined> {
  // Named as a container, so that the next run removes it if this process is killed.
  const name = Buffer.from(randomBytes(hexDigits / 2).toString('hex'));
  const probe = Buffer.concat([path.subarray(0, -hexDigits), name]);
  try {
    await run(mkdirOwn(probe));
    const { uid } = await promises.lstat(probe, { bigint: true });
    await promises.rmdir(probe).catch((error) => {
      if (error.code !== 'ENOENT') throw error; // another process may have removed it
    });
    return uid;
  } catch {
    return undefined;
  }
}

async function lock(path: Buffer, flags: number): Promise<FileHandle | undefined> {
  const handle = await promises.open(path, flags).catch((error: NodeJS.ErrnoException) => {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(error.code ?? '')) return undefined;
    throw error;
  });
  if (!handle) return undefined;
  let locked = false;
  try {
    const error = tryLock(handle.fd, true);
    if (error === -system.errno.EWOULDBLOCK) return undefined;
    if (error !== 0) throw errorOf({ errno: error, operation: 'flock' }, showPath(path));
    // The previous holder may have removed it before the lock was taken.
    const held = await handle.stat({ bigint: true });
    const named = await promises.lstat(path, { bigint: true }).catch(() => undefined);
    const same = named !== undefined && held.dev === named.dev && held.ino === named.ino;
    const isOwn = (uid: bigint): boolean => uid === BigInt(process.geteuid?.() ?? 0);
    locked = same && (isOwn(held.uid) || held.uid === (await ownerOfNewEntry(path)));
    return locked ? handle : undefined;
  } finally {
    if (!locked) await handle.close();
  }
}
