import { readFileSync, writeFileSync } from 'node:fs';
import type { CustomSeriesRenderItemAPI } from 'echarts';
import { BarChart, CustomChart } from 'echarts/charts';
import { GridComponent, TitleComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { timeOf, timesOf, withWorkloads } from './compare.js';
import { allFigures, performancePage, plotImage, readme } from './paths.js';
import type { Results } from './results.js';
import { cellsOf, count, duration, markdown, summary, table } from './table.js';
import { findTool } from './tools.js';

const start = '<!-- figures: written by npm run bench -- --report -->';
const end = '<!-- end of figures -->';

/** The benchmark that the README shows. */
const plotted = 'corpus/ext4';

// An <img> sees neither the page's style nor its colours.
const dark = '<style>@media (prefers-color-scheme: dark) { text { fill: #f0f6fc } }</style>';

/** Draws the plot, and writes all figures, and those of docs/performance.md and of the README. */
export function writeReport(results: Results): void {
  const { processor, cores, memoryGiB, kernel, node } = results.machine;
  const drawn = plot(results);
  if (drawn) writeFileSync(plotImage, drawn);
  const machine = `${processor}, ${cores} cores, ${memoryGiB} GiB of memory, Linux ${kernel}, Node ${node}.`;
  const measured = `${machine}${treeOf(results)}`;
  write(performancePage, `${measured}\n\n${summary(results.benchmarks)}`);
  // What is wanted is for those who change fastcp: the run prints it.
  const all = table(results.benchmarks).replaceAll(/, wanted [^|;]* \((?:met|MISSED)\)/g, '');
  writeFileSync(allFigures, `# All figures\n\n${measured}\n\n${all}\n`);
  const library = results.benchmarks.filter(({ id }) => id === 'library-corpus/tmpfs');
  write(readme, markdown(cellsOf(library).map((line) => line.slice(1, 4))));
}

function treeOf({ benchmarks }: Results): string {
  const [one] = withWorkloads(benchmarks).filter(({ workload }) => workload.tree === 'corpus');
  if (!one) return '';
  const { files, directories, symlinks, bytes } = one.result.tree;
  const entries = `${count(files)} files, ${count(directories)} directories and ${count(symlinks)} symlinks`;
  return ` The real node_modules has ${entries}, ${(bytes / 1e9).toFixed(2)} GB.`;
}

function write(page: string, text: string): void {
  writeFileSync(page, withFigures(readFileSync(page, 'utf8'), text));
}

export function withFigures(page: string, text: string): string {
  const [from, to] = [page.indexOf(start), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page lacks '${start}' or '${end}'`);
  return `${page.slice(0, from + start.length)}\n\n${text}\n\n${page.slice(to)}`;
}

/** Draws the times of fastcp and its peers, the fastest first; undefined if they were not measured. */
export function plot({ machine, benchmarks }: Results): string | undefined {
  const [benchmark] = withWorkloads(benchmarks.filter(({ id }) => id === plotted));
  if (!benchmark) return undefined;
  const { result, workload } = benchmark;
  const bars = Object.keys(result.trials)
    .map((name) => ({
      tool: findTool(name),
      ms: timeOf(benchmark, name) ?? 0,
      all: timesOf(benchmark, name) ?? [],
    }))
    .filter(({ tool, ms }) => ms > 0 && ['ours', 'peer'].includes(tool.role))
    .sort((a, b) => a.ms - b.ms);
  const title = `Time to copy ${workload.title}, ${count(result.tree.files)} files, on ext4 with ${machine.cores} cores`;
  use([BarChart, CustomChart, GridComponent, SVGRenderer, TitleComponent]);
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: 760, height: 300 });
  chart.setOption({
    animation: false,
    textStyle: { fontFamily: 'system-ui, sans-serif' },
    title: {
      text: title,
      subtext: `Medians and ranges, fastcp's with Node's start, on ${machine.processor}; shorter is better`,
      textStyle: { fontSize: 15, color: '#1f2328' },
      subtextStyle: { fontSize: 12, color: '#1f2328' },
    },
    grid: { top: 60, bottom: 5, left: 80, right: 80 },
    xAxis: { type: 'value', show: false },
    yAxis: {
      type: 'category',
      inverse: true,
      data: bars.map(({ tool }) => tool.title),
      axisLine: { show: false },
      axisTick: { show: false },
      axisLabel: { fontSize: 13, color: '#1f2328' },
    },
    series: [
      {
        type: 'bar',
        barWidth: '65%',
        label: {
          show: true,
          position: 'insideLeft',
          fontSize: 13,
          color: '#1f2328',
          formatter: ({ value }: { value: unknown }) => duration(Number(value)),
        },
        data: bars.map(({ tool, ms }) => ({
          value: ms,
          itemStyle: { color: tool.role === 'ours' ? '#2da44e' : '#8c959f' },
        })),
      },
      {
        type: 'custom',
        silent: true,
        data: bars.map(({ all }, index) => [Math.min(...all), Math.max(...all), index]),
        renderItem: (_params: unknown, api: CustomSeriesRenderItemAPI) => {
          const [from, to] = [0, 1].map((at) => api.coord([api.value(at), api.value(2)]));
          const shape = { x1: from?.[0], y1: from?.[1], x2: to?.[0], y2: to?.[1] };
          return { type: 'line', shape, style: { stroke: '#57606a', lineWidth: 3 } };
        },
      },
    ],
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  // ECharts' own style is for `:hover`, which images do not have.
  return `${svg.replace('>', `>\n<title>${title}</title>`).replace(/<style[\s\S]*<\/style>/, dark)}\n`;
}
