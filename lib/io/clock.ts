import { hrtime, setImmediate } from '../builtins.js';

/**
 * Returns milliseconds of a clock that never goes back. Not performance.now(), because Node loads that on first
 * use, which takes as long as copying some files.
 */
export function now(): number {
  const [seconds, nanoseconds] = hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}

/** The time that the event loop may wait, in milliseconds. */
const longestTurn = 2;

/** Gives the event loop its turns during long work on the host's thread. */
export class LoopTurn {
  #began = now();
  #next: Promise<void> | undefined;

  /** Called after the event loop had its turn in another way. */
  begin(): void {
    this.#began = now();
  }

  isLate(): boolean {
    return now() - this.#began > longestTurn;
  }

  /** Waits for the next turn. All callers share one wait, and continue in their order. */
  next(): Promise<void> {
    this.#next ??= new Promise<void>((go) => setImmediate(go)).then(() => {
      this.#next = undefined;
      this.begin();
    });
    return this.#next;
  }
}
