// Removes entries of DEST: those that SRC does not have (mirror.h), and those in the place of a directory of SRC. The tasks run
// on any worker.
//
//   RemoveDirectoryTask ─> a doomed Directory, both ends in DEST: its entries are removed, and the directory itself
//                          when its last use ends; then SRC's entry of that name is copied, if there is one
#pragma once

#include <string>

#include "engine/run/engine.h"

namespace fastcp {

enum class Freed : uint8_t { yes, not_needed, failed };

/**
 * Removes the entry of DEST that has the name of a directory of SRC, unless it is a directory. Reports errors. A special entry
 * stays and is an error.
 */
Freed free_for_directory(Worker& worker, Directory& parent, Names names);

/**
 * Removes a directory of DEST that SRC does not have, except the entries that the host protects.
 */
struct RemoveDirectoryTask {
  DirectoryUse parent;
  std::string name;
  Scope scope = 0;
  platform::Kind kind_to_copy_after_removal =
      platform::Kind::unknown;  // SRC's entry that is copied when the name is free

  void run(Worker& worker);
};

/** Removes entries of a directory of DEST. */
struct RemoveTask {
  DirectoryUse directory;
  std::string names;  // each ended by a NUL

  void run(Worker& worker);
};

}  // namespace fastcp
