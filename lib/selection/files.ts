/** Reads files of SRC that git also reads. */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  type Stats,
  statSync,
} from 'node:fs';
import { constants as system } from 'node:os';

/** Does not wait if a FIFO has taken the file's place. */
function open(path: Buffer, follow: boolean): number {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  return openSync(path, O_RDONLY | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW));
}

function look(path: Buffer, follow: boolean): Stats {
  return follow ? statSync(path) : lstatSync(path);
}

/**
 * Returns whether there is something that git could open: anything but a symlink or an unreadable file. Opens nothing but files,
 * because programs may wait at a FIFO or a device.
 */
export function canOpen(path: Buffer): boolean {
  try {
    const found = look(path, false);
    if (!found.isFile()) return !found.isSymbolicLink();
    closeSync(open(path, false));
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the content of a file, or undefined for anything else, which may have no end. As git does, reads only as many bytes as
 * the file says that it has: a file of /proc says 0. Throws the system's error, EFBIG for more than `most` bytes.
 */
export function readWhole(path: Buffer, follow: boolean, most: number): Buffer | undefined {
  if (!look(path, follow).isFile()) return undefined;
  const file = open(path, follow);
  try {
    const found = fstatSync(file);
    if (!found.isFile()) return undefined;
    if (found.size > most) {
      const numbers = { code: 'EFBIG', errno: -system.errno.EFBIG, syscall: 'read' };
      throw Object.assign(new Error(`larger than ${most} bytes`), numbers);
    }
    const content = Buffer.alloc(found.size);
    let size = 0;
    for (let more = -1; more !== 0 && size < content.length; size += more)
      more = readSync(file, content, size, content.length - size, null);
    return content.subarray(0, size);
  } finally {
    closeSync(file);
  }
}
