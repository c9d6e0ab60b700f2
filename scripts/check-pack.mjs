// Runs before `npm pack`: a package without its built files would install, and then fail to load. What is
// published has the binaries of all targets; to try a package those that CI builds will do.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { targets } from './targets.mjs';

const publishing = process.env.npm_command === 'publish';
const prebuilds = publishing ? 'npm run prebuild:all' : 'npm run build:prebuilds';

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
for (const [command, files] of Object.entries(needed)) {
  for (const file of files) {
    if (existsSync(join(root, file))) continue;
    console.error(`${file} is missing: run \`${command}\` before packing`);
    process.exitCode = 1;
  }
}
