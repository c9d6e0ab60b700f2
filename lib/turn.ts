/** How many copies of a process run at once. */
import { unlessAborted } from './io/abort.js';
import type { Request } from './request/request.js';

/** Each has some file descriptors, and calls in libuv's pool, where the host's calls stand in line behind them. */
const most = 64;
let running = 0;
const line: (() => void)[] = [];

function next(): void {
  const begin = line.shift();
  if (begin) begin();
  else running--;
}

/**
 * Waits until fewer than 64 copies run. Returns a function to call at the end. A copy that calls the user's code does not wait, and
 * nobody waits for it, because that code may wait for other copies.
 */
export async function takeTurn({
  signal,
  filter,
  onProgress,
  entries,
}: Request): Promise<() => void> {
  if (filter || onProgress || entries) return () => {};
  if (running < most) {
    running++;
    return next;
  }
  const turn = new Promise<void>((resolve) => line.push(resolve));
  try {
    await unlessAborted(signal, turn);
  } catch (error) {
    turn.then(next, next); // it is passed on when it comes
    throw error;
  }
  return next;
}
