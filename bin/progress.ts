import type { OutputOptions } from './args.js';
import type { Progress } from './bar.js';
import { guardedStream, kindOf, type Name } from './output.js';

/** Shorter copies show no bar, because it would only flicker. */
const QUIET_MS = 200;

const silent: Progress = { update() {}, clear() {}, stop() {} };

/** Returns the progress bar of a copy, and loads it when it has to be shown. `deletes`: the copy may delete entries. */
export function createProgress(deletes: boolean): Progress {
  let bar = silent;
  let isLoading = false;
  let hasStopped = false;
  const load = async (): Promise<void> => {
    const { createBar } = await import('./bar.js');
    if (!hasStopped) bar = createBar(guardedStream('stderr'), deletes);
  };
  return {
    update(sofar) {
      if (sofar.durationMs < QUIET_MS) return;
      // Without its file the copy goes on without a bar: it may be replacing this very package.
      if (!isLoading) load().catch(() => {});
      isLoading = true;
      bar.update(sofar);
    },
    clear: () => bar.clear(),
    stop() {
      hasStopped = true;
      bar.stop();
    },
  };
}

export function showsProgress(output: OutputOptions): boolean {
  return output.progress ?? isWelcome(output);
}

function isWelcome(output: OutputOptions): boolean {
  const { CI = '', TERM } = process.env;
  const inCi = !['', '0', 'false'].includes(CI);
  if (TERM === 'dumb' || inCi || output.json || output.quiet || !isTerminal('stderr')) return false;
  // Lines on the same terminal show enough progress.
  return !(output.entries && isTerminal('stdout'));
}

/** Loads the stream only of a character device, because that takes 4 ms. */
function isTerminal(name: Name): boolean {
  // The kind of a console is not known to every Windows.
  return (process.platform === 'win32' || kindOf(name) === 'device') && guardedStream(name).isTTY;
}
