// Windows: names and paths in the form of its kernel. Includes no system header, so that tests run on any system.
//
// The engine's paths have slashes only (`C:/directory`, `//server/share`); lib/paths.ts converts them. Its names
// are UTF-8, in which half of a surrogate pair is stored as if it were a character (WTF-8). Stateless: no locks.
#pragma once

#include <string>
#include <string_view>

namespace fastcp::platform {

void append_utf8(std::string& to, std::u16string_view text);

/** Returns false if the text is not UTF-8. */
bool to_utf16(std::string_view text, std::u16string& out);

/**
 * Converts one name in a directory. Returns false if Windows would read more into it: a path, or a
 * stream of a file.
 */
bool to_name(std::string_view name, std::u16string& out);

/**
 * Converts a whole path: `C:/directory` is `\??\C:\directory`, which has no limit of 260
 * characters.
 */
bool to_path(std::string_view path, std::u16string& out);

/**
 * Converts back: `\??\UNC\server\share` is `//server/share`. In other paths only the slashes
 * change.
 */
std::string from_path(std::u16string_view path);

/**
 * Returns the length of a path's root: 3 in `C:/directory`, 1 in `/directory`; 0 if the path is
 * relative.
 */
size_t root_length(std::string_view path);

}  // namespace fastcp::platform
