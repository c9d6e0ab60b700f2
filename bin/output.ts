import { once } from 'node:events';
import { fstatSync, writeSync } from 'node:fs';

/** Lines of one turn are written together, but no more bytes than this wait. */
const GATHERED = 64 * 1024;

/**
 * The exit code if the command itself fails: its output, or loading the addon. `--compare` sets 2, because its
 * 1 means that the trees differ.
 */
export const trouble = { exitCode: 1 };

export type Name = 'stdout' | 'stderr';
const descriptors = { stdout: 1, stderr: 2 } as const;
const guarded = new Set<Name>();

/**
 * Returns process.stdout or process.stderr, whose first use takes 4 ms, and guards it once. A closed reader (`fastcp -v …
 * | head`) must end neither the process nor the copy: half a tree without a message would look like a whole one. Later
 * output is dropped.
 */
export function guardedStream(name: Name): NodeJS.WriteStream {
  const stream = process[name];
  if (!guarded.has(name)) {
    guarded.add(name);
    stream.on('error', (error: NodeJS.ErrnoException) => failed(name, error));
  }
  return stream;
}

/** Says what a descriptor of the process leads to, without loading its stream. */
export function kindOf(name: Name): 'file' | 'device' | 'other' {
  try {
    const found = fstatSync(descriptors[name]);
    return found.isFile() ? 'file' : found.isCharacterDevice() ? 'device' : 'other';
  } catch {
    return 'other'; // closed, or a pipe of a system that has no fstat() for them
  }
}

/** A failure of standard error changes no exit code: a lost warning or bar is no error, and errors of the copy set it anyway. */
function failed(name: Name, error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE' || name === 'stderr') return;
  process.exitCode = trouble.exitCode;
  guardedStream('stderr').write(`fastcp: cannot write to standard output: ${error.message}\n`);
}

/**
 * Writes lines to a stream, at the pace of its reader. After an abort of `signal` nothing waits for the reader.
 */
export class Output {
  readonly #open: () => NodeJS.WritableStream;
  readonly #signal: AbortSignal;
  /** The descriptor that the first text may be written to. Undefined once that is done. */
  #direct: Name | undefined;
  #stream: NodeJS.WritableStream | undefined;
  #gathered = '';
  #scheduled: NodeJS.Immediate | undefined;
  #drained: Promise<unknown> | undefined;
  /** The reader has closed the stream. */
  #closed = false;

  /** `direct`: `open` returns this stream of the process. */
  constructor(open: () => NodeJS.WritableStream, signal: AbortSignal, direct?: Name) {
    this.#open = open;
    this.#signal = signal;
    this.#direct = direct;
  }

  static to(name: Name, signal: AbortSignal): Output {
    return new Output(() => guardedStream(name), signal, name);
  }

  /** Resolves when the stream accepts more. */
  async line(text: string): Promise<void> {
    if (this.#closed) return;
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
      const text = this.#writeDirectly(this.#gathered);
      this.#gathered = '';
      if (text.length === 0) return;
      const stream = this.#openStream();
      if (stream.write(text)) return;
      // Rejects when the reader closes the stream or the wait is aborted. Either way the wait is over.
      this.#drained = once(stream, 'drain', { signal: this.#signal })
        .catch(() => {})
        .then(() => {
          this.#drained = undefined;
        });
      await this.#drained;
    }
  }

  #openStream(): NodeJS.WritableStream {
    if (!this.#stream) {
      this.#stream = this.#open();
      this.#stream.once('error', () => {
        this.#closed = true;
      });
    }
    return this.#stream;
  }

  /**
   * Writes the first text to the descriptor, and returns what is left for the stream. Most runs print one line, and loading
   * the stream takes longer than a small copy.
   */
  #writeDirectly(text: string): string | Buffer {
    const name = this.#direct;
    this.#direct = undefined;
    if (name === undefined) return text;
    const bytes = Buffer.from(text);
    // The console of Windows takes other text only from the stream.
    if (bytes.length !== text.length) return text;
    // In a full pipe a write would wait for the reader, and no signal would be handled.
    if (kindOf(name) === 'other') return text;
    try {
      return bytes.subarray(writeSync(descriptors[name], bytes));
    } catch (error) {
      const reason = error as NodeJS.ErrnoException;
      if (reason.code === 'EAGAIN') return bytes;
      this.#closed = true;
      failed(name, reason);
      return '';
    }
  }
}
