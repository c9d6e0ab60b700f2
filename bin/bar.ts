import { bytes, clock, number, perSecond } from './format.js';
import type { Progress, ProgressState } from './progress.js';

/** Copies that take less show no bar: it would only flicker. */
const QUIET_MS = 200;
const REDRAW_MS = 100;
/** Off a terminal each is a line that stays. */
const NEXT_LINE_MS = 2000;
const WIDEST_BAR = 30;

export function createBar(stream: NodeJS.WriteStream): Progress {
  let next = QUIET_MS;
  let shown = '';
  let stopped = false;

  /** By the width as it is now: a terminal that has become narrower has broken the line into rows. */
  function erasure(): string {
    if (!shown) return '';
    const rowsAbove = Math.ceil(shown.length / Math.max(stream.columns, 1)) - 1;
    shown = '';
    // Row by row: what clears the rest of a screen may keep it as history.
    return `\r\u001b[2K${'\u001b[1A\u001b[2K'.repeat(rowsAbove)}`;
  }

  function clear(): void {
    const sequence = erasure();
    if (sequence) stream.write(sequence);
  }

  return {
    update(state) {
      if (stopped || state.durationMs < next) return;
      next = state.durationMs + (stream.isTTY ? REDRAW_MS : NEXT_LINE_MS);
      if (!stream.isTTY) {
        stream.write(`${progressLine(state, 80)}\n`);
        return;
      }
      const before = erasure();
      shown = progressLine(state, stream.columns - 2); // the `^C` that a terminal echoes has room, too
      stream.write(before + shown);
    },
    clear,
    stop() {
      stopped = true;
      clear();
    },
  };
}

/** One line, in no colours, that fits the width: the bar takes what the numbers leave. */
export function progressLine(state: ProgressState, width: number): string {
  const done =
    state.files + state.folders + state.links + state.special + state.hardLinked + state.skipped;
  const parts = [
    `${number(done)}/${number(state.found)} found`,
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
  const filled = Math.round((room * Math.min(done, state.found)) / Math.max(state.found, 1));
  return `[${'='.repeat(filled)}${'-'.repeat(room - filled)}]  ${text}`;
}
