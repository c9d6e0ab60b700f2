// Runs before `npm pack` and `npm publish`: a package without its built files would install, and then fail to load. What
// is published has the binaries of all targets; to try a package (--dry-run) those that CI builds will do.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { targets } from './targets.mjs';

const { npm_command: command, npm_config_dry_run: dryRun } = process.env;
const publishing = command === 'publish' && dryRun !== 'true';
/** Of all files but the binaries, each of which has its own budget: check-binary.mjs. */
const budget = 600_000; // bytes
const prebuilds = `npm run build:prebuilds${publishing ? '' : ' -- --ci'}`;

const needed = {
  'npm run build:ts': [
    'dist/index.js',
    'dist/index.cjs',
    'dist/index.d.ts',
    'dist/index.d.cts',
    'dist/fastcp.cjs',
  ],
  [prebuilds]: targets.filter(({ ci }) => publishing || ci).map(({ file }) => file),
};

const root = join(import.meta.dirname, '..');
const read = (file) => readFileSync(join(root, file), 'utf8');
const fail = (why) => {
  console.error(why);
  process.exitCode = 1;
};
for (const [command, files] of Object.entries(needed)) {
  for (const file of files) {
    if (existsSync(join(root, file))) continue;
    fail(
      `${file} is missing: run \`${command}\` before packing${publishing ? '' : '; `npm run pack:here` packs for this machine alone'}`,
    );
  }
}

// npm shows the README with its links and images at the address of the repository, from which it also derives
// `homepage` and `bugs`.
const { url } = JSON.parse(read('package.json')).repository;
if (publishing && url.includes('/OWNER/')) {
  fail(`package.json: "repository" still has the placeholder OWNER: ${url}`);
}
for (const [, target] of read('README.md').matchAll(/\]\(([^)#]+)[^)]*\)/g)) {
  if (/^https?:/.test(target) || existsSync(join(root, target))) continue;
  fail(`README.md leads to ${target}, which does not exist`);
}

const words = ['pack', '--dry-run', '--json', '--ignore-scripts'];
const [{ files }] = JSON.parse(
  execFileSync('npm', words, { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] }),
);
const size = files
  .filter(({ path }) => !path.endsWith('.node'))
  .reduce((sum, file) => sum + file.size, 0);
console.error(`${size} bytes without the binaries, of ${budget}`);
if (size > budget) fail('the package has become too large');
