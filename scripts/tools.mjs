// What builds and tests need and a machine may lack, fetched into the cache: CMake, a build tool, a C and C++ compiler (Zig then), and
// Python packages.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

/** Where the scripts keep what is large and can be fetched again. */
export const cacheDirectory =
  process.env.FASTCP_CACHE ??
  join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'fastcp');

/** Programs that PyPI distributes as wheels, which are zip files: fetched without Python, and checked. By name: the version, and where in the wheel the program is. */
const wheels = {
  cmake: { version: '3.31.6', path: 'cmake/data/bin/cmake' },
  ninja: { version: '1.13.0', path: 'ninja-1.13.0.data/scripts/ninja' },
  ziglang: { version: '0.15.2', path: 'ziglang/zig' },
};

const suffix = process.platform === 'win32' ? '.exe' : '';

/** Returns the path of a program, which the first call fetches. */
export async function program(name) {
  const { version, path } = wheels[name];
  const directory = join(cacheDirectory, `${name}-${version}`);
  if (!existsSync(directory)) await fetchTo(directory, name);
  return join(directory, path + suffix);
}

async function fetchTo(directory, name) {
  // scripts/install.mjs runs before fastcp's own packages are installed.
  const { unzipSync } = await import('fflate');
  const { version, path } = wheels[name];
  const index = await get(
    `https://pypi.org/simple/${name}/`,
    'application/vnd.pypi.simple.v1+json',
  );
  const { files } = JSON.parse(index.toString());
  const file = files.find(
    ({ filename }) => filename.startsWith(`${name}-${version}-`) && isForThisSystem(filename),
  );
  if (!file) {
    throw new Error(`there is no ${name} ${version} for ${process.platform}-${process.arch}`);
  }
  console.error(`fetching ${file.filename} (${(file.size / 1e6).toFixed()} MB)`);
  const wheel = await get(file.url);
  const hash = createHash('sha256').update(wheel).digest('hex');
  if (hash !== file.hashes.sha256) throw new Error(`${file.filename} is damaged`);
  // Complete, or not there.
  const unfinished = `${directory}.${process.pid}`;
  for (const [name, content] of Object.entries(unzipSync(wheel))) {
    const at = join(unfinished, name);
    mkdirSync(name.endsWith('/') ? at : dirname(at), { recursive: true });
    if (!name.endsWith('/')) writeFileSync(at, content);
  }
  chmodSync(join(unfinished, path + suffix), 0o755);
  try {
    renameSync(unfinished, directory);
  } catch (error) {
    rmSync(unfinished, { recursive: true });
    if (!existsSync(directory)) throw error; // else another process was faster
  }
}

/** Wheels name their systems so: cmake-3.31.6-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl. */
function isForThisSystem(filename) {
  const arch = { x64: '(x86_64|amd64)', arm64: '(aarch64|arm64)' }[process.arch] ?? process.arch;
  if (process.platform === 'win32') return new RegExp(`win_${arch}`).test(filename);
  if (process.platform === 'darwin')
    return new RegExp(`macosx_.*(${arch}|universal2)`).test(filename);
  const libc = process.report.getReport().header.glibcVersionRuntime ? 'manylinux' : 'musllinux';
  return new RegExp(`${libc}.*_${arch}`).test(filename);
}

async function get(url, accept) {
  const response = await fetch(url, { headers: accept ? { accept } : {} });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  return Buffer.from(await response.arrayBuffer());
}

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

let python;

/** Returns the path of a Python that has the packages of requirements.txt, which the first call installs. */
export function getPython() {
  python ??= installPackages();
  return python;
}

function installPackages() {
  const requirements = join(import.meta.dirname, 'requirements.txt');
  const version = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 8);
  const venv = join(cacheDirectory, `prebuild-tools-${version}`);
  const path = join(venv, 'bin/python');
  const run = (command, ...args) => execFileSync(command, args, { stdio: ['ignore', 2, 2] });
  if (!existsSync(join(venv, 'installed'))) {
    run('python3', '-m', 'venv', '--clear', venv);
    run(path, '-m', 'pip', 'install', '--quiet', '--requirement', requirements);
    run('touch', join(venv, 'installed'));
  }
  return path;
}
