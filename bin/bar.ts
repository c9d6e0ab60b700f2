import { type Options, SingleBar } from 'cli-progress';
import type { CopyProgress } from '../lib/types.js';
import { progressLine } from './progress-line.js';
import { RemainingTime } from './remaining-time.js';

export interface Progress {
  update(sofar: CopyProgress): void;
  /** Makes room for a line of text; the next update draws again. */
  clear(): void;
  /** For good. */
  stop(): void;
}

/** Copies that take less show no bar: it would only flicker. */
const QUIET_MS = 200;

/** `deletes`: the copy may delete entries, and the bar shows how many. */
export function createBar(stream: NodeJS.WriteStream, deletes: boolean): Progress {
  const remaining = new RemainingTime();
  let left: number | undefined;
  let stopped = false;
  const options: Options & { terminal: Row } = {
    terminal: new Row(stream),
    format: (_options, { maxWidth }, state: CopyProgress) =>
      progressLine(state, maxWidth, { deletes, left, ended: stopped }),
    hideCursor: false,
    clearOnComplete: true,
    noTTYOutput: true,
    // Signals are ours to handle.
    gracefulExit: false,
  };
  const bar = new SingleBar(options);
  return {
    update(state) {
      if (stopped) return;
      left = remaining.update(state);
      if (state.durationMs < QUIET_MS) return;
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

/**
 * What cli-progress draws on, in the place of its own `Terminal`, which goes back to where the bar began:
 * in a terminal that was resized that is somewhere else. This one leaves cursor and wrapping as they are
 * and takes back what it has written.
 */
class Row {
  #stream: NodeJS.WriteStream;
  #shown = '';

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  isTTY(): boolean {
    return this.#stream.isTTY === true; // off a terminal it is undefined
  }

  /** The `^C` that a terminal echoes has room, too. */
  getWidth(): number {
    return this.isTTY() ? this.#stream.columns - 2 : 80;
  }

  /** To the bar's begin, by the width as it is now: a terminal that became narrower has broken the line. */
  cursorTo(): void {
    if (!this.#shown) return;
    const rowsAbove = Math.ceil(this.#shown.length / Math.max(this.#stream.columns, 1)) - 1;
    this.#shown = '';
    // Row by row: what clears the rest of a screen may keep it as history.
    this.#stream.write(`\r\u001b[2K${'\u001b[1A\u001b[2K'.repeat(rowsAbove)}`);
  }

  write(text: string): void {
    if (this.isTTY()) this.#shown = text;
    this.#stream.write(text);
  }

  newline(): void {
    this.#stream.write('\n');
  }

  // Nothing of this has to be restored.
  cursor(): void {}
  cursorSave(): void {}
  cursorRestore(): void {}
  clearLine(): void {}
  clearRight(): void {}
  lineWrapping(): void {}
}
