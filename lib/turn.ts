/** How many copies of a process run at once. */
import { unlessAborted } from './io/abort.js';

/** Each has some file descriptors, and calls in libuv's pool, where the host's calls stand in line behind them. */
const most = 64;
let running = 0;
const line: (() => void)[] = [];

/** The turn of a copy, one of 64. Whoever waits for something else gives it back. */
export class CopyTurn {
  #isTaken = false;

  /** A copy that calls the user's code needs no turn, because that code may wait for other copies. */
  constructor(readonly callsUser: boolean) {}

  /** Waits until fewer than 64 copies run. Rejects with `signal.reason`. */
  async take(signal?: AbortSignal): Promise<void> {
    if (this.callsUser || this.#isTaken) return;
    if (running < most) {
      running++;
    } else {
      let begin = (): void => {};
      const turn = new Promise<void>((resolve) => {
        begin = resolve;
        line.push(begin);
      });
      await unlessAborted(signal, turn).catch((error) => {
        const at = line.indexOf(begin);
        if (at >= 0) line.splice(at, 1);
        else next();
        throw error;
      });
    }
    this.#isTaken = true;
  }

  end(): void {
    if (this.#isTaken) next();
    this.#isTaken = false;
  }
}

function next(): void {
  const begin = line.shift();
  if (begin) begin();
  else running--;
}
