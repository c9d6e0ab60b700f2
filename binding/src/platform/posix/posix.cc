// Code that Linux and macOS share. Every path is one name relative to an open directory, and
// symlinks are followed only if the caller says so. So long paths need no room, and nobody can lead
// a copy astray by a symlink.

#include "platform/posix/posix.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigfillset()
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace fastcp::platform {
namespace {

void convert(const struct stat& from, Stat& to) {
  to.dev = static_cast<uint64_t>(from.st_dev);
  to.ino = from.st_ino;
  to.size = static_cast<uint64_t>(from.st_size);
  to.allocated = static_cast<uint64_t>(from.st_blocks) * 512;
  to.rdev = static_cast<uint64_t>(from.st_rdev);
  to.link_count = from.st_nlink;
  to.uid = from.st_uid;
  to.gid = from.st_gid;
  to.mode = from.st_mode & 07777;
  to.kind = kind_of_mode(from.st_mode);
  convert_own(from, to);
}

/** Whether the table of descriptors belongs to another thread, the one that started this one. Only assertions read it. */
thread_local bool is_guest = false;

}  // namespace

int open_at(const Handle& directory, const char* name, int flags, mode_t mode, Handle& out) {
  assert(
      !is_guest);  // it knows neither whose numbers the table has nor how many its owner has counted
  const int opened = retry([&] { return call_openat(fd(directory), name, flags, mode); });
  if (opened < 0) return opened;
  out = Handle(opened);
  return 0;
}

Kind kind_of_mode(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG: return Kind::file;
    case S_IFDIR: return Kind::directory;
    case S_IFLNK: return Kind::symlink;
    case S_IFIFO: return Kind::fifo;
    case S_IFCHR: return Kind::character_device;
    case S_IFBLK: return Kind::block_device;
    case S_IFSOCK: return Kind::socket;
    default: return Kind::unknown;
  }
}

// --- Handle ----------------------------------------------------------------------------------

Handle& Handle::operator=(Handle&& other) noexcept {
  if (this != &other) {
    close();
    raw_ = other.raw_;
    other.raw_ = kNone;
  }
  return *this;
}

Handle Handle::working_directory() { return Handle(AT_FDCWD); }

int Handle::close() {
  const auto raw = static_cast<int>(std::exchange(raw_, kNone));
  // Not repeated on EINTR: the file descriptor is closed by then.
  return raw >= 0 && call_close(raw) != 0 ? failure() : 0;
}

// --- directories ---------------------------------------------------------------------------------

namespace {

int open_to_list(int parent, const char* name, Follow follow, Handle& out) {
  assert(!is_guest);
  const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | nofollow(follow);
  int opened = -EPERM;
#ifdef O_NOATIME
  opened = retry([&] { return call_openat(parent, name, flags | O_NOATIME, 0); });
#endif
  // Another user's directory, or a system that always changes the atime.
  if (opened == -EPERM) opened = retry([&] { return call_openat(parent, name, flags, 0); });
  if (opened < 0) return opened;
  out = Handle(opened);
  return 0;
}

}  // namespace

int open_source_directory(const Handle& parent, const char* name, Follow follow, Handle& out) {
  return open_to_list(fd(parent), name, follow, out);
}

int open_source_parent(const Handle& directory, Handle& out) {
  return open_source_directory(directory, "..", Follow::no, out);
}

int open_target_parent(const Handle& directory, Handle& out) {
  return open_target_directory(directory, "..", Follow::no, out);
}

int make_directory(const Handle& parent, const char* name, uint32_t mode) {
  return check([&] { return mkdirat(fd(parent), name, static_cast<mode_t>(mode)); });
}

// --- entries ---------------------------------------------------------------------------------

int stat_handle(const Handle& handle, Stat& out) {
  struct stat found;
  if (const int error = check([&] { return fstat(fd(handle), &found); }); error < 0) return error;
  convert(found, out);
  return 0;
}

int stat_entry(const Handle& directory, const char* name, Stat& out, Follow follow) {
  struct stat found;
  const int flags = follow == Follow::yes ? 0 : AT_SYMLINK_NOFOLLOW;
  const int error = check([&] { return fstatat(fd(directory), name, &found, flags); });
  if (error < 0) return error;
  convert(found, out);
  return 0;
}

int create_file(const Handle& directory, const char* name, uint32_t mode, Handle& out) {
  constexpr int kFlags = O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  return open_at(directory, name, write_access | kFlags, static_cast<mode_t>(mode), out);
}

int64_t read_symlink(const Handle& directory, const char* name, char* target, size_t size,
                     LinkKind& /*kind*/) {
  const ssize_t length = retry([&] { return readlinkat(fd(directory), name, target, size); });
  if (length < 0) return length;
  return static_cast<size_t>(length) < size ? length : -ENAMETOOLONG;
}

int make_symlink(const Handle& directory, const char* name, const char* target, LinkKind /*kind*/) {
  return check([&] { return symlinkat(target, fd(directory), name); });
}

int make_hard_link(const Handle& from_directory, const char* from, Follow follow,
                   const Handle& directory, const char* name) {
  const int flags = follow == Follow::yes ? AT_SYMLINK_FOLLOW : 0;
  return check([&] { return linkat(fd(from_directory), from, fd(directory), name, flags); });
}

