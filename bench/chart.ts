import { type Judged, timesOf } from './compare.js';
import { fileSystems } from './file-systems.js';
import { median } from './statistics.js';
import { duration } from './table.js';
import { findTool } from './tools.js';

/** Benchmarks of these workloads, and of tools these. */
const charted = {
  workloads: { corpus: 'warm', 'corpus-cold': 'cold' } as Record<string, string>,
  tools: ['fastcp', 'cpz', 'fcp', 'xcp', 'cp', 'rsync'],
};

const width = 760;
const labels = 90;
const values = 70;
const bar = 14;
const step = 18;
const heading = 34;

// Of itself, since a README shows it as an image: it has no style but its own.
const style = `
text { font: 12px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600 }
.value { fill: #59636e }
.ours { fill: #1a7f37 }
.peer { fill: #afb8c1 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc }
  .value { fill: #9198a1 }
  .ours { fill: #3fb950 }
  .peer { fill: #4d5662 }
}`;

/** Bars of median times, one group for each file system; undefined where nothing of it was measured. */
export function drawChart(benchmarks: Judged[]): string | undefined {
  const groups = benchmarks
    .filter(({ workload }) => charted.workloads[workload.name] !== undefined)
    .map((benchmark) => ({ benchmark, bars: barsOf(benchmark) }));
  if (groups.length === 0) return undefined;
  const longest = Math.max(...groups.flatMap(({ bars }) => bars.map(({ ms }) => ms)));
  const parts: string[] = [];
  let y = 0;
  for (const { benchmark, bars } of groups) {
    y += heading;
    parts.push(text(0, y - 10, groupTitle(benchmark), 'title'));
    for (const { name, ms } of bars) {
      const length = ((width - labels - values) * ms) / longest;
      const kind = name === 'fastcp' ? 'ours' : 'peer';
      parts.push(
        text(0, y + bar - 3, name === 'fastcp' ? name : findTool(name).title),
        `<rect x="${labels}" y="${y}" width="${length.toFixed(1)}" height="${bar}" class="${kind}"/>`,
        text(labels + length + 6, y + bar - 3, duration(ms), 'value'),
      );
      y += step;
    }
  }
  const size = `width="${width}" height="${y}" viewBox="0 0 ${width} ${y}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size}>
<title>Time to copy a real node_modules; shorter is better</title>
<style>${style}
</style>
${parts.join('\n')}
</svg>
`;
}

function barsOf(benchmark: Judged): { name: string; ms: number }[] {
  return charted.tools.flatMap((name) => {
    const times = timesOf(benchmark, name);
    return times ? [{ name, ms: median(times) }] : [];
  });
}

function groupTitle({ workload, fileSystem, result }: Judged): string {
  const where = fileSystems.find(({ name }) => name === fileSystem)?.title ?? fileSystem;
  const files = result.tree.files.toLocaleString('en-US');
  return `${where}, ${charted.workloads[workload.name]}: ${files} files`;
}

function text(x: number, y: number, content: string, kind?: string): string {
  const escaped = content.replace(/&/g, '&amp;').replace(/</g, '&lt;');
  return `<text x="${x.toFixed(1)}" y="${y}"${kind ? ` class="${kind}"` : ''}>${escaped}</text>`;
}
