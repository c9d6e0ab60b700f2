// Copies entries that one system call creates: symlinks, FIFOs, devices, and with `instead` hard
// links to files of SRC. Called by copy_entry.cc and the writers, by any worker. No locks.
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

/**
 * Looks at an entry of SRC, or at its target if symlinks are followed. Returns false on failure,
 * which is reported.
 */
bool stat_source(Worker& worker, const Directory& directory, Names names, platform::Stat& stat);

/** Copy a symlink, FIFO or device and its preserved metadata. */
void copy_symlink(Worker& worker, const DirectoryUse& directory, Names names, EntryTask& again);
void copy_special(Worker& worker, const DirectoryUse& directory, Names names, platform::Kind kind,
                  EntryTask& again);

/**
 * Returns whether an entry could be created: a symlink, a FIFO or device, a hard link to a file.
 * Tries it under a temporary name. Not every file system has symlinks, not every process may create
 * devices, and not every file may be linked. Reports the error.
 */
bool can_create(Worker& worker, Directory& directory, Names names, platform::Kind kind);

/** Implements Writer::try_metadata(), with an empty entry under a temporary name. */
Trial try_metadata(Worker& worker, Directory& directory, Names names, const platform::Stat& src,
                   const platform::Stat& present);

/**
 * If files become hard links: returns whether DEST's entry is already SRC's file. Then counts and
 * reports it.
 */
bool is_linked_already(Worker& worker, const Directory& directory, Names names);

/** Creates a hard link or a symlink to a file of SRC, instead of a copy. */
void make_link_instead(Worker& worker, Directory& directory, Names names);

}  // namespace fastcp
