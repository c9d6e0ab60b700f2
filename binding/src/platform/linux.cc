// Linux. Every path is one name relative to an open folder, and no link is followed but where the
// caller says so, so long paths need no room and nobody can lead a copy astray by a link.

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "platform.h"

namespace fastcp::platform {
namespace {

constexpr int kFolderFlags = O_DIRECTORY | O_CLOEXEC;

int fd(const Handle& handle) { return static_cast<int>(handle.raw()); }

int nofollow(Follow follow) { return follow == Follow::yes ? 0 : O_NOFOLLOW; }

/** Calls again where a signal interrupted; the result is the call's, or a negative errno. */
template <class Call>
auto retry(Call call) -> decltype(call()) {
  for (;;) {
    auto result = call();
    if (result >= 0) return result;
    if (errno != EINTR) return -errno;
  }
}

int open_at(const Handle& folder, const char* name, int flags, mode_t mode, Handle& out) {
  const int opened = retry([&] { return openat(fd(folder), name, flags, mode); });
  if (opened < 0) return opened;
  out = Handle(opened);
  return 0;
}

Kind kind_of_mode(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG: return Kind::file;
    case S_IFDIR: return Kind::folder;
    case S_IFLNK: return Kind::link;
    case S_IFIFO: return Kind::fifo;
    case S_IFCHR: return Kind::character_device;
    case S_IFBLK: return Kind::block_device;
    case S_IFSOCK: return Kind::socket;
    default: return Kind::unknown;
  }
}

void convert(const struct stat& from, Stat& to) {
  to.dev = from.st_dev;
  to.ino = from.st_ino;
  to.size = static_cast<uint64_t>(from.st_size);
  to.allocated = static_cast<uint64_t>(from.st_blocks) * 512;
  to.rdev = from.st_rdev;
  to.links = from.st_nlink;
  to.atime = {from.st_atim.tv_sec, static_cast<uint32_t>(from.st_atim.tv_nsec)};
  to.mtime = {from.st_mtim.tv_sec, static_cast<uint32_t>(from.st_mtim.tv_nsec)};
  to.ctime = {from.st_ctim.tv_sec, static_cast<uint32_t>(from.st_ctim.tv_nsec)};
  to.uid = from.st_uid;
  to.gid = from.st_gid;
  to.mode = from.st_mode & 07777;
  to.kind = kind_of_mode(from.st_mode);
}

Attempt done(uint64_t bytes) { return {Attempt::done, false, 0, bytes}; }
Attempt not_here(bool lasting) { return {Attempt::not_here, lasting, errno, 0}; }
Attempt failed() { return {Attempt::failed, false, errno, 0}; }

/** The kernel's record; libc's own headers name it only in newer versions. */
struct Record {
  uint64_t ino;
  int64_t next;
  uint16_t size;
  uint8_t type;
  char name[1];
};

/** /proc's name of a descriptor: the way to reach what O_PATH holds without following a link. */
struct ProcName {
  char text[32];
  explicit ProcName(const Handle& handle) {
    std::snprintf(text, sizeof text, "/proc/self/fd/%d", fd(handle));
  }
};

}  // namespace

// --- Handle ----------------------------------------------------------------------------------

Handle& Handle::operator=(Handle&& other) noexcept {
  if (this != &other) {
    close();
    raw_ = other.raw_;
    other.raw_ = kNone;
  }
  return *this;
}

Handle Handle::working_folder() { return Handle(AT_FDCWD); }

int Handle::close() {
  const auto raw = static_cast<int>(std::exchange(raw_, kNone));
  // Not repeated on EINTR: Linux has let go of the descriptor by then.
  return raw >= 0 && ::close(raw) != 0 ? -errno : 0;
}

// --- folders ---------------------------------------------------------------------------------

int open_source_folder(const Handle& parent, const char* name, Follow follow, Handle& out) {
  return open_at(parent, name, O_RDONLY | kFolderFlags | nofollow(follow), 0, out);
}

int open_target_folder(const Handle& parent, const char* name, Follow follow, Handle& out) {
  // O_PATH asks for no permission to read, which a drop folder need not grant.
  return open_at(parent, name, O_PATH | kFolderFlags | nofollow(follow), 0, out);
}

int open_source_parent(const Handle& folder, Handle& out) {
  return open_source_folder(folder, "..", Follow::no, out);
}

int open_target_parent(const Handle& folder, Handle& out) {
  return open_target_folder(folder, "..", Follow::no, out);
}

int64_t read_listing(const Handle& folder, char* buffer, size_t size) {
  // glibc has a wrapper since 2.30 only.
  return retry([&] { return syscall(SYS_getdents64, fd(folder), buffer, size); });
}

