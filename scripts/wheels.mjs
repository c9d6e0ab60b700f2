// Programs that PyPI distributes as wheels, which are zip files: fetched without Python, checked, and kept in the cache.
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { unzipSync } from 'fflate';
import { cacheDirectory } from './cache.mjs';

/** By name: the version, and where in the wheel the program is. */
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
