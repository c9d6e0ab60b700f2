import { describe, expect, test } from 'vitest';
import { EventQueue, readEntries } from '../../lib/bridge/events.js';
import type { CopyEvent } from '../../lib/types.js';
import { resultWith } from '../bin/support/result.js';

const entry = (index: number): CopyEvent => {
  const path = `file-${index}`;
  return { type: 'entry', action: 'copy', kind: 'file', path, dest: path };
};
const progress = (files: number): CopyEvent => {
  const { errors, errorCount, warnings, warningCount, ...counters } = resultWith({ files });
  return { type: 'progress', ...counters };
};

/** A queue that is listened to, and how often it asked for more. */
function heardQueue(): { queue: EventQueue; asked: () => number } {
  const queue = new EventQueue();
  let asked = 0;
  queue.onRoom = () => {
    asked++;
  };
  queue.listen();
  return { queue, asked: () => asked };
}

async function rest(queue: EventQueue): Promise<CopyEvent[]> {
  const events: CopyEvent[] = [];
  for await (const event of { [Symbol.asyncIterator]: () => queue }) events.push(event);
  return events;
}

describe('EventQueue', () => {
  test('drops what nobody listens to', async () => {
    const queue = new EventQueue();
    queue.push(entry(0));
    expect(queue.wanted).toBe(false);
    queue.listen();
    expect(queue.wanted).toBe(true);
    queue.push(entry(1));
    queue.end();
    expect(await rest(queue)).toEqual([entry(1)]);
  });

  test('keeps the order, and what was queued before the end', async () => {
    const { queue } = heardQueue();
    const events = [entry(0), progress(1), entry(1), entry(2), progress(2)];
    for (const event of events) queue.push(event);
    queue.end();
    queue.push(entry(3));
    expect(await rest(queue)).toEqual(events);
    expect(await queue.next()).toEqual({ value: undefined, done: true });
  });

  test('joins progress that nobody has looked at', async () => {
    const { queue } = heardQueue();
    for (let files = 0; files < 1000; files++) queue.push(progress(files));
    queue.push(entry(0));
    for (let files = 1000; files < 2000; files++) queue.push(progress(files));
    queue.end();
    expect(await rest(queue)).toEqual([progress(999), entry(0), progress(1999)]);
  });

  test('gives an event to whoever waits, in order', async () => {
    const { queue } = heardQueue();
    const waiting = [queue.next(), queue.next(), queue.next(), queue.next()];
    queue.push(progress(1));
    queue.push(progress(2));
    queue.push(entry(0));
    queue.end();
    expect(await Promise.all(waiting)).toEqual([
      { value: progress(1), done: false },
      { value: progress(2), done: false },
      { value: entry(0), done: false },
      { value: undefined, done: true },
    ]);
  });

  test('says that it is full, and asks for more when half of it is gone', async () => {
    const { queue, asked } = heardQueue();
    let pushed = 0;
    while (!queue.full) queue.push(entry(pushed++));
    expect(pushed).toBe(1024);
    for (let taken = 0; taken < 511; taken++) await queue.next();
    expect(queue.full).toBe(false);
    expect(asked()).toBe(0);
    await queue.next();
    expect(asked()).toBe(1);
    for (let taken = 512; taken < 1024; taken++) await queue.next();
    expect(asked()).toBe(1);
  });

  test('asks for more when somebody waits', async () => {
    const { queue, asked } = heardQueue();
    const next = queue.next();
    await new Promise((resolve) => setImmediate(resolve)); // who asks late is heard in the next turn
    expect(asked()).toBe(1);
    queue.push(entry(0));
    expect(await next).toEqual({ value: entry(0), done: false });
  });

  test('gives to whoever waits what is pushed while it asks', async () => {
    const { queue } = heardQueue();
    queue.onRoom = () => queue.push(entry(7));
    expect(await queue.next()).toEqual({ value: entry(7), done: false });
  });

  const linger = (): void => {
    for (const began = performance.now(); performance.now() - began < 5; );
  };

  test('lets the event loop have its turn where there are always more', async () => {
    const { queue } = heardQueue();
    queue.onRoom = () => queue.push(entry(0));
    for (let taken = 0; taken < 5; taken++) {
      let turned = false;
      setImmediate(() => {
        turned = true;
      });
      linger();
      await queue.next();
      expect(turned).toBe(true);
    }
  });

  test('takes no longer for each event where many wait', async () => {
    const time = async (count: number): Promise<number> => {
      const { queue } = heardQueue();
      for (let index = 0; index < count; index++) queue.push(entry(index));
      const began = performance.now();
      for (let index = 0; index < count - 1; index++) await queue.next();
      expect((await queue.next()).value).toEqual(entry(count - 1));
      return (performance.now() - began) / count;
    };
    const ratios: number[] = [];
    for (let tries = 0; tries < 3; tries++) {
      const few = await time(20_000);
      ratios.push((await time(400_000)) / few);
    }
    expect(Math.min(...ratios)).toBeLessThan(10);
  });

  test('keeps the order among those who ask late', async () => {
    const { queue } = heardQueue();
    for (let index = 0; index < 5; index++) queue.push(entry(index));
    linger();
    const got: unknown[] = [];
    const ask = () => queue.next().then(({ value }) => got.push(value));
    await Promise.all([ask().then(ask), ask(), ask()]);
    await ask();
    expect(got).toEqual([0, 1, 2, 3, 4].map(entry));
  });

  test('return(): forgets, ends, and lets go of what was held up', async () => {
    const { queue, asked } = heardQueue();
    for (let index = 0; index < 2000; index++) queue.push(entry(index));
    expect(await queue.return()).toEqual({ value: undefined, done: true });
    expect(asked()).toBe(1);
    expect(queue.full).toBe(false);
    expect(queue.wanted).toBe(false);
    queue.push(entry(0));
    expect(await queue.next()).toEqual({ value: undefined, done: true });
  });

  test('return() ends those who wait', async () => {
    const { queue } = heardQueue();
    const waiting = [queue.next(), queue.next()];
    await queue.return();
    const done = { value: undefined, done: true };
    expect(await Promise.all(waiting)).toEqual([done, done]);
  });

  test('a queue that nobody listens to is never full', () => {
    const queue = new EventQueue();
    for (let index = 0; index < 2000; index++) queue.push(entry(index));
    expect(queue.full).toBe(false);
  });

  test('end() twice does nothing more', async () => {
    const { queue } = heardQueue();
    queue.push(entry(0));
    queue.end();
    queue.end();
    expect(await rest(queue)).toEqual([entry(0)]);
  });
});

