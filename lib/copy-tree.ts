/** The pipeline: options -> roots -> selection -> engine -> events -> result. */
import { debuglog } from 'node:util';
import { Answers } from './bridge/answers.js';
import { EventQueue } from './bridge/events.js';
import { hasOwnTables } from './bridge/native.js';
import { Report } from './bridge/result.js';
import { runEngine, runEngineNow } from './bridge/run-engine.js';
import { isThenable } from './builtins.js';
import { CopyError, withResult } from './errors/copy-error.js';
import { refuseBySelection, refuseRepositories } from './guard/index.js';
import { unlessAborted } from './io/abort.js';
import { type Looks, run as runSteps, runNow as runStepsNow } from './io/steps.js';
import { Locks } from './placement/locks.js';
import { makeParents, syncParents } from './placement/parents.js';
import type { Placement } from './placement/placement.js';
import { findRoots } from './placement/roots.js';
import { checkRequest } from './request/options.js';
import { type Request, selects } from './request/request.js';
import { skipSources } from './selection/sources.js';

import { takeTurn } from './turn.js';
import type {
  CopyEvent,
  CopyJob,
  CopyOptions,
  CopyResult,
  CopyWarning,
  PathLike,
} from './types.js';

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
 * At most 64 copies of a process run at once. Others wait, unless they have a filter, `onProgress` or `entries`.
 */
export function copyTree(
  src: PathLike | readonly PathLike[],
  dest: PathLike,
  options: CopyOptions = {},
): CopyJob {
  const request = checkRequest(src, dest, options);
  if (debug.enabled) debug('descriptor tables: %s', hasOwnTables() ? 'own' : 'shared');
  debug('request %o', request);
  const events = new EventQueue(request.entries);
  const report = new Report();
  Error.captureStackTrace(report, copyTree);
  return new Job(run(request, events, report), events, report);
}

/** Runs a copy. `looks` is what the caller has looked at just before. */
export async function run(
  request: Request,
  events: EventQueue,
  report: Report,
  looks: Looks = new Map(),
): Promise<CopyResult> {
  let locks: Locks | undefined;
  let endTurn: (() => void) | undefined;
  try {
    const { signal } = request;
    signal?.throwIfAborted();
    endTurn = await takeTurn(request);
    const placement = await unlessAborted(signal, runSteps(findRoots(request), looks));
    const warn = (warning: CopyWarning): void => {
      report.warn(warning);
      events.push({ type: 'warning', warning });
    };
    const skipped = skipSources(placement, request);
    locks = Locks.of(placement, request, warn);
    await locks.take();
    const answers = await unlessAborted(signal, Answers.prepare(placement, request));
    await unlessAborted(signal, refuseBySelection(placement, answers, request));
    signal?.throwIfAborted();
    [...skipped, ...answers.warnings].forEach(warn);
    for (const error of placement.errors) {
      report.fail(error);
      events.push({ type: 'error', error });
    }
    if (selects(request)) looks.clear(); // that takes time, and the filter may change files
    if (placement.roots.length > 0)
      await copyRoots(placement, answers, request, { events, report, looks, locks, warn });
    else if (request.atomic) report.replaced = false;
    for (const warning of await answers.unused(request)) warn(warning);
    if (request.worktree) report.leftOut = answers.leftOut(request);
    report.end();
    const told: unknown = request.onProgress?.(report.progress);
    if (isThenable(told)) await unlessAborted(signal, Promise.resolve(told));
    const { result } = report;
    debug('result %o', result);
    const [error] = result.errors;
    if (error && request.onError === 'stop') throw withResult(error, report);
    events.end();
    return result;
  } catch (error) {
    report.end();
    // An error with a result is that of another copy, which the filter has thrown, or was reported.
    if (error instanceof CopyError && !error.result) {
      report.failOnce(error);
      withResult(error, report);
    }
    events.end({ thrown: error });
    throw error;
  } finally {
    locks?.release();
    endTurn?.();
  }
}

interface Running {
  events: EventQueue;
  report: Report;
  looks: Looks;
  locks: Locks;
  warn(warning: CopyWarning): void;
}

async function copyRoots(
  placement: Placement,
  answers: Answers,
  request: Request,
  { events, report, looks, locks, warn }: Running,
): Promise<void> {
  const there = await runSteps(makeParents(placement, request), looks);
  await locks.makeDests(placement.roots, request.preserve.includes('mode') ? 0o700 : 0o777);
  const copy = async (to: Placement, how: Request): Promise<void> => {
    // Modules that most copies do not need are loaded late. Compiling them takes longer than copying a file.
    if (how.snapshot !== 'never') {
      const { takeSnapshot } = await import('./atomic/snapshot.js');
      if (await takeSnapshot(to, how, events, report)) return;
    }
    await runEngine(to, answers, how, events, report);
    await locks.refuseChanged(placement, request);
  };
  if (request.atomic) {
    const { replaceWhole } = await import('./atomic/index.js');
    const checkRepositories = () => refuseRepositories(placement, answers, request);
    await replaceWhole(placement, request, {
      events,
      report,
      copy,
      checkRepositories,
      locks,
      warn,
    });
  } else {
    await copy(placement, request);
  }
  if (request.fsync && !request.dryRun) await runSteps(syncParents(placement, request, there));
}

/** Does the same before it returns. Accepts a filter, but no events and no signal. */
export function runNow(request: Request): CopyResult {
  const report = new Report();
  const placement = runStepsNow(findRoots(request));
  const answers = Answers.prepareNow(placement, request);
  const there = runStepsNow(makeParents(placement, request));
  runEngineNow(placement, answers, request, report);
  if (request.fsync && !request.dryRun) runStepsNow(syncParents(placement, request, there));
  report.end();
  const { result } = report;
  const [error] = result.errors;
  if (error && request.onError === 'stop') throw withResult(error, report);
  return result;
}

class Job extends Promise<CopyResult> implements CopyJob {
  /** The promises of then() are ordinary promises. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  readonly #events: EventQueue;
  readonly #report: Report;

  constructor(copied: Promise<CopyResult>, events: EventQueue, report: Report) {
    super((resolve) => resolve(copied));
    this.#events = events;
    this.#report = report;
    // An iteration throws it; one that was left does not, and then nobody has handled it.
    events.onFailure = () => {
      this.catch(() => {});
    };
  }

  get result(): CopyResult {
    return this.#report.result;
  }

  /** Also called by `await` and Promise.all(), because a Job is not a plain promise. */
  // biome-ignore lint/suspicious/noThenProperty: it is a promise
  override then<T = CopyResult, U = never>(
    fulfilled?: ((result: CopyResult) => T | PromiseLike<T>) | null,
    rejected?: ((reason: unknown) => U | PromiseLike<U>) | null,
  ): Promise<T | U> {
    if (fulfilled) this.#events.await();
    return super.then(fulfilled, rejected);
  }

  [Symbol.asyncIterator](): AsyncIterator<CopyEvent> {
    this.#events.listen();
    return this.#events;
  }
}
