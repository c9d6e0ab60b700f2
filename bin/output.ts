import { once } from 'node:events';

/** Lines of one turn are written together, but no more bytes than this wait. */
const GATHERED = 64 * 1024;

/**
 * The exit code if the command itself fails: its output, or loading the addon. `--compare` sets 2, because its
 * 1 means that the trees differ.
 */
export const trouble = { exitCode: 1 };

/**
 * Ignores a closed reader (`fastcp -v … | head`), which must end neither the process nor the copy. Half a tree
 * without a message would look like a whole one. Later output is dropped.
 */
export function ignoreBrokenPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') return;
      process.exitCode = trouble.exitCode;
      if (stream === process.stdout)
        process.stderr.write(`fastcp: cannot write to standard output: ${error.message}\n`);
    });
  }
}

/**
 * Writes lines to a stream, at the pace of its reader. After an abort of `signal` nothing waits for the reader.
 */
export class Output {
  readonly #stream: NodeJS.WritableStream;
  readonly #signal: AbortSignal;
  #gathered = '';
  #scheduled: NodeJS.Immediate | undefined;
  #drained: Promise<unknown> | undefined;
  /** The reader has closed the stream. */
  #closed = false;

  constructor(stream: NodeJS.WritableStream, signal: AbortSignal) {
    this.#stream = stream;
    this.#signal = signal;
    stream.once('error', () => {
      this.#closed = true;
    });
  }

  /** Resolves when the stream accepts more. */
  async line(text: string): Promise<void> {
    this.#gathered += `${text}\n`;
    if (this.#gathered.length >= GATHERED) return this.flush();
    this.#scheduled ??= setImmediate(() => void this.flush());
  }

  /** May run several times at once. The first call after a wait writes everything. */
  async flush(): Promise<void> {
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    // Awaits only if necessary. A caller that has removed the bar must write before the bar is drawn again.
    if (this.#drained) await this.#drained;
    while (this.#gathered !== '' && !this.#closed) {
      const text = this.#gathered;
      this.#gathered = '';
      if (this.#stream.write(text)) return;
      // Rejects when the reader closes the stream or the wait is aborted. Either way the wait is over.
      this.#drained = once(this.#stream, 'drain', { signal: this.#signal })
        .catch(() => {})
        .then(() => {
          this.#drained = undefined;
        });
      await this.#drained;
    }
  }
}
