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

/** Instead of a copy: one more name for a file of SRC, or a link to it. */
void make_link_instead(Worker& worker, Directory& directory, Names names);

/**
 * Whether the caller is to copy an entry: not where it is one more name of what was copied already,
 * or its turn comes later. `claim` is held while it does.
 */
bool is_first_name(Worker& worker, const DirectoryUse& directory, Names names,
                   const platform::Stat& src, HardLinks::Claim& claim);

/** After a copy was committed: its other names may be made. */
void end_claim(Worker& worker, Directory& directory, Names names, HardLinks::Claim claim);

/** What copying the entry would do; nothing is written. `vacated`: its place would be free by then. */
void plan(Worker& worker, const DirectoryUse& directory, Names names, platform::Kind kind,
          bool vacated);

}  // namespace fastcp
