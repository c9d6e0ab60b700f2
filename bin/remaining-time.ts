/** Estimates how long a copy will go on. The estimate is readable because it seldom changes. */
import type { CopyProgress } from '../lib/types.js';
import { workOf } from './progress-line.js';

/** Before that, the pace is unreliable. */
const SETTLED_MS = 2000;
/** Work of this age counts for a third. */
const MEMORY_MS = 10_000;
const SAMPLE_MS = 100;
/** The shown time counts down by itself for at least this time. */
const KEPT_MS = 2000;

export class RemainingTime {
  #at = 0;
  #done = 0;
  // Recent work, in entries or bytes; older work counts for less.
  #work = 0;
  #ms = 0;
  #end: number | undefined;
  #endSetAt = 0;

  /** Call it often. Returns milliseconds; undefined while no estimate is possible. */
  update(state: CopyProgress): number | undefined {
    const { durationMs } = state;
    const { done, total } = workOf(state);
    this.#sample(done, durationMs);
    if (total === undefined || durationMs < SETTLED_MS || this.#work <= 0) return undefined;
    const estimate = (total - done) * (this.#ms / this.#work);
    if (this.#end === undefined || this.#isFarOff(estimate, durationMs)) {
      this.#end = durationMs + estimate;
      this.#endSetAt = durationMs;
    }
    return Math.max(this.#end - durationMs, 0);
  }

  #sample(done: number, durationMs: number): void {
    const passed = durationMs - this.#at;
    if (passed < SAMPLE_MS) return;
    const kept = Math.exp(-passed / MEMORY_MS);
    this.#work = this.#work * kept + (done - this.#done);
    this.#ms = this.#ms * kept + passed;
    this.#at = durationMs;
    this.#done = done;
  }

  #isFarOff(estimate: number, durationMs: number): boolean {
    const difference = Math.abs(estimate - ((this.#end ?? 0) - durationMs));
    const isOld = durationMs - this.#endSetAt >= KEPT_MS;
    return estimate === 0 || (isOld && difference > Math.max(2000, estimate / 5));
  }
}
