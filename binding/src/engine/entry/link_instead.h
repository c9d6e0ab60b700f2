// Creates hard links or symlinks to files of SRC instead of copies (`--link`, `--symbolic-link`). Called by any worker.
// No locks.
#pragma once

#include "engine/run/engine.h"

namespace fastcp {

/**
 * If files become hard links: returns whether DEST's entry is already SRC's file. Then counts and
 * reports it.
 */
bool is_the_link_already(Worker& worker, const Directory& directory, Names names);

/** Creates a hard link or a symlink to a file of SRC, instead of a copy. */
void make_link_instead(Worker& worker, Directory& directory, Names names);

}  // namespace fastcp
