// The rules for entries whose name exists in DEST: replaced, skipped or refused. Called by any worker.
#pragma once

#include <string>

#include "engine/run/engine.h"

namespace fastcp {

enum class Decision : uint8_t { replace, skip, refused };

/** Applies the rules to an entry, not a directory, whose name exists in DEST. Reports a refusal. */
Decision judge(Worker& worker, Directory& directory, Names names, platform::Kind kind);

/**
 * Returns whether an entry is neither a file nor a directory nor a symlink. In DEST such an entry is never replaced, because other
 * programs may use it and the system may need a device.
 */
bool is_special(platform::Kind kind);

/** Returns whether a copy can be created: not of a socket, nor of an alias of an app and the like on Windows. */
inline bool has_copies(platform::Kind kind) {
  return kind != platform::Kind::socket && kind != platform::Kind::unknown;
}

/**
 * Returns the operation in the error when the engine refuses to replace a special entry of that
 * kind.
 */
const char* refusal_of(platform::Kind there);

/** Returns whether the directory of `name` in DEST forbids to rename or remove entries. */
bool is_append_only(Directory& directory, const std::string& name);

/**
 * Returns whether SRC's entry, or what it leads to, is the entry of DEST that its copy would replace. With Options::replaces the one
 * in the old DEST counts.
 */
bool would_lose_target(const Engine& engine, const Directory& directory, Names names);

/** Returns whether the copy of an entry is a symlink. */
bool becomes_symlink(const Options& options, platform::Kind kind);

/** Returns whether DEST has an entry of that name, or forbids to look. */
bool may_exist(const Directory& directory, Names names);

}  // namespace fastcp
