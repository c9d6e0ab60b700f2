// Runs the behaviour tests over the model of macOS: darwin.mjs [--quick | TEST…]
//
// Builds macOS's code with the model (test/darwin) into build/darwin-model. FASTCP_PREBUILD makes the tests load it, so
// build/Release stays as it is. Without names all behaviour tests are run, but for those in test/darwin/left-out.ts;
// --quick runs a few files, for CI. Prints the numbers, and the reasons of what is left out with the number of tests
// of each.
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildVariant, variantAt } from './build-variant.mjs';
import { printNumbers } from './numbers.mjs';
import { addMissingTools } from './tools.mjs';

const root = join(import.meta.dirname, '..');
const named = process.argv.slice(2).filter((word) => !word.startsWith('--'));
/** In which copies, clones, names and attributes meet. */
const quick = ['conflicts', 'kinds', 'links', 'names', 'preserve', 'sparse', 'verify'];
const tests = process.argv.includes('--quick')
  ? quick.map((name) => `test/behaviour/${name}.test.ts`)
  : named.length > 0
    ? named
    : ['test/behaviour'];

await addMissingTools();
buildVariant('darwin-model', ['FASTCP_DARWIN_MODEL=ON']);
const model = variantAt('darwin-model');
const results = join(model, 'results.json');
rmSync(results, { force: true });
const { status } = spawnSync(
  join(root, 'node_modules/.bin/vitest'),
  [
    ...['run', '--config', 'test/darwin/vitest.config.ts', ...tests],
    ...['--reporter=default', '--reporter=json', `--outputFile.json=${results}`],
  ],
  {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      ...process.env,
      FASTCP_DARWIN_MODEL: '1',
      FASTCP_PREBUILD: model,
    },
  },
);

printNumbers(results, 'Over the model of macOS');
process.exit(status ?? 1);
