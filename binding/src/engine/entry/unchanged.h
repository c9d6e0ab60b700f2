// Decides what need not be copied again. An entry is unchanged where kind and size are the same and either
// its directory's mark proves that the content is (mark.h), or a comparison of contents does. What lies beside
// the content is compared, and set in place where it differs.
#pragma once

#include "engine/entry/entry_task.h"

namespace fastcp {

/**
 * True where nothing is left to do with an entry, not a directory: DEST has it already, or that cannot be
 * told, which was reported, or the worker has to leave in the middle.
 * `again` has what is known from earlier tries.
 */
bool is_up_to_date(Worker& worker, const DirectoryUse& directory, Names names, platform::Kind kind,
                   const EntryTask& again);

/** Whether a source was changed, by what is known of it, between two looks. */
bool is_changed(const platform::Stat& before, const platform::Stat& now);

}  // namespace fastcp
