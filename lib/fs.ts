/**
 * `fastcp/fs`: cp, cpSync and promises.cp of node:fs, with fastcp's engine. Signatures, options and errors
 * are Node's. docs/fs.md lists the differences.
 */
import type { CopyOptions, CopySyncOptions } from 'node:fs';
import { type Call, callBack, checkCall, copyByRules, copyByRulesNow } from './node-cp/copy.js';
import { nodeError } from './node-cp/errors.js';
import { checkCallback, checkOptions, rulesOf } from './node-cp/options.js';
import type { PathLike } from './types.js';

export type { CopyOptions, CopySyncOptions } from 'node:fs';

type Callback = (error: NodeJS.ErrnoException | null) => void;

/** fs.cp(): throws for wrong arguments at once, and passes all other errors to `callback`. */
export function cp(source: PathLike, destination: PathLike, callback: Callback): void;
export function cp(
  source: PathLike,
  destination: PathLike,
  options: CopyOptions,
  callback: Callback,
): void;
export function cp(
  source: PathLike,
  destination: PathLike,
  options: CopyOptions | Callback | undefined,
  callback?: Callback,
): void {
  const [given, done] = typeof options === 'function' ? [undefined, options] : [options, callback];
  checkCallback(done);
  callBack(copyByRules(callOf(source, destination, given), nodeError), done);
}

/** fs.cpSync(): copies on the calling thread, and calls `filter` there. `filter` must not return a promise. */
export function cpSync(source: PathLike, destination: PathLike, options?: CopySyncOptions): void {
  copyByRulesNow(callOf(source, destination, options), nodeError);
}

export const promises = {
  /** fs.promises.cp() */
  async cp(source: PathLike, destination: PathLike, options?: CopyOptions): Promise<void> {
    await copyByRules(callOf(source, destination, options), nodeError);
  },
};

export default { cp, cpSync, promises };

function callOf(source: PathLike, destination: PathLike, given: unknown): Call {
  const options = checkOptions(given);
  return checkCall(source, destination, rulesOf(options), options.filter?.bind(options));
}
