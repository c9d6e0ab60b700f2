/** The result of a comparison. */
import type { EntryKind } from './entries.js';
import type { CopyErrorLike, CopyWarning } from './problems.js';

export interface Difference {
  /**
   * `onlyInA`, `onlyInB`: one tree has the entry; a directory stands for everything in it. `content`: the content, the
   * symlink target or the kind differs. `metadata`: mode, timestamps, owner, extended attributes or hard links differ.
   * A socket that only A has is no difference.
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
