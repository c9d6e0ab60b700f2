/**
 * Looks at entries, which may be missing. Plain functions look at a table, and synchronously at what it does not have, which takes
 * a few microseconds. An asynchronous copy fills the table first: an awaited look takes 50 to 100 us, but many can be awaited at
 * once, and a mount that hangs, or that this process itself serves, does not stop the event loop.
 */
// By name: in CommonJS `* as fs` calls every getter, also that of fs.promises, whose loading takes milliseconds.
import {
  type BigIntStats,
  lstatSync,
  readdirSync,
  realpathSync,
  statSync,
  lstat as systemLstat,
  readdir as systemReaddir,
  realpath as systemRealpath,
  stat as systemStat,
} from 'node:fs';
import { promisify } from 'node:util';
import { asCopyError, codeOf, isMissing } from '../errors/from-node.js';
import { fromSystem, type ShownPaths, showPath } from '../paths.js';

interface Outcomes {
  lstat: BigIntStats;
  stat: BigIntStats;
  realpath: Buffer;
  readdir: Buffer[];
}
type Call = keyof Outcomes;
type Outcome = { value: unknown } | { thrown: unknown };

const bigint = { bigint: true } as const;
const calls = {
  lstat: promisify(systemLstat),
  stat: promisify(systemStat),
  readdir: promisify(systemReaddir),
};

const now: { [C in Call]: (path: Buffer) => Outcomes[C] } = {
  lstat: (path) => lstatSync(path, bigint),
  stat: (path) => statSync(path, bigint),
  realpath: (path) => asBytes(realpathSync.native(path, 'buffer')),
  readdir: (path) => readdirSync(path, 'buffer'),
};

const later: { [C in Call]: (path: Buffer) => Promise<Outcomes[C]> } = {
  lstat: (path) => calls.lstat(path, bigint),
  stat: (path) => calls.stat(path, bigint),
  realpath: (path) =>
    new Promise((resolve, reject) => {
      systemRealpath.native(path, 'buffer', (error, real) =>
        error ? reject(error) : resolve(asBytes(real)),
      );
    }),
  readdir: (path) => calls.readdir(path, 'buffer'),
};

/** Yarn's Plug'n'Play replaces fs, and always returns text. */
function asBytes(real: Buffer | string): Buffer {
  return fromSystem(typeof real === 'string' ? Buffer.from(real) : real);
}

/** Outcomes of looks, also errors. They do not expire: a new table is needed when other code may have changed files. */
export class Looks {
  readonly #known = new Map<string, Outcome>();
  readonly #asked = new Map<string, Promise<void>>();

  /** Looks once, so that the table has the outcome. Resolves with undefined if that is an error. */
  async fetch<C extends Call>(call: C, path: Buffer): Promise<Outcomes[C] | undefined> {
    const key = keyOf(call, path);
    let look = this.#asked.get(key);
    if (!look) {
      look = later[call](path).then(
        (value) => void this.#known.set(key, { value }),
        (thrown: unknown) => void this.#known.set(key, { thrown }),
      );
      this.#asked.set(key, look);
    }
    await look;
    const known = this.#known.get(key);
    return known && 'value' in known ? (known.value as Outcomes[C]) : undefined;
  }

  /** Looks at an entry, and where it leads. Resolves with the latter, or undefined. */
  async fetchEntry(path: Buffer): Promise<BigIntStats | undefined> {
    const entry = await this.fetch('lstat', path);
    return entry?.isSymbolicLink() ? this.fetch('stat', path) : entry;
  }

  #look<C extends Call>(call: C, path: Buffer): Outcomes[C] {
    const known = this.#known.get(keyOf(call, path));
    if (!known) return now[call](path);
    if ('thrown' in known) throw known.thrown;
    return known.value as Outcomes[C];
  }

  /** Does not believe that an entry is missing: another program may have created it since. */
  #lookAgain<C extends Call>(call: C, path: Buffer): Outcomes[C] {
    try {
      return this.#look(call, path);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
      return now[call](path);
    }
  }

  /** Looks at a path. Looks at a symlink itself unless `follow` is set. */
  stat(path: Buffer, follow: boolean): BigIntStats {
    const call = follow && !this.#endsAt(path) ? 'stat' : 'lstat';
    return this.#look(call, path);
  }

  /** Returns whether it is known that no symlink is there to be followed. */
  #endsAt(path: Buffer): boolean {
    if (this.#known.has(keyOf('stat', path))) return false;
    const known = this.#known.get(keyOf('lstat', path));
    if (!known || 'thrown' in known) return isMissing(known?.thrown);
    return !(known.value as BigIntStats).isSymbolicLink();
  }

  statEntry(path: Buffer, follow: boolean, shown: string): BigIntStats {
    try {
      return this.stat(path, follow);
    } catch (error) {
      throw asCopyError(error, shown);
    }
  }

  /**
   * Looks at an entry that may be missing. `shownDest`: the entry is DEST or above it; the error names it as the user does, and says
   * that it is about DEST.
   */
  existing(path: Buffer, follow: boolean, shownDest?: ShownPaths['dest']): BigIntStats | undefined {
    try {
      return this.stat(path, follow);
    } catch (error) {
      return unlessMissing(error, path, shownDest);
    }
  }

  /** Returns whether a path is a symlink to nothing now. */
  isDangling(path: Buffer): boolean {
    if (!this.existing(path, false)?.isSymbolicLink()) return false;
    try {
      this.#lookAgain('stat', path);
      return false;
    } catch (error) {
      return isMissing(error);
    }
  }

  realpath(path: Buffer): Buffer {
    return this.#lookAgain('realpath', path);
  }

  /** Lists a directory. */
  list(path: Buffer): Buffer[] {
    return this.#look('readdir', path);
  }
}

function keyOf(call: Call, path: Buffer): string {
  return `${call} ${path.toString('latin1')}`;
}

function unlessMissing(error: unknown, path: Buffer, shownDest?: ShownPaths['dest']): undefined {
  if (isMissing(error)) return undefined;
  if (!shownDest) throw asCopyError(error, showPath(path));
  const more = codeOf(error) === 'EACCES' ? 'the destination cannot be looked at' : undefined;
  throw asCopyError(error, shownDest(path), more);
}

/** Looks at one entry that may be missing, without a table. */
export function existing(path: Buffer, follow: boolean): Promise<BigIntStats | undefined> {
  const look = later[follow ? 'stat' : 'lstat'](path);
  return look.catch((error: unknown) => unlessMissing(error, path));
}

/** Returns a real path, without a table. */
export const { realpath } = later;

/** Returns text that is equal for the looks at one entry. */
export function identity({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

export function isSame(a: BigIntStats, b: BigIntStats): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}
