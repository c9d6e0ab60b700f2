import type { EntryFilter } from '../../lib/selection/filter.js';
import type { Filter } from '../../lib/types.js';

/** A filter that goes by the entry alone, and includes SRC itself. */
export function byEntry(filter: EntryFilter): Filter {
  return (_src, _dest, entry) => entry.path === '' || filter(entry);
}

/** A filter that holds the copy at its first entry. */
export function holding(): { filter: Filter; begun: Promise<void>; goOn(): void } {
  let begin = (): void => {};
  let goOn = (): void => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const filter = byEntry(async () => {
    begin();
    await held;
    return true;
  });
  return { filter, begun, goOn };
}
