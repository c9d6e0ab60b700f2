// Entries that come into being at once: links, FIFOs, devices, and names for files that exist.
#pragma once

#include <string>

#include "engine/run/engine.h"
#include "engine/run/hard_links.h"

namespace fastcp {

/** The text of a link, and what kind of link it is where there are kinds. A negative errno, or 0. */
int read_link_target(const platform::Handle& directory, const char* name, std::string& text,
                     platform::LinkKind& kind);

/** What an entry of SRC is, or what it stands for. False where that failed, and was reported. */
bool stat_source(Worker& worker, const Directory& directory, Names names, platform::Stat& stat);

/** A link, FIFO or device, and what is preserved of it. */
void copy_symlink(Worker& worker, const DirectoryUse& directory, Names names);
void copy_special(Worker& worker, const DirectoryUse& directory, Names names, platform::Kind kind);

/** If files become hard links: whether DEST's entry is SRC's file already, which is counted and reported. */
bool is_linked_already(Worker& worker, const Directory& directory, Names names);

/** Instead of a copy: one more name for a file of SRC, or a link to it. */
void make_link_instead(Worker& worker, Directory& directory, Names names);

/**
 * Whether the caller is to copy an entry: not where it is one more name of what was copied already,
 * or its turn comes later. `claim` is held while it does. `vacated`: see Writer::link().
 */
bool is_first_name(Worker& worker, const DirectoryUse& directory, Names names,
                   const platform::Stat& src, HardLinks::Claim& claim, bool vacated = false);

/** Writer::link() */
bool link_to_copy(Worker& worker, Directory& directory, Names names, platform::Kind kind,
                  const HardLinks::Place& copy);

/** After a copy was committed: its other names may be made. */
void end_claim(Worker& worker, Directory& directory, Names names, HardLinks::Claim claim);

}  // namespace fastcp
