import { constants } from 'node:os';

/**
 * Signals that ask a process to end and leave it time for that: Ctrl-C, kill(1), a closed terminal or ssh
 * connection, and a batch system's limit of CPU time.
 *
 * SIGQUIT (Ctrl-\) is for ending at once with a core file, and SIGUSR1 is Node's own. Nobody sends the others
 * (SIGALRM, SIGUSR2, …) unasked. All these have their default action. Node resets ignored signals when it starts, so
 * the SIGHUP of nohup(1) cannot be distinguished from another.
 */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGXCPU'] as const;

type Signal = (typeof SIGNALS)[number];

/** The reason of an abort by a signal. */
export class Interruption extends Error {
  /** The same code as in a shell. */
  readonly exitCode: number;

  constructor(signal: Signal) {
    super(`interrupted by ${signal}`);
    this.exitCode = 128 + constants.signals[signal];
  }
}

/**
 * Milliseconds in which further signals count as the same one, because timeout(1) sends it to the process and
 * to its group.
 */
const sameSignal = 1000;

/**
 * The first signal aborts. After a second the default action returns, so that another signal kills at once,
 * even if JavaScript is busy. The handlers stay after the result, so that a late signal does not change the exit code.
 * Node takes them back in the last milliseconds of the process.
 */
export function abortOnSignals(controller: AbortController): void {
  const onSignal = (signal: Signal) => {
    if (controller.signal.aborted) return;
    setTimeout(release, sameSignal).unref();
    controller.abort(new Interruption(signal));
  };
  const release = () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
}
