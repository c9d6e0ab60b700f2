/**
 * File system calls as steps. One generator serves both forms: it yields the calls, and its caller makes them at once
 * or awaits them.
 */
// By name: in CommonJS `* as fs` calls every getter, also that of fs.promises, whose loading takes milliseconds.
import {
  type BigIntStats,
  close,
  closeSync,
  fsync,
  fsyncSync,
  lstat,
  lstatSync,
  mkdirSync,
  open,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmdirSync,
  statSync,
  mkdir as systemMkdir,
  readdir as systemReaddir,
  readlink as systemReadlink,
  realpath as systemRealpath,
  rmdir as systemRmdir,
  stat as systemStat,
} from 'node:fs';
import { promisify } from 'node:util';
import { fromSystem, textOrBytes } from '../paths.js';

/**
 * Outcomes of looks in one copy, also errors, by call and path. They do not expire: use statAgain() or forget() if other
 * code may have changed files since.
 */
export type Looks = Map<string, Promise<unknown>>;

interface Step {
  wait(looks: Looks): Promise<unknown>;
  now(): unknown;
}

/** Steps that end with a T. */
export type Steps<T> = Generator<Step, T, unknown>;

export async function run<T>(steps: Steps<T>, looks: Looks = new Map()): Promise<T> {
  let next = steps.next();
  while (!next.done) {
    const outcome = await next.value.wait(looks).then(
      (value) => ({ value }),
      (thrown: unknown) => ({ thrown }),
    );
    next = 'thrown' in outcome ? steps.throw(outcome.thrown) : steps.next(outcome.value);
  }
  return next.value;
}

export function runNow<T>(steps: Steps<T>): T {
  let next = steps.next();
  while (!next.done) {
    let value: unknown;
    try {
      value = next.value.now();
    } catch (thrown) {
      next = steps.throw(thrown);
      continue;
    }
    next = steps.next(value);
  }
  return next.value;
}

/** One step: `wait()` in the asynchronous form, `now()` in the other. */
export function* step<T>(wait: (looks: Looks) => Promise<T>, now: () => T): Steps<T> {
  return (yield { wait, now }) as T;
}

/** A step that is taken once in the asynchronous form. */
function look<T>(call: string, path: Buffer, wait: () => Promise<T>, now: () => T): Steps<T> {
  const once = (looks: Looks): Promise<T> => {
    const key = `${call} ${path.toString('latin1')}`;
    const found = (looks.get(key) as Promise<T> | undefined) ?? wait();
    looks.set(key, found);
    return found;
  };
  return step(once, now);
}

/** Forgets all outcomes. */
export function forget(): Steps<void> {
  return step(
    async (looks) => looks.clear(),
    () => {},
  );
}

/** Runs several steps that need not wait for one another. */
export function all<T>(several: (() => Steps<T>)[]): Steps<T[]> {
  return step(
    (looks) => Promise.all(several.map((steps) => run(steps(), looks))),
    () => several.map((steps) => runNow(steps())),
  );
}

/**
 * Begins looks that will probably be needed, all at once: one after the other would take longer than copying a small
 * tree. Does nothing in the synchronous form.
 */
export function ahead(several: Steps<unknown>[]): Steps<void> {
  const begin = async (looks: Looks): Promise<void> => {
    for (const steps of several) run(steps, looks).catch(() => {}); // a later look at it gets the error
  };
  return step(begin, () => {});
}

// Not fs/promises: loading it takes longer than copying a small tree.
const calls = {
  lstat: promisify(lstat),
  readlink: promisify(systemReadlink),
  mkdir: promisify(systemMkdir),
  rmdir: promisify(systemRmdir),
  readdir: promisify(systemReaddir),
  stat: promisify(systemStat),
  open: promisify(open),
  fsync: promisify(fsync),
  close: promisify(close),
};
const bigint = { bigint: true } as const;

/** Looks at a path, and follows symlinks, even if that was done before. */
export function statAgain(path: Buffer): Steps<BigIntStats> {
  return step(
    () => calls.stat(path, bigint),
    () => statSync(path, bigint),
  );
}

/** Looks at a path. Looks at a symlink itself unless `follow` is set. */
export function stat(path: Buffer, follow: boolean): Steps<BigIntStats> {
  const call = follow ? 'stat' : 'lstat';
  const now = follow ? statSync : lstatSync;
  const wait = () => calls[call](path, bigint);
  return look(call, path, wait, () => now(path, bigint));
}

export function readlink(path: Buffer): Steps<Buffer> {
  return step(
    () => calls.readlink(path, 'buffer'),
    () => readlinkSync(path, 'buffer'),
  );
}

export function* realpath(path: Buffer): Steps<Buffer> {
  const wait = (): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      systemRealpath.native(path, 'buffer', (error, real) =>
        error ? reject(error) : resolve(asBytes(real)),
      );
    });
  const now = (): Buffer => asBytes(realpathSync.native(path, 'buffer'));
  try {
    return yield* look('realpath', path, wait, now);
  } catch (error) {
    // The outcome may be from ahead(), and another program may have created the path since then.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return yield* step(wait, now);
  }
}

/** Yarn's Plug'n'Play replaces fs, and always returns text. */
function asBytes(real: Buffer | string): Buffer {
  return fromSystem(typeof real === 'string' ? Buffer.from(real) : real);
}

export function rmdir(path: Buffer): Steps<void> {
  return step(
    () => calls.rmdir(textOrBytes(path)),
    () => rmdirSync(textOrBytes(path)),
  );
}

export function mkdir(path: Buffer, how: { mode?: number }): Steps<unknown> {
  return step<unknown>(
    () => calls.mkdir(textOrBytes(path), how),
    () => mkdirSync(textOrBytes(path), how),
  );
}

/** Creates a directory that only fastcp uses. */
export const mkdirOwn = (path: Buffer): Steps<unknown> => mkdir(path, { mode: 0o700 });

/** Lists a directory. */
export function list(path: Buffer): Steps<Buffer[]> {
  return step(
    () => calls.readdir(path, 'buffer'),
    () => readdirSync(path, 'buffer'),
  );
}

/** Waits until the names in a directory are on disk. */
export function syncDirectory(path: Buffer): Steps<void> {
  const wait = async (): Promise<void> => {
    const directory = await calls.open(path, 'r');
    try {
      await calls.fsync(directory);
    } finally {
      await calls.close(directory);
    }
  };
  const now = (): void => {
    const directory = openSync(path, 'r');
    try {
      fsyncSync(directory);
    } finally {
      closeSync(directory);
    }
  };
  return step(wait, now);
}
