// Opens both ends of a directory, in this order: SRC's, DEST's, the node for both. Called by the tasks, by any worker. Workers
// wait for each other only in make_needed().
#pragma once

#include "engine/tree/copy_directory.h"

namespace fastcp {

/** Opens both ends of a directory and creates the end in DEST. Returns an empty use on failure, which is reported. */
DirectoryUse open_directory(Worker& worker, DirectoryTask task, platform::Follow follow_src);

/** Returns whether another file system is mounted at a directory of SRC, and must not be entered. */
bool is_out_of_reach(const Worker& worker, const Directory& parent, const platform::Stat& stat);

/**
 * Creates a directory because an entry in it is included, and first its parents that waited for
 * that. Returns false on failure, which is reported.
 */
bool make_needed(Worker& worker, Directory& directory);

}  // namespace fastcp
