// One entry of a directory: made under its own name, or beside what DEST has and renamed over it.
#pragma once

#include "engine/entry/open_file.h"

namespace fastcp {

/** Copies an entry of `directory` that is no directory itself and not of unknown kind. */
void copy_entry(Worker& worker, const DirectoryUse& directory, Names names, platform::Kind kind);

/** Copies a file: opens it and its copy, and copies the content or leaves it to LargeFile. For entry/write.cc. */
void copy_file(Worker& worker, const DirectoryUse& directory, Names names, const EntryTask& again);

struct CopiedContent;

/** The last step of every file: content is there or failed; mode, name, counters and report. */
void finish_file(Worker& worker, OpenFile& file, CopiedContent content);

}  // namespace fastcp
