/** The events of a job, on their way to the reader that iterates the job. */
import { clearTimeout, setTimeout } from '../builtins.js';
import { invalid } from '../errors/arguments.js';
import { LoopTurn, now } from '../io/clock.js';
import type { ShownPaths } from '../paths.js';
import type { CopyEvent, EntryEvent } from '../types.js';
import { entryKinds } from './native.js';

/**
 * Beyond this number no entries are taken from the engine for a reader, and its workers wait outside the pool. For a reader that
 * has not come yet, further entries are dropped.
 */
const enough = 1024;
/** Milliseconds. After that, a reader that asks for no event no longer delays a copy that somebody awaits. */
const patience = 5000;

interface Reader {
  resolve(result: IteratorResult<CopyEvent>): void;
  reject(thrown: unknown): void;
}

export class EventQueue implements AsyncIterator<CopyEvent> {
  #events: CopyEvent[] = [];
  /** The index of the next event. To take the first one out of a large array takes as long as the array is. */
  #first = 0;
  #waiting: Reader[] = [];
  #failure: { thrown: unknown } | undefined;
  /** Keeps events for a reader that may come later. */
  readonly #keeps: boolean;
  #iterated = false;
  #ended = false;
  #turn = new LoopTurn();
  #awaited = false;
  /** The reader counts as gone until it asks again. */
  #unread = false;
  #askedAt = now();
  #watch: NodeJS.Timeout | undefined;
  #dropped = 0;

  /** `keeps`: the first events are kept for a reader that comes late. Without it, a reader gets later events only. */
  constructor(keeps = false) {
    this.#keeps = keeps;
  }

  /** Called when there is room again. */
  onRoom: () => void = () => {};

  /** Called when the copy fails, if a reader will be told. */
  onFailure: () => void = () => {};

  /** Called when a reader starts to listen. Throws if there is a reader. */
  listen(): void {
    if (this.#isRead) {
      const why = 'The events of a job have one reader at a time, and another one is iterating';
      throw invalid(TypeError, 'ERR_INVALID_STATE', why);
    }
    this.#iterated = true;
    this.#askedAt = now();
    this.#watchReader();
  }

  get #size(): number {
    return this.#events.length - this.#first;
  }

  get #isRead(): boolean {
    return this.#iterated && !this.#ended;
  }

  get wanted(): boolean {
    return (this.#iterated || this.#keeps) && !this.#ended;
  }

  get full(): boolean {
    return this.#isRead && !this.#unread && this.#size >= enough;
  }

  /**
   * Called when somebody awaits the copy's end. From then on a reader delays the copy only while it reads. If
   * it asks for no event for five seconds, the copy continues, and further entry events are dropped.
   */
  await(): void {
    this.#awaited = true;
    this.#watchReader();
  }

  #watchReader(): void {
    if (!this.#awaited || !this.full || this.#watch) return;
    const look = (): void => {
      this.#watch = undefined;
      this.#unread = this.full && now() - this.#askedAt >= patience;
      if (this.#unread) this.onRoom();
      else this.#watchReader();
    };
    this.#watch = setTimeout(look, this.#askedAt + patience - now());
  }

  push(event: CopyEvent): void {
    if (!this.wanted) return;
    const next = this.#waiting.shift();
    if (next) {
      next.resolve({ value: event, done: false });
      return;
    }
    const waits = this.#isRead && !this.#unread;
    if (!waits && event.type === 'entry' && this.#size >= enough) {
      this.#dropped += 1;
      return;
    }
    // A progress event replaces an older one.
    if (event.type === 'progress' && this.#size > 0 && this.#events.at(-1)?.type === 'progress')
      this.#events.pop();
    this.#events.push(event);
    this.#watchReader();
  }

  /** Returns how many entry events were dropped since the last call. */
  takeDropped(): number {
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }

  /** Called after the last event. `failure`: the rejection of the copy, which the reader gets once. */
  end(failure?: { thrown: unknown }): void {
    if (failure && this.#isRead) this.onFailure();
    this.#ended = true;
    this.#failure = failure;
    clearTimeout(this.#watch);
    for (const { resolve, reject } of this.#waiting.splice(0)) this.#last().then(resolve, reject);
  }

  /** Returns the result after all events. */
  #last(): Promise<IteratorResult<CopyEvent>> {
    const { thrown } = this.#failure ?? {};
    const failed = this.#failure !== undefined;
    this.#failure = undefined;
    return failed ? Promise.reject(thrown) : Promise.resolve({ value: undefined, done: true });
  }

  /**
   * Returns the next event. In a long turn of the event loop it waits for the next turn. Otherwise `for await`
   * would get all waiting events, and those that the engine adds by then, in one turn. Callers are served in
   * order.
   */
  next(): Promise<IteratorResult<CopyEvent>> {
    this.#askedAt = now();
    this.#unread = false;
    this.#watchReader();
    return this.#turn.isLate() ? this.#turn.next().then(() => this.#take()) : this.#take();
  }

  #take(): Promise<IteratorResult<CopyEvent>> {
    const value = this.#size > 0 ? this.#events[this.#first++] : undefined;
    if (value) {
      if (this.#first > this.#events.length >> 1) {
        this.#events = this.#events.slice(this.#first);
        this.#first = 0;
      }
      if (this.#size === enough >> 1) this.onRoom();
      return Promise.resolve({ value, done: false });
    }
    if (this.#ended) return this.#last();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.onRoom();
    });
  }

  /**
   * The loop was left: the job continues without a reader. If the job has failed already and the reader has not come to
   * that, leaving the loop throws it.
   */
  return(): Promise<IteratorResult<CopyEvent>> {
    const failure = this.#failure;
    this.#events = [];
    this.#first = 0;
    this.end();
    this.onRoom();
    if (failure) return Promise.reject(failure.thrown);
    return Promise.resolve({ value: undefined, done: true });
  }
}

/** In the order of Action in binding/src/engine/base/report.h. */
const actions = ['create', 'copy', 'replace', 'hardLink', 'metadata', 'skip', 'delete'] as const;

/** Reads the format of Journal::take(). */
export function* readEntries(records: Buffer, shown: ShownPaths): Generator<EntryEvent> {
  for (let at = 0; at < records.length; ) {
    const action = actions[records.readUInt8(at)] ?? 'copy';
    const kind = entryKinds[records.readUInt8(at + 1)] ?? 'file';
    at += 2;
    const text = (): Buffer => {
      const length = records.readUInt32LE(at);
      at += 4 + length;
      return records.subarray(at - length, at);
    };
    const path = shown.src(text());
    const dest = shown.dest(text());
    yield { type: 'entry', action, kind, path, dest };
  }
}
