/**
 * A file system path. Buffers carry names that are not valid UTF-8; URLs must be `file:`. A relative path is
 * resolved against the working directory at the time of the call.
 */
export type PathLike = string | Buffer | URL;

/**
 * Metadata of an entry that a copy can preserve: permission bits; mtime and atime; owner and group; extended
 * attributes, ACLs (only together with `mode`) and capabilities; hard links between files of SRC. `--preserve` has the names of cp: `mode`,
 * `timestamps`, `ownership`, `xattr`, `links`. As in cp, its kinds are added to `mode`, unless `--no-preserve` is given.
 */
export type PreserveKind = 'mode' | 'timestamps' | 'ownership' | 'xattrs' | 'hardLinks';

/** Every option may be absent or `undefined`; both mean the default. */
export interface CopyOptions {
  /**
   * The metadata to preserve: a list of kinds, `true` for all, `false` for none. Listed kinds are also applied to
   * directories that already exist in DEST. If a kind cannot be preserved, the copy continues with one warning per
   * kind. Without `mode`, a file that replaces another has the permissions of the old one. Default: `['mode']`, and the modes
   * of existing directories stay.
   */
  preserve?: boolean | readonly PreserveKind[] | undefined;
  /** Also preserve timestamps, as in `fs.cp`. Default `false`. */
  preserveTimestamps?: boolean | undefined;
  /** Report metadata that cannot be preserved as an error, not as a warning. Default `false`. */
  strict?: boolean | undefined;
  /**
   * Copy the target of each symlink in place of the symlink. A symlink to a directory above it is an error (`ELOOP`).
   * Default `false`.
   */
  dereference?: boolean | undefined;
  /** Accepted for users of `fs.cp`: symlinks keep their target as it is. `false` is an error. Default `true`. */
  verbatimSymlinks?: boolean | undefined;
  /** Accepted for users of `fs.cp`: directories are always copied whole. `false` is an error. Default `true`. */
  recursive?: boolean | undefined;
  /** Create hard links to the files of SRC instead of copies, like `cp -l`. Default `false`. */
  hardLink?: boolean | undefined;
  /** Create symlinks to the files of SRC instead of copies, like `cp -s`. Default `false`. */
  symlink?: boolean | undefined;
  /**
   * `auto` preserves the holes of files; preallocated ranges that were never written become holes. `always` also turns
   * ranges of zeros into holes. Default `auto`.
   */
  sparse?: 'auto' | 'always' | undefined;
  /**
   * Rename an existing entry before it is replaced. `numbered`: to `name.~1~`, `name.~2~`, … `existing`: to `name~`, or
   * to a number if `name` has a backup. Unlike cp, a backup is never overwritten. Default: it is replaced.
   */
  backup?: 'numbered' | 'existing' | undefined;
  /**
   * Before the job resolves, flush every file and directory that the copy created or changed, with fsync(2). Files that
   * are unchanged since an earlier copy are not flushed. Default `false`.
   */
  fsync?: boolean | undefined;
  /**
   * Skip files that are unchanged since the last copy, and preserve timestamps. If metadata does not prove that a file
   * is unchanged, contents are compared. A newer file in DEST is replaced if it differs: DEST becomes like SRC.
   * Default `false`.
   */
  sync?: boolean | undefined;
  /** `sync`, and contents are compared even where metadata proves that a file is unchanged. Default `false`. */
  checksum?: boolean | undefined;
  /**
   * `sync`, and equal size and mtime prove that a file is unchanged, as in rsync. This is faster where there is no
   * other proof, but it misses changes in trees whose files all have one mtime, such as node_modules. Default `false`.
   */
  quickCheck?: boolean | undefined;
  /**
   * Make DEST like SRC: `sync`, and delete entries of DEST that SRC does not have. Excluded entries of DEST stay. Rejects with
   * `ERR_FASTCP_DEST_PROTECTED` if DEST is the root directory, a home directory, a directory above SRC, has a repository of its
   * own, or has entries that are also in SRC, by a bind mount (Linux). Default `false`.
   */
  mirror?: boolean | undefined;
  /** With `mirror`: also delete excluded entries from DEST. Default `false`. */
  deleteExcluded?: boolean | undefined;
  /**
   * Replace an existing file only if SRC's is newer by its mtime, like `cp -u`. Preserves the timestamps of files and of
   * new directories. Directories are merged. Default `false`.
   */
  update?: boolean | undefined;
  /** Read back every written file and compare it with its source. Default `false`. */
  verify?: boolean | undefined;
  /** `i/n`: copy only part `i` of `n` disjoint parts of the tree, counted from 1. Default: the whole tree. */
  shard?: string | undefined;
  /** Replace existing files. Directories are merged either way. Default `true`, as in `fs.cp`. */
  force?: boolean | undefined;
  /** With `force: false`: report an existing entry as an error instead of skipping it. Default `false`. */
  errorOnExist?: boolean | undefined;
  /**
   * Whether a copy shares blocks with its source. `auto`: clone where that is faster. `always`: fail if a file
   * cannot be cloned. `never`: write every block anew. Default `auto`.
   */
  reflink?: 'auto' | 'always' | 'never' | undefined;
  /** The maximum number of concurrent workers, 1 to 1024. Default: as many as help, which depends on the processors. */
  concurrency?: number | undefined;
  /**
   * The reaction to an error. `stop`: reject with the first error. `continue`: copy everything else, and resolve with
   * the errors in `result.errors`. If SRC is an array, its paths that are missing or refused are among them. Other errors that
   * come before the copy begins still reject, for example if SRC is one path and missing. Default `stop`.
   */
  onError?: 'stop' | 'continue' | undefined;
  /** Aborts the copy. The job then rejects with `signal.reason`. */
  signal?: AbortSignal | undefined;
  /**
   * Report each change that a copy would make, and write nothing. Files of SRC are read only to compare them, and writing to
   * DEST is never tried. Default `false`.
   */
  dryRun?: boolean | undefined;
  /**
   * Replace DEST as a whole: the copy is created beside DEST and exchanged with it in one step. After an error DEST is
   * as it was. `two-step`: use two renames where the file system cannot exchange. Default `false`.
   */
  atomic?: boolean | 'two-step' | undefined;
  /**
   * Copy the whole tree by one snapshot, with all its metadata: on btrfs if SRC is a subvolume, on APFS if DEST does
   * not exist. `auto`: copy file by file where that is not possible. `always`: fail there. Default `never`.
   */
  snapshot?: 'never' | 'auto' | 'always' | undefined;
  /**
   * Stay on the file system of SRC: directories where another file system is mounted become empty directories. A bind
   * mount of the same file system is entered, as by `cp -x`. A mirror deletes nothing from other file systems in DEST. A
   * subvolume of btrfs counts as a file system of its own. DEST may be in SRC if it is on another file system. Default
   * `false`.
   */
  oneFileSystem?: boolean | undefined;
  /**
   * Wait for other copies, and for programs that use flock(2): SRC and DEST are locked shared, DEST exclusive with `sync` and
   * `mirror`. Not on Windows. Default `true`.
   */
  lock?: boolean | undefined;
  /** How many seconds to wait for a lock. 0: fail at once with `ERR_FASTCP_BUSY`. Default 600. */
  lockTimeout?: number | undefined;
  /** Create missing parents of DEST. Default `true`, as in `fs.cp`. */
  parents?: boolean | undefined;
  /**
   * Exclude everything that git ignores, and `.git` itself. Rules come from every `.gitignore` up to the repository's root, from
   * `.git/info/exclude` and from `core.excludesFile`. Tracked files are never excluded. Default `false`.
   */
  gitignore?: boolean | undefined;
  /**
   * Copy only entries that git ignores, such as `node_modules` and `.env`. Other worktrees of the repository are not copied, with a
   * warning. Default `false`.
   */
  onlyIgnored?: boolean | undefined;
  /**
   * Copy to another git worktree what `git worktree add` does not create: the entries that git ignores. If the root of SRC's worktree
   * has a file `.worktreeinclude`, in the syntax of `.gitignore`, only those that it matches. Never copies tracked files, other
   * worktrees or the `.git` of a repository. Existing entries of DEST stay, and timestamps are preserved. SRC and DEST must be the roots of two worktrees of one repository, or
   * the same directory in both; otherwise the job rejects with `ERR_FASTCP_NO_WORKTREE`. Default `false`.
   */
  worktree?: boolean | undefined;
  /** Names of further rule files in the syntax of `.gitignore`; they rank above `.gitignore`. Default: none. */
  ignoreFileNames?: readonly string[] | undefined;
  /**
   * Copy only entries that match one of these globs. A glob without a slash matches a name at any depth; one with a
   * slash is relative to SRC. A glob that matches a directory includes everything in it. Dot files match. An empty
   * array includes nothing. Default: everything.
   */
  include?: string | readonly string[] | undefined;
  /** Exclude entries that match one of these globs, even if `include` matches them. Globs as in `include`. Default: none. */
  exclude?: string | readonly string[] | undefined;
  /**
   * Called for SRC and for every entry below it that no other option excludes, before the entry is read. A falsy result excludes
   * the entry; for a directory, everything in it. At most 64 promises are pending at a time. The job rejects with
   * exactly the value that the function throws. If the function excludes SRC itself, nothing is copied, deleted or replaced. With
   * `deleteExcluded` and an existing DEST the function is called twice for each entry, first to find out whether anything is selected.
   */
  filter?: Filter | undefined;
  /** Also send an `entry` event for every entry. This costs time. Default `false`. */
  entries?: boolean | undefined;
  /**
   * Called with the counters about every 20 ms, and at the end with the final numbers. Meanwhile another thread counts
   * the entries of SRC, so that `total` is known early. The job rejects with exactly the value that the function throws.
   */
  onProgress?: ((progress: CopyProgress) => void) | undefined;
}

