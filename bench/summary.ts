import { type Judged, timesOf } from './compare.js';
import { fileSystems } from './file-systems.js';
import type { Machine } from './machine.js';
import { median } from './statistics.js';
import { asMarkdown, duration } from './table.js';
import { findTool } from './tools.js';

/** What the README shows: median times, a table for the command and one for the library. */
const tables = [
  {
    workloads: { corpus: 'warm', 'corpus-cold': 'cold' } as Record<string, string>,
    tools: ['fastcp', 'cpz', 'fcp', 'xcp', 'cp', 'rsync'],
  },
  {
    workloads: {
      'library-corpus': 'the same tree',
      'library-small': '256 files of 1 KiB',
    } as Record<string, string>,
    tools: ['fastcp-library', 'node26-cp', 'node-cp', 'node-cpSync', 'fs-extra', 'fs-safe', 'cpy'],
  },
];

export function summary(benchmarks: Judged[], machine: Machine): string {
  const { processor, cores, node } = machine;
  const [tree] = benchmarks.filter(({ workload }) => workload.tree === 'corpus');
  const files = tree?.result.tree.files.toLocaleString('en-US') ?? 'no';
  const what = `A real node_modules, ${files} files, on ${cores} cores (${processor}), Node ${node}; median times.`;
  return [what, ...tables.flatMap((table) => tableOf(benchmarks, table) ?? [])].join('\n\n');
}

function tableOf(benchmarks: Judged[], { workloads, tools }: (typeof tables)[number]) {
  const columns = benchmarks.filter(({ workload }) => workloads[workload.name] !== undefined);
  if (columns.length === 0) return undefined;
  const titles = columns.map(({ workload, fileSystem }) => {
    const where = fileSystems.find(({ name }) => name === fileSystem)?.title;
    return `${where}, ${workloads[workload.name]}`;
  });
  const lines = tools.flatMap((name) => {
    const cells = columns.map((benchmark) => {
      const times = timesOf(benchmark, name);
      return times ? duration(median(times)) : '';
    });
    return cells.some(Boolean) ? [[findTool(name).title, ...cells]] : [];
  });
  return asMarkdown([['', ...titles], ...lines]);
}
