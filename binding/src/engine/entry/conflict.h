// The rules for entries whose name exists in DEST, and the names of backups. Called by any worker.
// Facts learned per directory are in run/directory.h, each with a once_flag.
#pragma once

#include <string>
#include <string_view>

#include "engine/run/engine.h"

namespace fastcp {

enum class Verdict : uint8_t { replace, skip, refused };

/** Applies the rules to an entry, not a directory, whose name exists in DEST. Reports a refusal. */
Verdict judge(Worker& worker, Directory& directory, Names names, platform::Kind kind);

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
 * Creates one more name for an entry that will be replaced: `name.~N~` with the next number. Backup::existing gives
 * `name~` if the entry has no backup yet. Never replaces a backup. Returns 0, with the new name in `made`, or a negative errno.
 */
int back_up(Engine& engine, Directory& directory, const char* name, Backup how, std::string& made);

/**
 * Takes the new name away again, after the entry was not replaced. If another entry has the old name, the backup stays,
 * because it may be the only copy.
 */
void undo_back_up(Engine& engine, Directory& directory, const char* name, const std::string& made);

/**
 * Returns whether SRC's entry, or what it leads to, is the entry of DEST that its copy would replace. With Options::replaces the one
 * in the old DEST counts.
 */
bool would_lose_target(const Engine& engine, const Directory& directory, Names names);

/** Returns whether the copy of an entry is a symlink. */
bool becomes_symlink(const Options& options, platform::Kind kind);

/** Returns whether DEST has an entry of that name, or forbids to look. */
bool may_exist(const Directory& directory, Names names);

/**
 * Returns whether an existing name belongs to another entry of SRC, because DEST takes two names of SRC for one: in a directory that
 * this copy has created, or if SRC has two names that differ only in the case of ASCII letters. If exactly this name is listed,
 * another program created the entry.
 */
bool is_collision(Directory& directory, const char* name);

/** Only ASCII letters are changed. */
std::string in_small_letters(std::string_view name);

}  // namespace fastcp
