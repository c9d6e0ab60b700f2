// Divides a tree among several copies. The division depends on paths alone, so all copies agree
// without communication, on every machine. Called by tree/ on any worker. Stateless: no locks.
#pragma once

#include "engine/run/engine.h"

namespace fastcp {

/** Returns the hash of an entry's path below SRC. All entries of the base have the same. */
uint64_t path_hash(const Directory& directory, const char* name);

/**
 * Returns whether this copy's shard has an entry of a directory. In the base, `name` is the last
 * name of a SRC that is not a directory.
 */
bool is_mine(const Traversal& traversal, const Directory& directory, const char* name);

}  // namespace fastcp