/** Options that select entries or decide how they are compared; see CopyOptions. */
export type CompareOptions = Pick<
  CopyOptions,
  | 'preserve'
  | 'dereference'
  | 'concurrency'
  | 'onError'
  | 'signal'
  | 'oneFileSystem'
  | 'gitignore'
  | 'onlyIgnored'
  | 'ignoreFileNames'
  | 'include'
  | 'exclude'
  | 'filter'
>;

export interface Difference {
  /**
   * `onlyInA`, `onlyInB`: one tree has the entry; a directory stands for everything in it. `content`: the content, the
   * symlink target or the kind differs; if only one of them is a directory, they are two differences, `onlyInA` and
   * `onlyInB`. `metadata`: mode, timestamps, owner, extended attributes or hard links differ. A socket that only A has is no
   * difference, because no copy creates one.
   */
  type: 'onlyInA' | 'onlyInB' | 'content' | 'metadata';
  kind: EntryKind;
  /** Its path in both trees, whether or not it is there. */
  a: string;
  b: string;
  /** With `metadata`: what differs, as text for people: `mode 644 != 600`, `owner 0:0 != 1000:1000`, `mtime`. */
  metadata?: string[];
}

export interface CompareResult {
  /** By path. */
  differences: Difference[];
  /** The number of entries of A that were compared. */
  scanned: number;
  /** The first 1,000 errors. */
  errors: CopyErrorLike[];
  errorCount: number;
  /** Those about the selection: `INCLUDE_UNMATCHED`, `EXCLUDE_UNMATCHED`, `IGNORE_FILE_NOT_FOUND`, `SOURCE_IGNORED`, `WORKTREE_SKIPPED`, `GIT_UNAVAILABLE`. */
  warnings: CopyWarning[];
  durationMs: number;
}

