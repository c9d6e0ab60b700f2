/** Counters, progress and the result of a copy. */
import type { CopyErrorLike, CopyWarning } from './problems.js';

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
   * finished yet.
   */
  bytes: number;
  /** How the content of `files` was copied; the three numbers add up to `files`, except in a dry run, which copies none. */
  methods: CopyMethods;
  /**
   * Entries other than directories that DEST had already with the same content; with `sync` their metadata may have
   * been set. Devices and FIFOs that DEST has already count here as well. Existing directories aren't counted.
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
   * The number of entries in SRC, SRC itself included; `scanned` ends there. Entries that a mirror deletes from DEST
   * are not among them. Absent until SRC has been counted. Always absent with `dereference`, `shard` or a selection,
   * or if a path in SRC is longer than the system takes (4,096 bytes on Linux).
   */
  total?: number;
  /**
   * The number of bytes in SRC. Present only if every SRC is a file, and not with `sync`, `mirror`, `verify`,
   * `hardLink` or `symlink`.
   */
  totalBytes?: number;
  durationMs: number;
}

/** One shape for success, partial failure and cancellation. */
export interface CopyResult extends CopyCounters {
  /** Trees copied as a whole, in one call; their entries are not counted. */
  snapshots: number;
  /**
   * With `atomic` only. `true`: DEST is the new copy. `false`: DEST was not changed, unless the error is
   * `ERR_FASTCP_HALFWAY`. May be absent if the copy ended early.
   */
  replaced?: boolean;
  /**
   * With `worktree` only: paths of ignored entries that `.worktreeinclude` leaves out. An ignored directory is one
   * path, even if only a part of it is left out.
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
