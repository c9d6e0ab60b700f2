import { compare, type Judged, timesOf, withWorkload } from './compare.js';
import { fileSystems } from './file-systems.js';
import type { Trial } from './measure.js';
import type { BenchmarkResult } from './results.js';
import { median, type Spread, spread } from './statistics.js';
import type { Verdict } from './targets.js';
import { findTool } from './tools.js';

/** The first line of cells is the heading. */
export type Cells = string[][];

/** The first columns are words, the others numbers. */
export function asText(cells: Cells, words = 1): string {
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.max(...cells.map((line) => (line[column] ?? '').length)),
  );
  const pad = (cell: string, column: number): string =>
    column < words ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  return cells.map((line) => line.map(pad).join('  ').trimEnd()).join('\n');
}

export function asMarkdown(cells: Cells, words = 1): string {
  const [heading = [], ...lines] = cells;
  const rule = heading.map((_, column) => (column < words ? '---' : '--:'));
  return [heading, rule, ...lines].map((line) => `| ${line.join(' | ')} |`).join('\n');
}

export function rowText(result: BenchmarkResult): string {
  const benchmark = withWorkload(result);
  if (!benchmark) return `${result.id}: no such benchmark any more`;
  return [rowTitle(benchmark), asText(rowCells(benchmark)), ...rowNotes(benchmark)].join('\n');
}

export function rowTitle({ result, workload, fileSystem }: Judged): string {
  const { files, directories, symlinks, bytes } = result.tree;
  const parts = [`${count(files)} files`, `${count(directories)} directories`];
  if (symlinks) parts.push(`${count(symlinks)} symlinks`);
  const where = fileSystems.find(({ name }) => name === fileSystem)?.title;
  const size = `${parts.join(', ')}, ${(bytes / 1e9).toFixed(2)} GB`;
  const disk = result.onDisk || workload.cache === 'cold' ? ', image on the disk' : '';
  return `${result.id}: ${workload.title}, ${where} (${size}${disk}; fastcp ${result.fastcp})`;
}

/** A line for each tool, the subject first and then the fastest first. */
export function rowCells(benchmark: Judged): Cells {
  const { result, workload } = benchmark;
  const isCold = workload.cache === 'cold';
  const heading = ['', 'median', 'range', 'CPU', 'peak', ...(isCold ? ['read'] : [])];
  const lines = Object.entries(result.trials)
    .map(([name, trials]) => ({ name, trials, times: timesOf(benchmark, name) }))
    .sort(
      (a, b) =>
        Number(b.name === workload.subject) - Number(a.name === workload.subject) ||
        (a.times ? median(a.times) : Infinity) - (b.times ? median(b.times) : Infinity),
    )
    .map(({ name, trials, times }) => {
      const who = `${titleOf(result, name)}${trials.some(({ flaw }) => flaw) ? ' (!)' : ''}`;
      if (!times) return [who, 'failed', '', '', '', ...(isCold ? [''] : []), '', '', ''];
      const wall = spread(times);
      const isRival = name !== workload.subject && findTool(name).role !== 'start';
      const compared = isRival ? compare(benchmark, name) : undefined;
      return [
        who,
        duration(wall.median),
        range(wall, times.length, duration),
        duration(middle(trials, ({ cpuMs }) => cpuMs)),
        `${(middle(trials, ({ peakKiB }) => peakKiB * 1024) / 1e6).toFixed(0)} MB`,
        ...(isCold ? [`${(middle(trials, (one) => one.readBytes ?? 0) / 1e6).toFixed(0)} MB`] : []),
        compared ? `${compared.fair.median.toFixed(2)} x` : '',
        compared ? range(compared.fair, times.length, (value) => value.toFixed(2)) : '',
        compared ? `${compared.plain.median.toFixed(2)} x` : '',
      ];
    });
  return [[...heading, 'fastcp is', 'range', 'plain'], ...lines];
}

/** What does not fit into the table: failures, differences, who is missing. */
export function rowNotes({ result }: Judged): string[] {
  const notes = Object.entries(result.trials).flatMap(([name, trials]) => {
    const reason = trials.map(({ failed, flaw }) => failed ?? flaw).find(Boolean);
    const durations = trials.flatMap(({ durationMs, copies }) =>
      copies ? [] : (durationMs ?? []),
    );
    return [
      ...(reason ? [`(!) ${titleOf(result, name)}: ${reason}`] : []),
      ...(durations.length > 0
        ? [`durationMs of ${titleOf(result, name)}: ${median(durations).toFixed(2)}`]
        : []),
    ];
  });
  const missing = Object.entries(result.skipped).map(
    ([name, reason]) => `skipped: ${findTool(name).title}: ${reason}`,
  );
  return [...notes, ...missing];
}

export function verdictCells(verdicts: Verdict[]): Cells {
  return [
    ['benchmark', 'fastcp', 'found', 'wanted', ''],
    ...verdicts.map(({ benchmark, what, found, wanted, met }) => [
      benchmark,
      what,
      found ?? 'not measured',
      wanted,
      met === undefined ? '' : met ? 'met' : 'MISSED',
    ]),
  ];
}

export const verdictText = (verdicts: Verdict[]): string => asText(verdictCells(verdicts), 2);

function titleOf({ versions }: BenchmarkResult, name: string): string {
  const version = versions[name];
  return `${findTool(name).title}${version ? ` ${version}` : ''}`;
}

const middle = (trials: Trial[], value: (trial: Trial) => number): number =>
  median(trials.map(value));

const range = ({ least, most }: Spread, trials: number, as: (value: number) => string): string =>
  trials === 1 ? 'once' : `${as(least)}–${as(most)}`;

export function duration(ms: number): string {
  if (ms < 100) return `${ms.toFixed(1)} ms`;
  return ms < 1000 ? `${ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

const count = (value: number): string => value.toLocaleString('en-US');
