// Runs before `npm pack`: a package without its built files would install, and then fail to load.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { prebuildPath, targets } from './targets.mjs';

const needed = {
  'npm run build:ts': [
    'dist/index.js',
    'dist/index.cjs',
    'dist/index.d.ts',
    'dist/index.d.cts',
    'dist/fastcp.cjs',
  ],
  'npm run build:prebuilds': targets.map(prebuildPath),
};

const root = join(import.meta.dirname, '..');
for (const [command, files] of Object.entries(needed)) {
  for (const file of files) {
    if (existsSync(join(root, file))) continue;
    console.error(`${file} is missing: run \`${command}\` before packing`);
    process.exitCode = 1;
  }
}
