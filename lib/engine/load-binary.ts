import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Loads the addon of the package in `root`: the one that was built there, or the prebuilt binary for this
 * system, processor and C library. If none fits, throws an Error that says what to do.
 */
export function loadBinary(root: string): unknown {
  try {
    const usual = usualBinary(root);
    if (usual === undefined) return search(root);
    return typeof require === 'function' ? require(usual) : requireHere()(usual);
  } catch (error) {
    throw failure(root, error as NodeJS.ErrnoException);
  }
}

/** Tools that collect the files of a program find the package by this `require`, which only the built files have. */
function search(root: string): unknown {
  if (typeof require === 'function') return require('node-gyp-build')(root);
  return requireHere()('node-gyp-build')(root);
}

/** Creates the `require` that the sources do not have. The built files do without: it takes longer than loading the binary. */
function requireHere(): NodeJS.Require {
  return process.getBuiltinModule('node:module').createRequire(import.meta.url);
}

/** Variables that tell node-gyp-build to search elsewhere. */
const searches = [
  'FASTCP_PREBUILD',
  'PREBUILDS_ONLY',
  'LIBC',
  'npm_config_arch',
  'npm_config_platform',
];

/**
 * Returns the binary that node-gyp-build nearly always finds. Its search takes as long as copying a small tree. Returns
 * undefined where it has to search.
 */
function usualBinary(root: string): string | undefined {
  if (searches.some((name) => process.env[name])) return undefined;
  const { platform, arch } = process;
  if (platform === 'linux' && existsSync('/etc/alpine-release')) return undefined;
  const file = platform === 'linux' ? 'fastcp.glibc.node' : 'fastcp.node';
  const places = [
    'build/Release/fastcp.node',
    'build/Debug/fastcp.node',
    `prebuilds/${platform}-${arch}/${file}`,
  ];
  return places.map((place) => join(root, place)).find((place) => existsSync(place));
}

function failure(root: string, error: NodeJS.ErrnoException): Error {
  if (error.code === 'ERR_DLOPEN_DISABLED') {
    const message =
      'fastcp cannot run: Node may not load addons. Allow them (--allow-addons with --permission), or leave out --no-addons.';
    return Object.assign(new Error(message, { cause: error }), { code: 'ERR_FASTCP_NO_BINARY' });
  }
  const found = prebuilds(root);
  const there = found.length > 0 ? found.join(', ') : 'none: it was installed without them';
  const broken = error.code === 'ERR_DLOPEN_FAILED';
  const lines = [
    broken
      ? `fastcp cannot run, its binary does not load: ${error.message.trim()}`
      : `fastcp has no binary for ${process.platform} ${process.arch}.`,
    `Binaries of this package: ${there}.`,
    ...(process.platform === 'linux'
      ? ["Where the system's C library is musl and it is not Alpine, set LIBC=musl."]
      : []),
    "Or build it from the sources by 'npm ci && npm run build:native', and set FASTCP_PREBUILD to their directory.",
  ];
  return Object.assign(new Error(lines.join('\n'), { cause: error }), {
    code: 'ERR_FASTCP_NO_BINARY',
  });
}

/** Returns for example `linux-x64 (glibc, musl)`. */
function prebuilds(root: string): string[] {
  const directory = join(root, 'prebuilds');
  return list(directory).flatMap((name) => {
    const files = list(join(directory, name)).filter((file) => file.endsWith('.node'));
    const libcs = files.map((file) => file.split('.').at(-2)).filter((tag) => tag !== 'fastcp');
    if (files.length === 0) return [];
    return libcs.length > 0 ? `${name} (${libcs.join(', ')})` : name;
  });
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory).sort();
  } catch {
    return [];
  }
}
