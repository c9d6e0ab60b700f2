// Records the commands of the README's picture, and draws them: recording.mjs. Writes bench/results/terminal.svg. Copies
// this project's node_modules in a temporary directory, once before to warm the caches: the numbers are those of the machine.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const work = mkdtempSync(join(tmpdir(), 'fastcp-recording-'));
const app = join(work, 'app');
const fastcp = join(root, 'dist/fastcp.cjs');
const sh = (command) =>
  execFileSync('bash', ['-c', `fastcp() { "${process.execPath}" "${fastcp}" "$@"; }; ${command}`], {
    cwd: app,
    encoding: 'utf8',
    env: { ...process.env, CI: 'true' },
  });

const commands = [
  'fastcp --mirror node_modules /tmp/nm-copy',
  'fastcp --mirror node_modules /tmp/nm-copy',
  'git worktree add -q ../fix && fastcp --worktree . ../fix',
  'fastcp --dry-run -v --gitignore . ../clean',
];

try {
  mkdirSync(app);
  execFileSync('bash', [
    '-ec',
    `cd "${app}" && "${process.execPath}" "${fastcp}" -q "${root}/node_modules" node_modules && git init -q &&
     printf 'node_modules\\n.env\\n' > .gitignore && printf 'SECRET=1\\n' > .env && printf 'export {};\\n' > app.ts &&
     git add . && git -c user.name=x -c user.email=x@y commit -qm first`,
  ]);
  sh('fastcp -q node_modules ../nm-copy && rm -r ../nm-copy');
  const lines = [{ text: '# the second time, so that the caches are warm' }];
  for (const command of commands) {
    lines.push({ text: `$ ${command.replace('fastcp', 'npx fastcp')}`, isCommand: true });
    const real = command.replace('/tmp/nm-copy', '../nm-copy');
    for (const line of sh(`${real} || true`).trimEnd().split('\n')) lines.push({ text: line });
  }
  writeFileSync(join(root, 'bench/results/terminal.svg'), draw(lines));
} finally {
  rmSync(work, { recursive: true, force: true });
}

function draw(lines) {
  const width = Math.max(...lines.map(({ text }) => text.length)) * 8.43 + 40;
  const texts = lines.map(({ text, isCommand }, index) => {
    const escaped = text.replace(/&/g, '&amp;').replace(/</g, '&lt;');
    const kind = isCommand ? ' class="command"' : '';
    return `<text x="20" y="${36 + 22 * index}"${kind}>${escaped}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${Math.ceil(width)}" height="${30 + 22 * lines.length}">
<title>fastcp at work in a terminal</title>
<style>
rect { fill: #0d1117 }
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #c9d1d9; white-space: pre }
.command { fill: #7ee787 }
</style>
<rect width="100%" height="100%" rx="8"/>
${texts.join('\n')}
</svg>
`;
}
