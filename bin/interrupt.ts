const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** The reason of an abort that a signal asked for. */
export class Interruption extends Error {
  readonly exitCode: number;

  constructor(signal: keyof typeof EXIT_CODES) {
    super(`interrupted by ${signal}`);
    this.exitCode = EXIT_CODES[signal];
  }
}

/** Milliseconds in which further signals are the same one: timeout(1) sends it to the process and to its group. */
const sameSignal = 1000;

/**
 * The first signal aborts. After a second the default action is back, so that another signal kills at once,
 * whatever JavaScript is doing. SIGHUP is left alone: `nohup` has it ignored.
 */
export function abortOnSignals(controller: AbortController): () => void {
  const onSignal = (signal: keyof typeof EXIT_CODES) => {
    if (controller.signal.aborted) return;
    setTimeout(release, sameSignal).unref();
    controller.abort(new Interruption(signal));
  };
  const release = () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return release;
}
