import { readdirSync } from 'node:fs';
import path from 'node:path';
import load from 'node-gyp-build';

/**
 * Loads the addon of the package in `root`: the one that was built there, or the prebuilt binary for this
 * system, processor and C library. If none fits, throws an Error that says what to do.
 */
export function loadBinary(root: string): unknown {
  try {
    return load(root);
  } catch (error) {
    throw failure(root, error as NodeJS.ErrnoException);
  }
}

function failure(root: string, error: NodeJS.ErrnoException): Error {
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
  const directory = path.join(root, 'prebuilds');
  return list(directory).flatMap((name) => {
    const files = list(path.join(directory, name)).filter((file) => file.endsWith('.node'));
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
