/**
 * `fastcp/fs-extra`: copy and copySync of fs-extra 11, with fastcp's engine. Signatures, options and messages are
 * fs-extra's. docs/fs-extra.md lists the differences.
 */
import { type Call, callBack, checkCall, copyByRules, copyByRulesNow } from './node-cp/copy.js';
import { fsExtraError } from './node-cp/errors.js';
import type { Rules } from './node-cp/request.js';
import type { PathLike } from './types.js';

/** Every option may be absent. As in fs-extra, `undefined` counts as `false`. */
export interface CopyOptionsSync {
  /** Copy the targets of symlinks. Default `false`. */
  dereference?: boolean | undefined;
  /** Replace existing files. Default `true`. */
  overwrite?: boolean | undefined;
  /** Older name of `overwrite`. Ignored if `overwrite` is present. */
  clobber?: boolean | undefined;
  /** With `overwrite: false`: an existing file is an error. Default `false`. */
  errorOnExist?: boolean | undefined;
  /** Preserve timestamps. Default `false`. */
  preserveTimestamps?: boolean | undefined;
  /** Called with both paths of every entry. A falsy result excludes the entry; for a directory, everything in it. */
  filter?: CopyFilterSync | undefined;
}
export interface CopyOptions extends Omit<CopyOptionsSync, 'filter'> {
  /** As in `copySync()`; it may return a promise. */
  filter?: CopyFilterSync | CopyFilterAsync | undefined;
}
export type CopyFilterSync = (src: string, dest: string) => boolean;
export type CopyFilterAsync = (src: string, dest: string) => Promise<boolean>;

type Callback = (error: Error | null) => void;

/**
 * Copies a file or a directory with everything in it. If the last argument is a function, calls it when the copy has
 * ended, and returns undefined. A function in place of the options is the filter if a callback follows it.
 */
export function copy(src: PathLike, dest: PathLike, options?: CopyOptions): Promise<void>;
export function copy(src: PathLike, dest: PathLike, callback: Callback): void;
export function copy(
  src: PathLike,
  dest: PathLike,
  options: CopyOptions | CopyFilterSync | CopyFilterAsync,
  callback: Callback,
): void;
export function copy(...args: unknown[]): Promise<void> | undefined {
  const last = args.at(-1);
  if (typeof last !== 'function') return copyAll(args);
  callBack(copyAll(args.slice(0, -1)), last as (...args: unknown[]) => void);
  return undefined;
}

/** Does the same as copy(), on the calling thread. A function in place of the options is the filter. */
export function copySync(
  src: PathLike,
  dest: PathLike,
  options?: CopyOptionsSync | CopyFilterSync,
): void {
  copyByRulesNow(callOf(src, dest, options), fsExtraError);
}

export default { copy, copySync };

async function copyAll([src, dest, options]: unknown[]): Promise<void> {
  const call = callOf(src as PathLike, dest as PathLike, options as CopyOptions | CopyFilterSync);
  await copyByRules(call, fsExtraError);
}

/** fs-extra checks no types of options: truthy values are set. */
function callOf(
  src: PathLike,
  dest: PathLike,
  given: CopyOptions | CopyFilterSync | undefined,
): Call {
  const options: CopyOptions = typeof given === 'function' ? { filter: given } : given || {};
  const { filter } = options;
  if (filter && typeof filter !== 'function') throw new TypeError('opts.filter is not a function');
  const clobber = 'clobber' in options ? Boolean(options.clobber) : true;
  const rules: Rules = {
    like: 'fs-extra',
    recursive: true,
    dereference: Boolean(options.dereference),
    errorOnExist: Boolean(options.errorOnExist),
    force: 'overwrite' in options ? Boolean(options.overwrite) : clobber,
    preserveTimestamps: Boolean(options.preserveTimestamps),
    verbatimSymlinks: true,
    clone: false,
  };
  return checkCall(src, dest, rules, filter ? filter.bind(options) : undefined);
}
