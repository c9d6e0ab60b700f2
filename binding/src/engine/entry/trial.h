// Tries under a temporary name what DEST permits, before an entry of DEST is removed or kept for it. Called by any worker.
// No locks.
#pragma once

#include "engine/run/engine.h"

namespace fastcp {

/**
 * Returns whether an entry could be created: a symlink, a FIFO or device, a hard link to a file.
 * Tries it under a temporary name. Not every file system has symlinks, not every process may create
 * devices, and not every file may be linked. Reports the error.
 */
bool can_create(Worker& worker, Directory& directory, Names names, platform::Kind kind);

/** Implements Writer::try_metadata(), with an empty entry under a temporary name. */
Trial try_metadata(Worker& worker, Directory& directory, Names names, const platform::Stat& src,
                   const platform::Stat& present);

}  // namespace fastcp
