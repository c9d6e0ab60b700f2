// Builds after each change, and runs the tests that the change touches: dev.mjs, by `npm run dev`. Vitest finds the tests
// by their imports, which do not show C++: after a change of binding/, the quick tests of copies run.
import { spawnSync } from 'node:child_process';
import { watch } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const run = (command, args) =>
  spawnSync(command, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, FASTCP_TEST: 'quick' },
  }).status === 0;

const changed = new Set();
let timer;
for (const directory of ['binding', 'lib', 'bin', 'test']) {
  watch(join(root, directory), { recursive: true }, () => {
    changed.add(directory);
    clearTimeout(timer);
    timer = setTimeout(check, 200);
  });
}
console.log('Waiting for a change in binding, lib, bin or test.');

function check() {
  const isNative = changed.has('binding');
  const isScript = changed.has('lib') || changed.has('bin');
  changed.clear();
  if (isNative && !run('npm', ['run', '--silent', 'build:native'])) return;
  if (isScript && !run('npm', ['run', '--silent', 'build:ts'])) return;
  run('npx', ['vitest', 'run', ...(isNative ? ['test/behaviour'] : ['--changed'])]);
}
