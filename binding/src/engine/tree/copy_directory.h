// Directories, from the one that the user named to the last: made, opened and listed, task by task.
#pragma once

#include <string>
#include <vector>

#include "engine/run/engine.h"

namespace fastcp {

/** Gives an engine what it is to copy. */
void start(Engine& engine, const std::vector<Root>& roots);

/** An entry named by the user, of the base. */
struct RootTask {
  DirectoryUse base;
  Root root;

  void run(Worker& worker);
};

/** Make and list the directory `name`, in `parent`. In the base `dst_name` differs. */
struct DirectoryTask {
  DirectoryUse parent;
  std::string src_name, dst_name;
  Scope scope = 0;         // of the host, who decides about what is in it
  bool for_taken = false;  // made only for something taken in it
  bool replaces = false;   // what DEST has in its place, a directory apart, is removed
  bool made = false;       // while its parent was listed

  void run(Worker& worker);
};

/** Read the next part of a directory's listing and copy what it names. Keeps the directory open. */
struct ListingTask {
  DirectoryUse directory;
  DirectoryPin pin;

  void run(Worker& worker);
};

/** Copy a part of a directory's listing that was read already. */
struct PartTask {
  DirectoryUse directory;
  std::string records;

  void run(Worker& worker);
};

/**
 * Something is taken in the directory: it and those above it are made, where they waited for that. False where
 * that failed, and was reported.
 */
bool make_needed(Worker& worker, Directory& directory);

}  // namespace fastcp
