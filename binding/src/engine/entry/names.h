// Names that DEST takes for one although SRC has two entries, because it ignores case or forms of Unicode. Called by any
// worker.
#pragma once

#include <string>
#include <string_view>

#include "engine/run/engine.h"

namespace fastcp {

/**
 * Returns whether an existing name belongs to another entry of SRC, because DEST takes two names of SRC for one: in a directory that
 * this copy has created, or if SRC has two names that differ only in the case of ASCII letters. If exactly this name is listed,
 * another program created the entry.
 */
bool is_collision(Directory& directory, const char* name);

/** Only ASCII letters are changed. */
std::string in_small_letters(std::string_view name);

}  // namespace fastcp
