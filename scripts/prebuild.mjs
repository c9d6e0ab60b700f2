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
import { targets } from './targets.mjs';
import { addMissingTools, getPython, program } from './tools.mjs';

const root = join(import.meta.dirname, '..');
const { values, positionals: names } = parseArgs({
  allowPositionals: true,
  options: { 'if-stale': { type: 'boolean' }, ci: { type: 'boolean' } },
});
const unknown = names.find((name) => !targets.some((target) => target.name === name));
if (unknown) {
  fail(`unknown target ${unknown}; there is ${targets.map(({ name }) => name).join(', ')}`);
}

// What users would only find out after a release: what a binary is, how large, and what it needs.
const MAX_BYTES = 436_000;
const EXPORTS = ['napi_register_module_v1', 'node_api_module_get_api_version_v1'];
/** What Zig's linker cannot hide: the linker's own, and the operators new and delete, malloc() for everybody. */
const MACOS_EXPORTS = /^(dso_handle|mh_dylib_header|Zn[aw]m|Zd[al]Pv)/;
const MACHINES = { x64: ['X86_64', 'AMD64'], arm64: ['AARCH64', 'ARM64'] };

const recipe = ['targets.mjs', 'tools.mjs', 'prebuildify-cmake-js.sh'];
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

/** `summary` for people, and what is wrong. */
function checkBinary(path, { platform, arch, needs }) {
  const bytes = statSync(path).size;
  const { machine, libraries, exports, versions = [], macos, host = [] } = inspect(path);
  const faults = [];

  if (bytes > MAX_BYTES) faults.push(`${bytes} bytes, more than ${MAX_BYTES}`);
  if (!MACHINES[arch].some((name) => machine === `${platform}-${name}`))
    faults.push(`is for ${machine}`);
  for (const library of libraries) {
    const known = needs.libraries.some((name) => name === library || name.test?.(library));
    if (!known) faults.push(`needs ${library}`);
  }
  for (const name of host)
    if (!/^(napi|node_api)_/.test(name)) faults.push(`asks Node for ${name}`);
  // GLIBC_2.17, but also GLIBCXX_3.4 and others that no target may need.
  const glibc = versions.map((version) => /^GLIBC_([\d.]+)$/.exec(version)?.[1] ?? version);
  for (const version of glibc) {
    if (!needs.glibc || compareVersions(version, needs.glibc) > 0)
      faults.push(`needs glibc ${version}`);
  }
  if (macos !== needs.macos) faults.push(`is for macOS ${macos}, not ${needs.macos}`);
  const others = exports.filter(
    (name) => !EXPORTS.includes(name) && !(macos && MACOS_EXPORTS.test(name)),
  );
  const missing = EXPORTS.filter((name) => !exports.includes(name));
  if (others.length) faults.push(`exports ${others.join(', ')}`);
  if (missing.length) faults.push(`does not export ${missing.join(', ')}`);

  const newest = glibc.sort(compareVersions).at(-1);
  const oldest = newest ? `, glibc ${newest}` : macos ? `, macOS ${macos}` : '';
  return { summary: `${bytes} bytes, needs ${libraries.join(', ')}${oldest}`, faults };
}

function inspect(path) {
  const script = join(import.meta.dirname, 'inspect-binary.py');
  return JSON.parse(execFileSync(getPython(), [script, path], { encoding: 'utf8' }));
}

function compareVersions(one, other) {
  return one.localeCompare(other, 'en', { numeric: true });
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
