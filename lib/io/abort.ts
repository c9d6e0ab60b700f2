/** Listens to signals. A signal that many copies share has one listener of fastcp, because Node warns of more than ten. */
import { abortClasses } from '../builtins.js';

/** Who is told, and how to stop listening. By the signal of Node's own class. */
const listening = new WeakMap<AbortSignal, { calls: Set<() => void>; stop(): void }>();
/** The signals of other classes, and those that stand for them. */
const foreign = new WeakMap<AbortSignal, AbortSignal>();
const controllers = new WeakMap<AbortSignal, AbortController>();

/**
 * Returns a signal of Node's own class. Those of jsdom and of polyfills lack what newer ones have, each something else. The one
 * returned for them follows them while anyone listens to it.
 */
export function ownSignal(signal: AbortSignal): AbortSignal {
  // So node:events recognises what it takes.
  if (Reflect.get(signal.constructor, Symbol.for('nodejs.event_target'))) return signal;
  let own = controllers.get(signal);
  if (!own) {
    own = new (abortClasses().AbortController)();
    controllers.set(signal, own);
    foreign.set(own.signal, signal);
  }
  if (signal.aborted) own.abort(signal.reason);
  return own.signal;
}

/** Calls `call` when the signal is aborted. Returns a function that ends this. A signal that was aborted before calls nobody. */
export function onAbort(signal: AbortSignal | undefined, call: () => void): () => void {
  if (!signal) return () => {};
  const one = listening.get(signal) ?? listen(signal);
  // The same function may be passed twice.
  const own = (): void => call();
  one.calls.add(own);
  return () => {
    one.calls.delete(own);
    if (one.calls.size > 0 || listening.get(signal) !== one) return;
    listening.delete(signal);
    one.stop();
  };
}

function listen(signal: AbortSignal): { calls: Set<() => void>; stop(): void } {
  const source = foreign.get(signal) ?? signal;
  const calls = new Set<() => void>();
  const tell = (): void => {
    controllers.get(source)?.abort(source.reason);
    for (const call of calls) call();
  };
  source.addEventListener('abort', tell);
  const one = { calls, stop: () => source.removeEventListener('abort', tell) };
  listening.set(signal, one);
  if (source.aborted) controllers.get(source)?.abort(source.reason);
  return one;
}

/**
 * Settles as `step` does, or rejects with `signal.reason` when the signal is aborted. Only for steps that read,
 * because nobody waits for the end of an abandoned step. The caller must check the signal once more before it
 * changes anything, because the signal can be aborted between the step and the change.
 */
export async function unlessAborted<T>(
  signal: AbortSignal | undefined,
  step: Promise<T>,
): Promise<T> {
  if (!signal) return step;
  let end = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    const abort = (): void => reject(signal.reason);
    end = onAbort(signal, abort);
    if (signal.aborted) abort();
  });
  try {
    return await Promise.race([step, aborted]);
  } finally {
    end();
  }
}
