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
  let abort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([step, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
