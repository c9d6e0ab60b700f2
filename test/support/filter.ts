import type { EntryFilter } from '../../lib/selection/filter.js';
import type { Filter } from '../../lib/types.js';

/** A filter that goes by the entry alone, and includes SRC itself. */
export function byEntry(filter: EntryFilter): Filter {
  return (_src, _dest, entry) => entry.path === '' || filter(entry);
}