/**
 * Decides whether an entry is copied, as in `fs.cp`. `src` and `dest` are the entry's paths, made of the paths that were
 * passed to `copyTree()`. Names that are not UTF-8 hold a character per byte.
 */
export type Filter = (
  src: string,
  dest: string,
  entry: FilterEntry,
) => boolean | PromiseLike<boolean>;

/** An entry in SRC. Names that are not UTF-8 hold a character per byte. */
export interface FilterEntry {
  /** Relative to SRC, with forward slashes. */
  path: string;
  name: string;
  kind: EntryKind;
  /** The directory above; absent for SRC itself and for the entries directly in it. */
  parent?: FilterEntry;
}

export type EntryKind =
  | 'file'
  | 'directory'
  | 'symlink'
  | 'fifo'
  | 'characterDevice'
  | 'blockDevice'
  | 'socket';

/** The work done so far. The numbers count entries unless it says otherwise. */
export interface CopyCounters {
  /** Entries found in SRC, including those that were not copied. */
  scanned: number;
  /** Regular files copied. */
  files: number;
  /** Directories created. */
  directories: number;
  /** Symlinks created. */
  symlinks: number;
  /** Hard links created instead of copies. */
  hardLinks: number;
  /** FIFOs and devices created. */
  special: number;
  /**
   * Bytes of content of finished files, without holes. During a copy also the bytes of large files that are not
   * finished yet, so the number gets smaller when one of these fails.
   */
  bytes: number;
  /** How the content of `files` was copied; the three numbers add up to `files`, except in a dry run, which copies none. */
  methods: CopyMethods;
  /**
   * Entries other than directories that DEST had already with the same content; with `sync` their metadata may have been
   * set. Devices and FIFOs that DEST has already count here as well. No counter has the directories that DEST had.
   */
  unchanged: number;
  /**
   * Entries not copied: existing ones with `force: false`, those with `update` that are not newer, sockets, and other file
   * systems with `oneFileSystem`.
   */
  skipped: number;
  /** Entries deleted from DEST. With `atomic`, the entries of the old tree do not count. */
  deleted: number;
}

