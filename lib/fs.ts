/**
 * `fastcp/fs`: cp, cpSync and promises.cp of node:fs, with fastcp's engine. Signatures, options and error codes
 * are Node's. docs/fs.md lists the differences.
 */
import type { CopyOptions, CopySyncOptions } from 'node:fs';
import { run, runNow } from './copy-tree.js';
import { EventQueue } from './engine/events.js';
import { Report } from './engine/result.js';
import { nodeError } from './node-cp/errors.js';
import { checkCallback, checkOptions, type Options, pathText } from './node-cp/options.js';
import { checkEntries, filterBelow, nodeRequest, synchronous } from './node-cp/request.js';
import type { PathLike } from './types.js';
import { run as runSteps, runNow as runStepsNow } from './walk/steps.js';

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
  const checked = checkOptions(given);
  nodeRequest(source, destination, checked); // throws for wrong paths
  copy(source, destination, checked).then(
    () => process.nextTick(done, null),
    (error: unknown) => process.nextTick(done, error),
  );
}

/** fs.cpSync(): copies on the calling thread, and calls `filter` there. `filter` must not return a promise. */
export function cpSync(source: PathLike, destination: PathLike, options?: CopySyncOptions): void {
  const checked = checkOptions(options);
  const request = nodeRequest(source, destination, checked);
  if (checked.filter) {
    const filter = synchronous(checked.filter);
    if (!filter(pathText(source), pathText(destination))) return;
    request.filter = filterBelow(filter, source, destination);
  }
  try {
    runStepsNow(checkEntries(request, checked.recursive));
    runNow(request);
  } catch (error) {
    throw nodeError(error);
  }
}

async function copy(source: PathLike, destination: PathLike, options: Options): Promise<void> {
  const request = nodeRequest(source, destination, options);
  const { filter, recursive } = options;
  if (filter) {
    if (!(await filter(pathText(source), pathText(destination)))) return;
    request.filter = filterBelow(filter, source, destination);
  }
  try {
    await runSteps(checkEntries(request, recursive));
    await run(request, new EventQueue(), new Report(request.warnings));
  } catch (error) {
    throw nodeError(error);
  }
}

export const promises = {
  /** fs.promises.cp() */
  async cp(source: PathLike, destination: PathLike, options?: CopyOptions): Promise<void> {
    await copy(source, destination, checkOptions(options));
  },
};
