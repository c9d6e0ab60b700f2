/**
 * Settles as `step` does, or rejects with `signal.reason` when the signal is aborted. For steps that only
 * read, because nobody waits for the end of a step that was given up. The caller asks the signal once more
 * before it changes anything: the signal can be aborted after the step and before the caller goes on.
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
