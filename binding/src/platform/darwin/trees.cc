// macOS: operations on whole trees. A snapshot is a clone of a directory, which APFS creates in one
// call. Apple advises against it for everyday use, so only an explicit option uses it.

#include <sys/attr.h>
#include <sys/clonefile.h>
#include <sys/mount.h>
#include <sys/param.h>
#include <sys/stdio.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "platform/darwin/darwin.h"

namespace fastcp::platform {

bool has_clones(const Handle& directory) {
  struct statfs found;
  if (!volume_of(directory, found)) return false;
  attrlist wanted{};
  wanted.bitmapcount = ATTR_BIT_MAP_COUNT;
  wanted.volattr = ATTR_VOL_INFO | ATTR_VOL_CAPABILITIES;
  struct __attribute__((packed)) {
    uint32_t size;
    vol_capabilities_attr_t capabilities;
  } answer{};
  const auto ask = [&] {
    return getattrlist(found.f_mntonname, &wanted, &answer, sizeof answer, 0);
  };
  if (check(ask) < 0) return false;
  const auto bits = answer.capabilities.capabilities[VOL_CAPABILITIES_INTERFACES] &
                    answer.capabilities.valid[VOL_CAPABILITIES_INTERFACES];
  return (bits & VOL_CAP_INT_CLONE) != 0;
}

namespace {

/** Returns whether another volume is mounted below. The clone would lack its files. */
bool has_mounts(const Handle& directory) {
  // Paths on the two volumes of the system have two forms.
  std::vector<std::string> paths;
  for (const int form : {F_GETPATH, F_GETPATH_NOFIRMLINK}) {
    char path[MAXPATHLEN];
    if (check([&] { return fcntl(fd(directory), form, path); }) == 0)
      paths.emplace_back(std::string(path) + '/');
  }
  constexpr int kMore = 8;  // volumes mounted between the two calls
  std::vector<struct statfs> mounts(
      static_cast<size_t>(std::max(0, getfsstat(nullptr, 0, MNT_NOWAIT)) + kMore));
  const int count =
      getfsstat(mounts.data(), static_cast<int>(mounts.size() * sizeof mounts[0]), MNT_NOWAIT);
  if (count < 0 || paths.empty()) return true;  // unknown
  mounts.resize(static_cast<size_t>(count));
  for (const auto& mount : mounts) {
    const std::string_view where(mount.f_mntonname);
    for (const auto& path : paths) {
      if (where.substr(0, path.size()) == path) return true;
    }
  }
  return false;
}

/** Converts errors to those of Linux for a rename that a file system does not support. */
template <class Rename>
int check_rename(Rename rename) {
  const int error = check(rename);
  return error == -EOPNOTSUPP ? -EINVAL : error;
}

}  // namespace

int rename_new(const Handle& directory, const char* from, const char* to) {
  return check_rename(
      [&] { return renameatx_np(fd(directory), from, fd(directory), to, RENAME_EXCL); });
}

int exchange(const Handle& directory, const char* one, const char* other) {
  return check_rename(
      [&] { return renameatx_np(fd(directory), one, fd(directory), other, RENAME_SWAP); });
}

int check_snapshot(const Handle& source, const Handle& directory) {
  if (!has_clones(source)) return -EOPNOTSUPP;
  Stat from, to;
  if (const int error = stat_handle(source, from); error < 0) return error;
  if (const int error = stat_handle(directory, to); error < 0) return error;
  if (from.dev != to.dev) return -EXDEV;
  return has_mounts(source) ? -ENOTEMPTY : 0;
}

int take_snapshot(const Handle& source, const Handle& directory, const char* name) {
  const int error = check([&] { return fclonefileat(fd(source), fd(directory), name, CLONE_ACL); });
  if (error != -EINVAL) return error;
  return check([&] {
    return fclonefileat(fd(source), fd(directory), name, 0);
  });  // a system without CLONE_ACL
}

}  // namespace fastcp::platform
