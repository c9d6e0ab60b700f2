// Finds entries of DEST that SRC does not have, while a directory is listed. They are removed before its entries are copied:
// removal.h. Called by copy_directory.cc, answers.cc and verdicts.cc.
//
//   list both ends ── no host: remove extra entries, copy the others
//                  └─ ask the host about both (questions.h): excluded entries stay
#pragma once

#include <string>
#include <vector>

#include "engine/run/engine.h"

namespace fastcp {

/** Returns whether DEST may have entries there that SRC does not have. */
bool is_mirrored(const Engine& engine, const Directory& directory);

/**
 * Compares a directory of DEST with a whole listing of SRC, whose kinds are known. Reports errors.
 * After an error nothing may be removed.
 */
bool list_extra(Worker& worker, const Directory& directory, const std::string& records,
                const std::string& kinds, std::vector<Extra>& out);

/** Finds the kind of a listed entry. Returns false if the entry has disappeared, or its kind cannot be found. */
bool find_kind(const platform::Handle& directory, const platform::Listed& entry,
               platform::Kind& kind);

}  // namespace fastcp
