// Errors and warnings, with their codes.

/**
 * Codes of a {@link CopyErrorLike} that Node's fs.cp or fastcp defines. Wrong arguments throw a TypeError or RangeError
 * with `ERR_INVALID_ARG_TYPE`, `ERR_INVALID_ARG_VALUE` or `ERR_OUT_OF_RANGE` instead. Without a binary for the
 * system, importing fastcp throws `ERR_FASTCP_NO_BINARY`.
 *
 * - `ERR_FS_CP_EEXIST`: The destination exists, and `errorOnExist` is set.
 * - `ERR_FS_CP_NON_DIR_TO_DIR`: A directory of DEST is in the way of a file.
 * - `ERR_FS_CP_DIR_TO_NON_DIR`: Something else of DEST is in the way of a directory.
 * - `ERR_FS_CP_EINVAL`: SRC and DEST are the same; DEST is inside SRC and not excluded; a directory of DEST is SRC; a symlink
 *   leads to the entry that it would replace; or two sources have the same last name.
 * - `ERR_FS_CP_SYMLINK_TO_SUBDIRECTORY`: A symlink of DEST would be replaced by one to a directory below its target.
 * - `ERR_FS_CP_FIFO_PIPE`: A FIFO; `fastcp/fs` only.
 * - `ERR_FS_CP_SOCKET`: SRC itself is a socket; in `fastcp/fs` also a socket in SRC.
 * - `ERR_FS_CP_UNKNOWN`: An entry of no known kind.
 * - `ERR_FS_EISDIR`: SRC is a directory, and `recursive` is not set; `fastcp/fs` only.
 * - `ERR_FASTCP_DEST_PROTECTED`: A mirror or an atomic replacement would empty the root, a home directory or a
 *   directory above SRC, or delete a repository;
 *   or an atomic replacement or a mirror with `deleteExcluded` selects nothing.
 * - `ERR_FASTCP_MOUNT_POINT`: A file system is mounted where fastcp would delete or replace a directory.
 * - `ERR_FASTCP_APPEND_ONLY`: The directory is append-only, so nothing in it can be replaced.
 * - `ERR_FASTCP_DEST_IS_LINK`: `atomic`: DEST is a symlink.
 * - `ERR_FASTCP_DEST_IS_SPECIAL`: The destination is a FIFO, a socket or a device, which fastcp does not
 *   replace.
 * - `ERR_FASTCP_DEST_CHANGED`: Another process replaced the entry of DEST during the copy, or renamed, replaced or removed
 *   a directory of DEST.
 * - `ERR_FASTCP_SOURCE_CHANGED`: The source changed while it was copied.
 * - `ERR_FASTCP_BUSY`: Another program had locked SRC or DEST for longer than `lockTimeout`.
 * - `ERR_FASTCP_SOURCE_IS_STREAM`: SRC is a file descriptor that is open on a pipe, a socket or a device.
 * - `ERR_FASTCP_NAME_COLLISION`: Two names of SRC are one name in DEST, which ignores case or normalizes.
 * - `ERR_FASTCP_VERIFY`: `verify`: the written file differs from the source, at `offset`.
 * - `ERR_FASTCP_NO_EXCHANGE`: `atomic`: the file system cannot exchange directories; `two-step` works there.
 * - `ERR_FASTCP_GIT_UNAVAILABLE`: `gitignore`, `onlyIgnored` or `worktree`: git is missing, or cannot tell which files it tracks.
 * - `ERR_FASTCP_NO_WORKTREE`: `worktree`: SRC or DEST is not in a git worktree, they belong to different repositories, or they are different parts of their worktrees.
 * - `ERR_FASTCP_NO_SNAPSHOT`: `snapshot` is `always`, and a snapshot of SRC is not possible.
 * - `ERR_FASTCP_HALFWAY`: `atomic`: the replacement in two steps failed between them, and so did the way back; the message says
 *   where the trees are.
 */
export type FastcpErrorCode =
  | 'ERR_FS_CP_EEXIST'
  | 'ERR_FS_CP_NON_DIR_TO_DIR'
  | 'ERR_FS_CP_DIR_TO_NON_DIR'
  | 'ERR_FS_CP_EINVAL'
  | 'ERR_FS_CP_SYMLINK_TO_SUBDIRECTORY'
  | 'ERR_FS_CP_FIFO_PIPE'
  | 'ERR_FS_CP_SOCKET'
  | 'ERR_FS_CP_UNKNOWN'
  | 'ERR_FS_EISDIR'
  | 'ERR_FASTCP_DEST_PROTECTED'
  | 'ERR_FASTCP_MOUNT_POINT'
  | 'ERR_FASTCP_APPEND_ONLY'
  | 'ERR_FASTCP_DEST_IS_LINK'
  | 'ERR_FASTCP_DEST_IS_SPECIAL'
  | 'ERR_FASTCP_DEST_CHANGED'
  | 'ERR_FASTCP_SOURCE_CHANGED'
  | 'ERR_FASTCP_BUSY'
  | 'ERR_FASTCP_SOURCE_IS_STREAM'
  | 'ERR_FASTCP_NAME_COLLISION'
  | 'ERR_FASTCP_VERIFY'
  | 'ERR_FASTCP_NO_EXCHANGE'
  | 'ERR_FASTCP_GIT_UNAVAILABLE'
  | 'ERR_FASTCP_NO_WORKTREE'
  | 'ERR_FASTCP_NO_SNAPSHOT'
  | 'ERR_FASTCP_HALFWAY';

