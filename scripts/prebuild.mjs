// Builds the binaries that the package ships, with Zig as the compiler: one machine builds all of
// them, against a C library that is old enough.
//
//   prebuild.mjs [--if-stale] [--ci] [TARGET…]     all of targets.mjs or those named; with --ci only those with `ci`
//
// Fetches what the machine lacks of CMake, a build tool and a g++ (cmake-js looks for one). The check of the binaries
// needs Python 3 with venv.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { addMissingTools } from './build-tools.mjs';
import { checkBinary } from './check-binary.mjs';
import { targets } from './targets.mjs';
import { program } from './wheels.mjs';

const root = join(import.meta.dirname, '..');
const { values, positionals: names } = parseArgs({
  allowPositionals: true,
  options: { 'if-stale': { type: 'boolean' }, ci: { type: 'boolean' } },
});
const unknown = names.find((name) => !targets.some((target) => target.name === name));
if (unknown) {
  fail(`unknown target ${unknown}; there is ${targets.map(({ name }) => name).join(', ')}`);
}

const recipe = ['targets.mjs', 'wheels.mjs', 'prebuildify-cmake-js.sh'];
await addMissingTools();
const zigPath = await program('ziglang');
for (const target of targets) {
  if (values.ci && !target.ci) continue;
  if (names.length && !names.includes(target.name)) continue;
  if (values['if-stale'] && isFresh(target)) continue;
  build(target);
  const { summary, faults } = checkBinary(join(root, target.file), target);
  console.log(`${target.file}: ${summary}`);
  if (faults.length) fail(faults.map((fault) => `${target.file}: ${fault}`).join('\n'));
}

function build({ name, platform, arch, libc, system, zig }) {
  // prebuildify takes its binary from ./build/Release: a directory of its own leaves ours alone.
  const directory = join(root, 'build/prebuild', name);
  mkdirSync(directory, { recursive: true });
  const where = ['--cwd', directory, '--out', root, '--name', 'fastcp'];
  const what = ['--napi', '--platform', platform, '--arch', arch];
  if (libc) what.push('--libc', libc, '--tag-libc');
  const how = ['--node-gyp', join(import.meta.dirname, 'prebuildify-cmake-js.sh')];
  execFileSync(join(root, 'node_modules/.bin/prebuildify'), [...where, ...what, ...how], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ZIG: zigPath, ZIG_TARGET: zig, ZIG_SYSTEM: system },
  });
}

function isFresh({ file }) {
  if (!existsSync(join(root, file))) return false;
  const built = statSync(join(root, file)).mtimeMs;
  return readdirSync(join(root, 'binding'), { recursive: true })
    .map((name) => join(root, 'binding', name))
    .concat(['CMakeLists.txt', 'package-lock.json'].map((name) => join(root, name)))
    .concat(recipe.map((name) => join(import.meta.dirname, name)))
    .every((source) => statSync(source).mtimeMs < built);
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
