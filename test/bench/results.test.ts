import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { load, merge, type Results, save } from '../../bench/results.js';
import { workDirectory } from '../support/work.js';
import { benchmarkResult, machine } from './support/results.js';

const work = workDirectory('bench-results');
const order = [{ id: 'a/tmpfs' }, { id: 'b/tmpfs' }, { id: 'c/tmpfs' }];
const results = (...ids: string[]): Results => ({
  machine,
  benchmarks: ids.map((id) => benchmarkResult(id, { fastcp: [ids.length] })),
});

test('benchmarks that were run replace their likes, the others stay, in order', () => {
  const merged = merge(
    results('c/tmpfs', 'a/tmpfs'),
    results('a/tmpfs', 'b/tmpfs', 'b/tmpfs'),
    order,
  );
  expect(merged.benchmarks.map(({ id }) => id)).toEqual(['a/tmpfs', 'b/tmpfs', 'c/tmpfs']);
  expect(merged.benchmarks[0]?.trials.fastcp?.[0]?.wallMs).toBe(3);
});

test('benchmarks of another machine go', () => {
  const other = { ...results('a/tmpfs'), machine: { ...machine, cores: 64 } };
  expect(merge(other, results('b/tmpfs'), order).benchmarks.map(({ id }) => id)).toEqual([
    'b/tmpfs',
  ]);
});

test('saved and loaded, a trial a line', () => {
  const path = join(work, 'new directory', 'results.json');
  expect(load(path)).toBeUndefined();
  const saved = results('a/tmpfs', 'b/tmpfs');
  save(path, saved);
  expect(load(path)).toEqual(saved);
  expect(readFileSync(path, 'utf8')).toMatch(/\n +\{ "wallMs": 2, .*\}\n/);
});
