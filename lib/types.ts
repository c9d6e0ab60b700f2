/**
 * A file system path. Buffers carry names that are not valid UTF-8; URLs must be `file:`. A relative path is
 * resolved against the working directory at the time of the call.
 */
export type PathLike = string | Buffer | URL;

/**
 * What an entry has beside its content: permission bits; times; owner and group; extended attributes,
 * access control lists and capabilities; names of one file that stay names of one file.
 */
export type PreserveKind = 'mode' | 'timestamps' | 'ownership' | 'xattrs' | 'hardLinks';

export interface CopyOptions {
  /**
   * What copies keep: a list, `true` for all, `false` for nothing. What is named is given to directories that
   * DEST has, too. What may not be kept, or DEST cannot, is one warning per kind. Default: modes, but of
   * directories that DEST has.
   */
  preserve?: boolean | readonly PreserveKind[];
  /** What cannot be preserved is an error. Default `false`. */
  strict?: boolean;
  /** Copy what links lead to. A link to a directory that it is in is an error. Default `false`. */
  dereference?: boolean;
  /** Files become more names of those in SRC, on the same file system. Default `false`. */
  hardLink?: boolean;
  /** Files become links to those in SRC. Default `false`. */
  symlink?: boolean;
  /**
   * `auto` keeps the holes of files, and what was preallocated in them and never written becomes holes, too.
   * `always` also makes holes of zeros. Default `auto`.
   */
  sparse?: 'auto' | 'always';
  /** Whatever is replaced stays as `name.~1~`, `name.~2~`, … Default: it goes. */
  backup?: 'numbered';
  /** Files and directories are on disk before the copy says that it is done. Default `false`. */
  fsync?: boolean;
  /**
   * Leave alone what is unchanged since the last copy; contents decide where that is in doubt. Files that
   * are replaced and those that are not have the source's times then. Default `false`.
   */
  sync?: boolean;
  /** `sync` where only contents prove that a file is unchanged. Default `false`. */
  checksum?: boolean;
  /**
   * `sync` where an equal size and mtime prove that a file is unchanged, as in rsync. Faster where no other
   * proof is at hand, but it misses files whose tools give all of them one mtime. Default `false`.
   */
  quickCheck?: boolean;
  /**
   * `sync`, and what SRC does not have is removed from DEST. What is not selected stays. Refused where
   * DEST is the root directory, a home directory, or holds SRC. Default `false`.
   */
  mirror?: boolean;
  /** With `mirror`: what is not selected is removed, too. Default `false`. */
  deleteExcluded?: boolean;
  /** Read back what was written and compare it with SRC. Default `false`. */
  verify?: boolean;
  /** `i/n`: only this part of the tree, of n disjoint ones, counted from 1. Default: all. */
  shard?: string;
  /**
   * With `atomic`: files of the old DEST that have the same content stay, as clones or as one more name, and
   * only others are written. Contents are compared, and times are SRC's then. Default: all is copied.
   */
  reuse?: 'clone' | 'hardLink';
  /** Replace files that exist in DEST. Directories are merged either way. Default `true`, as in `fs.cp`. */
  force?: boolean;
  /** With `force: false`: an existing entry is an error instead of being left alone. Default `false`. */
  errorOnExist?: boolean;
  /**
   * Whether file contents may share blocks with the source. `auto` clones where that pays, `always`
   * fails where it cannot clone, `never` really copies. Default `auto`.
   */
  reflink?: 'auto' | 'always' | 'never';
  /**
   * The most workers that may copy at the same time, 1 to 1024. Capped, with a warning, at libuv's
   * pool less one thread. Default: what the pool leaves; how many of them run follows what is observed.
   */
  concurrency?: number;
  /** `stop` rejects with the first error; `continue` copies what it can and collects. Default `stop`. */
  onError?: 'stop' | 'continue';
  /** Aborting it ends the copy; the job then rejects with `signal.reason`. */
  signal?: AbortSignal;
  /** Look at everything and report what would be done, but write nothing. Default `false`. */
  dryRun?: boolean;
  /**
   * Replace DEST whole: the copy is made beside it and put in its place in one step, or DEST stays as it was,
   * after any error, too. `two-step` also where the file system knows no such step. Default `false`.
   */
  atomic?: boolean | 'two-step';
  /**
   * Copy the whole tree in one call, which keeps everything: on btrfs, where SRC is a subvolume, and on APFS,
   * where DEST is not there. `auto` copies as usual where that cannot be, `always` fails. Default `never`.
   */
  snapshot?: 'never' | 'auto' | 'always';
  /** Stay on the file system of SRC: mount points inside it become empty directories. Default `false`. */
  oneFileSystem?: boolean;
  /** Make missing parents of DEST. Default `true`, as in `fs.cp`. */
  parents?: boolean;
  /**
   * Leave out what git ignores: by every `.gitignore` up to the repository's root, `.git/info/exclude`
   * and `core.excludesFile`; `.git` itself, too. What is tracked is never ignored. Default `false`.
   */
  gitignore?: boolean;
  /** The other half: copy only what git ignores, like `node_modules` and `.env`. Default `false`. */
  onlyIgnored?: boolean;
  /** Names of further rule files with the syntax of `.gitignore`, which rank above it. Default none. */
  ignoreFileNames?: readonly string[];
  /**
   * Copy only what matches one of these globs: relative to SRC, with forward slashes, dot files included.
   * A glob that names a directory means all in it. Default: everything.
   */
  include?: readonly string[];
  /** Leave out what matches one of these globs, whatever `include` says. */
  exclude?: readonly string[];
  /**
   * Asked about every entry that nothing else leaves out, before it is looked at; a falsy answer leaves it
   * out, a directory with all in it. At most 64 promises are awaited at a time. The job rejects with exactly
   * what it throws.
   */
  filter?: Filter;
  /** Also send an `entry` event for every entry. Costs time; default `false`. */
  entries?: boolean;
}

