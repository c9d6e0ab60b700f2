// Decides which entries need not be copied again. An entry is unchanged if its kind and
// content are the same. The directory's mark (mark.h) or a comparison proves that. Metadata is
// compared, and set in place if it differs. Called by copy_entry.cc, by any worker. No locks.
#pragma once

#include "engine/entry/entry_task.h"

namespace fastcp {

/**
 * Returns true if nothing is left to do with an entry, not a directory. DEST has the entry already,
 * an error was reported, or the worker must leave during a comparison. `again` has the facts known
 * from earlier tries.
 */
bool needs_no_copy(Worker& worker, const DirectoryUse& directory, Names names, platform::Kind kind,
                   EntryTask& again);

/** Returns whether a source changed between two looks, as far as the results show. */
bool is_changed(const platform::Stat& before, const platform::Stat& now);

}  // namespace fastcp
