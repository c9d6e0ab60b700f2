/** Runs a copy with the rules of fs.cp or of fs-extra. Throws fastcp's errors, which the callers convert. */
import { run as runCopy, runNow as runCopyNow } from '../copy-tree.js';
import { EventQueue } from '../engine/events.js';
import { Report } from '../engine/result.js';
import type { Request } from '../request/options.js';
import type { PathLike } from '../types.js';
import { run, runNow, type Steps, step } from '../walk/steps.js';
import {
  checkBeginning,
  checkEntries,
  filterBelow,
  foreignRequest,
  type PathFilter,
  pathText,
  type Rules,
  refuseEmptyPath,
  synchronous,
} from './request.js';

/** A call whose arguments were checked. Relative paths are those of the working directory at that time. */
export interface Call {
  src: PathLike;
  dest: PathLike;
  rules: Rules;
  filter: PathFilter | undefined;
  /** Undefined if a path is empty: a wrong argument for copyTree(), but an error of the system in fs.cp. */
  request: Request | undefined;
}

/** Throws for wrong arguments. */
export function checkCall(
  src: PathLike,
  dest: PathLike,
  rules: Rules,
  filter: PathFilter | undefined,
): Call {
  const request = foreignRequest(src === '' ? '.' : src, dest === '' ? '.' : dest, rules);
  const isEmpty = src === '' || dest === '';
  return { src, dest, rules, filter, request: isEmpty ? undefined : request };
}

export async function copyLike(call: Call): Promise<void> {
  const request = await run(prepare(call));
  if (request) await runCopy(request, new EventQueue(), new Report(request.warnings));
}

/** Does the same on the calling thread. The filter must not return a promise. */
export function copyLikeNow(call: Call): void {
  const request = runNow(prepare({ ...call, filter: call.filter && synchronous(call.filter) }));
  if (request) runCopyNow(request);
}

/** Returns undefined if the filter refuses SRC. fs.cp asks it before it looks at SRC, fs-extra afterwards. */
function* prepare({ src, dest, rules, filter, request }: Call): Steps<Request | undefined> {
  const ask = (): boolean | Promise<boolean> => !filter || filter(pathText(src), pathText(dest));
  const isTaken = (): Steps<boolean> =>
    step(
      async () => ask(),
      () => ask() as boolean,
    );
  const asksFirst = rules.like === 'node';
  if (asksFirst && !(yield* isTaken())) return undefined;
  if (!request) return yield* refuseEmptyPath(src, dest, rules);
  const found = yield* checkEntries(request, rules);
  if (!asksFirst && !(yield* isTaken())) return undefined;
  yield* checkBeginning(request, found, rules);
  if (filter) request.filter = filterBelow(filter, src, dest);
  return request;
}

/** Calls a callback of Node's form when a promise has settled, outside of the promise. */
export function callBack(copied: Promise<void>, done: (...args: unknown[]) => void): void {
  copied.then(
    () => process.nextTick(done, null, undefined),
    (error: unknown) => process.nextTick(done, error),
  );
}
