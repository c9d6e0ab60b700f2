// Linux: facts about the file systems that directories and files are on.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string_view>

#include "platform/posix/posix.h"

namespace fastcp::platform {
namespace {

constexpr uint32_t kExt = 0x0000ef53, kXfs = 0x58465342, kBtrfs = 0x9123683e, kTmpfs = 0x01021994,
                   kRamfs = 0x858458f6, kOverlayfs = 0x794c7630;

/** Returns f_type of statfs(2), or 0. */
uint32_t type_of(const Handle& handle) {
  struct statfs found;
  const int error = check([&] { return fstatfs(fd(handle), &found); });
  return error < 0 ? 0 : static_cast<uint32_t>(found.f_type);
}

/** Returns the number of this boot of the kernel; 0 if unknown. */
uint64_t boot() {
  static const uint64_t id = [] {
    std::array<char, 36> text{};
    const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (file < 0) return uint64_t{0};
    const bool whole = read(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    close(file);
    return whole ? uint64_t{std::hash<std::string_view>()({text.data(), text.size()})} : 0;
  }();
  return id;
}

/** Returns a number that no other mount has or had, since Linux 6.8; otherwise 0. */
uint64_t mount_number(const Handle& handle) {
#ifdef STATX_BTIME
  constexpr unsigned kMountIdUnique = 0x4000;  // STATX_MNT_ID_UNIQUE, which older headers lack
  constexpr size_t kOffset = 0x90;             // of stx_mnt_id
  struct statx found {};
  const auto look = [&] { return statx(fd(handle), "", AT_EMPTY_PATH, kMountIdUnique, &found); };
  if (boot() == 0 || check(look) < 0 || (found.stx_mask & kMountIdUnique) == 0) return 0;
  uint64_t id = 0;
  std::memcpy(&id, reinterpret_cast<const char*>(&found) + kOffset, sizeof id);
  // An emulator may pass on the mask and leave the field empty (qemu).
  return id == 0 ? 0 : boot() ^ id * 0x9e3779b97f4a7c15;
#else
  return 0;
#endif
}

}  // namespace

bool has_own_clock(const Handle& directory) {
  // Only the file systems that are known to renew ctimes by this host's clock. Others may be on a
  // server with its own clock (NFS, SMB, FUSE, GPFS …). Some store no ctime (FAT, squashfs …), or
  // do not renew it in rename() (HFS+). linux/magic.h does not have all numbers.
  constexpr std::array<uint32_t, 9> kLocal = {
      kExt,       kXfs, kBtrfs, kTmpfs, kRamfs,
      0xf2f52010,  // F2FS
      0x2fc12fc1,  // ZFS
      0xca451a4e,  // bcachefs
      0x3153464a,  // JFS
  };
  const uint32_t type = type_of(directory);
  if (type == kOverlayfs) return mount_number(directory) != 0;
  return std::find(kLocal.begin(), kLocal.end(), type) != kLocal.end();
}

bool exchange_renews_ctime(const Handle& directory) {
  // XFS does not, nor does overlayfs above it. Other file systems were not tried.
  constexpr std::array<uint32_t, 4> kKnown = {kExt, kBtrfs, kTmpfs, kRamfs};
  return std::find(kKnown.begin(), kKnown.end(), type_of(directory)) != kKnown.end();
}

uint64_t time_step(const Handle& directory) {
  constexpr uint64_t kSecond = 1'000'000'000;  // ns
  switch (type_of(directory)) {
    case 0x00004d44: return 2 * kSecond;  // FAT
    case 0x2011bab0:
      return kSecond / 100;  // exFAT
    // ext2, ext3, ext4: inodes of 128 bytes have no room for nanoseconds or birth time
    case kExt: {
      Identity inode{};
      return identify(directory, inode) == 0 && inode.birth == Time{} ? kSecond : 1;
    }
    case 0x00004244:  // HFS
    case 0x0000482b:  // HFS+
    case 0x52654973:  // ReiserFS
    case 0x0000137f:  // Minix, and below
    case 0x0000138f:
    case 0x00002468:
    case 0x00002478: return kSecond;
    case 0x65735546:  // FUSE
    case 0x7366746e:  // NTFS
    case 0x0000517b:  // SMB
    case 0xff534d42:  // CIFS
    case 0xfe534d42: return kForeignStep;
    case 0x15013346: return 1000;  // UDF
    default: return 1;
  }
}

uint64_t file_system(const Handle& handle) {
  struct statfs mounted;
  uint64_t id = 0;
  if (check([&] { return fstatfs(fd(handle), &mounted); }) == 0) {
    static_assert(sizeof mounted.f_fsid == sizeof id);
    std::memcpy(&id, &mounted.f_fsid, sizeof id);
    if (static_cast<uint32_t>(mounted.f_type) == kOverlayfs) id = mount_number(handle);
  }
  return id;
}

bool is_mount_point(const Handle& parent, const Handle& directory) {
#ifdef STATX_ATTR_MOUNT_ROOT
  struct statx known;
  const auto look = [&] { return statx(fd(directory), "", AT_EMPTY_PATH, STATX_INO, &known); };
  if (check(look) == 0 && (known.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0)
    return (known.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
#endif
  // Before Linux 5.8, subvolumes of btrfs look the same, and are treated as mounts.
  struct stat above, found;
  return check([&] { return fstat(fd(parent), &above); }) == 0 &&
         check([&] { return fstat(fd(directory), &found); }) == 0 && above.st_dev != found.st_dev;
}

bool is_read_only(const Handle& directory) {
  struct statfs found;
  return check([&] { return fstatfs(fd(directory), &found); }) == 0 &&
         (found.f_flags & ST_RDONLY) != 0;
}

}  // namespace fastcp::platform