int rename_over(const Handle& directory, const char* from, const char* to) {
  return check([&] { return renameat(fd(directory), from, fd(directory), to); });
}

uint32_t own_user() { return geteuid(); }

uint32_t own_group() { return getegid(); }

int remove_file(const Handle& directory, const char* name) {
  return check([&] { return unlinkat(fd(directory), name, 0); });
}

int remove_directory(const Handle& directory, const char* name) {
  return check([&] { return unlinkat(fd(directory), name, AT_REMOVEDIR); });
}

// --- content ---------------------------------------------------------------------------------

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
  const off_t data = retry([&] { return lseek(fd(file), static_cast<off_t>(offset), SEEK_DATA); });
  if (data == -ENXIO) return 0;
  if (data < 0) {
    // ENOTTY: HFS+.
    if (data != -EINVAL && data != -EOPNOTSUPP && data != -ESPIPE && data != -ENOTTY) {
      return static_cast<int>(data);
    }
    start = offset;
    return 0;
  }
  const off_t hole = retry([&] { return lseek(fd(file), data, SEEK_HOLE); });
  if (hole < 0 && hole != -ENXIO) return static_cast<int>(hole);
  start = std::min(static_cast<uint64_t>(data), size);
  // No range of data is empty, but Linux says so of preallocated blocks that were just written and
  // are smaller than a page. ENXIO: the file shrank in between. In both cases only reading tells, at first of the largest page.
  constexpr uint64_t kPage = 64 << 10;  // bytes
  const uint64_t known = hole > data ? static_cast<uint64_t>(hole) : start + kPage;
  end = std::min(known, size);
  return 0;
}

int set_size(const Handle& file, uint64_t size) {
  return check([&] { return ftruncate(fd(file), static_cast<off_t>(size)); });
}

void allow_holes(const Handle& /*file*/) {}  // they are always allowed

// --- the rest --------------------------------------------------------------------------------

int try_lock(intptr_t directory, bool exclusive) {
  const int kind = exclusive ? LOCK_EX : LOCK_SH;
  return check([&] { return flock(static_cast<int>(directory), kind | LOCK_NB); });
}

bool has_inode(intptr_t descriptor, uint32_t inode) {
  struct stat there;
  const int error = check([&] { return fstat(static_cast<int>(descriptor), &there); });
  return error < 0 ? error != -EBADF : static_cast<uint32_t>(there.st_ino) == inode;
}

bool is_locked(const Handle& entry) { return try_lock(fd(entry), true) == -EWOULDBLOCK; }

int open_again(intptr_t descriptor, Handle& out) {
  const auto held = static_cast<int>(descriptor);
  if (!has_own_table()) return open_to_list(held, ".", Follow::no, out);
  // The number is one of the process's table.
  const std::string path = "/proc/self/fd/" + std::to_string(held);
  return open_to_list(AT_FDCWD, path.c_str(), Follow::yes, out);
}

namespace {

struct Start {
  void (*run)(void*);
  void* argument;
  bool is_guest;
};

void* run_thread(void* start) {
  const Start given = *std::unique_ptr<Start>(static_cast<Start*>(start));
  is_guest = given.is_guest;
  given.run(given.argument);
  return nullptr;
}

}  // namespace

int start_thread(void (*run)(void*), void* argument) {
  constexpr size_t kStack = 1 << 20;  // bytes; musl gives 128 KiB, macOS 512
  pthread_attr_t how;
  std::unique_ptr<Start> start(new (std::nothrow) Start{run, argument, has_own_table()});
  if (start == nullptr) return -ENOMEM;
  if (const int error = pthread_attr_init(&how); error != 0) return -error;
  pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&how, kStack);
  sigset_t all, before;
  sigfillset(&all);
  // A thread's own faults are not sent to others, and a sanitizer reports them.
  for (const int fault : {SIGBUS, SIGFPE, SIGILL, SIGSEGV}) sigdelset(&all, fault);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the thread gets it
  pthread_t thread{};
  const int error = pthread_create(&thread, &how, run_thread, start.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&how);
  if (error == 0) static_cast<void>(start.release());  // run_thread() takes it over
  return -error;
}

Time change_time_ceiling() { return time_of(CLOCK_REALTIME); }

int64_t free_descriptors() {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 64;
  constexpr rlim_t kMany = 1 << 14, kPlenty = 1 << 20;  // the latter also for RLIM_INFINITY
  const auto most = static_cast<int64_t>(std::min(limit.rlim_cur, kPlenty));
  if (limit.rlim_cur >= kMany) return most / 2;  // to count them takes longer than it is worth
  int64_t open = 32;                             // a guess, if neither is mounted
  for (const char* path : {"/proc/self/fd", "/dev/fd"}) {
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(opendir(path), closedir);
    if (!listing) continue;
    open = 0;
    while (readdir(listing.get()) != nullptr) open++;
    break;
  }
  return most - open;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// --- paths -----------------------------------------------------------------------------------

size_t root_length(std::string_view path) { return path.starts_with('/') ? 1 : 0; }

int open_to_sync(const Handle& directory, const char* name, Handle& out) {
  bool without_atime = true;
  return open_source_file(directory, name, Follow::no, without_atime, out);
}

}  // namespace fastcp::platform
