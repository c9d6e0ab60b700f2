import {
  fastestOf,
  type Measured,
  median,
  ratioOf,
  timeOf,
  timesOf,
  withWorkloads,
} from './compare.js';
import type { BenchmarkResult } from './results.js';
import { judge, judgeAll, type Verdict } from './targets.js';
import { findTool } from './tools.js';

const heading = 'benchmark,tool,median,range,CPU,memory,read,ratio,notes'.split(',');
const words = ['benchmark', 'tool', 'notes', 'copied', 'fastest other tool'];

/** Returns the table of all results, for a terminal and for Markdown. */
export function table(results: BenchmarkResult[]): string {
  const all = judgeAll(withWorkloads(results)).map((verdict) => {
    return ['all', verdict.tool, ...Array(6).fill(''), noteOf(verdict)];
  });
  return markdown([...cellsOf(results), ...all]);
}

/** Returns a line for each benchmark: fastcp, and the fastest of its peers. */
export function summary(results: BenchmarkResult[]): string {
  const lines = withWorkloads(results).map((one) => {
    const { result, workload } = one;
    const name = fastestOf(one);
    const [time = ''] = numbersOf(one, workload.subject);
    const [peerTime = '', , , , , ratio = ''] = name ? numbersOf(one, name) : [];
    return [result.id, workload.title, time, name ? findTool(name).title : '', peerTime, ratio];
  });
  const heading = 'benchmark,copied,fastcp,fastest other tool,median,ratio'.split(',');
  return markdown([heading, ...lines]);
}

/** Returns the heading, then a line for each tool of each benchmark: fastcp first, then by time. */
export function cellsOf(results: BenchmarkResult[]): string[][] {
  const benchmarks = withWorkloads(results);
  return [heading, ...benchmarks.flatMap((one) => linesOf(one, judge(one, benchmarks)))];
}

/** The last column is not padded, because notes are long. */
export function markdown(cells: string[][]): string {
  const [first = [], ...lines] = cells;
  const widths = first.map((_, column) =>
    column === first.length - 1
      ? 3
      : Math.max(3, ...cells.map((line) => line[column]?.length ?? 0)),
  );
  const isWords = first.map((title) => words.includes(title));
  const pad = (cell: string, column: number): string =>
    cell[isWords[column] ? 'padEnd' : 'padStart'](widths[column] ?? 0);
  const rule = widths.map(
    (width, column) => `${'-'.repeat(width - 1)}${isWords[column] ? '-' : ':'}`,
  );
  return [first, rule, ...lines].map((line) => `| ${line.map(pad).join(' | ')} |`).join('\n');
}

function linesOf(benchmark: Measured, verdicts: Verdict[]): string[][] {
  const { result, workload } = benchmark;
  const place = (name: string): number =>
    name === workload.subject ? 0 : (timeOf(benchmark, name) ?? Infinity);
  const measured = Object.keys(result.trials)
    .sort((a, b) => place(a) - place(b))
    .map((name) => [
      titleOf(result, name),
      ...numbersOf(benchmark, name),
      [
        ...(name === workload.subject ? [describe(benchmark)] : []),
        ...(result.trials[name] ?? [])
          .flatMap(({ failed, flaw }) => failed ?? flaw ?? [])
          .slice(0, 1),
        ...verdicts.filter(({ tool }) => tool === name).map(noteOf),
      ].join('; '),
    ]);
  const skipped = Object.entries(result.skipped).map(([name, reason]) => [
    findTool(name).title,
    ...Array(6).fill(''),
    `skipped: ${reason}`,
  ]);
  return [...measured, ...skipped].map((line, index) => [index === 0 ? result.id : '', ...line]);
}

/** Median, range, CPU, memory, bytes read, ratio. */
function numbersOf(benchmark: Measured, name: string): string[] {
  const times = timesOf(benchmark, name);
  if (!times) return ['failed', ...Array(5).fill('')];
  const { result, workload } = benchmark;
  const trials = result.trials[name] ?? [];
  const isRival = name !== workload.subject && findTool(name).role !== 'start';
  const ratio = isRival ? ratioOf(benchmark, name) : undefined;
  return [
    duration(median(times)),
    times.length === 1 ? 'once' : `${duration(Math.min(...times))}–${duration(Math.max(...times))}`,
    duration(median(trials.map(({ cpuMs }) => cpuMs))),
    megabytes(median(trials.map(({ peakKiB }) => peakKiB * 1024))),
    workload.cache === 'cold' ? megabytes(median(trials.map((one) => one.readBytes ?? 0))) : '',
    ratio === undefined ? '' : `${ratio.toFixed(2)} x`,
  ];
}

function describe({ result, workload }: Measured): string {
  const disk = result.onDisk || workload.cache === 'cold' ? ', image on the disk' : '';
  return `${workload.title}${disk}, ${result.measured}`;
}

function titleOf({ versions, fastcp }: BenchmarkResult, name: string): string {
  const { title, role } = findTool(name);
  return `${title} ${role === 'ours' ? fastcp : (versions[name] ?? '')}`.trim();
}

const noteOf = ({ text, met }: Verdict): string => `${text} (${met ? 'met' : 'MISSED'})`;

export function duration(ms: number): string {
  if (ms < 100) return `${ms.toFixed(1)} ms`;
  return ms < 1000 ? `${ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;

export const count = (value: number): string => value.toLocaleString('en-US');
