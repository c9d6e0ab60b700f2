// Folders, from the one that the user named to the last: made, opened and listed, task by task.
#pragma once

#include "engine.h"

namespace fastcp {

void copy_root(Worker& worker, FolderUse base, const Root& root);
void copy_folder(Worker& worker, FolderTask task);

/** Makes an empty folder for a task to come, where that pays and nothing is in the way. */
bool make_early(Worker& worker, Folder& parent, Names names);
void copy_listing(Worker& worker, ListingTask task);
void copy_part(Worker& worker, PartTask task);

/**
 * Something is taken in the folder: it and those above it are made, where they waited for that. False where
 * that failed, and was reported.
 */
bool make_needed(Worker& worker, Folder& folder);

}  // namespace fastcp
