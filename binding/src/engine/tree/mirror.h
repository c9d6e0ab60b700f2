// What DEST has and SRC does not: found while a directory is listed, and removed before its entries are
// copied.
//
//   list both ends ── no host: remove what is extra, copy the rest
//                  └─ ask the host about both (questions.cc): what it leaves alone stays
//
//   RemoveDirectoryTask ─> a doomed Directory: both ends are DEST's; its entries are removed, and it itself
//                       when its last use ends; then SRC's entry of that name is copied, if there is one
#pragma once

#include <string>
#include <vector>

#include "engine/run/engine.h"

namespace fastcp {

/** Whether DEST may have something there that SRC has not. */
bool is_mirrored(const Engine& engine, const Directory& directory);

/**
 * Compares a directory's end in DEST with a whole listing of SRC, whose kinds are known. Reports what goes
 * wrong: then nothing is to be removed.
 */
bool list_extra(Worker& worker, const Directory& directory, const std::string& records,
                const std::string& kinds, std::vector<Extra>& out);

/** Removes one entry of DEST; a directory is pushed as a task. */
void remove_entry(Worker& worker, const DirectoryUse& directory, const char* name);

/** Remove a directory of DEST that SRC does not have, or what of it the host lets go. */
struct RemoveDirectoryTask {
  DirectoryUse parent;
  std::string name;
  Scope scope = 0;
  platform::Kind kind_to_copy_after_removal =
      platform::Kind::unknown;  // copied when its place is free

  void run(Worker& worker);
};

/** Remove entries of a directory of DEST. */
struct RemoveTask {
  DirectoryUse directory;
  std::string names;  // each ended by a NUL

  void run(Worker& worker);
};

}  // namespace fastcp