/** The number of files that each copy method copied. */
export interface CopyMethods {
  /** Files whose blocks are shared with the source by a clone call, such as FICLONE or clonefile(). */
  clone: number;
  /** Files copied by the kernel with copy_file_range(), on Linux. Blocks may be shared with the source. */
  copyFileRange: number;
  /** Files that were read and written, empty ones included. */
  readWrite: number;
}

/** The state of a running copy. */
export interface CopyProgress extends CopyCounters {
  /**
   * The number of entries in SRC, SRC itself included; `scanned` ends there. Entries that a mirror deletes from DEST are
   * not among them, and bytes are not counted ahead. Absent until SRC has been counted. Always absent with `dereference`,
   * `shard` or a selection (`include`, `exclude`, `filter`, …), because these scan fewer or more entries than SRC has.
   */
  total?: number;
  durationMs: number;
}

/** One shape for success, partial failure and cancellation. */
export interface CopyResult extends CopyCounters {
  /** Trees copied as a whole, in one call; their entries are not counted. */
  snapshots: number;
  /**
   * With `atomic` only. `true`: DEST is the new copy. `false`: DEST was not changed, unless the error is `ERR_FASTCP_HALFWAY`. May
   * be absent if the copy ended early: then DEST was not changed.
   */
  replaced?: boolean;
  /**
   * With `worktree` only: paths of ignored entries that `.worktreeinclude` leaves out. An ignored directory is one path, also if only a
   * part of it is left out. Directories in which no pattern can match are not searched.
   */
  leftOut?: string[];
  /** The first 1,000 errors. */
  errors: CopyErrorLike[];
  /** The number of all errors, also beyond the first 1,000. */
  errorCount: number;
  /** The first 1,000 warnings. */
  warnings: CopyWarning[];
  warningCount: number;
  durationMs: number;
}

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
 *   directory above SRC, delete a repository, or delete entries that SRC also has by a bind mount (Linux);
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
 * - `ERR_FASTCP_GIT_UNAVAILABLE`: a comparison, or a copy with `onlyIgnored`, `strict`, `atomic` or `deleteExcluded`: git cannot
 *   tell which files are tracked.
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
 * - `GIT_UNAVAILABLE`: git could not be asked, so tracked files and git's settings are unknown; or git's default for
 *   `core.excludesFile` cannot be read. If tracked files are unknown, a comparison and a copy with `onlyIgnored`, `strict`, `atomic`
 *   or `deleteExcluded` fail instead.
 * - `SOURCE_IGNORED`: git ignores SRC itself.
 * - `INCLUDE_UNMATCHED`: A glob of `include` or a pattern of `.worktreeinclude` matched nothing, or `include` is empty.
 * - `EXCLUDE_UNMATCHED`: A glob of `exclude` matched nothing, and looks like a path with SRC, a list, a filter rule of rsync, or
 *   would match deeper in SRC.
 * - `SOURCE_SKIPPED`: One of several SRCs matches a glob of `exclude`, and is not copied.
 * - `IGNORE_FILE_NOT_FOUND`: SRC has no rule file of a name in `ignoreFileNames`.
 * - `WORKTREE_SKIPPED`: `onlyIgnored`: A worktree lies in SRC, and was not copied.
 * - `STAGING_LEFT`: `atomic`: a temporary directory could not be removed.
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

