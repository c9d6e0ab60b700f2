import { once } from 'node:events';

/** Lines that come in one go leave in one write, but no more than this waits. */
const GATHERED = 64 * 1024;

/**
 * The exit code if what fails is the command itself: its output, or loading the addon. `--compare` sets 2, since
 * its 1 means that the trees differ.
 */
export const trouble = { exitCode: 1 };

/**
 * A reader that has gone (`fastcp -v … | head`) must end neither the process nor the copy: half a
 * tree without a word would look like a whole one. What is written to it from then on is dropped.
 */
export function ignoreBrokenPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') return;
      process.exitCode = trouble.exitCode;
      if (stream === process.stdout) process.stderr.write(`fastcp: ${error.message}\n`);
    });
  }
}

/** Lines to a stream, at the pace of its reader; once `signal` is aborted nothing waits for it. */
export class Output {
  readonly #stream: NodeJS.WritableStream;
  readonly #signal: AbortSignal;
  #gathered = '';
  #scheduled: NodeJS.Immediate | undefined;
  #drained: Promise<unknown> | undefined;
  /** The reader has gone. */
  #closed = false;

  constructor(stream: NodeJS.WritableStream, signal: AbortSignal) {
    this.#stream = stream;
    this.#signal = signal;
    stream.once('error', () => {
      this.#closed = true;
    });
  }

  /** Resolves when the stream takes more. */
  async line(text: string): Promise<void> {
    this.#gathered += `${text}\n`;
    if (this.#gathered.length >= GATHERED) return this.flush();
    this.#scheduled ??= setImmediate(() => void this.flush());
  }

  /** May run several times at once: whoever comes first after a wait takes all there is. */
  async flush(): Promise<void> {
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    // Not awaited where nothing is: a caller that has taken the bar away writes before it can be drawn again.
    if (this.#drained) await this.#drained;
    while (this.#gathered !== '' && !this.#closed) {
      const text = this.#gathered;
      this.#gathered = '';
      if (this.#stream.write(text)) return;
      // Rejects when the reader goes or the wait is called off; either way it is over.
      this.#drained = once(this.#stream, 'drain', { signal: this.#signal })
        .catch(() => {})
        .then(() => {
          this.#drained = undefined;
        });
      await this.#drained;
    }
  }
}
