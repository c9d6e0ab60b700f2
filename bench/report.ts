import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { drawChart } from './chart.js';
import { withWorkload } from './compare.js';
import { chart, performancePage, readme } from './paths.js';
import type { Results } from './results.js';
import { summary } from './summary.js';
import { asMarkdown, rowCells, rowNotes, rowTitle, verdictCells } from './table.js';
import { judge } from './targets.js';

const start = '<!-- figures: written by npm run bench -- --report -->';
const end = '<!-- end of figures -->';

/** Makes the chart, and what has figures in the documentation and in the README. */
export function writeReport(results: Results): void {
  const benchmarks = results.benchmarks.flatMap((benchmark) => withWorkload(benchmark) ?? []);
  const drawn = drawChart(benchmarks);
  if (drawn) {
    mkdirSync(dirname(chart), { recursive: true });
    writeFileSync(chart, drawn);
  }
  write(performancePage, figures(results, drawn !== undefined));
  write(readme, summary(benchmarks, results.machine));
}

function write(page: string, text: string): void {
  writeFileSync(page, withFigures(readFileSync(page, 'utf8'), text));
}

export function withFigures(page: string, text: string): string {
  const [from, to] = [page.indexOf(start), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page lacks '${start}' or '${end}'`);
  return `${page.slice(0, from + start.length)}\n\n${text}\n\n${page.slice(to)}`;
}

export function figures({ machine, benchmarks }: Results, hasChart: boolean): string {
  const { processor, cores, memoryGiB, kernel, node } = machine;
  const parts = [
    `${processor}, ${cores} cores, ${memoryGiB} GiB of memory, Linux ${kernel}, Node ${node}.`,
    ...(hasChart ? ['![Times to copy a real node_modules](../bench/results/chart.svg)'] : []),
    '### Targets',
    asMarkdown(verdictCells(judge(benchmarks)), 2),
    '### Benchmarks',
  ];
  for (const result of benchmarks) {
    const benchmark = withWorkload(result);
    if (!benchmark) continue;
    const notes = rowNotes(benchmark).map((note) => `- ${note}`);
    parts.push(`**${rowTitle(benchmark)}**, ${result.measured}`, asMarkdown(rowCells(benchmark)));
    if (notes.length > 0) parts.push(notes.join('\n'));
  }
  return parts.join('\n\n');
}
