import { join } from 'node:path';
import { getBuiltinModule } from '../builtins.js';

// Node's own, because a program may have replaced `node:fs`.
const { existsSync, readdirSync, readFileSync } = getBuiltinModule('node:fs');

/**
 * The binaries of the package. Tools that collect the files of a program understand only such calls. The paths are relative to
 * dist, because the sources have no `require`.
 */
const prebuilt: Record<string, (() => unknown) | undefined> = {
  'linux-x64 (glibc)': () => require('../prebuilds/linux-x64/fastcp.glibc.node'),
  'linux-x64 (musl)': () => require('../prebuilds/linux-x64/fastcp.musl.node'),
  'linux-arm64 (glibc)': () => require('../prebuilds/linux-arm64/fastcp.glibc.node'),
  'linux-arm64 (musl)': () => require('../prebuilds/linux-arm64/fastcp.musl.node'),
  'darwin-x64': () => require('../prebuilds/darwin-x64/fastcp.node'),
  'darwin-arm64': () => require('../prebuilds/darwin-arm64/fastcp.node'),
  'win32-x64': () => require('../prebuilds/win32-x64/fastcp.node'),
  'win32-arm64': () => require('../prebuilds/win32-arm64/fastcp.node'),
};

/**
 * Loads the addon of the package in `root`: the one that was built there, or the prebuilt binary for this
 * system, processor and C library. If none fits, throws an Error that says what to do.
 */
export function loadBinary(root: string | undefined): unknown {
  const names = suitable();
  const built = builtBinary(root);
  const loads = built ? [() => load(built)] : names.map((name) => prebuilt[name]);
  const failures: NodeJS.ErrnoException[] = [];
  for (const one of loads) {
    try {
      if (one) return one();
    } catch (error) {
      failures.push(error as NodeJS.ErrnoException);
    }
  }
  throw explain(root, names[0] ?? '', failures);
}

function load(file: string): unknown {
  if (typeof require === 'function') return require(file);
  return getBuiltinModule('node:module').createRequire(import.meta.url)(file);
}

/** The binary that was built from the sources, if there is one. */
function builtBinary(root: string | undefined): string | undefined {
  const { FASTCP_PREBUILD, PREBUILDS_ONLY } = process.env;
  const directory = FASTCP_PREBUILD || (PREBUILDS_ONLY ? undefined : root);
  if (!directory) return undefined;
  const file = join(directory, 'build/Release/fastcp.node');
  return FASTCP_PREBUILD || isThere(file) ? file : undefined;
}

/** Returns the names of the binaries to try. The C library is only guessed: the other one's binary does not load. */
function suitable(): string[] {
  const { platform, arch } = process;
  const here = `${platform}-${arch}`;
  if (platform !== 'linux') return [here];
  const order = isThere('/etc/alpine-release') ? ['musl', 'glibc'] : ['glibc', 'musl'];
  return order.map((libc) => `${here} (${libc})`);
}

/** Node's permission model may forbid to look. */
function isThere(file: string): boolean {
  try {
    return existsSync(file);
  } catch {
    return false;
  }
}

function explain(root: string | undefined, here: string, failures: NodeJS.ErrnoException[]): Error {
  const { FASTCP_PREBUILD } = process.env;
  const [error] = failures;
  const code = error?.code ?? (error ? undefined : 'MODULE_NOT_FOUND');
  const message = failures
    .filter((one) => one.code === code)
    .map((one) => one.message.trim())
    .join('; ');
  const found = root ? prebuilds(root) : [];
  const lines: string[] = [];
  if (code === 'ERR_DLOPEN_DISABLED')
    lines.push(
      'fastcp cannot run: Node may not load addons. Allow them (--allow-addons with --permission), or leave out --no-addons.',
    );
  else if (FASTCP_PREBUILD && code === 'MODULE_NOT_FOUND')
    lines.push(
      `fastcp cannot run: FASTCP_PREBUILD is '${FASTCP_PREBUILD}', where build/Release/fastcp.node is missing.`,
    );
  else if (isElsewhere(root))
    lines.push(
      `fastcp was bundled, and its binary is not beside the bundle: ${message.split('\n')[0]}`,
      'Keep `fastcp` and `fastcp/*` external, for example by --packages=external of esbuild.',
    );
  else if (code === 'MODULE_NOT_FOUND' && !found.includes(here))
    lines.push(
      `fastcp has no binary for ${here}.`,
      `Binaries of this package: ${found.join(', ') || 'none: it was installed without them'}.`,
      "Or build it from the sources by 'npm ci && npm run build:native', and set FASTCP_PREBUILD to their directory.",
    );
  else lines.push(`fastcp cannot run, its binary does not load: ${message}`);
  return Object.assign(new Error(lines.join('\n'), { cause: error }), {
    code: 'ERR_FASTCP_NO_BINARY',
  });
}

/** Returns whether this code is no longer in its package. */
function isElsewhere(root: string | undefined): boolean {
  if (!root) return true;
  try {
    return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).name !== 'fastcp';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

/** Returns for example `linux-x64 (glibc)` and `linux-x64 (musl)`. */
function prebuilds(root: string): string[] {
  const directory = join(root, 'prebuilds');
  return list(directory).flatMap((name) => {
    const files = list(join(directory, name)).filter((file) => file.endsWith('.node'));
    const libcs = files.map((file) => file.split('.').at(-2));
    return libcs.map((libc) => (libc === 'fastcp' ? name : `${name} (${libc})`));
  });
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory).sort();
  } catch {
    return [];
  }
}
