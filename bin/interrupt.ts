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

/**
 * The first signal aborts. The default action is back from then on, so that a second one kills at
 * once, whatever JavaScript is doing. SIGHUP is left alone: `nohup` has it ignored.
 */
export function abortOnSignals(controller: AbortController): () => void {
  const onSignal = (signal: keyof typeof EXIT_CODES) => {
    release();
    controller.abort(new Interruption(signal));
  };
  const release = () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return release;
}
