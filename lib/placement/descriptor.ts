/**
 * Finds names of open file descriptors: `/dev/stdin`, `/dev/fd/63` (also the result of `<(command)` in a shell)
 * and `/proc/self/fd/63`. They look like symlinks, but only the system knows their targets.
 */
import { readlinkSync } from 'node:fs';
import { type CopyError, refuse } from '../errors/copy-error.js';
import { isSame, type Looks } from '../io/looks.js';
import { baseName, directoryOf, isAbsolute, join } from '../paths.js';

const names = /^\/((proc\/\d+(\/task\/\d+)?|dev)\/fd\/\d+|dev\/std(in|out|err))$/;

/**
 * Returns whether the path of an existing entry names an open file descriptor. Images of servers have symlinks
 * like `access.log -> /dev/stdout`. Such a symlink is an ordinary entry, unless symlinks are followed
 * (`follow`).
 */
export function namesDescriptor(path: Buffer, follow: boolean, looks: Looks): boolean {
  if (process.platform === 'win32') return false;
  let at = path;
  // As many symlinks as the system follows.
  for (let links = 0; links < 40; links++) {
    try {
      const directory = looks.realpath(directoryOf(at));
      if (names.test(join(directory, baseName(at)).toString('latin1'))) return true;
      if (!follow || !looks.stat(at, false).isSymbolicLink()) return false;
      const target = readlinkSync(at, 'buffer');
      at = isAbsolute(target) ? target : join(directory, target);
    } catch {
      return false; // a symlink without a target
    }
  }
  return false;
}

/**
 * Returns the path of the file or directory that is open as the file descriptor `src`. Throws a CopyError for
 * anything else, because the engine copies no streams. The copy would be a symlink to a pipe that ends with its
 * process.
 */
export function openedPath(src: Buffer, shown: string, looks: Looks): Buffer {
  const opened = looks.stat(src, true);
  if (!opened.isFile() && !opened.isDirectory()) throw noStream(shown);
  try {
    const path = looks.realpath(src);
    if (isSame(looks.stat(path, false), opened)) return path;
  } catch {
    // The name no longer exists.
  }
  throw noStream(shown);
}

function noStream(shown: string): CopyError {
  const why =
    'the source is an open file descriptor of no file that exists (a pipe, a socket, a device): redirect its content (cat SRC > DEST)';
  return refuse('ERR_FASTCP_SOURCE_IS_STREAM', why, shown);
}
