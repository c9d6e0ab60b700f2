import { type Judged, timesOf } from './compare.js';
import { contender } from './contenders.js';
import { fileSystems } from './file-systems.js';
import type { Machine } from './machine.js';
import { median } from './statistics.js';
import { asMarkdown, duration } from './table.js';

/** What the README shows: median times, a table for the command and one for the library. */
const tables = [
  {
    workloads: { corpus: 'warm', 'corpus-cold': 'cold' } as Record<string, string>,
    contenders: ['fastcp', 'cpz', 'fcp', 'xcp', 'cp', 'rsync'],
  },
  {
    workloads: {
      'library-corpus': 'the same tree',
      'library-small': '256 files of 1 KiB',
    } as Record<string, string>,
    contenders: [
      'fastcp-library',
      'node26-cp',
      'node-cp',
      'node-cpSync',
      'fs-extra',
      'fs-safe',
      'cpy',
    ],
  },
];

export function summary(rows: Judged[], machine: Machine): string {
  const { processor, cores, node } = machine;
  const [tree] = rows.filter(({ workload }) => workload.tree === 'corpus');
  const files = tree?.result.tree.files.toLocaleString('en-US') ?? 'no';
  const what = `A real node_modules, ${files} files, on ${cores} cores (${processor}), Node ${node}; median times.`;
  return [what, ...tables.flatMap((table) => tableOf(rows, table) ?? [])].join('\n\n');
}

function tableOf(rows: Judged[], { workloads, contenders }: (typeof tables)[number]) {
  const columns = rows.filter(({ workload }) => workloads[workload.name] !== undefined);
  if (columns.length === 0) return undefined;
  const titles = columns.map(({ workload, fileSystem }) => {
    const where = fileSystems.find(({ name }) => name === fileSystem)?.title;
    return `${where}, ${workloads[workload.name]}`;
  });
  const lines = contenders.flatMap((name) => {
    const cells = columns.map((row) => {
      const times = timesOf(row, name);
      return times ? duration(median(times)) : '';
    });
    return cells.some(Boolean) ? [[contender(name).title, ...cells]] : [];
  });
  return asMarkdown([['', ...titles], ...lines]);
}
