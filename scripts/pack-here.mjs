// Packs the package with the binary that `npm run build` made, for machines like this one: pack-here.mjs
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { targets } from './targets.mjs';

const root = join(import.meta.dirname, '..');
const { platform, arch } = process;
const libc = existsSync('/etc/alpine-release') ? 'musl' : 'glibc';
const target = targets.find(
  (one) => one.platform === platform && one.arch === arch && (one.libc ?? libc) === libc,
);
if (!target) throw new Error(`the package has no binary for ${platform}-${arch}`);

const stage = mkdtempSync(join(tmpdir(), 'fastcp-pack-'));
try {
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const name of ['package.json', 'README.md', 'LICENSE', ...files]) {
    if (!name.includes('*')) cpSync(join(root, name), join(stage, name), { recursive: true });
  }
  cpSync(join(root, 'build/Release/fastcp.node'), join(stage, target.file));
  const words = ['pack', '--ignore-scripts', '--pack-destination', root];
  execFileSync('npm', words, { cwd: stage, stdio: 'inherit', shell: platform === 'win32' });
} finally {
  rmSync(stage, { recursive: true });
}
