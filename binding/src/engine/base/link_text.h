// Where links lead, by their text alone.
#pragma once

#include <string>
#include <string_view>

namespace fastcp {

/**
 * `target`, the text of a link in `folder`, an absolute path, as an absolute path without '.', '..'
 * and doubled slashes: what Node's path.resolve() says. No file system is asked.
 */
std::string resolve(std::string_view folder, std::string_view target);

/** All but the last name of an absolute path. */
std::string_view folder_of(std::string_view path);

/** Whether a path is below a folder, and not the folder itself; both as resolve() gives them. */
bool is_below(std::string_view path, std::string_view folder);

}  // namespace fastcp
