// What DEST has already, and what the rules say about it.
#pragma once

#include <string>

#include "engine/run/engine.h"

namespace fastcp {

enum class Verdict : uint8_t { replace, skip, refused };

/** The rules for an entry, not a directory, whose name is taken in DEST. Reports what it refuses. */
Verdict judge(Worker& worker, Directory& directory, Names names, platform::Kind kind);

/**
 * Whether an entry is neither a file nor a directory nor a link. In DEST it is not replaced: others may use it,
 * and a device can be one that the system needs.
 */
bool is_special(platform::Kind kind);

/** The operation by which the engine refuses to replace a special entry of that kind. */
const char* refusal_of(platform::Kind there);

/** Whether the directory of `name` in DEST lets nothing be renamed or removed. */
bool is_append_only(Directory& directory, const std::string& name);

/**
 * Gives an entry that is to be replaced one more name: `name.~N~` with the next number, or with Backup::existing
 * `name~` if it has no backup yet. Never replaces a backup. 0 or a negative errno.
 */
int back_up(Directory& directory, const char* name, Backup how);

/** Whether DEST has something of that name. */
bool exists(const Directory& directory, Names names);

/**
 * Whether the name that is taken in a directory of ours is another one, which DEST takes for the same:
 * its case, or its form of Unicode, differs. The very same name is somebody else's entry. Where DEST
 * lists names otherwise than they were given nobody can say, and a collision is what loses nothing.
 */
bool is_collision(Worker& worker, Directory& directory, const char* name);

}  // namespace fastcp
