import { SingleBar } from 'cli-progress';
import { bytes, clock, number, perSecond } from './format.js';
import type { Progress, ProgressState } from './progress.js';

/** Copies that take less show no bar: it would only flicker. */
const QUIET_MS = 200;
const WIDEST_BAR = 30;

export function createBar(stream: NodeJS.WriteStream): Progress {
  const bar = new SingleBar({
    stream,
    format: (_options, { maxWidth }, state: ProgressState) => progressLine(state, maxWidth),
    // The bar leaves the terminal as it finds it: neither cursor nor wrapping has to be restored.
    hideCursor: false,
    linewrap: true,
    clearOnComplete: true,
    noTTYOutput: true,
    // Signals are ours to handle.
    gracefulExit: false,
  });
  let stopped = false;
  return {
    update(state) {
      if (stopped || state.durationMs < QUIET_MS) return;
      if (bar.isActive) bar.update({ ...state });
      else bar.start(1, 0, { ...state });
    },
    // The bar remembers where on the screen it began, so after a line of text it begins anew.
    clear: () => bar.stop(),
    stop() {
      stopped = true;
      bar.stop();
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
