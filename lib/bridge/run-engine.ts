/** Runs one copy in the engine, from its start to the end of its last worker. */

import { AsyncResource } from 'node:async_hooks';
import { isThenable } from '../builtins.js';
import type { CopyError } from '../errors/copy-error.js';
import { onAbort } from '../io/abort.js';
import { join } from '../paths.js';
import type { Placement, Root } from '../placement/placement.js';
import type { Request } from '../request/request.js';
import type { CopyResult, CopyWarning, EntryEvent, EntryKind } from '../types.js';
import { Answers, type Listener } from './answers.js';
import { readEntries } from './events.js';
import { createJob, createJobHere, forget, isStoppedAtExit, type NativeJob } from './native.js';
import { Report } from './result.js';
import { Total } from './total.js';

/** One copy on other threads. */
class Run implements Listener {
  readonly #job: NativeJob;
  readonly #total: Total | undefined;
  readonly #onProgress: Request['onProgress'];
  #failure: { thrown: unknown } | undefined;
  /** Records that were taken, and had no room among the events yet. */
  #taken: Iterator<EntryEvent> = [].values();

  constructor(
    readonly placement: Placement,
    readonly answers: Answers,
    readonly request: Request,
    readonly report: Report,
  ) {
    const { roots } = placement;
    this.#onProgress = request.onProgress && AsyncResource.bind(request.onProgress);
    this.#job = createJob(placement, request);
    this.#total = this.#onProgress && Total.of(roots, request);
    report.totalBytes = this.#total?.bytes;
  }

  /** Settles when the last worker has ended. */
  start(): Promise<void> {
    const { entries, signal } = this.request;
    const answer = (): void => this.answers.answer(this.#job, this);
    this.report.events.onRoom = () => {
      this.#takeEntries();
      answer();
    };
    return new Promise((resolve, reject) => {
      const unlisten = onAbort(signal, () => this.failed(signal?.reason));
      const look = (ended: boolean): void => {
        if (ended) {
          unlisten();
          forget(this.#job);
          this.#total?.stop();
        }
        this.#tellNews(ended);
        this.#tellProgress(ended);
        if (!ended) return;
        // Not after a success: an atomic copy asks git again before it replaces DEST.
        if (this.report.result.errorCount > 0) this.answers.end();
        if (this.#failure) reject(this.#failure.thrown);
        else if (!isStoppedAtExit(this.#job)) resolve();
      };
      // Without a listener 100 ms are enough: each call takes processor time from the workers.
      this.#job.start(look, answer, this.#onProgress || entries ? 20 : 100);
    });
  }

  failed(thrown: unknown): void {
    this.#failure ??= { thrown };
    this.answers.end();
    this.#job.stop();
  }

  isFull(): boolean {
    return this.request.entries && this.report.events.full;
  }

  warning(warning: CopyWarning): void {
    this.report.warn(warning);
  }

  unreadable(error: CopyError): void {
    this.report.fail(error);
    if (this.request.onError === 'stop') this.#job.stop();
  }

  excluded(root: Root, below: string, kind: EntryKind, reason: string): void {
    const name = Buffer.from(below, 'latin1');
    const { shown } = this.placement;
    const path = shown.src(join(root.src, name));
    const dest = shown.dest(join(root.dest, name));
    this.report.events.push({ type: 'entry', action: 'exclude', kind, path, dest, reason });
  }

  /** Reading a record also takes time. Records without room wait unread. */
  #takeEntries(ended = false): void {
    const { events } = this.report;
    while (this.request.entries && (ended || !events.full)) {
      const { value } = this.#taken.next();
      if (value) {
        events.push(value);
        continue;
      }
      const records = this.#job.takeEntries();
      if (records.length === 0 || !events.wanted) return;
      this.#taken = readEntries(records, this.placement.shown);
    }
  }

  #tellNews(ended: boolean): void {
    const { events } = this.report;
    const { shown } = this.placement;
    const { errors, warnings } = this.report.read(this.#job, shown);
    if (ended) warnings.push(...this.report.readLosses(this.#job, shown));
    this.#takeEntries(ended);
    const count = ended ? events.takeDropped() : 0;
    if (count > 0) {
      const message = `${count} entry events were dropped, because nobody read them`;
      this.report.warn({ code: 'ENTRIES_DROPPED', message, count });
    }
    for (const error of errors) events.push({ type: 'error', error });
    for (const warning of warnings) events.push({ type: 'warning', warning });
    events.push({ type: 'progress', ...this.report.progress });
  }

  #tellProgress(ended: boolean): void {
    if (!this.#onProgress || this.#failure) return;
    const { report } = this;
    const complete = ended && (report.result.errorCount === 0 || this.request.onError !== 'stop');
    report.total = complete ? this.#total && report.counters.scanned : this.#total?.known();
    try {
      const answer: unknown = this.#onProgress(report.progress);
      if (isThenable(answer)) answer.then(undefined, (thrown: unknown) => this.failed(thrown));
    } catch (thrown) {
      this.failed(thrown);
    }
  }
}

/**
 * Settles when the last worker has ended. Rejects with `signal.reason`, or with exactly the value that the
 * user's filter or `onProgress` threw. All other failures are in the report.
 */
export async function runEngine(
  placement: Placement,
  answers: Answers,
  request: Request,
  report: Report,
): Promise<void> {
  request.signal?.throwIfAborted(); // a listener would never learn of an earlier abort
  await new Run(placement, answers, request, report).start();
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
  const { shown } = placement;
  const job = createJobHere(placement, request);
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
