/** What copyTree() returns: a promise of the result, and an iterable of events. */
import type { Report } from './bridge/result.js';
import type { CopyEvent, CopyJob, CopyResult } from './types.js';

export class Job extends Promise<CopyResult> implements CopyJob {
  /** The promises of then() are ordinary promises. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  readonly #report: Report;

  constructor(copied: Promise<CopyResult>, report: Report) {
    super((resolve) => resolve(copied));
    this.#report = report;
    // An iteration throws it; one that was left does not, and then nobody has handled it.
    report.events.onFailure = () => {
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
    if (fulfilled) this.#report.events.await();
    return super.then(fulfilled, rejected);
  }

  [Symbol.asyncIterator](): AsyncIterator<CopyEvent> {
    this.#report.events.listen();
    return this.#report.events;
  }
}