/** Codes of system calls that fail during copies; the system has others. */
export type SystemErrorCode =
  | 'EACCES'
  | 'EBUSY'
  | 'EDQUOT'
  | 'EEXIST'
  | 'EFBIG'
  | 'EINVAL'
  | 'EIO'
  | 'EISDIR'
  | 'ELOOP'
  | 'EMFILE'
  | 'ENAMETOOLONG'
  | 'ENFILE'
  | 'ENOENT'
  | 'ENOMEM'
  | 'ENOSPC'
  | 'ENOTDIR'
  | 'ENOTEMPTY'
  | 'ENOTSUP'
  | 'EPERM'
  | 'EROFS'
  | 'ESTALE'
  | 'ETXTBSY'
  | 'EXDEV';

/** Codes of errors. A system call can fail with others, so a `switch` over them needs a `default`. */
export type ErrorCode = FastcpErrorCode | SystemErrorCode;

/**
 * Codes of a {@link CopyWarning}.
 *
 * - `SOCKET_SKIPPED`: A socket was not copied.
 * - `UNKNOWN_KIND_SKIPPED`: An entry of no known kind was not copied, for example an alias of an app on Windows.
 * - `GIT_UNAVAILABLE`: git's settings are unknown, outside a repository; or its default for `core.excludesFile` cannot be read.
 * - `SOURCE_IGNORED`: git ignores SRC itself.
 * - `INCLUDE_UNMATCHED`: A glob of `include` or a pattern of `.worktreeinclude` matched nothing, or `include` is empty.
 * - `EXCLUDE_UNMATCHED`: A glob of `exclude` matched nothing, and looks like a path with SRC, a list, or a filter rule of rsync.
 * - `SOURCE_SKIPPED`: One of several SRCs matches a glob of `exclude`, and is not copied.
 * - `IGNORE_FILE_NOT_FOUND`: SRC has no rule file of a name in `ignoreFileNames`.
 * - `WORKTREE_SKIPPED`: `onlyIgnored`: A worktree lies in SRC, and was not copied.
 * - `NOTHING_IGNORED`: `worktree`: git ignores no entry of SRC. Perhaps SRC and DEST are swapped.
 * - `GIT_FILE_COPIED`: SRC's `.git` is a file that leads to a repository outside SRC, as in a worktree. Git in the copy would change it.
 * - `STAGING_LEFT`: `atomic`: an entry that the copy made beside DEST could not be removed.
 * - `WAITING_FOR_LOCK`: Another program has locked SRC or DEST for more than a second. The copy waits for it.
 * - `ENTRIES_DROPPED`: `entries`: nobody read the events, and `count` events were dropped.
 * - `MODE_NOT_PRESERVED`: Modes could not be preserved.
 * - `TIMESTAMPS_NOT_PRESERVED`: Timestamps could not be preserved.
 * - `OWNERSHIP_NOT_PRESERVED`: Owners or groups could not be preserved.
 * - `XATTRS_NOT_PRESERVED`: Extended attributes could not be preserved.
 * - `ACLS_NOT_PRESERVED`: ACLs could not be preserved.
 * - `HARD_LINKS_NOT_PRESERVED`: Hard links could not be preserved, and became files of their own.
 */
export type WarningCode =
  | 'SOCKET_SKIPPED'
  | 'UNKNOWN_KIND_SKIPPED'
  | 'GIT_UNAVAILABLE'
  | 'SOURCE_IGNORED'
  | 'INCLUDE_UNMATCHED'
  | 'EXCLUDE_UNMATCHED'
  | 'SOURCE_SKIPPED'
  | 'IGNORE_FILE_NOT_FOUND'
  | 'WORKTREE_SKIPPED'
  | 'NOTHING_IGNORED'
  | 'GIT_FILE_COPIED'
  | 'STAGING_LEFT'
  | 'WAITING_FOR_LOCK'
  | 'ENTRIES_DROPPED'
  | 'MODE_NOT_PRESERVED'
  | 'TIMESTAMPS_NOT_PRESERVED'
  | 'OWNERSHIP_NOT_PRESERVED'
  | 'XATTRS_NOT_PRESERVED'
  | 'ACLS_NOT_PRESERVED'
  | 'HARD_LINKS_NOT_PRESERVED';

/** An error of the copy, with the fields of Node's system errors. */
export interface CopyErrorLike extends Error {
  /** `ENOENT`, `ERR_FS_CP_EINVAL`, … Other codes of the system are possible. */
  code: ErrorCode | (string & {});
  /** Negative, as in Node; absent where no system call failed. */
  errno?: number;
  syscall?: string;
  /** The entry of SRC. If an operation in DEST alone failed, for example a deletion, the entry of DEST. Then `dest` is absent. */
  path?: string;
  dest?: string;
  /** The first byte in which the written file differs from the source, counted from 0. */
  offset?: number;
}

export interface CopyWarning {
  code: WarningCode;
  message: string;
  path?: string;
  /**
   * The number of entries that lost something (`path` is the first), or, for `ENTRIES_DROPPED`, the number of
   * dropped events.
   */
  count?: number;
}
