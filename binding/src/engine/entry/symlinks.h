// Copies symlinks. Called by any worker. No locks.
#pragma once

#include <string>

#include "engine/entry/entry_task.h"

namespace fastcp {

/**
 * Reads the target of a symlink, and the kind of the symlink on systems with several kinds. Returns
 * 0 or a negative errno.
 */
int read_link_target(const platform::Handle& directory, const char* name, std::string& text,
                     platform::LinkKind& kind);

/** Copies a symlink and its preserved metadata. */
void copy_symlink(Worker& worker, const DirectoryUse& directory, Names names, EntryTask& again);

}  // namespace fastcp
