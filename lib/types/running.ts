/** A running copy and its events. */

import type { EntryKind } from './entries.js';
import type { CopyProgress, CopyResult } from './outcome.js';
import type { CopyErrorLike, CopyWarning } from './problems.js';

/**
 * An event of a job. `progress` has the counters, with `onProgress` also `total`, about every 100 ms, with `entries` or
 * `onProgress` about every 20 ms. Only
 * the first 1,000 errors and the first 1,000 warnings are events; `errorCount` and `warningCount` count all.
 */
export type CopyEvent =
  | ({ type: 'progress' } & CopyProgress)
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
 * Without `entries`, a reader gets the events from the start of its loop on. With `entries`, it first gets earlier
 * events, of which about 1,024 are kept, also after the end; `ENTRIES_DROPPED` counts the entries that were dropped.
 * When a loop is left, the job continues, and a further loop gets no events.
 *
 * With `entries`, a slow reader holds up the copy, so that memory stays bounded. If the job is also awaited, entry
 * events are dropped while a reader asks for none for more than five seconds.
 */
export interface CopyJob extends Promise<CopyResult>, AsyncIterable<CopyEvent> {
  /** The work done so far. Final for every outcome once the promise has settled. */
  readonly result: CopyResult;
}
