// Backups of entries that are replaced, and their names. Called by any worker.
#pragma once

#include <string>

#include "engine/run/engine.h"

namespace fastcp {

/**
 * Creates one more name for an entry that will be replaced: `name.~N~` with the next number. Backup::existing gives
 * `name~` if the entry has no backup yet. Never replaces a backup. Returns 0, with the new name in `made`, or a negative errno.
 */
int back_up(Engine& engine, Directory& directory, const char* name, Backup how, std::string& made);

/**
 * Takes the new name away again, after the entry was not replaced. If another entry has the old name, the backup stays,
 * because it may be the only copy.
 */
void undo_back_up(Engine& engine, Directory& directory, const char* name, const std::string& made);

}  // namespace fastcp
