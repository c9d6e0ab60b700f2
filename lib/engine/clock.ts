import { setImmediate } from 'node:timers';

/**
 * Milliseconds on a clock that only goes forward. Not performance.now(): Node loads that on first use,
 * which takes as long as copying some files.
 */
export function now(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}

/** How long the event loop may wait, in milliseconds. */
const longestTurn = 2;

/** Work on the host's thread that could go on and on, but lets the event loop have its turns in between. */
export class Turn {
  #began = now();
  #next: Promise<void> | undefined;

  /** To be said where the event loop had its turn otherwise. */
  begin(): void {
    this.#began = now();
  }

  isLate(): boolean {
    return now() - this.#began > longestTurn;
  }

  /** The same for all who ask before it begins, so that they go on in their order. */
  next(): Promise<void> {
    this.#next ??= new Promise<void>((go) => setImmediate(go)).then(() => {
      this.#next = undefined;
      this.begin();
    });
    return this.#next;
  }
}
