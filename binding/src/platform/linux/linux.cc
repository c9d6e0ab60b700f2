// Linux: the functions that posix.cc lacks.

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include "platform/linux/processors.h"
#include "platform/posix/posix.h"

namespace fastcp::platform {
namespace {

/** Whether this thread has one of the first 32 capabilities. */
bool has_capability(unsigned number) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> rights{};
  return syscall(SYS_capget, &header, rights.data()) == 0 &&
         (rights[0].effective & (1U << number)) != 0;
}

/** Tells the user namespace of this process from others; 0 without /proc. */
ino_t user_namespace() {
  struct stat found {};
  stat("/proc/self/ns/user", &found);
  return found.st_ino;
}

Attempt done(uint64_t bytes) { return {Attempt::done, false, 0, bytes}; }
Attempt not_here(bool lasting) { return {Attempt::not_here, lasting, errno, 0}; }
Attempt failed() { return {Attempt::failed, false, errno, 0}; }

/** The kernel's record. Only newer versions of libc's headers declare it. */
struct Record {
  uint64_t ino;
  int64_t next;
  uint16_t size;
  uint8_t type;
  char name[1];
};

/**
 * The name in /proc of a file descriptor of this thread. It reaches an O_PATH file descriptor's entry without
 * following a symlink.
 */
struct ProcName {
  char text[40];
  explicit ProcName(const Handle& handle) {
    std::snprintf(text, sizeof text, "/proc/thread-self/fd/%d", fd(handle));
  }
};

}  // namespace

int call_openat(int directory, const char* name, int flags, mode_t mode) {
  return static_cast<int>(syscall(SYS_openat, directory, name, flags | O_LARGEFILE, mode));
}

int call_close(int descriptor) { return static_cast<int>(syscall(SYS_close, descriptor)); }

// --- directories ---------------------------------------------------------------------------------

int open_target_directory(const Handle& parent, const char* name, Follow follow, Handle& out) {
  // O_PATH needs no read permission, which a drop directory may deny.
  return open_at(parent, name, O_PATH | O_DIRECTORY | O_CLOEXEC | nofollow(follow), 0, out);
}

int64_t read_listing(const Handle& directory, char* buffer, size_t size) {
  // glibc has a wrapper only since 2.30.
  return retry([&] { return syscall(SYS_getdents64, fd(directory), buffer, size); });
}

Listed parse_listing(const char* record) {
  const auto* entry = reinterpret_cast<const Record*>(record);
  return {entry->name,
          entry->type == DT_UNKNOWN ? Kind::unknown : kind_of_mode(DTTOIF(entry->type)),
          entry->size};
}

bool is_append_only(const Handle& directory, const char* path) {
#ifdef STATX_ATTR_APPEND
  struct statx known;
  return check([&] { return statx(fd(directory), path, 0, STATX_INO, &known); }) == 0 &&
         (known.stx_attributes & STATX_ATTR_APPEND) != 0;
#else
  return false;
#endif
}

int set_directory_mode(const Handle& directory, uint32_t mode) {
  Handle readable;  // fchmod() does not accept O_PATH
  const int error = open_source_directory(directory, ".", Follow::no, readable);
  if (error == 0) return check([&] { return fchmod(fd(readable), mode); });
  // The mode denies access even to the owner.
  if (error == -EACCES) return check([&] { return chmod(ProcName(directory).text, mode); });
  return error;
}

// --- entries ---------------------------------------------------------------------------------

