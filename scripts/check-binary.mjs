// What users would only find out after a release: what a binary is, how large, and what it needs.
import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { getPython } from './python.mjs';

// Of which the count ahead of the progress bar and the writer of a dry run are 17,000, and what notices other copies to the
// same directory and other spellings of a name 3,000. The detection of DEST in SRC by a new entry is 4,000,
// and the looks at owners and modes that were set, with the old modes that come back after a failure and the reports of
// entries that cannot be deleted, are 3,500.
const MAX_BYTES = 464_000;
const EXPORTS = ['napi_register_module_v1', 'node_api_module_get_api_version_v1'];
/** What Zig's linker cannot hide: the linker's own, and the operators new and delete, malloc() for everybody. */
const MACOS_EXPORTS = /^(dso_handle|mh_dylib_header|Zn[aw]m|Zd[al]Pv)/;
const MACHINES = { x64: ['X86_64', 'AMD64'], arm64: ['AARCH64', 'ARM64'] };

/** `summary` for people, and what is wrong. */
export function checkBinary(path, { platform, arch, needs }) {
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
    if (!needs.glibc || compare(version, needs.glibc) > 0) faults.push(`needs glibc ${version}`);
  }
  if (macos !== needs.macos) faults.push(`is for macOS ${macos}, not ${needs.macos}`);
  const others = exports.filter(
    (name) => !EXPORTS.includes(name) && !(macos && MACOS_EXPORTS.test(name)),
  );
  const missing = EXPORTS.filter((name) => !exports.includes(name));
  if (others.length) faults.push(`exports ${others.join(', ')}`);
  if (missing.length) faults.push(`does not export ${missing.join(', ')}`);

  const newest = glibc.sort(compare).at(-1);
  const oldest = newest ? `, glibc ${newest}` : macos ? `, macOS ${macos}` : '';
  return { summary: `${bytes} bytes, needs ${libraries.join(', ')}${oldest}`, faults };
}

function inspect(path) {
  const script = join(import.meta.dirname, 'inspect-binary.py');
  return JSON.parse(execFileSync(getPython(), [script, path], { encoding: 'utf8' }));
}

function compare(one, other) {
  return one.localeCompare(other, 'en', { numeric: true });
}
