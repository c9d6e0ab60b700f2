import { expect, test } from 'vitest';
import { plot, withFigures } from '../../bench/report.js';
import { cellsOf, markdown, table } from '../../bench/table.js';
import { benchmarkResult, machine, trial } from './support/results.js';

const result = benchmarkResult('corpus/ext4', {
  cp: [4000, 3000, 5000],
  fastcp: [1000, 1250, 900],
  node: [50],
  cpz: [1200],
});
result.trials.fcp = [trial(700, { failed: 'exit code 1: no' })];
result.trials.xcp = [trial(2000, { flaw: '3 symlinks instead of 4' })];
result.skipped.rsync = 'rsync is not installed: apt-get install rsync';

test('fastcp first, then by time; notes name targets, failures and tools that did not run', () => {
  const [heading, ...lines] = cellsOf([result]).map((line) => line.join(' | '));
  expect(heading).toBe('benchmark | tool | median | range | CPU | memory | read | ratio | notes');
  const fastest = 'the fastest peer, ratio: 1.25 x, wanted 1.00 x or more (met)';
  expect(lines).toEqual([
    'corpus/ext4 | fastcp 0.1.0 | 1.00 s | 900 ms–1.25 s | 1.00 s | 1 MB |  |  | a real node_modules, 2026-01-02',
    ' | node -e 0 | 50.0 ms | once | 50.0 ms | 1 MB |  |  | ',
    ` | cpz 3.2.1 | 1.20 s | once | 1.20 s | 1 MB |  | 1.25 x | ${fastest}`,
    ' | xcp -r | 2.00 s | once | 2.00 s | 1 MB |  | 2.05 x | 3 symlinks instead of 4',
    ' | cp -r | 4.00 s | 3.00 s–5.00 s | 4.00 s | 1 MB |  | 4.05 x | ',
    ' | fcp | failed |  |  |  |  |  | exit code 1: no',
    ' | rsync -a |  |  |  |  |  |  | skipped: rsync is not installed: apt-get install rsync',
  ]);
});

test('cold benchmarks show what was read, where the images lay', () => {
  const cold = benchmarkResult('corpus-cold/xfs', {});
  cold.trials.fastcp = [trial(1000, { readBytes: 82e6 })];
  const [, line] = cellsOf([cold]);
  expect(line?.[6]).toBe('82 MB');
  expect(line?.[8]).toContain('image on the disk');
});

test('what is wanted of all benchmarks stands in the last lines', () => {
  expect(table([result]).split('\n').at(-1)).toMatch(/^\| all .* geometric mean .*: 1\.25 x, /);
});

test('columns are aligned, numbers at the right; notes are as long as they are', () => {
  const lines = [
    ['tool', 'ratio', 'notes'],
    ['cp', '1.00 x', ''],
    ['rsync', '10.00 x', 'long long'],
  ];
  expect(markdown(lines).split('\n')).toEqual([
    '| tool  |   ratio | notes |',
    '| ----- | ------: | --- |',
    '| cp    |  1.00 x |     |',
    '| rsync | 10.00 x | long long |',
  ]);
});

test('figures replace those that were there, and nothing else', () => {
  const page =
    'before\n<!-- figures: written by npm run bench -- --report -->\nformer\n<!-- end of figures -->\nafter';
  const once = withFigures(page, 'new');
  expect(once).toMatch(/^before\n[\s\S]*\n\nnew\n\n[\s\S]*\nafter$/);
  expect(once).not.toContain('former');
  expect(withFigures(once, 'new')).toBe(once);
  expect(() => withFigures('no place', 'new')).toThrow(/lacks/);
});

test('the plot has the peers by time, fastcp in a colour of its own, and a text for dark pages', () => {
  const svg = plot({ machine, benchmarks: [result] }) ?? '';
  const texts = [...svg.matchAll(/<text [^>]*>([^<]*)</g)].map(([, text]) => text);
  expect(texts).toEqual(expect.arrayContaining(['1.00 s', '1.20 s', '2.00 s', '4.00 s']));
  expect(texts.slice(0, 4)).toEqual(['fastcp', 'cpz', 'xcp -r', 'cp -r']);
  expect(svg.match(/#2da44e/g)).toHaveLength(1);
  expect(svg.match(/<title>.*1,000 files.*<\/title>/)).not.toBeNull();
  expect(svg.match(/<style>@media \(prefers-color-scheme: dark\)/g)).toHaveLength(1);
  expect(plot({ machine, benchmarks: [] })).toBeUndefined();
});
