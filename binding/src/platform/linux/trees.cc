// Linux: operations on whole trees. Snapshots are those of btrfs subvolumes.

#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "platform/posix/posix.h"

namespace fastcp::platform {
namespace {

bool is_btrfs(const Handle& directory) {
  struct statfs found;
  return check([&] { return fstatfs(fd(directory), &found); }) == 0 &&
         found.f_type == BTRFS_SUPER_MAGIC;
}

/** Subvolumes look like separate file systems. Only this call shows that they are one. */
int check_same(const Handle& one, const Handle& other) {
  if (!is_btrfs(other)) return -EXDEV;
  btrfs_ioctl_fs_info_args first{}, second{};
  int error = check([&] { return ioctl(fd(one), BTRFS_IOC_FS_INFO, &first); });
  if (error == 0) error = check([&] { return ioctl(fd(other), BTRFS_IOC_FS_INFO, &second); });
  if (error < 0) return error;
  return std::memcmp(first.fsid, second.fsid, sizeof first.fsid) == 0 ? 0 : -EXDEV;
}

/** Returns false if the name is too long. */
template <size_t size>
bool set_name(char (&to)[size], const char* name) {
  const size_t length = std::strlen(name);
  if (length >= size) return false;
  std::memcpy(to, name, length + 1);
  return true;
}

}  // namespace

bool wants_directories_early(const Handle& directory) { return is_btrfs(directory); }

int exchange(const Handle& directory, const char* one, const char* other) {
  // glibc has a wrapper only since 2.28.
  return check([&] {
    return syscall(SYS_renameat2, fd(directory), one, fd(directory), other, RENAME_EXCHANGE);
  });
}

int check_snapshot(const Handle& source, const Handle& directory) {
  if (!is_btrfs(source)) return -EOPNOTSUPP;
  // BTRFS_FIRST_FREE_OBJECTID: the inode of each subvolume's root
  constexpr ino_t kSubvolume = 256;
  struct stat found;
  int error = check([&] { return fstat(fd(source), &found); });
  if (error < 0) return error;
  if (found.st_ino != kSubvolume) return -EINVAL;
  btrfs_ioctl_get_subvol_rootref_args nested{};
  error = check([&] { return ioctl(fd(source), BTRFS_IOC_GET_SUBVOL_ROOTREF, &nested); });
  if (error == -EOVERFLOW) return -ENOTEMPTY;  // more than one call can return
  if (error == 0 && nested.num_items > 0) return -ENOTEMPTY;
  return error == 0 ? check_same(source, directory) : error;
}

int take_snapshot(const Handle& source, const Handle& directory, const char* name) {
  btrfs_ioctl_vol_args_v2 args{};
  args.fd = fd(source);
  if (!set_name(args.name, name)) return -ENAMETOOLONG;
  return check([&] { return ioctl(fd(directory), BTRFS_IOC_SNAP_CREATE_V2, &args); });
}

}  // namespace fastcp::platform
