// Names, modes, flags and timestamps.

#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "linux.h"

namespace fastcp::platform {

using namespace model;

namespace {

timespec to_timespec(const statx_timestamp& time) {
  return {time.tv_sec, static_cast<long>(time.tv_nsec)};
}

int look(int directory, const char* name, int flags, const std::string& path, struct stat* out) {
  struct statx found;
  if (::statx(directory, name, flags, STATX_BASIC_STATS | STATX_BTIME, &found) != 0) return -1;
  *out = {makedev(found.stx_dev_major, found.stx_dev_minor),
          found.stx_ino,
          found.stx_mode,
          found.stx_nlink,
          found.stx_uid,
          found.stx_gid,
          makedev(found.stx_rdev_major, found.stx_rdev_minor),
          static_cast<off_t>(found.stx_size),
          static_cast<blkcnt_t>(found.stx_blocks),
          flags_of(path),
          to_timespec(found.stx_atime),
          to_timespec(found.stx_mtime),
          to_timespec(found.stx_ctime),
          to_timespec(found.stx_btime)};
  // The content is in an attribute (xnu: bsd/sys/decmpfs.h), or only in memory.
  if ((out->st_flags & UF_COMPRESSED) != 0 || get(path, kUnflushed)) out->st_blocks = 0;
  return 0;
}

bool is_locked(const std::string& path) { return (flags_of(path) & kLocks) != 0; }

/** unlink(2), rename(2): neither a locked entry nor one in a locked directory. */
bool is_fixed(int directory, const char* name) {
  return (flags_of(path_of(directory, name)) & (kLocks | SF_NOUNLINK)) != 0 ||
         is_locked(parent_of(directory, name));
}

/** An immutable directory takes no new entries; an append-only one does. */
bool takes_entries(int directory, const char* name) {
  return (flags_of(parent_of(directory, name)) & (UF_IMMUTABLE | SF_IMMUTABLE)) == 0;
}

}  // namespace

// fstat(2) does not know AT_FDCWD.
int fstat(int file, struct stat* out) {
  if (file < 0) return fail(EBADF);
  return look(file, "", AT_EMPTY_PATH, path_of(file), out);
}

int fstatat(int directory, const char* name, struct stat* out, int flags) {
  return look(directory, name, flags, path_of(directory, name), out);
}

// open(2). A handle opened with O_PATH takes the place of one for searching, and of one of a
// symlink: neither can be read from.
int openat(int directory, const char* name, int flags, mode_t mode) {
  if ((flags & O_SEARCH) != 0) {
    return ::openat(directory, name, (flags & ~O_SEARCH) | O_PATH | O_DIRECTORY);
  }
  if ((flags & O_CREAT) != 0 && !takes_entries(directory, name)) return fail(EPERM);
  if ((flags & (O_WRONLY | O_RDWR)) != 0 && is_locked(path_of(directory, name))) return fail(EPERM);
  if ((flags & O_SYMLINK) == 0) {
    const int opened = ::openat(directory, name, flags, mode);
    if (opened >= 0 && (flags & O_CREAT) != 0) {
      inherit(parent_of(directory, name), path_of(opened), false);
    }
    return opened;
  }
  const int opened = ::openat(directory, name, (flags & ~O_SYMLINK) | O_NOFOLLOW, mode);
  if (opened >= 0 || errno != ELOOP || (flags & O_NOFOLLOW) != 0) return opened;
  return ::openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

int mkdirat(int directory, const char* name, mode_t mode) {
  if (!takes_entries(directory, name)) return fail(EPERM);
  if (::mkdirat(directory, name, mode) != 0) return -1;
  inherit(parent_of(directory, name), path_of(directory, name), true);
  return 0;
}

int unlinkat(int directory, const char* name, int flags) {
  return is_fixed(directory, name) ? fail(EPERM) : ::unlinkat(directory, name, flags);
}

// link(2): EPERM for a file with an immutable or append-only flag.
int linkat(int from_directory, const char* from, int directory, const char* name, int flags) {
  if (is_locked(path_of(from_directory, from)) || !takes_entries(directory, name)) {
    return fail(EPERM);
  }
  return ::linkat(from_directory, from, directory, name, flags);
}

int renameat(int from_directory, const char* from, int directory, const char* to) {
  return renameatx_np(from_directory, from, directory, to, 0);
}

// rename(2): ENOTSUP if the file system does not support the flags.
int renameatx_np(int from_directory, const char* from, int directory, const char* to,
                 unsigned flags) {
  if (is_fixed(from_directory, from) || is_fixed(directory, to)) return fail(EPERM);
  if (flags == 0) return ::renameat(from_directory, from, directory, to);
  const unsigned how = (flags & RENAME_SWAP) != 0 ? 2 : 1;  // RENAME_EXCHANGE, RENAME_NOREPLACE
  const long result = syscall(SYS_renameat2, from_directory, from, directory, to, how);
  if (result != 0 && errno == EINVAL) errno = ENOTSUP;
  return static_cast<int>(result);
}

// xnu, vnode_authattr(): only members of the group may set setgid.
int fchmod(int file, mode_t mode) {
  struct ::stat found {};
  if ((mode & S_ISGID) != 0 && ::geteuid() != 0 && ::fstat(file, &found) == 0 &&
      found.st_gid != ::getegid() && ::group_member(found.st_gid) == 0) {
    return fail(EPERM);
  }
  if (is_locked(path_of(file))) return fail(EPERM);
  return on_entry(
      file, [&] { return ::fchmod(file, mode); },
      [&](const char* path) { return ::chmod(path, mode); });
}

int fchown(int file, uid_t uid, gid_t gid) {
  return is_locked(path_of(file)) ? fail(EPERM) : ::fchownat(file, "", uid, gid, AT_EMPTY_PATH);
}

int model_futimens(int file, const timespec* times) {
  if (is_locked(path_of(file))) return fail(EPERM);
  return on_entry(
      file, [&] { return ::futimens(file, times); },
      [&](const char* path) { return ::utimensat(AT_FDCWD, path, times, 0); });
}

// Timestamps of macOS are those of the clock. Linux's may be a few milliseconds older, so this waits
// until they are not.
int model_clock_gettime(clockid_t clock, timespec* out) {
  const int result = ::clock_gettime(clock, out);
  if (result != 0 || clock != CLOCK_REALTIME) return result;
  constexpr timespec kPause{0, 500'000};
  for (timespec stamps{};;) {
    ::clock_gettime(CLOCK_REALTIME_COARSE, &stamps);
    if (std::pair(stamps.tv_sec, stamps.tv_nsec) > std::pair(out->tv_sec, out->tv_nsec)) return 0;
    ::nanosleep(&kPause, nullptr);
  }
}

// F_GETPATH and F_GETPATH_NOFIRMLINK of fcntl(2). There are no firmlinks here.
int fcntl(int file, int /*command*/, char* path) {
  const ssize_t length = ::readlink(path_of(file).c_str(), path, MAXPATHLEN - 1);
  if (length < 0) return -1;
  path[length] = '\0';
  return 0;
}

}  // namespace fastcp::platform
