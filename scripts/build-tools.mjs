// What builds and tests need and a machine may lack: CMake, a build tool, and a C and C++ compiler (Zig then). All of
// them are fetched into the cache.
import { accessSync, constants, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { cacheDirectory } from './cache.mjs';
import { program } from './wheels.mjs';

const isLinux = process.platform === 'linux';

/** Adds what is missing to the PATH of this process and its children. Returns whether Zig is the compiler. */
export async function addMissingTools() {
  if (!has('cmake')) use(dirname(await program('cmake')));
  if (isLinux && !has('make') && !has('ninja')) use(dirname(await program('ninja')));
  return await addMissingCompiler();
}

/** Does the same for the compilers alone: on Linux, `cc` and `g++` are then in the PATH. */
export async function addMissingCompiler() {
  if (!isLinux || (has('cc') && has('g++'))) return false;
  use(await zigCompilers('zig-as-compiler'));
  return true;
}

/** Returns a directory of the cache with `cc` and `g++` that are Zig's, for this system or for `target`. */
export async function zigCompilers(name, target) {
  const directory = join(cacheDirectory, name);
  mkdirSync(directory, { recursive: true });
  const zig = await program('ziglang');
  const options = target ? `-target ${target} ` : '';
  for (const [tool, verb] of [
    ['cc', 'cc'],
    ['g++', 'c++'],
  ]) {
    // Replaced in one step, because other processes may be using it.
    const unfinished = join(directory, `${tool}.${process.pid}`);
    writeFileSync(unfinished, `#!/bin/sh\nexec '${zig}' ${verb} ${options}"$@"\n`, { mode: 0o755 });
    renameSync(unfinished, join(directory, tool));
  }
  return directory;
}

function use(directory) {
  process.env.PATH = [directory, process.env.PATH].join(delimiter);
}

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
