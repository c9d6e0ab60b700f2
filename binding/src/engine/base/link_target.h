// Where links lead, by their text alone.
#pragma once

#include <string>
#include <string_view>

namespace fastcp {

/**
 * `target`, the text of a link in `directory`, an absolute path, as an absolute path without '.', '..'
 * and doubled slashes: what Node's path.resolve() says. No file system is asked.
 */
std::string resolve(std::string_view directory, std::string_view target);

/** All but the last name of an absolute path. */
std::string_view directory_of(std::string_view path);

/** Whether a path is below a directory, and not the directory itself; both as resolve() gives them. */
bool is_below(std::string_view path, std::string_view directory);

}  // namespace fastcp
