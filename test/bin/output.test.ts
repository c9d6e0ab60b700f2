import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { Output } from '../../bin/output.js';

const never = new AbortController().signal;
const full = () => new PassThrough({ encoding: 'utf8', highWaterMark: 4 });

test('lines gather, and leave by themselves', async () => {
  const stream = new PassThrough({ encoding: 'utf8' });
  const output = new Output(() => stream, never);
  await output.line('one');
  await output.line('two');
  await once(stream, 'readable');
  expect(stream.read()).toBe('one\ntwo\n');
});

test('a flush waits for the reader', async () => {
  const stream = full();
  const output = new Output(() => stream, never);
  let flushed = false;
  await output.line('more than four');
  const flushing = output.flush().then(() => {
    flushed = true;
  });
  await new Promise(setImmediate);
  expect(flushed).toBe(false);
  stream.resume();
  await flushing;
});

test('many that wait at once listen once, and nothing is lost', async () => {
  const stream = full();
  const output = new Output(() => stream, never);
  const flushes = Array.from({ length: 20 }, async (_, index) => {
    await output.line(`line ${index}`);
    await output.flush();
  });
  await new Promise(setImmediate);
  expect(stream.listenerCount('drain')).toBeLessThan(3);
  let text = '';
  stream.on('data', (piece) => {
    text += piece;
  });
  await Promise.all(flushes);
  expect(text).toBe(Array.from({ length: 20 }, (_, index) => `line ${index}\n`).join(''));
});

test('nothing waits any more once it is called off', async () => {
  const controller = new AbortController();
  const output = new Output(full, controller.signal);
  await output.line('more than four');
  const flushing = output.flush();
  controller.abort();
  await flushing;
  await output.line('more still');
  await output.flush();
});

test('a reader that goes ends the wait, and silences the rest', async () => {
  const stream = full();
  const output = new Output(() => stream, never);
  await output.line('more than four');
  const flushing = output.flush();
  stream.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
  await flushing;
  await output.line('x'.repeat(100_000));
  await output.flush();
});
