import { describe, expect, test, vi } from 'vitest';
import { createBar } from '../../bin/bar.js';
import { createProgress } from '../../bin/progress.js';
import { entriesDone, progressLine } from '../../bin/progress-line.js';
import type { CopyProgress } from '../../lib/types.js';
import { resultWith } from './support/result.js';

const TOTAL = 133_151;

/** A copy of 40 s and 1.39 GB, of which a part is done. */
function at(part: number, more: Partial<CopyProgress> = {}): CopyProgress {
  const scanned = Math.ceil(part * TOTAL);
  const directories = Math.floor(scanned / 11);
  const files = scanned - directories;
  const counters = { scanned, directories, files, bytes: part * 1.39e9 };
  return { ...resultWith({ ...counters, durationMs: part * 40_000 }), total: TOTAL, ...more };
}

function uncounted(part: number): CopyProgress {
  const { total, ...state } = at(part);
  return state;
}

/** In a terminal, of which two columns stay empty. */
function frame(state: CopyProgress, columns: number, deletes = false): string {
  const left = state.total === undefined ? undefined : 40_000 - state.durationMs;
  return progressLine(state, columns - 2, { deletes, left });
}

describe('the progress line', () => {
  test.each([
    [60, 0.1, '[=-----------]   10%   13,316/133,151 entries   0:36 left'],
    [60, 0.5, '[======------]   50%   66,576/133,151 entries   0:20 left'],
    [60, 0.9, '[==========--]   90%  119,836/133,151 entries   0:04 left'],
    [80, 0.1, '[=-----------]   10%   13,316/133,151 entries   139 MB  34.8 MB/s   0:36 left'],
    [80, 0.5, '[======------]   50%   66,576/133,151 entries   695 MB  34.8 MB/s   0:20 left'],
    [80, 0.9, '[==========--]   90%  119,836/133,151 entries  1.25 GB  34.8 MB/s   0:04 left'],
    [
      120,
      0.1,
      '[==------------------]   10%   13,316/133,151 entries   139 MB  34.8 MB/s    3,027 files/s   0:04 elapsed   0:36 left',
    ],
    [
      120,
      0.5,
      '[==========----------]   50%   66,576/133,151 entries   695 MB  34.8 MB/s    3,026 files/s   0:20 elapsed   0:20 left',
    ],
    [
      120,
      0.9,
      '[==================--]   90%  119,836/133,151 entries  1.25 GB  34.8 MB/s    3,026 files/s   0:36 elapsed   0:04 left',
    ],
  ])('at %d columns, %d of the copy done', (columns, part, expected) => {
    expect(frame(at(part), columns)).toBe(expected);
  });

  test.each([
    [60, '[======------]   50%   66,576/133,151 entries   0:20 left'],
    [80, '[=======--------]   50%   66,576/133,151 entries    1,234 deleted   0:20 left'],
    [
      120,
      '[=========---------]   50%   66,576/133,151 entries    1,234 deleted   695 MB  34.8 MB/s    3,026 files/s   0:20 left',
    ],
  ])('of a mirror at %d columns', (columns, expected) => {
    expect(frame(at(0.5, { deleted: 1234 }), columns, true)).toBe(expected);
  });

  test.each([
    [60, '[=--------]   17%   738 MB/4.29 GB   109 MB/s   0:33 left'],
    [80, '[==------------]   17%   738 MB/4.29 GB   109 MB/s   0:06 elapsed   0:33 left'],
    [
      120,
      '[=====-------------------------]   17%   738 MB/4.29 GB   109 MB/s   0:06 elapsed   0:33 left',
    ],
  ])('of one large file at %d columns: bytes', (columns, expected) => {
    const file = { files: 0, directories: 0, scanned: 1, total: 1, bytes: 738e6 };
    expect(frame(at(0.17, { ...file, totalBytes: 4.29e9 }), columns)).toBe(expected);
  });

  test.each([
    [60, '   13,316 entries   139 MB  34.8 MB/s    3,027 files/s'],
    [80, '   13,316 entries   139 MB  34.8 MB/s    3,027 files/s   0:04 elapsed'],
    [120, '   13,316 entries   139 MB  34.8 MB/s    3,027 files/s   0:04 elapsed'],
  ])('before the total is known, at %d columns', (columns, expected) => {
    expect(frame(uncounted(0.1), columns)).toBe(expected);
  });

  test('of a terminal that is narrow', () => {
    expect(frame(at(0.1), 40)).toBe(' 10%   13,316/133,151 entries');
    expect(frame(at(0.1), 0)).toBe('');
  });

  test.each([false, true])('never wraps, and keeps its columns (deletes: %s)', (deletes) => {
    for (let columns = 0; columns < 150; columns++) {
      for (const state of [at, uncounted]) {
        const lengths = [0.001, 0.1, 0.5, 0.999, 1].map((part) => {
          return frame(state(part), columns, deletes).length;
        });
        expect(new Set(lengths).size).toBe(1);
        expect(lengths[0]).toBeLessThan(Math.max(columns - 2, 1));
      }
    }
  });

  test('is full at the end, and not before', () => {
    expect(frame(at(1), 80)).toMatch(/^\[=+\] {2}100% {2}133,151\/133,151 entries/);
    expect(frame(at(1, { scanned: TOTAL - 1, files: 0 }), 80)).toMatch(/^\[=+-\] {3}99%/);
    // Existing directories are in no counter but `scanned`.
    const merged = at(1, { directories: 0, durationMs: 40_000 });
    expect(progressLine(merged, 80, { deletes: false, left: 0, ended: true })).toMatch(/100%/);
    // More than were counted: they were created meanwhile.
    expect(frame(at(1, { scanned: TOTAL + 100 }), 80)).toMatch(/^\[=+\] {2}100%/);
  });
});

