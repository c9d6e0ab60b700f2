// Decides whether a name of a file becomes a hard link to the copy of another name, and creates it. Called by
// copy_entry.cc, special.cc, symlinks.cc, unchanged.cc and the writers, by any worker. run/hard_links.h has the table of names and
// its lock.
#pragma once

#include "engine/run/engine.h"
#include "engine/run/hard_links.h"

namespace fastcp {

struct EntryTask;

/**
 * Returns whether the caller must copy an entry. It must not if the entry became a hard link to a
 * copy, or if its turn comes later. `claim` is held while the caller copies. Sets `again.separate`
 * if a hard link is impossible.
 */
bool claim_or_link(Worker& worker, const DirectoryUse& directory, Names names,
                   const platform::Stat& src, HardLinks::Claim& claim, EntryTask& again);

/** Implements Writer::link(). */
bool link_to_copy(Worker& worker, Directory& directory, Names names, platform::Kind kind,
                  const HardLinks::Place& copy);

/** Ends the claim after a copy was committed. The file's other hard links can now be created. */
void end_claim(Worker& worker, Directory& directory, Names names, HardLinks::Claim claim);

}  // namespace fastcp
