// Folders, from the one that the user named to the last: made, opened and listed, task by task.
#pragma once

#include "engine.h"

namespace fastcp {

void copy_root(Worker& worker, FolderUse base, const Root& root);
void copy_folder(Worker& worker, FolderTask task);
void copy_listing(Worker& worker, ListingTask task);
void copy_part(Worker& worker, PartTask task);

/**
 * Something is taken in the folder: it and those above it are made, where they waited for that. False where
 * that failed, and was reported.
 */
bool make_needed(Worker& worker, Folder& folder);

}  // namespace fastcp
