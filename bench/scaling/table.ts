import { median } from '../compare.js';
import type { Trial } from '../measure.js';
import { markdown } from '../table.js';
import { reference, start, toolNames } from './tools.js';

/** What was measured on a file system. */
export interface ScalingResult {
  fileSystem: string;
  trials: (Trial & { tool: string; workers: number })[];
}

/** Returns a line for each tool, with a column for each number of workers. */
export function scalingTable({ trials }: ScalingResult, workers: readonly number[]): string {
  const of = (name: string, count: number): Trial[] =>
    trials.filter((one) => one.tool === name && one.workers === count);
  const lines = toolNames
    .filter((name) => trials.some(({ tool }) => tool === name))
    .map((name) => [
      name,
      ...workers.map((count) => cell(name, of(name, count), of(reference, count))),
    ]);
  return markdown([['tool', ...workers.map(String)], ...lines]);
}

/** Median and range of the time in seconds, of the CPU time the median, and how many times as long as cpz. */
function cell(name: string, trials: Trial[], others: Trial[]): string {
  const flaw = flawOf(trials);
  if (flaw !== undefined || trials.length === 0) return flaw ?? '';
  const times = timesOf(trials);
  const cpu = median(trials.map(({ cpuMs }) => cpuMs));
  const range = `${seconds(Math.min(...times))}–${seconds(Math.max(...times))}`;
  const isCompared =
    others.length > 0 && flawOf(others) === undefined && name !== start && name !== reference;
  return [
    `${seconds(median(times))} (${range})`,
    ...(Number.isNaN(cpu) ? [] : [`CPU ${seconds(cpu)}`]),
    ...(isCompared ? [`${(median(times) / median(timesOf(others))).toFixed(2)} x`] : []),
  ].join(', ');
}

const flawOf = (trials: Trial[]): string | undefined =>
  trials.flatMap(({ failed, flaw }) => failed ?? flaw ?? [])[0];

/** The library's time is that of its call. */
const timesOf = (trials: Trial[]): number[] =>
  trials.map(({ inProcessMs, wallMs }) => inProcessMs ?? wallMs);

const seconds = (ms: number): string => (ms / 1000).toFixed(3);
