/** Events on their way to whoever iterates a job. */
import { clearTimeout, setTimeout } from 'node:timers';
import type { CopyEvent, EntryEvent } from '../types.js';
import type { Shown } from '../walk/paths.js';
import { now, Turn } from './clock.js';
import { entryKinds } from './native.js';

/** More entries than this are not taken from the engine, whose workers then wait outside the pool. */
const enough = 1024;
/** Milliseconds after which a reader who asks for nothing no longer holds up a copy that somebody awaits. */
const patience = 5000;

interface Reader {
  resolve(result: IteratorResult<CopyEvent>): void;
  reject(thrown: unknown): void;
}

export class EventQueue implements AsyncIterator<CopyEvent> {
  #events: CopyEvent[] = [];
  #waiting: Reader[] = [];
  #failure: { thrown: unknown } | undefined;
  #iterated = false;
  #ended = false;
  #turn = new Turn();
  #awaited = false;
  /** The reader is taken for gone, until it asks again. */
  #unread = false;
  #askedAt = now();
  #watch: NodeJS.Timeout | undefined;
  #dropped = 0;

  /** Called when there is room again. */
  onRoom: () => void = () => {};

  /** From now on somebody listens; before, events are dropped. */
  listen(): void {
    this.#iterated = true;
  }

  get heard(): boolean {
    return this.#iterated && !this.#ended;
  }

  get full(): boolean {
    return this.heard && !this.#unread && this.#events.length >= enough;
  }

  /**
   * From now on somebody waits for the copy's end, which a reader may hold up only as long as it reads: for
   * one that has not asked for an event for five seconds the copy goes on, and further entry events are dropped.
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
    if (!this.heard) return;
    const next = this.#waiting.shift();
    if (next) {
      next.resolve({ value: event, done: false });
      return;
    }
    if (this.#unread && event.type === 'entry' && this.#events.length >= enough) {
      this.#dropped += 1;
      return;
    }
    // One progress event says all that older ones did.
    if (event.type === 'progress' && this.#events.at(-1)?.type === 'progress') this.#events.pop();
    this.#events.push(event);
    this.#watchReader();
  }

  /** How many entry events were dropped since the last call. */
  takeDropped(): number {
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }

  /** After the last event. `failure`: what the copy rejects with, which the reader gets once. */
  end(failure?: { thrown: unknown }): void {
    this.#ended = true;
    this.#failure = failure;
    clearTimeout(this.#watch);
    for (const { resolve, reject } of this.#waiting.splice(0)) this.#last().then(resolve, reject);
  }

  /** What comes after all events. */
  #last(): Promise<IteratorResult<CopyEvent>> {
    const { thrown } = this.#failure ?? {};
    const failed = this.#failure !== undefined;
    this.#failure = undefined;
    return failed ? Promise.reject(thrown) : Promise.resolve({ value: undefined, done: true });
  }

  /**
   * The next event. `for await` would get all that wait, and all that the engine does meanwhile, in one
   * turn of the event loop; whoever asks late waits for the next one, and those after him behind him.
   */
  next(): Promise<IteratorResult<CopyEvent>> {
    this.#askedAt = now();
    this.#unread = false;
    this.#watchReader();
    return this.#turn.isLate() ? this.#turn.next().then(() => this.#take()) : this.#take();
  }

  #take(): Promise<IteratorResult<CopyEvent>> {
    const value = this.#events.shift();
    if (value) {
      if (this.#events.length === enough >> 1) this.onRoom();
      return Promise.resolve({ value, done: false });
    }
    if (this.#ended) return this.#last();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.onRoom();
    });
  }

  /** The loop was left: the job goes on, unheard. */
  return(): Promise<IteratorResult<CopyEvent>> {
    this.#events = [];
    this.end();
    this.onRoom();
    return Promise.resolve({ value: undefined, done: true });
  }
}

/** The order of Action in binding/src/engine/base/report.h. */
const actions = ['create', 'copy', 'replace', 'hardLink', 'metadata', 'skip', 'delete'] as const;

/** Reads what Journal::take() wrote. */
export function* readEntries(records: Buffer, shown: Shown): Generator<EntryEvent> {
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
