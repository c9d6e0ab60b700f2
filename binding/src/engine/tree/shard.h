// Which part of a tree is whose, when several copies share it: a matter of paths alone, so that all
// agree without a word, on every machine.
#pragma once

#include "engine/run/engine.h"

namespace fastcp {

/** Of the path of an entry of `directory`, below SRC; SRC's own in the base. */
uint64_t path_hash(const Directory& directory, const char* name);

/** Whether an entry of a directory, or a SRC that is no directory, belongs to this copy's shard. */
bool is_mine(const Traversal& traversal, const Directory& directory, const char* name);

}  // namespace fastcp
