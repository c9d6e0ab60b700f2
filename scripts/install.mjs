// Installs packages that benchmarks and tests need outside the project, by a manifest and its lock file in
// DIRECTORY: install.mjs DIRECTORY. Prints the path of node_modules to stdout. Does nothing where it is
// already installed.
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
import { basename, join, resolve } from 'node:path';
import { cacheDirectory } from './tools.mjs';

const [directory] = process.argv.slice(2);
const manifests = ['package.json', 'package-lock.json'];
if (!directory || !manifests.every((manifest) => existsSync(join(directory, manifest)))) {
  console.error(`usage: node scripts/install.mjs DIRECTORY, one with ${manifests.join(' and ')}`);
  process.exit(2);
}
const name = basename(resolve(directory));
const target = join(cacheDirectory, name);
const marker = join(target, 'installed.json');

const hash = createHash('sha256');
for (const manifest of manifests) hash.update(readFileSync(join(directory, manifest)));
const wanted = hash.digest('hex');

let installed = existsSync(marker) ? JSON.parse(readFileSync(marker, 'utf8')) : undefined;
if (installed?.hash !== wanted) {
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  for (const manifest of manifests) copyFileSync(join(directory, manifest), join(target, manifest));
  // The packages need not work together: their peer dependencies do not matter.
  const options = ['--ignore-scripts', '--legacy-peer-deps', '--no-audit', '--no-fund'];
  execFileSync('npm', ['ci', ...options], { cwd: target, stdio: ['ignore', 2, 2] });
  installed = { hash: wanted, ...count(join(target, 'node_modules')) };
  // Last, so that an interrupted install is not taken for a whole one.
  writeFileSync(marker, `${JSON.stringify(installed)}\n`);
}
console.error(
  `${name}: ${installed.files} files, ${installed.directories} directories, ${installed.links} links`,
);
console.log(join(target, 'node_modules'));

function count(root) {
  const counts = { files: 0, directories: 0, links: 0 };
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) counts.directories++;
    else if (entry.isSymbolicLink()) counts.links++;
    else counts.files++;
  }
  return counts;
}
