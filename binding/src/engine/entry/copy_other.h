// Copies entries that one system call creates: symlinks, FIFOs, devices and hard links. Called by
// copy_entry.cc and the writers, by any worker. run/hard_links.h guards the table of hard links.
#pragma once

#include <string>

#include "engine/run/engine.h"
#include "engine/run/hard_links.h"

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
void copy_symlink(Worker& worker, const DirectoryUse& directory, Names names);
void copy_special(Worker& worker, const DirectoryUse& directory, Names names, platform::Kind kind);

/**
 * If files become hard links: returns whether DEST's entry is already SRC's file. Then counts and
 * reports it.
 */
bool is_linked_already(Worker& worker, const Directory& directory, Names names);

/** Creates a hard link or a symlink to a file of SRC, instead of a copy. */
void make_link_instead(Worker& worker, Directory& directory, Names names);

/**
 * Returns whether the caller must copy an entry. It must not if the entry became a hard link to a
 * copy, or if its turn comes later. `claim` is held while the caller copies. `vacated`: see
 * Writer::link().
 */
bool is_first_name(Worker& worker, const DirectoryUse& directory, Names names,
                   const platform::Stat& src, HardLinks::Claim& claim, bool vacated = false);

/** Implements Writer::link(). */
bool link_to_copy(Worker& worker, Directory& directory, Names names, platform::Kind kind,
                  const HardLinks::Place& copy);

/** Ends the claim after a copy was committed. The file's other hard links can now be created. */
void end_claim(Worker& worker, Directory& directory, Names names, HardLinks::Claim claim);

}  // namespace fastcp