int identify(const Handle& handle, Identity& out) {
#ifdef STATX_BTIME
  struct statx found;
  const auto look = [&] {
    return statx(fd(handle), "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &found);
  };
  if (check(look) == 0) {
    const uint64_t dev = makedev(found.stx_dev_major, found.stx_dev_minor);
    out = {out.file_system, dev, found.stx_ino, Time{}};
    if ((found.stx_mask & STATX_BTIME) != 0) {
      out.birth = {found.stx_btime.tv_sec, found.stx_btime.tv_nsec};
    }
    return 0;
  }
#endif
  // Before Linux 4.11, and where seccomp does not know statx().
  struct stat known;
  if (const int error = check([&] { return fstat(fd(handle), &known); }); error < 0) return error;
  out = {out.file_system, static_cast<uint64_t>(known.st_dev), known.st_ino, Time{}};
  return 0;
}

int create_unnamed(const Handle& directory, const char* path, uint32_t mode, Handle& out) {
  // Only /proc can give it a name.
  static const bool has_proc = access("/proc/thread-self/fd/", X_OK) == 0;
  if (!has_proc) return -EOPNOTSUPP;
  const int error = open_at(directory, path, O_WRONLY | O_TMPFILE | O_CLOEXEC, mode, out);
  return error == -EISDIR || error == -EINVAL ? -EOPNOTSUPP : error;
}

int name_file(const Handle& file, const Handle& directory, const char* name) {
  const int error = check([&] { return linkat(fd(file), "", fd(directory), name, AT_EMPTY_PATH); });
  if (error != -ENOENT) return error;
  // Before Linux 6.10 that needs a capability.
  const ProcName unnamed(file);
  return check(
      [&] { return linkat(AT_FDCWD, unnamed.text, fd(directory), name, AT_SYMLINK_FOLLOW); });
}

int open_unnamed(const Handle& file, Handle& out) {
  return open_at(Handle::working_directory(), ProcName(file).text, O_RDONLY | O_CLOEXEC, 0, out);
}

int open_source_file(const Handle& directory, const char* name, Follow follow, bool& without_atime,
                     Handle& out) {
  // O_NONBLOCK: a FIFO that replaced the file must not block a worker.
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | nofollow(follow);
  if (without_atime) {
    const int error = open_at(directory, name, flags | O_NOATIME, 0, out);
    if (error != -EPERM) return error;
    without_atime = false;  // another user's file
  }
  return open_at(directory, name, flags, 0, out);
}

const bool wakes_writers = false;

int open_entry(const Handle& directory, const char* name, Follow follow, Handle& out) {
  return open_at(directory, name, O_PATH | O_CLOEXEC | nofollow(follow), 0, out);
}

const int write_access = O_WRONLY;

void convert_own(const struct stat& from, Stat& to) {
  to.atime = to_time(from.st_atim);
  to.mtime = to_time(from.st_mtim);
  to.ctime = to_time(from.st_ctim);
}

int make_special(const Handle& directory, const char* name, const Stat& source, uint32_t mode) {
  mode_t type = 0;
  switch (source.kind) {
    case Kind::fifo: type = S_IFIFO; break;
    case Kind::character_device: type = S_IFCHR; break;
    case Kind::block_device: type = S_IFBLK; break;
    default: return -EINVAL;
  }
  const int error = check(
      [&] { return mknodat(fd(directory), name, type | (mode & kPermissions), source.rdev); });
  // A FUSE file system without special files (exfat-fuse) creates a regular file instead. Linux reports EIO then.
  struct stat made {};
  if (error != -EIO || fstatat(fd(directory), name, &made, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(made.st_mode) || made.st_size != 0)
    return error;
  unlinkat(fd(directory), name, 0);
  return -EPERM;
}

int rename_new(const Handle& directory, const char* from, const char* to) {
  // glibc has a wrapper only since 2.28.
  return check([&] {
    return syscall(SYS_renameat2, fd(directory), from, fd(directory), to, RENAME_NOREPLACE);
  });
}

// --- metadata of an entry ----------------------------------------------------------------------

namespace {

/** Calls by file descriptor. If the file descriptor is O_PATH, calls by its name in /proc. */
template <class ByDescriptor, class ByName>
int64_t on_entry(const Handle& entry, ByDescriptor by_descriptor, ByName by_name) {
  const int64_t result = retry([&] { return by_descriptor(fd(entry)); });
  return result == -EBADF ? retry([&] { return by_name(ProcName(entry).text); }) : result;
}

}  // namespace

int set_mode(const Handle& entry, uint32_t mode) {
  return static_cast<int>(on_entry(
      entry, [&](int opened) { return fchmod(opened, mode); },
      [&](const char* name) { return chmod(name, mode); }));
}

int set_owner(const Handle& entry, uint32_t uid, uint32_t gid) {
  return check([&] { return fchownat(fd(entry), "", uid, gid, AT_EMPTY_PATH); });
}

namespace {

/** Null means now. */
int give_times(const Handle& entry, const timespec* times) {
  return static_cast<int>(on_entry(
      entry, [&](int opened) { return futimens(opened, times); },
      [&](const char* name) { return utimensat(AT_FDCWD, name, times, 0); }));
}

}  // namespace

int set_times(const Handle& entry, Time accessed, Time modified) {
  const timespec times[2] = {to_timespec(accessed), to_timespec(modified)};
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

namespace {
thread_local bool table_is_own = false;
}

bool has_own_table() { return table_is_own; }

bool leave_shared_table() {
  // Docker permits this call and forbids unshare(2). Descriptors of the process are reached by /proc/self: open_again().
  constexpr long kCloseRange = 436;  // Linux 5.9; older headers have no names for it
  constexpr unsigned kUnshare = 2;   // CLOSE_RANGE_UNSHARE
  constexpr unsigned kFirst = 3;     // a message to standard error must not reach another file
  table_is_own = environment("FASTCP_SHARED_TABLE").empty() &&
                 access("/proc/self/fd/", X_OK) == 0 &&
                 syscall(kCloseRange, kFirst, ~0U, kUnshare) == 0;
  if (!table_is_own) return false;
  // Other ends of pipes must see that the process has closed its input or output. The numbers stay taken. Standard error is
  // needed for a last message.
  Handle nothing;
  if (open_at(Handle::working_directory(), "/dev/null", O_RDWR | O_CLOEXEC, 0, nothing) == 0)
    for (const int number : {STDIN_FILENO, STDOUT_FILENO}) dup3(fd(nothing), number, O_CLOEXEC);
  return true;
}

uint32_t creation_mask() {
  const std::unique_ptr<FILE, int (*)(FILE*)> status(std::fopen("/proc/self/status", "re"),
                                                     std::fclose);
  std::array<char, 256> line;
  unsigned mask = 0;
  while (status && std::fgets(line.data(), line.size(), status.get()) != nullptr) {
    if (std::sscanf(line.data(), "Umask: %o", &mask) == 1) return mask;
  }
  return 07777;  // before Linux 4.7, or without /proc
}

uint32_t attribute_view() {
  // Only processes that may administer the system itself see `trusted.*`. Only processes with
  // rights in it see `security.*`.
  const bool administers = has_capability(CAP_SYS_ADMIN);
  uint64_t view = user_namespace();
  view = (view * 0x100000001b3 ^ geteuid()) * 0x100000001b3 ^ (administers ? 1 : 0);
  return static_cast<uint32_t>(view ^ view >> 32) | 1;
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

int sync(const Handle& file_or_directory) {
  const int synced = check([&] { return fsync(fd(file_or_directory)); });
  if (synced != -EBADF) return synced;
  Handle readable;  // for a directory's handle opened with O_PATH
  if (const int error = open_source_directory(file_or_directory, ".", Follow::no, readable);
      error < 0) {
    return error;
  }
  return check([&] { return fsync(fd(readable)); });
}

// --- content ---------------------------------------------------------------------------------

Attempt clone_file(const Handle& src, const Handle& dst) {
  if (retry([&] { return ioctl(fd(dst), FICLONE, fd(src)); }) == 0) return done(0);
  switch (errno) {
    case EOPNOTSUPP:  // the file system has no clones
    case ENOTTY:      // the file system has no such ioctl
    case EXDEV:       // two file systems
    case ENOSYS: return not_here(true);
    case EINVAL:   // this file: other flags, a real-time device, or not aligned
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

const char* const clone_call = "ioctl(FICLONE)";
const bool clones_are_created = false;
const bool writes_in_order = false;
const bool open_directories_stay = false;

int create_clone(const Handle& /*src*/, const Handle& /*directory*/, const char* /*name*/,
                 WithAttributes /*with_attributes*/, WithOwner /*with_owner*/, Handle& /*out*/) {
  return -EOPNOTSUPP;
}

Attempt copy_range(const Handle& src, const Handle& dst, std::optional<uint64_t> offset,
                   uint64_t length) {
  auto from = static_cast<off_t>(offset.value_or(0));
  auto to = from;
  const ssize_t copied = retry([&] {
    return syscall(SYS_copy_file_range, fd(src), offset ? &from : nullptr, fd(dst),
                   offset ? &to : nullptr, static_cast<size_t>(length), 0U);
  });
  if (copied >= 0) return done(static_cast<uint64_t>(copied));
  switch (errno) {
    case EXDEV:       // two file systems, and neither supports that
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
      // EINVAL, EIO, EACCES, ENOENT, EBADF, ETXTBSY …: network and stacked file systems return
      // these although a plain read works. If a plain read fails, it reports that itself.
      return not_here(false);
  }
}

bool knows_holes(const Handle& /*file*/) { return true; }

void drop_cache(const Handle& file) {
  // Both calls are only advice, and a failure is no error. fsync() ensures that data is stored.
  constexpr unsigned kWritten =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  if (check([&] { return sync_file_range(fd(file), 0, 0, kWritten); }) == 0) {
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

// The clock of the kernel's timestamps, unless a finer time is asked for, which is later.
Time change_time_floor() { return time_of(CLOCK_REALTIME_COARSE); }

}  // namespace fastcp::platform
