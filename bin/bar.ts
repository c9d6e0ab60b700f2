import { type Options, SingleBar } from 'cli-progress';
import type { CopyCounters } from '../lib/types.js';
import { bytes, clock, number, perSecond } from './format.js';

export interface Progress {
  update(so: ProgressState): void;
  /** Makes room for a line of text; the next update draws again. */
  clear(): void;
  /** For good. */
  stop(): void;
}

export type ProgressState = CopyCounters & { durationMs: number };

/** Copies that take less show no bar: it would only flicker. */
const QUIET_MS = 200;
const WIDEST_BAR = 30;

export function createBar(stream: NodeJS.WriteStream): Progress {
  const options: Options & { terminal: Row } = {
    terminal: new Row(stream),
    format: (_options, { maxWidth }, state: ProgressState) => progressLine(state, maxWidth),
    hideCursor: false,
    clearOnComplete: true,
    noTTYOutput: true,
    // Signals are ours to handle.
    gracefulExit: false,
  };
  const bar = new SingleBar(options);
  let stopped = false;
  return {
    update(state) {
      if (stopped || state.durationMs < QUIET_MS) return;
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

/** One line, in no colours, that fits the width: the bar takes what the numbers leave. */
export function progressLine(state: ProgressState, width: number): string {
  const done =
    state.files +
    state.directories +
    state.symlinks +
    state.special +
    state.hardLinks +
    state.unchanged +
    state.skipped;
  const parts = [
    `${number(done)}/${number(state.scanned)} found`,
    bytes(state.bytes),
    clock(state.durationMs),
    `${number(perSecond(state.files, state.durationMs))} files/s`,
    `${bytes(perSecond(state.bytes, state.durationMs))}/s`,
  ];
  // The last column stays empty: some terminals wrap as soon as it is written.
  while (parts.length > 1 && parts.join('  ').length >= width) parts.pop();
  const text = parts.join('  ');
  const room = Math.min(WIDEST_BAR, width - 1 - text.length - '[]  '.length);
  if (room < 5) return text.slice(0, Math.max(width - 1, 0));
  const filled = Math.round((room * Math.min(done, state.scanned)) / Math.max(state.scanned, 1));
  return `[${'='.repeat(filled)}${'-'.repeat(room - filled)}]  ${text}`;
}
