/**
 * File system calls of a walk. One walk serves both forms: a generator yields the calls, and its caller makes
 * them at once or awaits them.
 */
import * as fs from 'node:fs';
import { promisify } from 'node:util';
import { fromSystem, textOrBytes } from './paths.js';

interface Step {
  wait(): Promise<unknown>;
  now(): unknown;
}

/** A walk that ends with a T. */
export type Steps<T> = Generator<Step, T, unknown>;

export async function run<T>(steps: Steps<T>): Promise<T> {
  let next = steps.next();
  while (!next.done) {
    const outcome = await next.value.wait().then(
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
export function* step<T>(wait: () => Promise<T>, now: () => T): Steps<T> {
  return (yield { wait, now }) as T;
}

/** Runs walks that need not wait for one another. */
export function all<T>(walks: (() => Steps<T>)[]): Steps<T[]> {
  return step(
    () => Promise.all(walks.map((walk) => run(walk()))),
    () => walks.map((walk) => runNow(walk())),
  );
}

// Not fs/promises: loading it takes longer than copying a small tree.
const calls = {
  lstat: promisify(fs.lstat),
  readlink: promisify(fs.readlink),
  mkdir: promisify(fs.mkdir),
  stat: promisify(fs.stat),
  open: promisify(fs.open),
  fsync: promisify(fs.fsync),
  close: promisify(fs.close),
};
const bigint = { bigint: true } as const;

/** Looks at a path. Looks at a symlink itself unless `follow` is set. */
export function stat(path: Buffer, follow: boolean): Steps<fs.BigIntStats> {
  return follow
    ? step(
        () => calls.stat(path, bigint),
        () => fs.statSync(path, bigint),
      )
    : step(
        () => calls.lstat(path, bigint),
        () => fs.lstatSync(path, bigint),
      );
}

export function readlink(path: Buffer): Steps<Buffer> {
  return step(
    () => calls.readlink(path, 'buffer'),
    () => fs.readlinkSync(path, 'buffer'),
  );
}

export function realpath(path: Buffer): Steps<Buffer> {
  const wait = (): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      fs.realpath.native(path, 'buffer', (error, real) =>
        error ? reject(error) : resolve(asBytes(real)),
      );
    });
  return step(wait, () => asBytes(fs.realpathSync.native(path, 'buffer')));
}

/** Yarn's Plug'n'Play replaces fs, and always returns text. */
function asBytes(real: Buffer | string): Buffer {
  return fromSystem(typeof real === 'string' ? Buffer.from(real) : real);
}

export function mkdir(path: Buffer, recursive: boolean): Steps<unknown> {
  return step<unknown>(
    () => calls.mkdir(textOrBytes(path), { recursive }),
    () => fs.mkdirSync(textOrBytes(path), { recursive }),
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
    const directory = fs.openSync(path, 'r');
    try {
      fs.fsyncSync(directory);
    } finally {
      fs.closeSync(directory);
    }
  };
  return step(wait, now);
}
