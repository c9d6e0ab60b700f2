/** The user's own function: asked last, and only about what nothing else leaves out. */
import type { FilterEntry } from '../types.js';

/** The user's function, with the paths of SRC and DEST bound. */
export type EntryFilter = (entry: FilterEntry) => boolean | PromiseLike<boolean>;

/** Answers that are awaited at the same time, over all directories. */
const mostPending = 64;

/**
 * What the filter throws, or its promise rejects with, comes out as it is, `undefined` too; from then on
 * it is not called again.
 */
export class FilterAsker {
  #filter: EntryFilter;
  #pending = 0;
  #waiting: (() => void)[] = [];
  #asking = new Set<(thrown: unknown) => void>();
  #failed: { thrown: unknown } | undefined;

  constructor(filter: EntryFilter) {
    this.#filter = filter;
  }

  /**
   * Asks about the entries of one directory and tells `drop` the index of each that is not wanted. A promise
   * only where the filter gives one. Places that are undefined are not asked about.
   */
  ask(
    entries: readonly (FilterEntry | undefined)[],
    drop: (index: number) => void,
  ): undefined | Promise<void> {
    for (const [index, entry] of entries.entries()) {
      if (!entry) continue;
      if (this.#isFull) return this.#askOn(entries, drop, index);
      const answer = this.#call(entry);
      if (isThenable(answer)) {
        const held = this.#hold(answer, drop, index);
        return this.#askOn(entries, drop, index + 1, held);
      }
      if (!answer) drop(index);
    }
    return undefined;
  }

  get #isFull(): boolean {
    return this.#pending >= mostPending;
  }

  /** From the first entry that promises have to do with. */
  #askOn(
    entries: readonly (FilterEntry | undefined)[],
    drop: (index: number) => void,
    from: number,
    held?: Promise<void>,
  ): Promise<void> {
    const askRest = async (): Promise<void> => {
      const answers = [held];
      for (const [index, entry] of entries.entries()) {
        if (index < from || !entry) continue;
        while (this.#isFull) await new Promise<void>((go) => this.#waiting.push(go));
        const answer = this.#call(entry);
        if (isThenable(answer)) answers.push(this.#hold(answer, drop, index));
        else if (!answer) drop(index);
      }
      await Promise.all(answers);
    };
    return new Promise((resolve, reject) => {
      // A failure ends this at once, though other answers may never come.
      this.#asking.add(reject);
      askRest()
        .then(resolve, (thrown) => this.#fail(thrown))
        .finally(() => this.#asking.delete(reject));
    });
  }

  #call(entry: FilterEntry): unknown {
    if (this.#failed) throw this.#failed.thrown;
    try {
      const filter = this.#filter;
      return filter(entry);
    } catch (thrown) {
      this.#fail(thrown);
      throw thrown;
    }
  }

  /** Never rejects: a failure goes to all who ask. */
  #hold(answer: PromiseLike<unknown>, drop: (index: number) => void, index: number): Promise<void> {
    this.#pending += 1;
    return Promise.resolve(answer)
      .then(
        (wanted) => {
          if (!wanted) drop(index);
        },
        (thrown) => this.#fail(thrown),
      )
      .finally(() => {
        this.#pending -= 1;
        // All of them: who is first may have no use for the place.
        for (const go of this.#waiting.splice(0)) go();
      });
  }

  #fail(thrown: unknown): void {
    this.#failed ??= { thrown };
    for (const reject of this.#asking) reject(this.#failed.thrown);
  }
}

function isThenable(answer: unknown): answer is PromiseLike<unknown> {
  return (
    typeof answer === 'object' &&
    answer !== null &&
    typeof (answer as PromiseLike<unknown>).then === 'function'
  );
}
