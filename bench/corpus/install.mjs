// Installs the corpus, more than 100,000 files of real packages, outside the project: it is what the
// benchmarks copy. Prints its path to stdout. Does nothing where it is already installed.
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
import { cacheFolder } from '../../scripts/cache.mjs';

const manifests = ['package.json', 'package-lock.json'];
const corpus = join(cacheFolder, 'corpus');
const marker = join(corpus, 'installed.json');

const hash = createHash('sha256');
for (const name of manifests) hash.update(readFileSync(join(import.meta.dirname, name)));
const wanted = hash.digest('hex');

let installed = existsSync(marker) ? JSON.parse(readFileSync(marker, 'utf8')) : undefined;
if (installed?.hash !== wanted) {
  rmSync(corpus, { recursive: true, force: true });
  mkdirSync(corpus, { recursive: true });
  for (const name of manifests) copyFileSync(join(import.meta.dirname, name), join(corpus, name));
  // The packages need not work together: their peer dependencies do not matter.
  const options = ['--ignore-scripts', '--legacy-peer-deps', '--no-audit', '--no-fund'];
  execFileSync('npm', ['ci', ...options], { cwd: corpus, stdio: ['ignore', 2, 2] });
  installed = { hash: wanted, ...count(join(corpus, 'node_modules')) };
  // Last, so that an interrupted install is not taken for a whole one.
  writeFileSync(marker, `${JSON.stringify(installed)}\n`);
}
console.error(`${installed.files} files, ${installed.folders} folders, ${installed.links} links`);
console.log(join(corpus, 'node_modules'));

function count(root) {
  const counts = { files: 0, folders: 0, links: 0 };
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) counts.folders++;
    else if (entry.isSymbolicLink()) counts.links++;
    else counts.files++;
  }
  return counts;
}