describe('entries that are done', () => {
  const done = (counters: Partial<CopyProgress>): number => entriesDone(resultWith(counters));

  test.each([
    ['a large file in work', { scanned: 1 }, 0],
    ['a few entries in work', { scanned: 30, directories: 10, files: 5, symlinks: 3 }, 18],
    ['all kinds', { scanned: 6, files: 1, symlinks: 1, hardLinks: 1, special: 1, skipped: 1 }, 5],
    ['existing directories', { scanned: 10_000, unchanged: 9000 }, 9936],
    ['mount points, which two counters have', { scanned: 5, directories: 4, skipped: 2 }, 5],
  ])('%s', (_name, counters, expected) => {
    expect(done(counters)).toBe(expected);
  });
});

test('a bar draws one line over the other, and takes the last one away', () => {
  let written = '';
  const stream = { isTTY: true, columns: 80, write: (text: string) => (written += text) };
  const bar = createBar(stream as unknown as NodeJS.WriteStream, false);
  bar.update(at(0.5));
  bar.update(at(1));
  bar.stop();
  const clear = '\r\u001b[2K';
  const frames = written.split(clear);
  expect(frames.at(-1)).toBe('');
  expect(frames[0]).toMatch(/^\[=+-+\] {3}50% /);
  expect(frames.at(-2)).toMatch(/^\[=+\] {2}100% /);
});

test('the remaining time is that of the average pace since the copy began, after two seconds', () => {
  vi.useFakeTimers();
  let written = '';
  const stream = { isTTY: true, columns: 100, write: (text: string) => (written += text) };
  const left = (state: object): string | undefined => {
    const bar = createBar(stream as unknown as NodeJS.WriteStream, false);
    bar.update(resultWith({ ...half, scanned: 0, files: 0, durationMs: waited }));
    bar.update(resultWith(state));
    written = '';
    vi.advanceTimersByTime(1000); // it is drawn
    bar.stop();
    return /\S+ left/.exec(written)?.[0];
  };
  const half = { scanned: 1000, files: 1000, total: 2000 };
  let waited = 100;
  expect(left({ ...half, durationMs: 20_100 })).toBe('0:20 left');
  waited = 60_000; // for a lock
  expect(left({ ...half, durationMs: 80_000 })).toBe('0:20 left');
  waited = 0;
  expect(left({ ...half, durationMs: 1900 })).toBeUndefined();
  expect(left({ scanned: 1000, files: 1000, durationMs: 20_000 })).toBeUndefined();
  vi.useRealTimers();
});

test('a bar is not shown for a copy of 40 ms, nor loaded', async () => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    const progress = createProgress(false);
    progress.update(at(0.001));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(write).not.toHaveBeenCalled();
    progress.update(at(0.5));
    await vi.waitFor(() => {
      progress.update(at(0.6));
      expect(write).toHaveBeenCalled();
    });
    progress.stop();
    write.mockClear();
    progress.update(at(0.7));
    expect(write).not.toHaveBeenCalled();
  } finally {
    write.mockRestore();
  }
});
