// What a directory needs when its content is complete: its metadata, its mark, and a look whether it is still there. One
// worker runs the end of a directory, so no locks are needed.
#pragma once

#include <memory>

#include "engine/run/engine.h"

namespace fastcp {

/**
 * Called after a directory was created or found in DEST. A new one gets its owner, attributes and mode now: what a killed copy
 * leaves has them. Notes what to set when its content is complete, and facts about entries that will be created in it.
 */
void begin_directory(Engine& engine, Directory& directory);

/** In a dry run: reports an existing directory whose metadata would be set at its end. */
void plan_directory(Engine& engine, Directory& directory);

/**
 * Returns the end of a copied directory: it writes the mark, and sets everything that
 * begin_directory() noted.
 */
std::unique_ptr<DirectoryEnd> end_of_copied_directory();

}  // namespace fastcp
