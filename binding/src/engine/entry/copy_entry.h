// Copies one entry of a directory. A new entry gets its own name at once, but a large file at the
// end; a replacement is created beside the old entry and renamed over it. Called by tree/ and entry
// tasks, by any worker. No locks.
#pragma once

#include "engine/entry/open_file.h"

namespace fastcp {

/** Copies an entry of `directory`. The entry is not a directory, and its kind is known. */
void copy_entry(Worker& worker, const DirectoryUse& directory, Names names, platform::Kind kind);

/**
 * Copies a file: opens the source, creates the copy, and copies the content. For entry/write.cc.
 */
void copy_file(Worker& worker, const DirectoryUse& directory, Names names, EntryTask& again);

struct CopiedContent;

/** Finishes a file whose content is complete or has failed: mode, name, counters and report. */
void finish_file(Worker& worker, OpenFile& file, CopiedContent content);

}  // namespace fastcp
