import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { Output } from '../../bin/output.js';
import { createJsonReport, serializeEvent } from '../../bin/report-json.js';
import type { CopyErrorLike, CopyEvent } from '../../lib/types.js';
import { resultWith } from './support/result.js';

const error: CopyErrorLike = Object.assign(new Error('EACCES: permission denied'), {
  code: 'EACCES',
  errno: -13,
  syscall: 'open',
  path: 'a',
});
const entry: CopyEvent = { type: 'entry', action: 'copy', kind: 'file', path: 'a', dest: 'b' };

test('an error keeps its message', () => {
  const line = JSON.stringify(serializeEvent({ type: 'error', error }));
  expect(JSON.parse(line)).toEqual({
    type: 'error',
    code: 'EACCES',
    errno: -13,
    syscall: 'open',
    path: 'a',
    message: 'EACCES: permission denied',
  });
});

test('an error keeps its offset', async () => {
  const found = Object.assign(new Error('different at byte 7'), { ...error, offset: 7 });
  expect(serializeEvent({ type: 'error', error: found })).toMatchObject({ offset: 7 });
});

test('a warning is flat', () => {
  const warning = { code: 'SOCKET_SKIPPED', message: 'skipped', path: 'a' } as const;
  expect(serializeEvent({ type: 'warning', warning })).toEqual({ type: 'warning', ...warning });
});

test('progress comes at most every 100 ms', async () => {
  const times = [5, 50, 104, 105, 190, 400, 450].map(progressAt);
  const lines = await linesOf({ entries: false, progress: true }, times);
  expect(lines.map((line) => line.durationMs)).toEqual([5, 105, 400, 0]);
});

test('progress comes only if it is asked for', async () => {
  for (const asked of [{}, { progress: false }]) {
    expect(await linesOf({ entries: false, ...asked }, [progressAt(5)])).toHaveLength(1);
  }
});

test('entries come where they are asked for', async () => {
  expect(await linesOf({ entries: false }, [entry])).toHaveLength(1);
  expect(await linesOf({ entries: true }, [entry])).toHaveLength(2);
});

test('the result comes last, its errors whole', async () => {
  const [result] = await linesOf({ entries: false }, []);
  expect(result).toMatchObject({ type: 'result', files: 3, outcome: 'interrupted', exitCode: 130 });
  expect(result?.errors).toMatchObject([{ code: 'EACCES', message: 'EACCES: permission denied' }]);
});

function progressAt(durationMs: number): CopyEvent {
  return { type: 'progress', ...resultWith({ durationMs }) };
}

async function linesOf(
  options: { entries: boolean; progress?: boolean },
  events: CopyEvent[],
): Promise<Record<string, unknown>[]> {
  const stream = new PassThrough({ encoding: 'utf8' });
  const report = createJsonReport(
    { json: true, quiet: false, all: false, progress: undefined, ...options },
    new Output(() => stream, new AbortController().signal),
  );
  for (const event of events) await report.event(event);
  await report.end(resultWith({ files: 3, errors: [error], errorCount: 1 }), 'interrupted', 130);
  return String(stream.read())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}
