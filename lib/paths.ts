/** Paths as bytes: names need not be UTF-8, and `link/..` must not be shortened. */
import { isUtf8 } from 'node:buffer';
import { fileURLToPath } from 'node:url';
import { invalidType, invalidValue } from './errors.js';

const slash = 0x2f;

/** Checks a path argument and turns it into bytes. Throws ERR_INVALID_ARG_TYPE or _VALUE. */
export function pathBytes(value: unknown, name: string): Buffer {
  let bytes: Buffer;
  if (typeof value === 'string') bytes = Buffer.from(value);
  else if (Buffer.isBuffer(value)) bytes = Buffer.from(value);
  else if (value instanceof Uint8Array) bytes = Buffer.from(value);
  else if (value instanceof URL) bytes = Buffer.from(filePath(value, name));
  else throw invalidType(name, 'a string, a Buffer or a file URL', value);
  if (bytes.length === 0) throw invalidValue(name, 'a path that is not empty', '');
  if (bytes.includes(0)) throw invalidValue(name, 'a path without null bytes', bytes.toString());
  return bytes;
}

function filePath(url: URL, name: string): string {
  try {
    return fileURLToPath(url);
  } catch (error) {
    throw invalidValue(name, `a file URL (${(error as Error).message})`, url.href);
  }
}

/** As text where that is the same: Deno's mkdir() takes no bytes. */
export function textOrBytes(path: Buffer): string | Buffer {
  return isUtf8(path) ? path.toString() : path;
}

export function isAbsolute(path: Buffer): boolean {
  return path[0] === slash;
}

export function endsInSlash(path: Buffer): boolean {
  return path.at(-1) === slash;
}

/** Without slashes at the end, but for the root's own. */
export function trimSlashes(path: Buffer): Buffer {
  let end = path.length;
  while (end > 1 && path[end - 1] === slash) end--;
  return path.subarray(0, end);
}

export function join(folder: Buffer, name: Buffer): Buffer {
  return Buffer.concat([folder, Buffer.from(endsInSlash(folder) ? '' : '/'), name]);
}

/** The last component; empty for the root. */
export function baseName(path: Buffer): Buffer {
  const trimmed = trimSlashes(path);
  return trimmed.subarray(trimmed.lastIndexOf(slash) + 1);
}

/** All but the last component of an absolute path. */
export function folderOf(path: Buffer): Buffer {
  const trimmed = trimSlashes(path);
  return trimSlashes(trimmed.subarray(0, trimmed.lastIndexOf(slash) + 1));
}
