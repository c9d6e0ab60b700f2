import { constants } from 'node:os';

/**
 * Signals that ask a process to end and leave it the time to do so: Ctrl-C, kill(1), a terminal or an ssh
 * connection that is closed, and a batch system's limit on CPU time. SIGQUIT (Ctrl-\) is for ending at once with
 * a core file, SIGUSR1 is Node's own, and nobody sends the others (SIGALRM, SIGUSR2, …) unasked: they keep their
 * default action. Node resets ignored signals when it starts, so the SIGHUP of nohup(1) cannot be told from another.
 */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGXCPU'] as const;

type Signal = (typeof SIGNALS)[number];

/** The reason of an abort that a signal asked for. */
export class Interruption extends Error {
  /** As a shell gives it. */
  readonly exitCode: number;

  constructor(signal: Signal) {
    super(`interrupted by ${signal}`);
    this.exitCode = 128 + constants.signals[signal];
  }
}

/** Milliseconds in which further signals are the same one: timeout(1) sends it to the process and to its group. */
const sameSignal = 1000;

/**
 * The first signal aborts. After a second the default action is back, so that another signal kills at once,
 * whatever JavaScript is doing.
 */
export function abortOnSignals(controller: AbortController): () => void {
  const onSignal = (signal: Signal) => {
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
