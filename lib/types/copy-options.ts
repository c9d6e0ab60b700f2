/** What callers pass. */
import type { Filter } from './entries.js';
import type { CopyProgress } from './outcome.js';

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
   * existing directories. If a kind cannot be preserved, there is a warning. Without `mode`, a file that replaces
   * another has the permissions of the old one. Default: `['mode']`, and the modes of existing directories stay.
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
   * `auto` preserves the holes of files, but not preallocated ranges, which may be written as zeros. `always` also turns
   * ranges of zeros into holes. Default `auto`.
   */
  sparse?: 'auto' | 'always' | undefined;
  /**
   * Rename an existing entry before it is replaced. `numbered`: to `name.~1~`, `name.~2~`, … `existing`: to `name~`, or
   * to a number if `name` has a backup. A backup is never overwritten. Default: it is replaced.
   */
  backup?: 'numbered' | 'existing' | undefined;
  /**
   * Before the job resolves, flush every file and directory that the copy created or changed, with fsync(2). Unchanged
   * files are not flushed. Default `false`.
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
   * `sync`, and equal size and mtime prove that a file is unchanged, as in rsync. This misses changes in trees whose
   * files all have one mtime, such as node_modules. Default `false`.
   */
  quickCheck?: boolean | undefined;
  /**
   * Make DEST like SRC: `sync`, and delete entries of DEST that SRC does not have. Excluded entries of DEST stay.
   * Rejects with `ERR_FASTCP_DEST_PROTECTED` if DEST is a root or home directory, contains SRC,
   * or has a repository of its own. Default `false`.
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
   * cannot be cloned. `never`: write every block. Default `auto`.
   */
  reflink?: 'auto' | 'always' | 'never' | undefined;
  /** The maximum number of concurrent workers, 1 to 1024. Default: as many as help, which depends on the processors. */
  concurrency?: number | undefined;
  /**
   * The reaction to an error. `stop`: reject with the first error. `continue`: copy everything else, and resolve with
   * the errors in `result.errors`. Errors that come before the copy begins still reject, for example if SRC is one path
   * and missing. Default `stop`.
   */
  onError?: 'stop' | 'continue' | undefined;
  /** Aborts the copy. The job then rejects with `signal.reason`. */
  signal?: AbortSignal | undefined;
  /** Report each change that a copy would make, and write nothing. Writing to DEST is never tried. Default `false`. */
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
   * Stay on the file system of SRC: directories where another file system is mounted become empty directories. A mirror
   * deletes nothing from other file systems in DEST. A subvolume of btrfs counts as one of its own. DEST may be in SRC
   * if it is on another file system. Default `false`.
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
   * Copy to another git worktree what `git worktree add` does not create: the entries that git ignores. If the root of
   * SRC's worktree has a file `.worktreeinclude`, in the syntax of `.gitignore`, only those that it matches. Existing
   * entries of DEST stay, and timestamps are preserved. SRC and DEST must be the roots of two worktrees of one
   * repository, or the same directory in both. Default `false`.
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
   * Called for SRC and for every entry below it that no other option excludes, before the entry is read. A falsy result
   * excludes the entry; for a directory, everything in it. At most 64 promises are pending at a time. The job rejects
   * with exactly the value that the function throws. If the function excludes SRC itself, nothing is copied, deleted or
   * replaced. With `deleteExcluded` it may be called twice for each entry.
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
