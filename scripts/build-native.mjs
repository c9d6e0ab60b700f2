// Builds the addon into build/Release by cmake-js: build-native.mjs [ARGUMENT OF CMAKE-JS…]. What the machine lacks of
// CMake, a build tool and a C++ compiler (Zig then) is fetched into the cache first.
import { execFileSync } from 'node:child_process';
import { accessSync, chmodSync, constants, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { cacheDirectory } from './cache.mjs';
import { targets } from './targets.mjs';
import { program } from './wheels.mjs';

const root = join(import.meta.dirname, '..');
const isLinux = process.platform === 'linux';
const args = ['compile', '--parallel', '4', ...process.argv.slice(2)];
const env = { ...process.env };
const use = (directory) => {
  env.PATH = [directory, env.PATH].join(delimiter);
};

try {
  if (!has('cmake')) use(dirname(await program('cmake')));
  if (isLinux && !has('make') && !has('ninja')) use(dirname(await program('ninja')));
  if (isLinux && !has('g++') && !has('clang++')) await useZig();
} catch (error) {
  // Node's fetch() has the reason in `cause`.
  console.error(
    `fastcp: what the build needs could not be fetched: ${error.cause?.message ?? error.message}`,
  );
  console.error('Install cmake, make and g++, as by: apt-get install cmake make g++');
  process.exit(1);
}
execFileSync(join(root, 'node_modules/.bin/cmake-js'), args, { env, cwd: root, stdio: 'inherit' });

function has(name) {
  return (process.env.PATH ?? '').split(delimiter).some((directory) => {
    try {
      const suffix = process.platform === 'win32' ? '.exe' : '';
      accessSync(join(directory, name + suffix), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Zig is the compiler of the binaries that the package ships, too. cmake-js looks for a g++. */
async function useZig() {
  const libc = process.report.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl';
  const target = targets.find(
    ({ platform, arch, libc: its }) =>
      platform === process.platform && arch === process.arch && its === libc,
  );
  if (!target) throw new Error(`there is no compiler for ${process.arch}`);
  env.ZIG = await program('ziglang');
  env.ZIG_TARGET = target.zig;
  env.ZIG_SYSTEM = target.system;
  const directory = join(cacheDirectory, 'zig-as-g++');
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'g++'), '#!/bin/sh\nexec "$ZIG" c++ "$@"\n');
  chmodSync(join(directory, 'g++'), 0o755);
  use(directory);
  args.push(`--CDCMAKE_TOOLCHAIN_FILE=${join(root, 'binding/cmake/zig.cmake')}`);
}
