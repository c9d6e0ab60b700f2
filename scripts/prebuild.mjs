// Builds the binaries that the package ships, with Zig as the compiler: one machine builds all of
// them, against a C library that is old enough.
//
//   prebuild.mjs [--if-stale] [TARGET…]     all targets of targets.mjs unless some are named
//
// Needs cmake, make or ninja, g++ (cmake-js insists) and Python 3 with venv; Zig comes from PyPI, or is
// the one that the variable ZIG names.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from './cache.mjs';
import { prebuildPath, targets } from './targets.mjs';

const ZIG_VERSION = '0.15.2';
const MAX_BYTES = 400_000;
const MAX_GLIBC_MINOR = 28;

const root = join(import.meta.dirname, '..');
const names = process.argv.slice(2).filter((arg) => arg !== '--if-stale');
const unknown = names.find((name) => !targets.some((target) => target.name === name));
if (unknown) {
  fail(`unknown target ${unknown}; there is ${targets.map(({ name }) => name).join(', ')}`);
}

for (const target of targets) {
  if (names.length && !names.includes(target.name)) continue;
  if (process.argv.includes('--if-stale') && isFresh(target)) continue;
  build(target);
  check(target);
}

function build({ name, platform, arch, libc, system, zig }) {
  // prebuildify takes its binary from ./build/Release: a folder of its own leaves ours alone.
  const folder = join(root, 'build/prebuild', name);
  mkdirSync(folder, { recursive: true });
  const where = ['--cwd', folder, '--out', root, '--name', 'fastcp'];
  const what = ['--napi', '--platform', platform, '--arch', arch, '--libc', libc, '--tag-libc'];
  const how = ['--node-gyp', join(import.meta.dirname, 'prebuildify-cmake-js.sh')];
  execFileSync(join(root, 'node_modules/.bin/prebuildify'), [...where, ...what, ...how], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ZIG: getZig(), ZIG_TARGET: zig, ZIG_SYSTEM: system },
  });
}

/** Checks what users would only find out after the release. */
function check(target) {
  const file = prebuildPath(target);
  const binary = readFileSync(join(root, file));
  if (binary.length > MAX_BYTES) fail(`${file}: ${binary.length} bytes, more than ${MAX_BYTES}`);
  const text = binary.toString('latin1');
  // Symbol versions stand as plain text in an ELF file.
  const glibc = Math.max(0, ...[...text.matchAll(/GLIBC_2\.(\d+)/g)].map((match) => +match[1]));
  if (glibc > MAX_GLIBC_MINOR) fail(`${file}: needs glibc 2.${glibc}, not 2.${MAX_GLIBC_MINOR}`);
  if (text.includes('GLIBCXX_')) fail(`${file}: needs a libstdc++ from outside`);
  console.log(`${file}: ${binary.length} bytes, needs glibc 2.${glibc}`);
}

function isFresh(target) {
  const file = join(root, prebuildPath(target));
  if (!existsSync(file)) return false;
  const built = statSync(file).mtimeMs;
  return readdirSync(join(root, 'binding'), { recursive: true })
    .map((name) => join(root, 'binding', name))
    .concat(join(root, 'package-lock.json'), join(import.meta.dirname, 'targets.mjs'))
    .every((source) => statSync(source).mtimeMs < built);
}

function getZig() {
  if (process.env.ZIG) return process.env.ZIG;
  const venv = join(cacheFolder, `zig-${ZIG_VERSION}`);
  const python = join(venv, 'bin/python');
  const find = ['-c', 'import ziglang; print(ziglang.__path__[0])'];
  const run = (command, ...args) => execFileSync(command, args, { stdio: ['ignore', 2, 2] });
  if (!existsSync(join(venv, 'installed'))) {
    run('python3', '-m', 'venv', '--clear', venv);
    run(python, '-m', 'pip', 'install', '--quiet', `ziglang==${ZIG_VERSION}`);
    run('touch', join(venv, 'installed'));
  }
  return join(execFileSync(python, find, { encoding: 'utf8' }).trim(), 'zig');
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
