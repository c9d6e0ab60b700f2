/** Converts errors of a copy to those of Node's fs.cp. */
import { constants } from 'node:os';
import { CopyError } from '../errors.js';

/** The beginning of Node's message, and its errno. */
const known: Record<string, [text: string, errno: keyof typeof constants.errno] | undefined> = {
  ERR_FS_CP_DIR_TO_NON_DIR: ['Cannot overwrite non-directory with directory', 'EISDIR'],
  ERR_FS_CP_EEXIST: ['Target already exists', 'EEXIST'],
  ERR_FS_CP_EINVAL: ['Invalid src or dest', 'EINVAL'],
  ERR_FS_CP_FIFO_PIPE: ['Cannot copy a FIFO pipe', 'EINVAL'],
  ERR_FS_CP_NON_DIR_TO_DIR: ['Cannot overwrite directory with non-directory', 'ENOTDIR'],
  ERR_FS_CP_SOCKET: ['Cannot copy a socket file', 'EINVAL'],
  ERR_FS_CP_SYMLINK_TO_SUBDIRECTORY: ['Cannot overwrite symlink in subdirectory of self', 'EINVAL'],
  ERR_FS_CP_UNKNOWN: ['Cannot copy an unknown file type', 'EINVAL'],
  ERR_FS_EISDIR: ['Path is a directory', 'EISDIR'],
};

/** Node's SystemError, whose `errno` is positive. */
class SystemError extends Error {
  override name = 'SystemError';
  code: string;
  info: { code: string; message: string; path: string; syscall: string; errno: number };

  constructor(from: CopyError, text: string, errno: keyof typeof constants.errno) {
    const path = (from.code === 'ERR_FS_EISDIR' ? undefined : from.dest) ?? from.path ?? '';
    const why = from.reason ?? from.message;
    super(`${text}: cp returned ${errno} (${why}) ${path}`);
    this.code = from.code;
    this.info = { code: errno, message: why, path, syscall: 'cp', errno: constants.errno[errno] };
  }

  get errno(): number {
    return this.info.errno;
  }

  get syscall(): string {
    return this.info.syscall;
  }

  get path(): string {
    return this.info.path;
  }
}

/**
 * Converts an error. Errors of system calls already have Node's form. A value that a filter threw stays as it
 * is.
 */
export function nodeError(error: unknown): unknown {
  if (!(error instanceof CopyError)) return error;
  const [text, errno] = known[error.code] ?? [];
  if (text !== undefined && errno !== undefined) return new SystemError(error, text, errno);
  delete error.result;
  delete error.reason;
  return error;
}
