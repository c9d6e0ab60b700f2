/** Reads files of SRC that git reads, too. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { constants as system } from 'node:os';

/**
 * Opens a file. `follow`: also if it is a symlink. Does not wait for a FIFO. Throws the system's error.
 */
export function openToRead(path: Buffer, follow: boolean): number {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  return openSync(path, O_RDONLY | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW));
}

/**
 * Returns the content of a file, or undefined for anything else, which may have no end. As git does, reads only as many bytes as
 * the file says that it has: a file of /proc says 0. Throws the system's error, EFBIG for more than `most` bytes.
 */
export function readWhole(path: Buffer, follow: boolean, most: number): Buffer | undefined {
  const file = openToRead(path, follow);
  try {
    const found = fstatSync(file);
    if (!found.isFile()) return undefined;
    if (found.size > most)
      throw Object.assign(new Error(`larger than ${most} bytes`), {
        code: 'EFBIG',
        errno: -system.errno.EFBIG,
        syscall: 'read',
      });
    const content = Buffer.alloc(found.size);
    let size = 0;
    for (let more = -1; more !== 0 && size < content.length; size += more)
      more = readSync(file, content, size, content.length - size, null);
    return content.subarray(0, size);
  } finally {
    closeSync(file);
  }
}
