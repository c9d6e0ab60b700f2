// Windows: names and paths as its kernel takes them. Knows no system header, so that it can be tried
// anywhere.
//
// The engine's paths have slashes only (`C:/directory`, `//server/share`): lib/paths.ts turns them around.
// Its names are UTF-8, in which half of a surrogate pair is kept as if it were a character (WTF-8).
#pragma once

#include <string>
#include <string_view>

namespace fastcp::platform {

void append_utf8(std::string& to, std::u16string_view text);

/** False where it is not UTF-8. */
bool to_utf16(std::string_view text, std::u16string& out);

/** One name in a directory. False where Windows would read more into it: a path, or a stream of a file. */
bool to_name(std::string_view name, std::u16string& out);

/** A whole path: `C:/directory` is `\??\C:\directory`, which has no limit of 260 characters. */
bool to_path(std::string_view path, std::u16string& out);

/** The other way: `\??\UNC\server\share` is `//server/share`. Others only have their slashes turned. */
std::string from_path(std::u16string_view path);

/** How much of a path names its root: 3 of `C:/directory`, 1 of `/directory`; 0 where it is relative. */
size_t root_length(std::string_view path);

}  // namespace fastcp::platform