describe('readEntries', () => {
  const shown = {
    src: (path: Buffer) => `src:${path}`,
    dest: (path: Buffer) => `dest:${path}`,
  };
  const record = (action: number, kind: number, path: Buffer, dest: Buffer): Buffer => {
    const text = (bytes: Buffer) => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(bytes.length);
      return Buffer.concat([length, bytes]);
    };
    return Buffer.concat([Buffer.from([action, kind]), text(path), text(dest)]);
  };
  const bytes = (text: string) => Buffer.from(text);

  test('reads all records', () => {
    const long = bytes('x'.repeat(70_000));
    const records = Buffer.concat([
      record(0, 2, bytes('/a'), bytes('/b')),
      record(1, 1, bytes('/a/é'), bytes('/b/é')),
      record(2, 3, long, bytes('')),
      record(5, 7, bytes('s'), bytes('t')),
    ]);
    expect([...readEntries(records, shown)]).toEqual([
      { type: 'entry', action: 'create', kind: 'directory', path: 'src:/a', dest: 'dest:/b' },
      { type: 'entry', action: 'copy', kind: 'file', path: 'src:/a/é', dest: 'dest:/b/é' },
      { type: 'entry', action: 'replace', kind: 'symlink', path: `src:${long}`, dest: 'dest:' },
      { type: 'entry', action: 'skip', kind: 'socket', path: 'src:s', dest: 'dest:t' },
    ]);
  });

  test('names every kind', () => {
    const kinds = [1, 2, 3, 4, 5, 6, 7].map((kind) => record(1, kind, bytes('a'), bytes('b')));
    expect([...readEntries(Buffer.concat(kinds), shown)].map(({ kind }) => kind)).toEqual([
      'file',
      'directory',
      'symlink',
      'fifo',
      'characterDevice',
      'blockDevice',
      'socket',
    ]);
  });

  test('of nothing is nothing', () => {
    expect([...readEntries(Buffer.alloc(0), shown)]).toEqual([]);
  });
});
