// macOS: extended attributes. ACLs are handled as if they were attributes, in the form of
// acl_copy_ext(). An ACL itself says which of its entries a directory hands on, so there is no
// second list.

#include <fcntl.h>
#include <sys/acl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string_view>
#include <type_traits>

#include "platform/darwin/darwin.h"

// From <sys/xattr.h> and <xattr_flags.h>, which the cross compiler lacks.
extern "C" {
ssize_t fgetxattr(int, const char*, void*, size_t, uint32_t position, int options);
int fsetxattr(int, const char*, const void*, size_t, uint32_t position, int options);
ssize_t flistxattr(int, char*, size_t, int options);
int fremovexattr(int, const char*, int options);
int xattr_preserve_for_intent(const char* name, unsigned intent);
}

namespace fastcp::platform {
namespace {

struct FreeList {
  void operator()(acl_t list) const { acl_free(list); }
};
using List = std::unique_ptr<std::remove_pointer_t<acl_t>, FreeList>;

/** Returns an empty list, with ENOENT, if an entry has none. */
List list_of(const Handle& entry) { return List(acl_get_fd_np(fd(entry), ACL_TYPE_EXTENDED)); }

/** Returns POSIX's errno where macOS has another, or reports that there is no such attribute. */
int attribute_failure() { return errno == ENOATTR || errno == ENOENT ? -ENODATA : failure(); }

bool is_list(std::string_view name) { return name == kAccessList || name == kDefaultList; }

/** Returns whether the system's own copies preserve the attribute. */
bool is_kept(const char* name) {
  constexpr unsigned kCopy = 1;  // XATTR_OPERATION_INTENT_COPY
  // The program that wrote a file last. Only the system may set it.
  return std::strcmp(name, "com.apple.provenance") != 0 &&
         xattr_preserve_for_intent(name, kCopy) != 0;
}

int64_t get_list(const Handle& entry, char* value, size_t size) {
  const List list = list_of(entry);
  if (!list) return attribute_failure();
  const ssize_t length = acl_size(list.get());
  if (length < 0) return failure();
  if (value == nullptr) return length;
  if (static_cast<size_t>(length) > size) return -ERANGE;
  return acl_copy_ext(value, list.get(), static_cast<ssize_t>(size)) < 0 ? failure() : length;
}

}  // namespace

int64_t list_attributes(const Handle& entry, char* names, size_t size) {
  const ssize_t all = retry([&] { return flistxattr(fd(entry), names, size, 0); });
  if (all < 0) return attribute_failure();
  char* end = names;
  for (const char* name = names; name < names + all;) {
    const char* next = name + std::strlen(name) + 1;
    if (is_kept(name)) end = std::copy(name, next, end);
    name = next;
  }
  if (!list_of(entry)) return end - names;
  const std::string_view list(kAccessList);
  if (static_cast<size_t>(names + size - end) <= list.size()) return -ERANGE;
  end = std::copy(list.begin(), list.end(), end);
  *end++ = '\0';
  return end - names;
}

int64_t get_attribute(const Handle& entry, const char* name, char* value, size_t size) {
  if (is_list(name)) return get_list(entry, value, size);
  // If a resource fork does not fit, a part of it is returned.
  const ssize_t length = retry([&] { return fgetxattr(fd(entry), name, nullptr, 0, 0, 0); });
  if (length < 0) return attribute_failure();
  if (value == nullptr || length == 0) return length;
  if (static_cast<size_t>(length) > size) return -ERANGE;
  const ssize_t got = retry([&] { return fgetxattr(fd(entry), name, value, size, 0, 0); });
  return got < 0 ? attribute_failure() : got;
}

uint32_t attribute_view() { return static_cast<uint32_t>(geteuid()) << 1 | 1; }

int set_attribute(const Handle& entry, const char* name, const char* value, size_t size) {
  if (!is_list(name)) return check([&] { return fsetxattr(fd(entry), name, value, size, 0, 0); });
  const List list(acl_copy_int(value));
  if (!list) return failure();
  return check([&] { return acl_set_fd_np(fd(entry), list.get(), ACL_TYPE_EXTENDED); });
}

int remove_attribute(const Handle& entry, const char* name) {
  if (!is_list(name)) {
    const int error = check([&] { return fremovexattr(fd(entry), name, 0); });
    return error == 0 ? 0 : attribute_failure();
  }
  if (!list_of(entry)) return attribute_failure();
  // As chmod -N does it. An ACL without entries would stay one.
  const std::unique_ptr<std::remove_pointer_t<filesec_t>, void (*)(filesec_t)> none(filesec_init(),
                                                                                    filesec_free);
  if (!none || filesec_set_property(none.get(), FILESEC_ACL, _FILESEC_REMOVE_ACL) != 0) {
    return failure();
  }
  return check([&] { return fchmodx_np(fd(entry), none.get()); });
}

int remove_attributes_of_clone(const Handle& clone, WithAttributes keeps) {
  std::array<char, 4096> names;
  const ssize_t all = retry([&] { return flistxattr(fd(clone), names.data(), names.size(), 0); });
  // Too many for the buffer: another copy method takes none along.
  if (all < 0) return all == -ERANGE ? -EOPNOTSUPP : static_cast<int>(all);
  for (const char* name = names.data(); name < names.data() + all; name += std::strlen(name) + 1) {
    if (keeps == WithAttributes::yes && is_kept(name)) continue;
    const int error = remove_attribute(clone, name);
    // Only the system may remove some of its own.
    if (error < 0 && error != -EPERM && error != -ENODATA) return error;
  }
  return 0;
}

uint32_t group_permissions(const char* /*list*/, size_t /*size*/) {
  return 7;  // ACLs are independent of modes, and change nothing in them
}

}  // namespace fastcp::platform
