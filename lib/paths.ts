/**
 * Paths as bytes, because names need not be UTF-8, and `link/..` must not be shortened. On Windows paths are
 * UTF-8 with slashes only, also in the engine. Backslashes are converted when a path comes in, and when it is
 * shown.
 */
import { isUtf8 } from 'node:buffer';
import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { parse, resolve, win32 } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isUint8Array } from 'node:util/types';
import { isUrl } from './builtins.js';
import { invalidType, invalidValue } from './errors/arguments.js';
import { refuse } from './errors/copy-error.js';

const slash = 0x2f;
const backslash = 0x5c;
const isWindows = process.platform === 'win32';

/** Checks a path argument and turns it into bytes. Throws ERR_INVALID_ARG_TYPE or _VALUE. */
export function pathBytes(value: unknown, name: string): Buffer {
  let bytes: Buffer;
  if (typeof value === 'string') bytes = Buffer.from(value);
  else if (isUint8Array(value)) bytes = Buffer.from(value);
  else if (isUrl(value)) bytes = Buffer.from(filePath(value, name));
  else throw invalidType(name, 'a string, a Buffer or a file URL', value);
  if (bytes.length === 0) throw invalidValue(name, 'a path that is not empty', '');
  if (bytes.includes(0)) throw invalidValue(name, 'a path without null bytes', bytes.toString());
  return fromSystem(bytes);
}

/** Converts a path from Node or the user. May change it in place. */
export function fromSystem(path: Buffer): Buffer {
  if (!isWindows) return path;
  for (let at = path.indexOf(backslash); at >= 0; at = path.indexOf(backslash, at))
    path[at] = slash;
  return path;
}

/** Returns a path as users know it. */
export function showPath(path: Buffer): string {
  return isWindows ? path.toString().replaceAll('/', '\\') : path.toString();
}

function filePath(url: URL, name: string): string {
  try {
    return fileURLToPath(url);
  } catch (error) {
    throw invalidValue(name, `a file URL (${(error as Error).message})`, url.href);
  }
}

/** Returns the user's home directory; undefined if neither HOME nor the system names one. */
export function homeDirectory(): string | undefined {
  try {
    return homedir();
  } catch {
    return undefined;
  }
}

/** Returns whether a path is a directory itself or below it. */
export function isWithin(path: Buffer, directory: Buffer): boolean {
  const { length } = directory;
  if (path.length < length || directory.compare(path, 0, length) !== 0) return false;
  return path.length === length || path[length] === slash || directory[length - 1] === slash;
}

/** Returns the names that lead from a directory to a path, which is in it by its text. */
export function namesFrom(directory: Buffer, path: Buffer): Buffer[] {
  const below = path.subarray(directory.length).toString('latin1');
  return below
    .split('/')
    .filter(Boolean)
    .map((name) => Buffer.from(name, 'latin1'));
}

/** Returns a path at or below one directory as the same path at or below another one. Returns other paths as they are. */
export function movedTo(path: Buffer, from: Buffer, to: Buffer): Buffer {
  const isAt = path.equals(from);
  const below = join(from, Buffer.alloc(0));
  const isBelow = path.subarray(0, below.length).equals(below);
  return isAt || isBelow ? namesFrom(from, path).reduce(join, to) : path;
}

/** Returns `.fastcp-` and 16 random hex digits, as the engine names its temporary entries. */
export function temporaryName(): Buffer {
  const half = (): string =>
    Math.floor(Math.random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0');
  return Buffer.from(`.fastcp-${half()}${half()}`);
}

/** Returns text if that is the same, because Deno's mkdir() accepts no bytes. */
export function textOrBytes(path: Buffer): string | Buffer {
  return isUtf8(path) ? path.toString() : path;
}

export function isAbsolute(path: Buffer): boolean {
  return isWindows ? win32.isAbsolute(path.toString()) : path[0] === slash;
}

/**
 * Resolves a path against the working directory. Call it before anything is awaited, because the host may
 * change that directory at any time. Preserves a slash at the end. Throws a CopyError if a path is relative and
 * the working directory was removed.
 */
export function absolute(path: Buffer): Buffer {
  if (!isWindows) return isAbsolute(path) ? path : join(workingDirectory(path), path);
  // On Windows each drive has a working directory, and `..` only concerns names.
  const whole = fromSystem(Buffer.from(resolve(path.toString())));
  return endsInSlash(path) ? join(whole, Buffer.alloc(0)) : whole;
}

/** `relative`: the path in the error. */
function workingDirectory(relative: Buffer): Buffer {
  try {
    const path = process.cwd();
    // The name is not UTF-8, or really has that character.
    if (!isWindows && path.includes('\ufffd')) return realpathSync.native('.', 'buffer');
    return fromSystem(Buffer.from(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const why = 'the working directory was removed, so the path must be absolute';
    throw refuse('ENOENT', why, showPath(relative));
  }
}

/** Formats paths as the user would write them, for messages. */
export interface ShownPaths {
  src(path: Buffer): string;
  dest(path: Buffer): string;
}

/** Removes the part that made a relative path absolute. */
export function shownFrom(given: readonly Buffer[]): (path: Buffer) => string {
  const relative = given.find((path) => !isAbsolute(path));
  if (!relative) return showPath;
  const prefix = join(workingDirectory(relative), Buffer.alloc(0));
  return (path) =>
    showPath(path.subarray(0, prefix.length).equals(prefix) ? path.subarray(prefix.length) : path);
}

/** Returns the length of a path's root: `/`, and on Windows `C:/` or `//server/share/`. */
function rootLength(path: Buffer): number {
  if (!isWindows) return isAbsolute(path) ? 1 : 0;
  return Buffer.byteLength(parse(path.toString()).root);
}

/** Returns an absolute path and those of all directories above it. */
export function upwards(path: Buffer): Buffer[] {
  const found = [path];
  for (let at = path; !isRoot(at); found.push(at)) at = directoryOf(at);
  return found;
}

/** Returns whether an absolute path is a root, which has no parent. */
export function isRoot(path: Buffer): boolean {
  return trimSlashes(path).length <= rootLength(path);
}

export function endsInSlash(path: Buffer): boolean {
  return path.at(-1) === slash;
}

/** Removes slashes at the end, except the root's own. */
export function trimSlashes(path: Buffer): Buffer {
  let end = path.length;
  const least = Math.max(rootLength(path), 1);
  while (end > least && path[end - 1] === slash) end--;
  return path.subarray(0, end);
}

export function join(directory: Buffer, name: Buffer): Buffer {
  return Buffer.concat([directory, Buffer.from(endsInSlash(directory) ? '' : '/'), name]);
}

/** Returns the last component; empty for the root. */
export function baseName(path: Buffer): Buffer {
  const trimmed = trimSlashes(path);
  return trimmed.subarray(Math.max(rootLength(trimmed), trimmed.lastIndexOf(slash) + 1));
}

/** Returns an absolute path without its last component. */
export function directoryOf(path: Buffer): Buffer {
  const trimmed = trimSlashes(path);
  return trimSlashes(
    trimmed.subarray(0, Math.max(rootLength(trimmed), trimmed.lastIndexOf(slash) + 1)),
  );
}