Listed parse_listing(const char* record) {
  const auto* entry = reinterpret_cast<const Record*>(record);
  return {entry->name,
          entry->type == DT_UNKNOWN ? Kind::unknown : kind_of_mode(DTTOIF(entry->type)),
          entry->size};
}

bool is_mount_point(const Handle& parent, const Handle& folder) {
  struct stat above, found;
#ifdef STATX_ATTR_MOUNT_ROOT
  struct statx known;
  if (statx(fd(folder), "", AT_EMPTY_PATH, STATX_INO, &known) == 0 &&
      (known.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0) {
    return (known.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  }
#endif
  // Before Linux 5.8: subvolumes of btrfs look the same, and are spared with what is mounted.
  return fstat(fd(parent), &above) == 0 && fstat(fd(folder), &found) == 0 &&
         above.st_dev != found.st_dev;
}

bool has_own_clock(const Handle& folder) {
  struct statfs found;
  if (fstatfs(fd(folder), &found) != 0) return false;
  // linux/magic.h does not have all of them.
  constexpr std::array<uint32_t, 14> kServed = {
      0x00006969,  // NFS
      0x0000517b,  // SMB
      0xff534d42,  // CIFS
      0xfe534d42,  // SMB 2
      0x5346414f,  // AFS
      0x6b414653,  // kAFS
      0x00c36400,  // Ceph
      0x01021997,  // 9P
      0x65735546,  // FUSE
      0x7461636f,  // OCFS2
      0x01161970,  // GFS2
      0x0bd00bd0,  // Lustre
      0x73757245,  // Coda
      0x786f4256,  // VirtualBox
  };
  const auto type = static_cast<uint32_t>(found.f_type);
  return std::find(kServed.begin(), kServed.end(), type) == kServed.end();
}

int make_folder(const Handle& parent, const char* name, uint32_t mode) {
  return mkdirat(fd(parent), name, mode) == 0 ? 0 : -errno;
}

int set_folder_mode(const Handle& folder, uint32_t mode) {
  Handle readable;  // fchmod() takes no O_PATH
  const int error = open_source_folder(folder, ".", Follow::no, readable);
  if (error == 0) return fchmod(fd(readable), mode) == 0 ? 0 : -errno;
  // Its mode keeps even its owner out.
  if (error == -EACCES) return chmod(ProcName(folder).text, mode) == 0 ? 0 : -errno;
  return error;
}

// --- entries ---------------------------------------------------------------------------------

int stat_handle(const Handle& handle, Stat& out) {
  struct stat found;
  if (fstat(fd(handle), &found) != 0) return -errno;
  convert(found, out);
  return 0;
}

int stat_entry(const Handle& folder, const char* name, Stat& out, Follow follow) {
  struct stat found;
  const int flags = follow == Follow::yes ? 0 : AT_SYMLINK_NOFOLLOW;
  if (fstatat(fd(folder), name, &found, flags) != 0) return -errno;
  convert(found, out);
  return 0;
}

int open_source_file(const Handle& folder, const char* name, Follow follow, bool& without_atime,
                     Handle& out) {
  // O_NONBLOCK: a FIFO that took the file's place must not hold a worker.
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | nofollow(follow);
  if (without_atime) {
    const int error = open_at(folder, name, flags | O_NOATIME, 0, out);
    if (error != -EPERM) return error;
    without_atime = false;  // somebody else's file
  }
  return open_at(folder, name, flags, 0, out);
}

int create_file(const Handle& folder, const char* name, uint32_t mode, Handle& out) {
  return open_at(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode, out);
}

int open_entry(const Handle& folder, const char* name, Follow follow, Handle& out) {
  return open_at(folder, name, O_PATH | O_CLOEXEC | nofollow(follow), 0, out);
}

int64_t read_link(const Handle& folder, const char* name, char* target, size_t size) {
  const ssize_t length = readlinkat(fd(folder), name, target, size);
  if (length < 0) return -errno;
  return static_cast<size_t>(length) < size ? length : -ENAMETOOLONG;
}

int make_link(const Handle& folder, const char* name, const char* target) {
  return symlinkat(target, fd(folder), name) == 0 ? 0 : -errno;
}

int make_special(const Handle& folder, const char* name, const Stat& source, uint32_t mode) {
  mode_t type = 0;
  switch (source.kind) {
    case Kind::fifo: type = S_IFIFO; break;
    case Kind::character_device: type = S_IFCHR; break;
    case Kind::block_device: type = S_IFBLK; break;
    default: return -EINVAL;
  }
  return mknodat(fd(folder), name, type | (mode & kPermissions), source.rdev) == 0 ? 0 : -errno;
}

int make_hard_link(const Handle& from_folder, const char* from, Follow follow, const Handle& folder,
                   const char* name) {
  const int flags = follow == Follow::yes ? AT_SYMLINK_FOLLOW : 0;
  return linkat(fd(from_folder), from, fd(folder), name, flags) == 0 ? 0 : -errno;
}

int rename_over(const Handle& folder, const char* from, const char* to) {
  return renameat(fd(folder), from, fd(folder), to) == 0 ? 0 : -errno;
}

int rename_new(const Handle& folder, const char* from, const char* to) {
  // glibc has a wrapper since 2.28 only.
  const long error = syscall(SYS_renameat2, fd(folder), from, fd(folder), to, RENAME_NOREPLACE);
  return error == 0 ? 0 : -errno;
}

int remove_file(const Handle& folder, const char* name) {
  return unlinkat(fd(folder), name, 0) == 0 ? 0 : -errno;
}

int remove_folder(const Handle& folder, const char* name) {
  return unlinkat(fd(folder), name, AT_REMOVEDIR) == 0 ? 0 : -errno;
}

// --- what an entry has beside its content -----------------------------------------------------

namespace {

/** Calls by descriptor or, for one that is good for nothing else (O_PATH), by /proc's name of it. */
template <class ByDescriptor, class ByName>
int64_t on_entry(const Handle& entry, ByDescriptor by_descriptor, ByName by_name) {
  int64_t result = by_descriptor(fd(entry));
  if (result < 0 && errno == EBADF) result = by_name(ProcName(entry).text);
  return result < 0 ? -errno : result;
}

}  // namespace

int set_mode(const Handle& entry, uint32_t mode) {
  return static_cast<int>(on_entry(
      entry, [&](int opened) { return fchmod(opened, mode); },
      [&](const char* name) { return chmod(name, mode); }));
}

int set_owner(const Handle& entry, uint32_t uid, uint32_t gid) {
  return fchownat(fd(entry), "", uid, gid, AT_EMPTY_PATH) == 0 ? 0 : -errno;
}

namespace {

/** Null: now. */
int give_times(const Handle& entry, const timespec* times) {
  return static_cast<int>(on_entry(
      entry, [&](int opened) { return futimens(opened, times); },
      [&](const char* name) { return utimensat(AT_FDCWD, name, times, 0); }));
}

}  // namespace

int set_times(const Handle& entry, Time accessed, Time modified) {
  const auto convert_time = [](Time time) {
    return timespec{static_cast<time_t>(time.seconds), static_cast<long>(time.nanoseconds)};
  };
  const timespec times[2] = {convert_time(accessed), convert_time(modified)};
  return give_times(entry, times);
}

int touch(const Handle& entry) { return give_times(entry, nullptr); }

int64_t list_attributes(const Handle& entry, char* names, size_t size) {
  return on_entry(
      entry, [&](int opened) { return flistxattr(opened, names, size); },
      [&](const char* name) { return listxattr(name, names, size); });
}

int64_t get_attribute(const Handle& entry, const char* name, char* value, size_t size) {
  return on_entry(
      entry, [&](int opened) { return fgetxattr(opened, name, value, size); },
      [&](const char* path) { return getxattr(path, name, value, size); });
}

int set_attribute(const Handle& entry, const char* name, const char* value, size_t size) {
  return static_cast<int>(on_entry(
      entry, [&](int opened) { return fsetxattr(opened, name, value, size, 0); },
      [&](const char* path) { return setxattr(path, name, value, size, 0); }));
}

int remove_attribute(const Handle& entry, const char* name) {
  return static_cast<int>(on_entry(
      entry, [&](int opened) { return fremovexattr(opened, name); },
      [&](const char* path) { return removexattr(path, name); }));
}

uint32_t group_permissions(const char* list, size_t size) {
  // linux/posix_acl_xattr.h: a version, then tag, permissions and id of each entry.
  constexpr size_t kHeader = 4, kEntry = 8;
  constexpr uint16_t kOwningGroup = 0x04, kMask = 0x10;
  uint32_t group = 0, mask = 7;
  for (size_t at = kHeader; at + kEntry <= size; at += kEntry) {
    uint16_t tag = 0, permissions = 0;
    std::memcpy(&tag, list + at, sizeof tag);
    std::memcpy(&permissions, list + at + sizeof tag, sizeof permissions);
    if (tag == kOwningGroup) group = permissions;
    if (tag == kMask) mask = permissions;
  }
  return group & mask & 7;
}

int sync(const Handle& file_or_folder) {
  if (fsync(fd(file_or_folder)) == 0) return 0;
  if (errno != EBADF) return -errno;
  Handle readable;  // a folder's handle that is good for nothing else
  if (const int error = open_source_folder(file_or_folder, ".", Follow::no, readable); error < 0) {
    return error;
  }
  return fsync(fd(readable)) == 0 ? 0 : -errno;
}

// --- content ---------------------------------------------------------------------------------

Attempt clone_file(const Handle& src, const Handle& dst) {
  if (retry([&] { return ioctl(fd(dst), FICLONE, fd(src)); }) == 0) return done(0);
  switch (errno) {
    case EOPNOTSUPP:  // the file system has no clones
    case ENOTTY:      // it knows no such ioctl
    case EXDEV:       // two file systems
    case ENOSYS: return not_here(true);
    case EINVAL:   // this file: other flags, a real-time device, not aligned
    case ETXTBSY:  // a swap file
    case EPERM:    // immutable, or a policy for this file
    case EACCES:
    case EBADF: return not_here(false);
    default:
      // EIO, ENOMEM, ENOSPC, EDQUOT and what else there is: going on risks a corrupt copy
      // (GNU cp, NEWS of 9.2).
      return failed();
  }
}

Attempt copy_range(const Handle& src, const Handle& dst, uint64_t offset, uint64_t length) {
  auto from = static_cast<off_t>(offset);
  auto to = static_cast<off_t>(offset);
  const ssize_t copied = retry([&] {
    return copy_file_range(fd(src), &from, fd(dst), &to, static_cast<size_t>(length), 0);
  });
  if (copied >= 0) return done(static_cast<uint64_t>(copied));
  switch (errno) {
    case EXDEV:       // two file systems, and none has a way across
    case ENOSYS:      // no such call
    case EOPNOTSUPP:  // the file system refuses
    case EPERM:       // CIFS, and seccomp profiles
      return not_here(true);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EROFS:
    case ENOMEM: return failed();
    default:
      // EINVAL, EIO, EACCES, ENOENT, EBADF, ETXTBSY …: methods of network and stacked file systems
      // report these where a plain read works. Where it does not, reading says so itself.
      return not_here(false);
  }
}

int64_t read_at(const Handle& file, char* buffer, size_t size, uint64_t offset) {
  return retry([&] { return pread(fd(file), buffer, size, static_cast<off_t>(offset)); });
}

int write_at(const Handle& file, const char* buffer, size_t size, uint64_t offset) {
  while (size > 0) {
    const ssize_t written =
        retry([&] { return pwrite(fd(file), buffer, size, static_cast<off_t>(offset)); });
    if (written < 0) return static_cast<int>(written);
    if (written == 0) return -EIO;
    buffer += written;
    size -= static_cast<size_t>(written);
    offset += static_cast<uint64_t>(written);
  }
  return 0;
}

int next_data(const Handle& file, uint64_t offset, uint64_t size, uint64_t& start, uint64_t& end) {
  start = end = size;
  const off_t data = lseek(fd(file), static_cast<off_t>(offset), SEEK_DATA);
  if (data < 0 && errno == ENXIO) return 0;
  if (data < 0) {
    if (errno != EINVAL && errno != EOPNOTSUPP && errno != ESPIPE) return -errno;
    start = offset;
    return 0;
  }
  const off_t hole = lseek(fd(file), data, SEEK_HOLE);
  if (hole < 0 && errno != ENXIO) return -errno;  // ENXIO: the file shrank in between
  start = std::min(static_cast<uint64_t>(data), size);
  end = hole < 0 ? start : std::min(static_cast<uint64_t>(hole), size);
  return 0;
}

int set_size(const Handle& file, uint64_t size) {
  return retry([&] { return ftruncate(fd(file), static_cast<off_t>(size)); });
}

void drop_cache(const Handle& file) {
  // Both say what they may, and what they cannot do there is nobody's error: fsync() is for that.
  constexpr unsigned kWritten =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  if (sync_file_range(fd(file), 0, 0, kWritten) == 0) {
    posix_fadvise(fd(file), 0, 0, POSIX_FADV_DONTNEED);
  }
}

// --- the process -----------------------------------------------------------------------------

ThreadUsage thread_usage() {
  struct rusage usage;
  if (getrusage(RUSAGE_THREAD, &usage) != 0) return {};
  const auto ns = [](const timeval& time) {
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<uint64_t>(time.tv_usec) * 1'000;
  };
  return {ns(usage.ru_utime) + ns(usage.ru_stime), static_cast<uint64_t>(usage.ru_inblock)};
}

int64_t free_descriptors() {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 64;
  int64_t open = 32;  // a guess, where /proc is not mounted
  if (const std::unique_ptr<DIR, int (*)(DIR*)> listing(opendir("/proc/self/fd"), closedir);
      listing) {
    open = 0;
    while (readdir(listing.get()) != nullptr) open++;
  }
  constexpr rlim_t kPlenty = 1 << 20;  // also what RLIM_INFINITY is taken for
  return static_cast<int64_t>(std::min(limit.rlim_cur, kPlenty)) - open;
}

unsigned processor_count() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
}

}  // namespace fastcp::platform
