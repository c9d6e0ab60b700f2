/** The pipeline: options -> roots -> selection -> engine -> events -> result. */
import { debuglog } from 'node:util';
import { Answers } from './bridge/answers.js';
import { EventQueue } from './bridge/events.js';
import { hasOwnTables } from './bridge/native.js';
import { Report } from './bridge/result.js';
import { runEngine, runEngineNow } from './bridge/run-engine.js';
import { isThenable } from './builtins.js';
import { CopyError, withResult } from './errors/copy-error.js';
import { gitFileWarnings } from './guard/git-file.js';
import { refuseBySelection, refuseRepositories } from './guard/index.js';
import { onAbort, unlessAborted } from './io/abort.js';
import { Looks } from './io/looks.js';
import { Job } from './job.js';
import { refuseChanged } from './placement/changed.js';
import { Locks } from './placement/locks.js';
import { lookAhead } from './placement/look-ahead.js';
import {
  lookAtParents,
  makeDirectory,
  makeParents,
  makeParentsNow,
  syncParents,
} from './placement/parents.js';
import type { Placement, Root } from './placement/placement.js';
import { refuseTwins } from './placement/refusals.js';
import { findRoots } from './placement/roots.js';
import { checkRequest } from './request/options.js';
import { type Request, selects } from './request/request.js';
import { skipSources } from './selection/sources.js';
import { CopyTurn } from './turn.js';
import type { CopyJob, CopyOptions, CopyResult, PathLike } from './types.js';

const debug = debuglog('fastcp');

/**
 * Copies SRC to exactly DEST. The entries of a directory land in DEST, whether or not DEST exists, and are
 * merged with its entries. A DEST that ends in a slash, or an array of sources, means "into".
 *
 * Relative symlinks stay as they are, and modes are preserved. If SRC is a symlink, the symlink is copied, unless SRC
 * ends in a slash. Options have the names of Node's fs.cp if it has them.
 *
 * Throws a TypeError or RangeError with `ERR_INVALID_ARG_TYPE`, `ERR_INVALID_ARG_VALUE` or `ERR_OUT_OF_RANGE` for
 * wrong arguments. The job rejects with a CopyError, with `signal.reason`, or with exactly the value that the filter
 * or `onProgress` threw. It rejects after the last worker has ended and every partial file was removed.
 *
 * At most 64 copies of a process run at once, not counting those that wait for a lock. Others wait, unless they have a filter,
 * `onProgress` or `entries`.
 */
export function copyTree(
  src: PathLike | readonly PathLike[],
  dest: PathLike,
  options: CopyOptions = {},
): CopyJob {
  const request = checkRequest(src, dest, options);
  if (debug.enabled) debug('descriptor tables: %s', hasOwnTables() ? 'own' : 'shared');
  debug('request %o', request);
  const report = new Report(new EventQueue(request.entries));
  Error.captureStackTrace(report, copyTree);
  return new Job(run(request, report), report);
}

/** Runs a copy. `seen` is what the caller has looked at just before. */
export async function run(asked: Request, report: Report, seen?: Looks): Promise<CopyResult> {
  const { filter, onProgress, entries } = asked;
  const turn = asked.turn ?? new CopyTurn(Boolean(filter || onProgress || entries));
  const request = { ...asked, turn };
  const { signal } = request;
  const unlisten = onAbort(signal, () => {}); // all the time: one of another class is followed
  let locks: Locks | undefined;
  try {
    signal?.throwIfAborted();
    await turn.take(signal);
    const looks = seen ?? (await unlessAborted(signal, lookAhead(request)));
    const placement = findRoots(request, looks);
    await unlessAborted(signal, refuseTwins(placement, request));
    const skipped = skipSources(placement, request);
    locks = Locks.of(placement, request, report);
    await locks.take();
    const answers = await unlessAborted(signal, Answers.prepare(placement, request));
    await unlessAborted(signal, refuseBySelection(placement, answers, request));
    // That took time, and the filter may have changed files.
    if (selects(request)) await unlessAborted(signal, lookAtParents(placement, request));
    signal?.throwIfAborted();
    for (const warning of skipped) report.warn(warning);
    for (const error of placement.errors) report.fail(error);
    const gitFiles = request.like === 'fastcp' ? gitFileWarnings(placement, answers) : [];
    if (placement.roots.length > 0) await copyRoots(placement, answers, request, { report, locks });
    else if (request.atomic) report.replaced = false;
    for (const warning of [
      ...(await answers.unused(request, report.isEmpty && report.counters.skipped === 0)),
      ...(await gitFiles),
    ])
      report.warn(warning);
    if (request.worktree) report.leftOut = answers.leftOut(request);
    report.end();
    const told: unknown = request.onProgress?.(report.progress);
    if (isThenable(told)) await unlessAborted(signal, Promise.resolve(told));
    const result = resultOf(report, request);
    report.events.end();
    return result;
  } catch (error) {
    report.end();
    // An error with a result is that of another copy, which the filter has thrown, or was reported.
    if (error instanceof CopyError && !error.result) {
      report.failWith(error);
      withResult(error, report);
    }
    report.events.end({ thrown: error });
    throw error;
  } finally {
    locks?.release();
    turn.end();
    unlisten();
  }
}

/** Creates each DEST of `roots` that is missing, and locks it as well. */
async function makeDests(roots: readonly Root[], locks: Locks): Promise<void> {
  const missing = locks.withoutDest.filter((root) => roots.includes(root));
  for (const root of missing) {
    root.made = await makeDirectory(root.dest, root.mode).then(
      () => true,
      () => false, // the engine reports why, unless another copy has created it
    );
  }
  // The copy that had it may have filled it.
  if (missing.length > 0 && (await locks.take())) for (const root of missing) root.made = false;
}

async function copyRoots(
  placement: Placement,
  answers: Answers,
  request: Request,
  { report, locks }: { report: Report; locks: Locks },
): Promise<void> {
  const there = await makeParents(placement, request);
  await makeDests(placement.roots, locks);
  const copy = async (to: Placement, how: Request): Promise<void> => {
    // Modules that most copies do not need are loaded late. Compiling them takes longer than copying a file.
    if (how.snapshot !== 'never') {
      const { takeSnapshot } = await import('./atomic/snapshot.js');
      if (await takeSnapshot(to, how, report)) return;
    }
    await runEngine(to, answers, how, report);
    await refuseChanged(locks.held, placement, request);
  };
  if (request.atomic) {
    const { Replacement } = await import('./atomic/index.js');
    const checkRepositories = () => refuseRepositories(placement, answers, request);
    const how = { report, copy, checkRepositories, locks };
    await new Replacement(placement, request, how).run();
  } else {
    await copy(placement, request);
  }
  if (request.fsync && !request.dryRun) await syncParents(placement, request, there);
}

/** Does the same before it returns. Accepts a filter, but no events and no signal. */
export function runNow(request: Request): CopyResult {
  const report = new Report();
  const placement = findRoots(request, new Looks());
  const answers = Answers.prepareNow(placement, request);
  makeParentsNow(placement, request);
  runEngineNow(placement, answers, request, report);
  report.end();
  return resultOf(report, request);
}

/** Returns the result, or throws the first error if the copy had to stop at it. */
function resultOf(report: Report, { onError }: Request): CopyResult {
  const { result } = report;
  debug('result %o', result);
  const [error] = result.errors;
  if (error && onError === 'stop') throw withResult(error, report);
  return result;
}