/**
 * An event of a job. `progress` has the counters, about every 100 ms, with `entries` or `onProgress` about every 20 ms. Only
 * the first 1,000 errors and the first 1,000 warnings are events; `errorCount` and `warningCount` count all.
 */
export type CopyEvent =
  | ({ type: 'progress'; durationMs: number } & CopyCounters)
  | EntryEvent
  | { type: 'warning'; warning: CopyWarning }
  | { type: 'error'; error: CopyErrorLike };

export interface EntryEvent {
  type: 'entry';
  /**
   * `create`: a directory was created. `copy`: a file, symlink or special file was copied; a directory, if a snapshot
   * copied the whole tree. `replace`: the same, over an entry of DEST. `hardLink`: a hard link to a file of DEST was
   * created. `metadata`: the content is unchanged, timestamps, mode or owner were set. `skip`: the entry was not
   * copied. `exclude`: the entry is not selected; a directory stands for all in it. `delete`: the entry was deleted
   * from DEST.
   */
  action: 'create' | 'copy' | 'replace' | 'hardLink' | 'metadata' | 'skip' | 'exclude' | 'delete';
  kind: EntryKind;
  /** In SRC. Names that are not UTF-8 are decoded with U+FFFD. */
  path: string;
  dest: string;
  /** Why it was excluded: `.gitignore:3:*.log`, `exclude: *.map`, `filter`, … */
  reason?: string;
}

/**
 * A running copy: a promise of its result, and an async iterable of its events. A job runs whether or not it is
 * iterated. If the job rejects, an iteration throws the same value after the last event; then the promise counts as
 * handled. A second reader at the same time throws a TypeError with `ERR_INVALID_STATE`.
 *
 * Without `entries`, a reader gets the events from the start of its loop on. With `entries`, it first gets earlier events, of
 * which about 1,024 are kept, also after the end; `ENTRIES_DROPPED` counts the entries that were dropped. When a loop is
 * left, the job continues, and a further loop gets no events.
 *
 * With `entries`, a slow reader holds up the copy, so that memory stays bounded. If the job is also
 * awaited, a reader that asks for no event for five seconds no longer holds it up: further entry events are dropped
 * until it asks again, and the warning `ENTRIES_DROPPED` counts them.
 */
export interface CopyJob extends Promise<CopyResult>, AsyncIterable<CopyEvent> {
  /** The work done so far. Final for every outcome once the promise has settled. */
  readonly result: CopyResult;
}
