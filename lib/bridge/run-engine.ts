/** Runs one copy in the engine, from its start to the end of its last worker. */

import { AsyncResource } from 'node:async_hooks';
import { isThenable } from '../builtins.js';
import { onAbort } from '../io/abort.js';
import { join } from '../paths.js';
import type { Placement } from '../placement/placement.js';
import type { Request } from '../request/request.js';
import { nativeFlags, reflinkModes } from '../request/table.js';
import type { CopyResult, EntryEvent } from '../types.js';
import { Answers, type Listener } from './answers.js';
import { readEntries } from './events.js';
import {
  backupModes,
  createJob,
  createJobHere,
  forget,
  insteadModes,
  isStoppedAtExit,
  likes,
  lossKinds,
  type NativeOptions,
} from './native.js';
import { Report } from './result.js';
import { Total } from './total.js';

/**
 * Settles when the last worker has ended. Rejects with `signal.reason`, or with exactly the value that the
 * user's filter or `onProgress` threw. All other failures are in the report.
 */
export function runEngine(
  placement: Placement,
  answers: Answers,
  request: Request,
  report: Report,
): Promise<void> {
  const { roots, shown } = placement;
  const { signal, entries } = request;
  const { events } = report;
  const onProgress = request.onProgress && AsyncResource.bind(request.onProgress);
  return new Promise((resolve, reject) => {
    // A listener would never learn of an earlier abort.
    signal?.throwIfAborted();
    const job = createJob(roots, nativeOptions(placement, request), request.concurrency);
    const total = onProgress && Total.of(roots, request);
    report.totalBytes = total?.bytes;
    let failure: { thrown: unknown } | undefined;
    const stop = (thrown: unknown): void => {
      failure ??= { thrown };
      answers.end();
      job.stop();
    };
    let unlisten = (): void => {};
    let taken: Iterator<EntryEvent> = [].values();
    // Reading a record also takes time. Records without room wait unread.
    const takeEntries = (ended = false): void => {
      while (entries && (ended || !events.full)) {
        const { value } = taken.next();
        if (value) {
          events.push(value);
          continue;
        }
        const records = job.takeEntries();
        if (records.length === 0 || !events.wanted) return;
        taken = readEntries(records, shown);
      }
    };
    const tellNews = (ended: boolean): void => {
      const { errors, warnings } = report.read(job, shown);
      if (ended) warnings.push(...report.readLosses(job, shown));
      takeEntries(ended);
      const count = ended ? events.takeDropped() : 0;
      if (count > 0) {
        const message = `${count} entry events were dropped, because nobody read them`;
        report.warn({ code: 'ENTRIES_DROPPED', message, count });
      }
      for (const error of errors) events.push({ type: 'error', error });
      for (const warning of warnings) events.push({ type: 'warning', warning });
      events.push({ type: 'progress', ...report.progress });
    };
    const tellProgress = (ended: boolean): void => {
      if (!onProgress || failure) return;
      const complete = ended && (report.result.errorCount === 0 || request.onError !== 'stop');
      report.total = complete ? total && report.counters.scanned : total?.known();
      try {
        const answer: unknown = onProgress(report.progress);
        if (isThenable(answer)) answer.then(undefined, stop);
      } catch (thrown) {
        stop(thrown);
      }
    };
    const look = (ended: boolean): void => {
      if (ended) {
        unlisten();
        forget(job);
        total?.stop();
      }
      tellNews(ended);
      tellProgress(ended);
      if (!ended) return;
      // Not after a success: an atomic copy asks git again before it replaces DEST.
      if (report.result.errorCount > 0) answers.end();
      if (failure) reject(failure.thrown);
      else if (!isStoppedAtExit(job)) resolve();
    };
    const listener: Listener = {
      isFull: () => entries && events.full,
      warning: (warning) => report.warn(warning),
      unreadable(error) {
        report.fail(error);
        if (request.onError === 'stop') job.stop();
      },
      excluded(root, below, kind, reason) {
        const name = Buffer.from(below, 'latin1');
        const path = shown.src(join(root.src, name));
        const dest = shown.dest(join(root.dest, name));
        events.push({ type: 'entry', action: 'exclude', kind, path, dest, reason });
      },
      failed: stop,
    };
    const answer = (): void => answers.answer(job, listener);
    events.onRoom = () => {
      takeEntries();
      answer();
    };
    unlisten = onAbort(signal, () => stop(signal?.reason));
    // Without `onProgress` and `entries` 100 ms are enough: each call takes processor time from the workers.
    job.start(look, answer, onProgress || entries ? 20 : 100);
  });
}

/** Runs a copy for the library itself, without events or progress. */
export async function runUnheard(placement: Placement, request: Request): Promise<CopyResult> {
  const report = new Report();
  report.saysEnd = false; // it is not the user's copy that ends
  await runEngine(placement, Answers.prepareNow(placement, request), request, report);
  return report.result;
}

/** Runs a copy on the calling thread to its end, without events. Throws the filter's exceptions. */
export function runEngineNow(
  placement: Placement,
  answers: Answers,
  request: Request,
  report: Report,
): void {
  const { roots, shown } = placement;
  const job = createJobHere(roots, nativeOptions(placement, request));
  try {
    do job.work();
    while (answers.answerNow(job));
  } catch (thrown) {
    job.stop();
    job.work();
    throw thrown;
  } finally {
    report.read(job, shown);
    report.readLosses(job, shown);
  }
}

export function nativeOptions(
  { distrusted = [] }: Pick<Placement, 'distrusted'>,
  request: Request,
): NativeOptions {
  const { existingDirectories, absoluteSymlinks, like } = request;
  const { compares, shard, shards, preserve } = request;
  const flags = Object.fromEntries(nativeFlags.map((name) => [name, request[name]]));
  return {
    ...(flags as Record<(typeof nativeFlags)[number], boolean>),
    ...{ existingDirectories, absoluteSymlinks, compares, shard, shards },
    like: likes.indexOf(like),
    workingDirectory: request.workingDirectory,
    replaces: request.replaces ?? Buffer.alloc(0),
    distrusted,
    firstTemporary: Math.random() * 2 ** 64,
    preserve: preserve.reduce((bits, kind) => bits | (1 << lossKinds.indexOf(kind)), 0),
    findHoles: request.sparse === 'always',
    backup: backupModes.indexOf(request.backup ?? 'none'),
    instead: insteadModes.indexOf(request.instead),
    stopOnError: request.onError === 'stop',
    reflink: reflinkModes.indexOf(request.reflink ?? 'auto'),
  };
}
