/** The pipeline: options -> roots -> engine -> events -> result. */
import { debuglog } from 'node:util';
import { CopyError } from './errors.js';
import { EventQueue, readEntries } from './events.js';
import { createJob, forgetJob, type NativeOptions, reflinkModes } from './native.js';
import { checkRequest, type Request } from './options.js';
import { Report } from './result.js';
import type { CopyJob, CopyOptions, CopyResult, PathLike } from './types.js';
import { findRoots, type Walk } from './walk.js';

const debug = debuglog('fastcp');

/**
 * Copies SRC to exactly DEST: a folder's entries land in DEST whether or not it exists, merged with
 * what is there. A DEST that ends in a slash, or an array of sources, means "into". Relative links
 * stay as they are, modes are kept, and SRC given as a link is copied as a link unless it ends in a
 * slash. Option names are those of Node's fs.cp where it has one.
 *
 * Throws a TypeError or RangeError with `ERR_INVALID_ARG_TYPE`, `ERR_INVALID_ARG_VALUE` or
 * `ERR_OUT_OF_RANGE` for wrong arguments. The job rejects with a CopyError, or with `signal.reason`,
 * after the last worker has ended and every partial file was removed.
 */
export function copyTree(
  src: PathLike | readonly PathLike[],
  dest: PathLike,
  options: CopyOptions = {},
): CopyJob {
  const request = checkRequest(src, dest, options);
  debug('request %o', request);
  const events = new EventQueue();
  const report = new Report(request.warnings);
  return asJob(run(request, events, report), events, report);
}

async function run(request: Request, events: EventQueue, report: Report): Promise<CopyResult> {
  try {
    const { signal } = request;
    signal?.throwIfAborted();
    const walk = await findRoots(request);
    signal?.throwIfAborted();
    for (const warning of request.warnings) events.push({ type: 'warning', warning });
    const aborted = await runEngine(walk, request, events, report);
    report.end();
    const { result } = report;
    debug('result %o', result);
    if (aborted) throw signal?.reason;
    const [error] = result.errors;
    if (error && request.onError === 'stop') throw Object.assign(error, { result });
    return result;
  } catch (error) {
    report.end();
    if (error instanceof CopyError) error.result ??= report.result;
    throw error;
  } finally {
    events.end();
  }
}

/** Settles when the last worker has ended; true where the signal ended it. */
function runEngine(
  { roots, shown }: Walk,
  request: Request,
  events: EventQueue,
  report: Report,
): Promise<boolean> {
  const { signal, entries } = request;
  return new Promise((resolve) => {
    const job = createJob(roots, nativeOptions(request), request.concurrency);
    let aborted = false;
    const abort = (): void => {
      aborted = true;
      job.stop();
    };
    const takeEntries = (ended = false): void => {
      if (!entries || (events.full && !ended)) return;
      const records = job.takeEntries();
      if (!events.heard) return;
      for (const entry of readEntries(records, shown)) events.push(entry);
    };
    const look = (ended: boolean): void => {
      if (ended) {
        signal?.removeEventListener('abort', abort);
        forgetJob(job);
      }
      const news = report.read(job, shown);
      takeEntries(ended);
      for (const error of news.errors) events.push({ type: 'error', error });
      for (const warning of news.warnings) events.push({ type: 'warning', warning });
      events.push({ type: 'progress', ...report.counters, durationMs: report.durationMs });
      if (ended) resolve(aborted);
    };
    events.onRoom = () => takeEntries();
    signal?.addEventListener('abort', abort, { once: true });
    job.start(look);
  });
}

function nativeOptions(request: Request): NativeOptions {
  const { force, errorOnExist, dryRun, oneFileSystem, entries } = request;
  return {
    force,
    errorOnExist,
    dryRun,
    oneFileSystem,
    entries,
    stopOnError: request.onError === 'stop',
    reflink: reflinkModes.indexOf(request.reflink),
  };
}

function asJob(promise: Promise<CopyResult>, events: EventQueue, report: Report): CopyJob {
  return Object.defineProperties(promise, {
    result: { get: () => report.result },
    [Symbol.asyncIterator]: {
      value: () => {
        promise.catch(() => {}); // whoever iterates awaits the job afterwards, or need not
        events.listen();
        return events;
      },
    },
  }) as CopyJob;
}