/** What selects, what is looked at, and how; see CopyOptions. */
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
   * Only one tree has it, a directory with all in it; `content`: also other texts of links, or another kind;
   * `metadata`: mode, times, owner, extended attributes, or which names are hard links to one file.
   */
  type: 'onlyInA' | 'onlyInB' | 'content' | 'metadata';
  kind: EntryKind;
  /** Its path in both trees, whether or not it is there. */
  a: string;
  b: string;
}

export interface CompareResult {
  /** By path. */
  differences: Difference[];
  /** Entries of A that were looked at. */
  scanned: number;
  /** The first 1,000 errors. */
  errors: CopyErrorLike[];
  errorCount: number;
  durationMs: number;
}

export type Filter = (entry: FilterEntry) => boolean | PromiseLike<boolean>;

/** An entry in SRC. Names that are not UTF-8 hold a character per byte. */
export interface FilterEntry {
  /** Relative to SRC, with forward slashes. */
  path: string;
  name: string;
  kind: EntryKind;
  /** The directory that it is in; absent for SRC's own entries. */
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

/** What has been done so far. Counts entries unless it says otherwise. */
export interface CopyCounters {
  /** Entries seen in SRC so far, whatever became of them. */
  scanned: number;
  /** Regular files copied. */
  files: number;
  /** Directories made. */
  directories: number;
  /** Symlinks created. */
  symlinks: number;
  /** Hard links created instead of copies. */
  hardLinks: number;
  /** FIFOs and devices made. */
  special: number;
  /**
   * Bytes of content of finished files, holes not counted. During a copy also those of large files that are
   * not finished yet: the number gets smaller when one of these fails.
   */
  bytes: number;
  /** How the content of `files` was copied; the three numbers add up to `files`. */
  methods: CopyMethods;
  /**
   * Entries that DEST had already with the same content; with `sync` their metadata may have been set. Devices and
   * FIFOs that DEST has already count here as well.
   */
  unchanged: number;
  /** Entries not copied: existing ones with `force: false`, sockets, and mount points with `oneFileSystem`. */
  skipped: number;
  /** Entries deleted from DEST. */
  deleted: number;
}

/** The number of files that each copy method copied. */
export interface CopyMethods {
  /** Files whose blocks are shared with the source by a clone call, such as FICLONE or clonefile(). */
  clone: number;
  /** Files copied by the kernel: copy_file_range(), on macOS fcopyfile(). Blocks may be shared with the source. */
  copyFileRange: number;
  /** Files that were read and written, empty ones included. */
  readWrite: number;
}

/** One shape for success, partial failure and cancellation. */
export interface CopyResult extends CopyCounters {
  /** Trees copied as a whole, in one call; their entries are not counted. */
  snapshots: number;
  /** With `atomic` only: whether DEST is the copy now. Otherwise it is what it was. */
  replaced?: boolean;
  /** The first 1,000 errors. */
  errors: CopyErrorLike[];
  /** All errors, those beyond the first 1,000 too. */
  errorCount: number;
  /** The first 1,000 warnings. */
  warnings: CopyWarning[];
  warningCount: number;
  durationMs: number;
}

/** An error of the copy, with the fields of Node's system errors. */
export interface CopyErrorLike extends Error {
  /** `ENOENT`, `ERR_FS_CP_EINVAL`, … */
  code: string;
  /** Negative, as in Node; absent where no system call failed. */
  errno?: number;
  syscall?: string;
  path?: string;
  dest?: string;
  /** Where what was written differs from the source, in bytes. */
  offset?: number;
}

export interface CopyWarning {
  code:
    | 'SOCKET_SKIPPED'
    | 'CONCURRENCY_CAPPED'
    | 'GIT_UNAVAILABLE'
    | 'SOURCE_IGNORED'
    | 'STAGING_LEFT'
    | 'ENTRIES_DROPPED'
    | 'MODE_NOT_PRESERVED'
    | 'TIMESTAMPS_NOT_PRESERVED'
    | 'OWNERSHIP_NOT_PRESERVED'
    | 'XATTRS_NOT_PRESERVED'
    | 'ACLS_NOT_PRESERVED'
    | 'HARD_LINKS_NOT_PRESERVED';
  message: string;
  path?: string;
  /**
   * The number of entries that lost something (`path` is the first), or, for `ENTRIES_DROPPED`, the number of
   * dropped events.
   */
  count?: number;
}

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
 * A running copy: a promise of its result, and an iterable of its events. A job runs whether or not
 * it is iterated; iterating marks its rejection as handled.
 *
 * With `entries`, a slow reader holds up the copy, so that memory stays bounded. Awaiting the job never waits
 * for a reader that has stopped: if somebody awaits the job and its iterator was not asked for an event for
 * five seconds, the copy goes on. Further entry events are dropped until the iterator is asked again, and the
 * warning `ENTRIES_DROPPED` counts them.
 */
export interface CopyJob extends Promise<CopyResult>, AsyncIterable<CopyEvent> {
  /** What has been done so far; final, whatever the outcome, once the promise has settled. */
  readonly result: CopyResult;
}
