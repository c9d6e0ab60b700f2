/** Runs a copy with the rules of fs.cp or of fs-extra. Throws fastcp's errors, which the callers convert. */
import { run as runCopy, runNow as runCopyNow } from '../copy-tree.js';
import { EventQueue } from '../engine/events.js';
import { Report } from '../engine/result.js';
import type { Request } from '../request/options.js';
import type { PathLike } from '../types.js';
import { run, runNow } from '../walk/steps.js';
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

/** fs.cp asks the filter about SRC before it looks at SRC, fs-extra afterwards. */
const asksFirst = ({ rules: { like } }: Call): boolean => like === 'node';

export async function copyLike(call: Call): Promise<void> {
  const { src, dest, rules, filter, request } = call;
  const isRefused = async (): Promise<boolean> =>
    filter !== undefined && !(await filter(pathText(src), pathText(dest)));
  if (asksFirst(call) && (await isRefused())) return;
  if (!request) {
    await run(refuseEmptyPath(src, dest, rules));
    return;
  }
  const found = await run(checkEntries(request, rules));
  if (!asksFirst(call) && (await isRefused())) return;
  await run(checkBeginning(request, found, rules));
  if (filter) request.filter = filterBelow(filter, src, dest);
  await runCopy(request, new EventQueue(), new Report(request.warnings));
}

/** Does the same on the calling thread. The filter must not return a promise. */
export function copyLikeNow(call: Call): void {
  const { src, dest, rules, request } = call;
  const filter = call.filter && synchronous(call.filter);
  const isRefused = (): boolean => filter !== undefined && !filter(pathText(src), pathText(dest));
  if (asksFirst(call) && isRefused()) return;
  if (!request) {
    runNow(refuseEmptyPath(src, dest, rules));
    return;
  }
  const found = runNow(checkEntries(request, rules));
  if (!asksFirst(call) && isRefused()) return;
  runNow(checkBeginning(request, found, rules));
  if (filter) request.filter = filterBelow(filter, src, dest);
  runCopyNow(request);
}
