// What need not be copied again. An entry is unchanged where kind, size and time of modification are
// the same and the source has not changed in any way since the copy was made: its ctime is older.
// Times of modification alone prove nothing, as many tools write a fixed one. Where that leaves a
// doubt the contents decide; equal ones are given their source's times again, which makes the copy's
// ctime the newer one and the next run cheap.
#pragma once

#include "engine.h"

namespace fastcp {

/**
 * True where nothing is left to do with an entry, not a folder: DEST has it already, or that cannot be
 * told, which was reported, or the worker has to leave in the middle. In a dry run nothing is written.
 */
bool is_up_to_date(Worker& worker, const FolderUse& folder, Names names, platform::Kind kind,
                   const Compared& compared);

/** Whether `dst` has the source's time as its file system keeps it. */
bool is_same_time(platform::Time src, platform::Time dst);

/** Whether, by one clock, `src` was changed in any way before `dst` was. */
bool is_proven_older(const Folder& folder, const platform::Stat& src, const platform::Stat& dst);

/** Whether a source was changed, by what is known of it, between two looks. */
bool is_changed(const platform::Stat& before, const platform::Stat& now);

}  // namespace fastcp
