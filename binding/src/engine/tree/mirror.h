// Removes entries of DEST that SRC does not have. They are found while a directory is listed, and removed before its
// entries are copied. Called by copy_directory.cc and answers.cc; the tasks run on any worker.
//
//   list both ends ── no host: remove extra entries, copy the others
//                  └─ ask the host about both (questions.h): excluded entries stay
//
//   RemoveDirectoryTask ─> a doomed Directory, both ends in DEST: its entries are removed, and the directory itself
//                          when its last use ends; then SRC's entry of that name is copied, if there is one
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

/** Removes one entry of DEST. A directory is pushed as a task. */
void remove_entry(Worker& worker, const DirectoryUse& directory, const char* name);

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
