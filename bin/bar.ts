import { type Options, SingleBar } from 'cli-progress';
import type { CopyProgress } from '../lib/types.js';
import { progressLine, workOf } from './progress-line.js';

/** Before that, the pace is unreliable. */
const settledMs = 2000;

export interface Progress {
  update(sofar: CopyProgress): void;
  /** Makes room for a line of text. The next update draws the bar again. */
  clear(): void;
  /** Ends the bar for good. */
  stop(): void;
}

/** Creates a bar. `deletes`: the copy may delete entries, and the bar shows their number. */
export function createBar(stream: NodeJS.WriteStream, deletes: boolean): Progress {
  let first: CopyProgress | undefined;
  let left: number | undefined;
  let stopped = false;
  const options: Options & { terminal: Row } = {
    terminal: new Row(stream),
    format: (_options, { maxWidth }, state: CopyProgress) =>
      progressLine(state, maxWidth, { deletes, left, ended: stopped }),
    hideCursor: false,
    clearOnComplete: true,
    noTTYOutput: true,
    // fastcp handles signals itself.
    gracefulExit: false,
  };
  const bar = new SingleBar(options);
  return {
    update(state) {
      if (stopped) return;
      first ??= { ...state }; // it may have waited for a lock before
      left = remainingMs(first, state);
      if (bar.isActive) bar.update({ ...state });
      else bar.start(1, 0, { ...state });
    },
    clear: () => bar.stop(),
    stop() {
      stopped = true;
      bar.stop();
    },
  };
}

/** Returns the milliseconds that the rest takes at the average pace since `first`; undefined while no estimate is possible. */
function remainingMs(first: CopyProgress, state: CopyProgress): number | undefined {
  const { done, total } = workOf(state);
  const [ms, since] = [state.durationMs - first.durationMs, done - workOf(first).done];
  if (total === undefined || since <= 0 || ms < settledMs) return undefined;
  return Math.max(total - done, 0) * (ms / since);
}

/**
 * Replaces cli-progress's own `Terminal`, which returns to the place where the bar began. In a resized terminal
 * that is another place. This class does not change cursor and wrapping, and removes its own output.
 */
class Row {
  #stream: NodeJS.WriteStream;
  #shown = '';

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  isTTY(): boolean {
    return this.#stream.isTTY === true; // undefined if the stream is not a terminal
  }

  /** The `^C` that a terminal echoes also has room. */
  getWidth(): number {
    return this.isTTY() ? this.#stream.columns - 2 : 80;
  }

  /** Goes to the bar's beginning, by the present width: a terminal that became narrower has broken the line. */
  cursorTo(): void {
    if (!this.#shown) return;
    const rowsAbove = Math.ceil(this.#shown.length / Math.max(this.#stream.columns, 1)) - 1;
    this.#shown = '';
    // Row by row, because some terminals store a cleared screen as history.
    this.#stream.write(`\r\u001b[2K${'\u001b[1A\u001b[2K'.repeat(rowsAbove)}`);
  }

  write(text: string): void {
    if (this.isTTY()) this.#shown = text;
    this.#stream.write(text);
  }

  newline(): void {
    this.#stream.write('\n');
  }

  // This class changes nothing that has to be restored.
  cursor(): void {}
  cursorSave(): void {}
  cursorRestore(): void {}
  clearLine(): void {}
  clearRight(): void {}
  lineWrapping(): void {}
}
