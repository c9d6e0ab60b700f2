// The rules of Node's fs.cp and of fs-extra's copy, where fastcp itself has others. Called by copy_entry.cc,
// special.cc, symlinks.cc and open_directory.cc. Stateless: no locks.
#pragma once

#include "engine/run/engine.h"

namespace fastcp {

/**
 * Applies the rules to an entry that is not a directory: its kind, and the entry of DEST that has its name. Reports a
 * refusal and returns true. Returns false if the rules are fastcp's own.
 *
 * A symlink with `force: false` stays, and a second copy of the same symlink succeeds: docs/fs.md.
 */
bool refuse_by_foreign_rules(Worker& worker, const Directory& directory, Names names,
                             platform::Kind kind);

/**
 * Returns whether an existing directory of DEST is an error: in fs.cp with `errorOnExist` and
 * `force: false`.
 */
bool refuses_directory(const Options& options);

/** Returns whether the copy of an entry is an empty file: of a device, in fs.cp and fs-extra. */
bool is_read_as_file(const Compatibility& compatibility, platform::Kind kind);

}  // namespace fastcp
