import { expect } from 'vitest';
import { Random } from '../../selection/support/random.js';
import { seed, size } from '../../support/form.js';

// Random tests: seconds, in the long form minutes. FASTCP_SEED makes the same again.

/** How often `some` cases are tried. */
export const times = (some: number): number => size(some, some, some * 20);

/**
 * Makes cases and looks what is wrong with each: nothing, if all is well. Of one that is wrong parts are left
 * out while it stays so, and the test fails with what is left.
 */
export async function fuzz<T>(
  cases: number,
  make: (random: Random) => T[],
  wrong: (parts: T[]) => unknown | Promise<unknown>,
): Promise<void> {
  const random = new Random(seed);
  for (let index = 0; index < cases; index++) {
    let parts = make(random);
    let what = await wrong(parts);
    if (what === undefined) continue;
    for (let size = parts.length; size >= 1; size = Math.floor(size / 2)) {
      for (let at = 0; at < parts.length; ) {
        const fewer = parts.toSpliced(at, size);
        const still = await wrong(fewer);
        if (still === undefined) {
          at += size;
        } else {
          what = still;
          parts = fewer;
        }
      }
    }
    expect.fail(`FASTCP_SEED=${seed}, case ${index}: ${what}\nshrunk: ${JSON.stringify(parts)}`);
  }
}

/** Between none and `most` of what `one` makes. */
export function several<T>(random: Random, most: number, one: () => T): T[] {
  return Array.from({ length: random.below(most + 1) }, one);
}
