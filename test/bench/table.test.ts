import { expect, test } from 'vitest';
import { drawChart } from '../../bench/chart.js';
import { withWorkload } from '../../bench/compare.js';
import { figures, withFigures } from '../../bench/report.js';
import { summary } from '../../bench/summary.js';
import { asText, rowText } from '../../bench/table.js';
import { benchmarkResult, machine, trial } from './support/results.js';

const benchmark = benchmarkResult('corpus/ext4', {
  cp: [4000, 3000, 5000],
  fastcp: [1000, 1250, 900],
  node: [50],
  cpz: [1200],
});
benchmark.trials.fcp = [trial(700, { failed: 'exit code 1: no' })];
benchmark.trials.xcp = [trial(2000, { flaw: '3 links instead of 4' })];
benchmark.skipped.rsync = 'rsync is not installed: apt-get install rsync';

test('a benchmark: the subject first, then by time; failures are named', () => {
  const [title, heading, ...lines] = rowText(benchmark).split('\n');
  expect(title).toContain('1,000 files');
  expect(heading).toMatch(/^ +median +range +CPU +peak +fastcp is +range +plain$/);
  expect(lines.map((line) => line.replace(/ {2,}/g, ' | '))).toEqual([
    'fastcp | 1.00 s | 900 ms–1.25 s | 1.00 s | 1 MB',
    'node -e 0 | 50.0 ms | once | 50.0 ms | 1 MB',
    'cpz 3.2.1 | 1.20 s | once | 1.20 s | 1 MB | 1.25 x | once | 1.20 x',
    'xcp -r (!) | 2.00 s | once | 2.00 s | 1 MB | 2.05 x | once | 2.00 x',
    'cp -r | 4.00 s | 3.00 s–5.00 s | 4.00 s | 1 MB | 4.05 x | 2.44–5.61 | 4.00 x',
    'fcp | failed',
    '(!) fcp: exit code 1: no',
    '(!) xcp -r: 3 links instead of 4',
    'skipped: rsync -a: rsync is not installed: apt-get install rsync',
  ]);
});

test('columns are aligned', () => {
  expect(
    asText([
      ['', 'a'],
      ['long', '1'],
      ['x', '22'],
    ]),
  ).toBe('       a\nlong   1\nx     22');
});

test('figures replace those that were there, and nothing else', () => {
  const text = figures({ machine, benchmarks: [benchmark] }, true);
  expect(text).toContain('a processor, 2 cores');
  expect(text).toContain('| fastcp | 1.00 s |');
  expect(text).toMatch(/\| corpus\/ext4 \| as fast as the fastest peer, cpz \| 1\.25 x \|.*met \|/);
  const page =
    'before\n<!-- figures: written by npm run bench -- --report -->\nformer figures\n<!-- end of figures -->\nafter';
  const once = withFigures(page, text);
  expect(once).toMatch(/^before\n[\s\S]*\nafter$/);
  expect(once).not.toContain('former');
  expect(withFigures(once, text)).toBe(once);
  expect(() => withFigures('no place', text)).toThrow(/lacks/);
});

test('the chart has a bar for each time, and colours for dark and light', () => {
  const judged = withWorkload(benchmark);
  const svg = judged && drawChart([judged]);
  expect(svg?.match(/<rect /g)).toHaveLength(4);
  expect(svg?.match(/class="ours"/g)).toHaveLength(1);
  expect(svg).toContain('ext4, warm: 1,000 files');
  expect(svg).toContain('prefers-color-scheme: dark');
});

test('no chart of nothing', () => {
  expect(drawChart([])).toBeUndefined();
});

test('the table of the README', () => {
  const small = benchmarkResult('library-small/tmpfs', {
    'fastcp-library': [3],
    'node-cp': [60, 50, 70],
  });
  const benchmarks = [benchmark, small].flatMap((result) => withWorkload(result) ?? []);
  expect(summary(benchmarks, machine).split('\n\n')).toEqual([
    'A real node_modules, 1,000 files, on 2 cores (a processor), Node v20.0.0; median times.',
    [
      '|  | ext4, warm |',
      '| --- | --: |',
      '| fastcp | 1.00 s |',
      '| cpz | 1.20 s |',
      '| xcp -r | 2.00 s |',
      '| cp -r | 4.00 s |',
    ].join('\n'),
    [
      '|  | tmpfs, 256 files of 1 KiB |',
      '| --- | --: |',
      '| fastcp, library | 3.0 ms |',
      '| fs.promises.cp | 60.0 ms |',
    ].join('\n'),
  ]);
});
