// Resolves symlink targets by their text alone. Called by symlinks.cc and engine.cc. Stateless: no locks.
#pragma once

#include <string>
#include <string_view>

namespace fastcp {

/**
 * Returns the symlink target `target` as an absolute path without '.', '..' and doubled slashes.
 * `directory` is the absolute path of the symlink's directory. Gives the same result as Node's
 * path.resolve(), and asks no file system.
 */
std::string resolve(std::string_view directory, std::string_view target);

/** Returns an absolute path without its last name. */
std::string_view directory_of(std::string_view path);

/**
 * Returns whether a path is below a directory. The directory itself is not. Both must be results of
 * resolve().
 */
bool is_below(std::string_view path, std::string_view directory);

}  // namespace fastcp
