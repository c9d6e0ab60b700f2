// Extended attributes, and ACLs with the inheritance of chmod(1).

#include <sstream>

#include "linux.h"

namespace fastcp::platform {

struct _acl {
  std::string text;  // the model's external form
};
struct _filesec {
  bool removes = false;
};

using namespace model;

namespace {

/** Names of macOS have no namespace; the others are kept, for tests that know only Linux. */
constexpr std::string_view kApple = "com.apple.", kPrefix = "user.";

std::string to_linux(const char* name) {
  return std::string_view(name).substr(0, kApple.size()) == kApple ? std::string(kPrefix) + name
                                                                   : name;
}

/** Returns the name on macOS; empty if the attribute is the model's or Linux's own. */
std::string to_apple(std::string_view name) {
  if (name.substr(0, 11) == "user.model." || name.substr(0, 7) == "system.") return "";
  if (name.substr(kPrefix.size(), kApple.size()) == kApple) name.remove_prefix(kPrefix.size());
  return std::string(name);
}

int translate(int result) {
  if (result < 0 && errno == ENODATA) errno = ENOATTR;
  if (result < 0 && errno == EOPNOTSUPP) errno = ENOTSUP;
  return result;
}

/**
 * xattr.h: what holds a compressed file's content is seen only with XATTR_SHOWCOMPRESSION.
 */
bool is_hidden(int file, std::string_view name) {
  return (name == "com.apple.decmpfs" || name == "com.apple.ResourceFork") &&
         (flags_of(path_of(file)) & UF_COMPRESSED) != 0;
}

bool is_locked(int file) { return (flags_of(path_of(file)) & kLocks) != 0; }

/** Only the system sets or removes the mark of the program that wrote a file. */
bool is_systems(const char* name) { return std::strcmp(name, "com.apple.provenance") == 0; }

}  // namespace

// getxattr(2): only a resource fork has positions, and is returned in parts; for other attributes
// the position must be 0, and ERANGE says that the buffer is too small.
ssize_t fgetxattr(int file, const char* name, void* value, size_t size, uint32_t position,
                  int options) {
  if (position != 0 || options != 0) return fail(EINVAL);
  if (is_hidden(file, name)) return fail(ENOATTR);
  const std::string path = path_of(file), real = to_linux(name);
  const ssize_t length = ::getxattr(path.c_str(), real.c_str(), nullptr, 0);
  if (length < 0) return translate(-1);
  if (value == nullptr) return length;
  if (static_cast<size_t>(length) <= size || std::strcmp(name, "com.apple.ResourceFork") != 0) {
    // Linux gives the length where the size is 0.
    if (size == 0 && length > 0) return fail(ERANGE);
    return translate(static_cast<int>(::getxattr(path.c_str(), real.c_str(), value, size)));
  }
  std::vector<char> whole(static_cast<size_t>(length));
  if (::getxattr(path.c_str(), real.c_str(), whole.data(), whole.size()) < 0) return translate(-1);
  std::memcpy(value, whole.data(), size);
  return static_cast<ssize_t>(size);
}

// setxattr(2)
int fsetxattr(int file, const char* name, const void* value, size_t size, uint32_t position,
              int options) {
  constexpr int kReplace = 4;
  if (position != 0 || (options & ~kReplace) != 0) return fail(EINVAL);
  if (is_locked(file) || is_systems(name)) return fail(EPERM);
  const std::string real = to_linux(name);
  const int flags = options != 0 ? XATTR_REPLACE : 0;
  return translate(on_entry(
      file, [&] { return ::fsetxattr(file, real.c_str(), value, size, flags); },
      [&](const char* path) { return ::setxattr(path, real.c_str(), value, size, flags); }));
}

// listxattr(2): a null buffer asks for the size; ERANGE if the names do not fit.
ssize_t flistxattr(int file, char* names, size_t size, int options) {
  if (options != 0) return fail(EINVAL);
  std::vector<char> real(64 << 10);
  const ssize_t length = ::listxattr(path_of(file).c_str(), real.data(), real.size());
  if (length < 0) return translate(-1);
  std::string list;
  for (const char* at = real.data(); at < real.data() + length; at += std::strlen(at) + 1) {
    const std::string name = to_apple(at);
    if (!name.empty() && !is_hidden(file, name)) list.append(name).push_back('\0');
  }
  if (names == nullptr) return static_cast<ssize_t>(list.size());
  if (list.size() > size) return fail(ERANGE);
  std::copy(list.begin(), list.end(), names);
  return static_cast<ssize_t>(list.size());
}

// removexattr(2)
int fremovexattr(int file, const char* name, int options) {
  if (options != 0) return fail(EINVAL);
  if (is_locked(file) || is_systems(name)) return fail(EPERM);
  const std::string real = to_linux(name);
  return translate(on_entry(
      file, [&] { return ::fremovexattr(file, real.c_str()); },
      [&](const char* path) { return ::removexattr(path, real.c_str()); }));
}

// xattr_name_with_flags(3): a name may end in `#` and letters; N is for "never preserve".
int xattr_preserve_for_intent(const char* name, unsigned /*intent*/) {
  const char* flags = std::strchr(name, '#');
  return flags == nullptr || std::strchr(flags, 'N') == nullptr ? 1 : 0;
}

// --- ACLs ------------------------------------------------------------------------------------

// Libc: posix1e/acl_file.c. Null and ENOENT if there is none, which filesec_get_property(3) says. A
// list without entries is one.
acl_t acl_get_fd_np(int file, acl_type_t type) {
  if (type != ACL_TYPE_EXTENDED) return fail(EINVAL), nullptr;
  auto text = get(path_of(file), kAcl);
  return text ? new _acl{std::move(*text)} : (fail(ENOENT), nullptr);
}

namespace {

int store(int file, const std::string& text) {
  if (is_locked(file)) return fail(EPERM);
  const std::string path = path_of(file);
  return translate(
      as_owner(file, [&] { return ::setxattr(path.c_str(), kAcl, text.data(), text.size(), 0); }));
}

}  // namespace

int acl_set_fd_np(int file, acl_t list, acl_type_t /*type*/) { return store(file, list->text); }

ssize_t acl_size(acl_t list) { return static_cast<ssize_t>(list->text.size() + 1); }

ssize_t acl_copy_ext(void* out, acl_t list, ssize_t size) {
  if (size < acl_size(list)) return fail(ERANGE);
  std::memcpy(out, list->text.c_str(), list->text.size() + 1);
  return acl_size(list);
}

acl_t acl_copy_int(const void* external) {
  const auto* text = static_cast<const char*>(external);
  if (std::strncmp(text, "!#acl 1\n", 8) != 0) return fail(EINVAL), nullptr;
  return new _acl{text};
}

int acl_free(void* list) {
  delete static_cast<acl_t>(list);
  return 0;
}

// filesec_set_property(3), and file_cmds: chmod/chmod_acl.c, which removes an ACL in this way.
filesec_t filesec_init() { return new _filesec; }

int filesec_set_property(filesec_t security, filesec_property_t property, const void* value) {
  if (property != FILESEC_ACL || value != _FILESEC_REMOVE_ACL) return fail(EINVAL);
  security->removes = true;
  return 0;
}

int fchmodx_np(int file, filesec_t security) {
  if (!security->removes) return fail(EINVAL);
  if (is_locked(file)) return fail(EPERM);
  const std::string path = path_of(file);
  const int result = as_owner(file, [&] { return ::removexattr(path.c_str(), kAcl); });
  return result != 0 && errno == ENODATA ? 0 : translate(result);
}

void filesec_free(filesec_t security) { delete security; }

// chmod(1): entries with file_inherit or directory_inherit reach new files or directories. A
// directory hands them on, a file does not.
void model::inherit(const std::string& parent, const std::string& entry, bool is_directory) {
  const auto list = get(parent, kAcl);
  if (!list) return;
  std::istringstream lines(*list);
  std::string result = "!#acl 1\n", line;
  while (std::getline(lines, line)) {
    if (line.find(is_directory ? "directory_inherit" : "file_inherit") == line.npos) continue;
    const size_t flags = line.find(",file_inherit");
    if (!is_directory && flags != line.npos) {
      const size_t end = line.find(':', flags);
      line.replace(flags, end - flags, ",inherited");
    }
    result += line + '\n';
  }
  if (result.size() == 8) return;
  ::setxattr(entry.c_str(), kAcl, result.data(), result.size(), 0);
}

}  // namespace fastcp::platform
