/** Calls the user's own function, after all other rules, for entries that they do not exclude. */
import { AsyncResource } from 'node:async_hooks';
import { isThenable } from '../builtins.js';
import type { FilterEntry } from '../types.js';

/** The user's function, bound to the paths of SRC and DEST. */
export type EntryFilter = (entry: FilterEntry) => boolean | PromiseLike<boolean>;

/** The number of promises that are awaited at the same time, over all directories. */
const mostPending = 64;

/**
 * Passes on exactly the value that the filter throws or rejects with, also `undefined`. After that the filter
 * is not called again.
 */
export class FilterAsker {
  #filter: EntryFilter;
  #pending = 0;
  #waiting: (() => void)[] = [];
  #asking = new Set<(thrown: unknown) => void>();
  #failed: { thrown: unknown } | undefined;

  constructor(filter: EntryFilter) {
    // The engine wakes the thread, and the caller's AsyncLocalStorage would be lost.
    this.#filter = AsyncResource.bind(filter);
  }

  /**
   * Asks about the entries of one directory, and calls `drop` with the index of each excluded one. Returns a
   * promise only if the filter does. Skips undefined places.
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

  /** Continues from the first entry for which the filter returned a promise. */
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
      // A failure ends this at once, even if other promises never settle.
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

  /** Never rejects: a failure goes to all callers of ask(). */
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
        // Wakes all, because the first may not need the free place.
        for (const go of this.#waiting.splice(0)) go();
      });
  }

  #fail(thrown: unknown): void {
    this.#failed ??= { thrown };
    for (const reject of this.#asking) reject(this.#failed.thrown);
  }
}
