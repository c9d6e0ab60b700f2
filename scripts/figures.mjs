// Warns if the published figures are older than the engine. Part of `npm run lint`.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const { benchmarks } = JSON.parse(readFileSync(join(root, 'bench/results/latest.json'), 'utf8'));
const commits = new Set(benchmarks.map(({ fastcp }) => fastcp.split(' ').at(-1)));
for (const commit of commits) {
  const words = ['rev-list', '--count', `${commit}..HEAD`, '--', 'binding/src'];
  try {
    const count = execFileSync('git', words, { cwd: root, encoding: 'utf8', stdio: 'pipe' }).trim();
    if (count !== '0')
      console.warn(`the figures of ${commit} are ${count} changes of binding/src old`);
  } catch {
    console.warn(`the figures are of ${commit}, which this clone does not have`);
  }
}
