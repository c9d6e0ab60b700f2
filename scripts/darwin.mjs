// Runs the behaviour tests over the model of macOS: darwin.mjs [--quick | TEST…]
//
// Builds macOS's code with the model (test/darwin) into build/darwin-model. FASTCP_PREBUILD makes the tests load it, so
// build/Release stays as it is. Without names all behaviour tests are run, but for those in test/darwin/left-out.ts;
// --quick runs a few files, for CI. Prints the numbers, and the reasons of what is left out with the number of tests
// of each.
import { execFileSync, spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { addMissingTools } from './build-tools.mjs';
import { printNumbers } from './numbers.mjs';

const root = join(import.meta.dirname, '..');
const bin = (name) => join(root, 'node_modules/.bin', name);
const named = process.argv.slice(2).filter((word) => !word.startsWith('--'));
/** In which copies, clones, names and attributes meet. */
const quick = ['conflicts', 'kinds', 'links', 'names', 'preserve', 'sparse', 'verify'];
const tests = process.argv.includes('--quick')
  ? quick.map((name) => `test/behaviour/${name}.test.ts`)
  : named.length > 0
    ? named
    : ['test/behaviour'];

await addMissingTools();
const where = 'build/darwin-model/build';
for (const [command, ...args] of [
  [bin('cmake-js'), 'configure', '--out', where, '--CDFASTCP_DARWIN_MODEL=ON'],
  // After an error cmake-js would begin again without that option, and Linux's code would be tested.
  ['cmake', '--build', where, '--parallel', '2'],
]) {
  execFileSync(command, args, { cwd: root, stdio: ['ignore', 'ignore', 2] });
}

const results = join(root, 'build/darwin-model/results.json');
rmSync(results, { force: true });
const { status } = spawnSync(
  bin('vitest'),
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
      FASTCP_PREBUILD: join(root, 'build/darwin-model'),
    },
  },
);

printNumbers(results, 'Over the model of macOS');
process.exit(status ?? 1);
