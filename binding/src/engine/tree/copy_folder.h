// Folders, from the one that the user named to the last: made, opened and listed, task by task.
#pragma once

#include <string>
#include <vector>

#include "engine/run/engine.h"

namespace fastcp {

/** Gives an engine what it is to copy. */
void start(Engine& engine, const std::vector<Root>& roots);

/** An entry named by the user, of the base. */
struct RootTask {
  FolderUse base;
  Root root;

  void run(Worker& worker);
};

/** Make and list the folder `name`, in `parent`. In the base `dst_name` differs. */
struct FolderTask {
  FolderUse parent;
  std::string src_name, dst_name;
  Scope scope = 0;         // of the host, who decides about what is in it
  bool for_taken = false;  // made only for something taken in it
  bool replaces = false;   // what DEST has in its place, a folder apart, is removed
  bool made = false;       // while its parent was listed

  void run(Worker& worker);
};

/** Read the next part of a folder's listing and copy what it names. Keeps the folder open. */
struct ListingTask {
  FolderUse folder;
  FolderPin pin;

  void run(Worker& worker);
};

/** Copy a part of a folder's listing that was read already. */
struct PartTask {
  FolderUse folder;
  std::string records;

  void run(Worker& worker);
};

/**
 * Something is taken in the folder: it and those above it are made, where they waited for that. False where
 * that failed, and was reported.
 */
bool make_needed(Worker& worker, Folder& folder);

}  // namespace fastcp
