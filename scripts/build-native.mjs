// Builds the addon into build/Release by cmake-js: build-native.mjs [ARGUMENT OF CMAKE-JS…]. What the machine lacks of
// CMake, a build tool and a C++ compiler is fetched into the cache first.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { targets } from './targets.mjs';
import { addMissingTools, program } from './tools.mjs';

const root = join(import.meta.dirname, '..');
const args = ['compile', '--parallel', '4', ...process.argv.slice(2)];
const env = process.env;

try {
  if (await addMissingTools()) await useZig();
} catch (error) {
  // Node's fetch() has the reason in `cause`.
  console.error(
    `fastcp: what the build needs could not be fetched: ${error.cause?.message ?? error.message}`,
  );
  console.error('Install cmake, make and g++, as by: apt-get install cmake make g++');
  process.exit(1);
}
execFileSync(join(root, 'node_modules/.bin/cmake-js'), args, { env, cwd: root, stdio: 'inherit' });

/** Zig is the compiler of the binaries that the package ships, too. */
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
  args.push(`--CDCMAKE_TOOLCHAIN_FILE=${join(root, 'binding/cmake/zig.cmake')}`);
}
