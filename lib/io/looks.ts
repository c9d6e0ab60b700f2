/**
 * Looks at entries, which may be missing. Plain functions look at a table, and synchronously at what it does not have, which takes
 * a few microseconds. An asynchronous copy fills the table first: an awaited look takes 50 to 100 us, but many can be awaited at
 * once, and a mount that hangs, or that this process itself serves, does not stop the event loop.
 */
// By name: in CommonJS `* as fs` calls every getter, also that of fs.promises, whose loading takes milliseconds.
import {
  type BigIntStats,
  lstatSync,
  realpathSync,
  statSync,
  lstat as systemLstat,
  realpath as systemRealpath,
  stat as systemStat,
} from 'node:fs';
import { asCopyError, codeOf, isMissing } from '../errors/from-node.js';
import { fromSystem, showPath } from '../paths.js';

interface Outcomes {
  lstat: BigIntStats;
  stat: BigIntStats;
  realpath: Buffer;
}
type Call = keyof Outcomes;

const bigint = { bigint: true } as const;

const now: { [C in Call]: (path: Buffer) => Outcomes[C] } = {
  lstat: (path) => lstatSync(path, bigint),
  stat: (path) => statSync(path, bigint),
  realpath: (path) => asBytes(realpathSync.native(path, 'buffer')),
};

const later: { [C in Call]: (path: Buffer) => Promise<Outcomes[C]> } = {
  lstat: (path) => asked((done) => systemLstat(path, bigint, done)),
  stat: (path) => asked((done) => systemStat(path, bigint, done)),
  realpath: (path) =>
    asked<Buffer>((done) => systemRealpath.native(path, 'buffer', done)).then(asBytes),
};

function asked<T>(ask: (done: (error: Error | null, value: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    ask((error, value) => (error ? reject(error) : resolve(value)));
  });
}

/** Yarn's Plug'n'Play replaces fs, and always returns text. */
function asBytes(real: Buffer | string): Buffer {
  return fromSystem(typeof real === 'string' ? Buffer.from(real) : real);
}

/** Outcomes of looks, also errors. They do not expire: a new table is needed when other code may have changed files. */
export class Looks {
  readonly #known = new Map<string, { value?: unknown; error?: unknown }>();
  readonly #asked = new Map<string, Promise<unknown>>();

  /** Looks once, so that the table has the outcome. Resolves with undefined if that is an error. */
  fetch<C extends Call>(call: C, path: Buffer): Promise<Outcomes[C] | undefined> {
    const key = keyOf(call, path);
    const look =
      this.#asked.get(key) ??
      later[call](path).then(
        (value) => {
          this.#known.set(key, { value });
          return value;
        },
        (error: unknown) => void this.#known.set(key, { error }),
      );
    this.#asked.set(key, look);
    return look as Promise<Outcomes[C] | undefined>;
  }

  /** Looks at an entry, and where it leads. Resolves with the latter, or undefined. */
  async fetchEntry(path: Buffer): Promise<BigIntStats | undefined> {
    const entry = await this.fetch('lstat', path);
    const outcome = this.#known.get(keyOf('lstat', path)) ?? {};
    const isSame = entry ? !entry.isSymbolicLink() : codeOf(outcome.error) === 'ENOENT';
    if (!isSame) return this.fetch('stat', path);
    const followed = keyOf('stat', path);
    if (!this.#asked.has(followed)) this.#known.set(followed, outcome);
    return entry;
  }

  #look<C extends Call>(call: C, path: Buffer): Outcomes[C] {
    const known = this.#known.get(keyOf(call, path));
    if (!known) return now[call](path);
    if (known.error) throw known.error;
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
    return this.#look(follow ? 'stat' : 'lstat', path);
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
  existing(path: Buffer, follow: boolean, shownDest?: typeof showPath): BigIntStats | undefined {
    try {
      return this.stat(path, follow);
    } catch (error) {
      if (isMissing(error)) return undefined;
      const isDenied = shownDest && codeOf(error) === 'EACCES';
      const more = isDenied ? 'the destination cannot be looked at' : undefined;
      throw asCopyError(error, (shownDest ?? showPath)(path), more);
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
}

function keyOf(call: Call, path: Buffer): string {
  return `${call} ${path.toString('latin1')}`;
}

/** Looks at one entry that may be missing, without a table. */
export async function existing(
  path: Buffer,
  follow: boolean,
  shownDest?: typeof showPath,
): Promise<BigIntStats | undefined> {
  const looks = new Looks();
  await looks.fetch(follow ? 'stat' : 'lstat', path);
  return looks.existing(path, follow, shownDest);
}

/** Looks at a path now, without a table. */
export const { lstat, stat, realpath } = later;

/** Returns text that is equal for the looks at one entry. */
export function identity({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

export function isSame(a: BigIntStats, b: BigIntStats): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}
