// Installs packages that the benchmarks need outside the project: `corpus`, more than 100,000 files of
// real packages, is what they copy; `peers` is what they compare with. Prints the path of node_modules to
// stdout. Does nothing where it is already installed.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '../scripts/cache.mjs';

const [name] = process.argv.slice(2);
if (name !== 'corpus' && name !== 'peers') {
  console.error(`usage: node bench/install.mjs corpus|peers, not '${name}'`);
  process.exit(2);
}
const manifests = ['package.json', 'package-lock.json'];
const source = join(import.meta.dirname, name);
const target = join(cacheFolder, name);
const marker = join(target, 'installed.json');

const hash = createHash('sha256');
for (const manifest of manifests) hash.update(readFileSync(join(source, manifest)));
const wanted = hash.digest('hex');

let installed = existsSync(marker) ? JSON.parse(readFileSync(marker, 'utf8')) : undefined;
if (installed?.hash !== wanted) {
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  for (const manifest of manifests) copyFileSync(join(source, manifest), join(target, manifest));
  // The packages need not work together: their peer dependencies do not matter.
  const options = ['--ignore-scripts', '--legacy-peer-deps', '--no-audit', '--no-fund'];
  execFileSync('npm', ['ci', ...options], { cwd: target, stdio: ['ignore', 2, 2] });
  installed = { hash: wanted, ...count(join(target, 'node_modules')) };
  // Last, so that an interrupted install is not taken for a whole one.
  writeFileSync(marker, `${JSON.stringify(installed)}\n`);
}
console.error(
  `${name}: ${installed.files} files, ${installed.folders} folders, ${installed.links} links`,
);
console.log(join(target, 'node_modules'));

function count(root) {
  const counts = { files: 0, folders: 0, links: 0 };
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) counts.folders++;
    else if (entry.isSymbolicLink()) counts.links++;
    else counts.files++;
  }
  return counts;
}
