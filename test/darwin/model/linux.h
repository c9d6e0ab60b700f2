// What the files of the model share: the real calls of Linux, and attributes that hold what Linux
// has no place for. The code under test does not see the latter:
//
//   user.model.flags      file flags (st_flags), as a decimal number
//   user.model.acl        the ACL, as acl_to_text(3) prints it
//   user.model.noclone    clonefile() refuses this file
//   user.model.unflushed  the content is not on disk yet, so holes are reported wrongly
//
// Stateless: no locks.
#pragma once

#include <sys/stat.h>
#include <sys/xattr.h>

#include <cstdio>
#include <optional>

#define FASTCP_MODEL
#include "model.h"

namespace fastcp::platform::model {

inline constexpr const char* kFlags = "user.model.flags";
inline constexpr const char* kAcl = "user.model.acl";
inline constexpr const char* kNoClone = "user.model.noclone";
inline constexpr const char* kUnflushed = "user.model.unflushed";

/**
 * chflags(2): flags with which nothing of a file can be changed, or content only be appended. Those of
 * the super-user "normally may only be unset when the system is in single-user mode".
 */
inline constexpr uint32_t kLocks = UF_IMMUTABLE | UF_APPEND | SF_IMMUTABLE | SF_APPEND;

inline std::string path_of(int file) {
  return file == AT_FDCWD ? "." : "/proc/self/fd/" + std::to_string(file);
}

/** A path of a name in a directory, which may be a path itself. */
inline std::string path_of(int directory, const char* name) {
  return directory == AT_FDCWD || *name == '/' ? name : path_of(directory) + '/' + name;
}

inline std::string parent_of(int directory, const char* name) {
  const std::string_view path(name);
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return path_of(directory);
  return path_of(directory, std::string(path.substr(0, slash + 1)).c_str());
}

/** Returns a hidden attribute of an entry. A path in /proc leads to the entry, not to its target. */
inline std::optional<std::string> get(const std::string& path, const char* name) {
  std::string value(4096, '\0');
  const bool by_name = path.rfind("/proc/self/fd/", 0) != 0 || path.find('/', 14) != path.npos;
  const ssize_t size = by_name ? lgetxattr(path.c_str(), name, value.data(), value.size())
                               : getxattr(path.c_str(), name, value.data(), value.size());
  if (size < 0) return std::nullopt;
  value.resize(static_cast<size_t>(size));
  return value;
}

/**
 * Runs `change` on an open entry, with write permission if its mode denies that. macOS asks for the
 * owner where Linux asks for write permission.
 */
template <class Change>
int as_owner(int file, Change change) {
  const int result = change();
  struct ::stat found;
  if (result == 0 || errno != EACCES || ::fstat(file, &found) != 0) return result;
  const std::string path = path_of(file);
  if (::chmod(path.c_str(), found.st_mode | S_IWUSR | S_IRUSR) != 0) return -1;
  const int again = change();
  const int error = errno;
  ::chmod(path.c_str(), found.st_mode);
  errno = error;
  return again;
}

/**
 * Calls by file descriptor, or by its name in /proc if it is one of a symlink or for searching. So
 * tests that let calls of Linux fail meet the call that they expect.
 */
template <class ByFile, class ByName>
int on_entry(int file, ByFile by_file, ByName by_name) {
  const int result = by_file();
  return result < 0 && errno == EBADF ? by_name(path_of(file).c_str()) : result;
}

inline uint32_t flags_of(const std::string& path) {
  const auto flags = get(path, kFlags);
  return flags ? static_cast<uint32_t>(std::stoul(*flags)) : 0;
}

inline int fail(int error) {
  errno = error;
  return -1;
}

/** Gives a new entry what its directory's ACL hands on. */
void inherit(const std::string& parent, const std::string& entry, bool is_directory);

}  // namespace fastcp::platform::model
