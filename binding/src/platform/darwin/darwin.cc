// macOS: the functions that posix.cc lacks. Clones are created as new files. There is no O_PATH, so
// entries are opened for reading. No system call copies a part of a file.

#include <copyfile.h>
#include <dlfcn.h>
#include <sys/attr.h>
#include <sys/clonefile.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

#include "platform/posix/posix.h"

namespace fastcp::platform {

// --- directories ---------------------------------------------------------------------------------

int open_target_directory(const Handle& parent, const char* name, Follow follow, Handle& out) {
  const int error = open_source_directory(parent, name, follow, out);
  if (error != -EACCES) return error;
  // A drop directory may deny reading. Systems that do not know the flag fail once more.
  return open_at(parent, name, O_SEARCH | O_CLOEXEC | nofollow(follow), 0, out);
}

namespace {

/** Reads a field that getattrlistbulk() wrote, which is packed to 4 bytes. */
template <class Field>
Field take(const char*& at) {
  Field field;
  std::memcpy(&field, at, sizeof field);
  at += sizeof field;
  return field;
}

/** `enum vtype` of <sys/vnode.h>, which the cross compiler lacks. */
Kind kind_of_type(fsobj_type_t type) {
  switch (type) {
    case 1: return Kind::file;
    case 2: return Kind::directory;
    case 3: return Kind::block_device;
    case 4: return Kind::character_device;
    case 5: return Kind::symlink;
    case 6: return Kind::socket;
    case 7: return Kind::fifo;
    default: return Kind::unknown;
  }
}

}  // namespace

int64_t read_listing(const Handle& directory, char* buffer, size_t size) {
  attrlist wanted{};
  wanted.bitmapcount = ATTR_BIT_MAP_COUNT;
  wanted.commonattr = ATTR_CMN_RETURNED_ATTRS | ATTR_CMN_NAME | ATTR_CMN_ERROR | ATTR_CMN_OBJTYPE;
  const int count = retry([&] { return getattrlistbulk(fd(directory), &wanted, buffer, size, 0); });
  if (count <= 0) return count;
  const char* at = buffer;
  for (int i = 0; i < count; i++) at += parse_listing(at).size;
  return at - buffer;
}

Listed parse_listing(const char* record) {
  // The order is the system's (getattrlist(2)): length, returned attributes, error, then in the
  // order of the bits.
  const char* at = record;
  Listed entry{"", Kind::unknown, take<uint32_t>(at)};
  const attrgroup_t there = take<attribute_set_t>(at).commonattr;
  if ((there & ATTR_CMN_ERROR) != 0) take<uint32_t>(at);  // a later look at the entry reports it
  if ((there & ATTR_CMN_NAME) != 0) {
    const char* reference = at;
    entry.name = reference + take<attrreference_t>(at).attr_dataoffset;
  }
  if ((there & ATTR_CMN_OBJTYPE) != 0) entry.kind = kind_of_type(take<fsobj_type_t>(at));
  return entry;
}

bool is_mount_point(const Handle& parent, const Handle& directory) {
  Stat above, found;
  return stat_handle(parent, above) == 0 && stat_handle(directory, found) == 0 &&
         above.dev != found.dev;
}

bool is_read_only(const Handle& directory) {
  struct statfs found;
  return check([&] { return fstatfs(fd(directory), &found); }) == 0 &&
         (found.f_flags & MNT_RDONLY) != 0;
}

bool is_append_only(const Handle& directory, const char* path) {
  struct stat found;
  return check([&] { return fstatat(fd(directory), path, &found, 0); }) == 0 &&
         (found.st_flags & (UF_APPEND | SF_APPEND)) != 0;
}

bool has_own_clock(const Handle& directory) {
  struct statfs found;
  // Other file systems are on servers, or do not store a ctime at every change.
  return check([&] { return fstatfs(fd(directory), &found); }) == 0 &&
         (found.f_flags & MNT_LOCAL) != 0 && std::string_view(found.f_fstypename) == "apfs";
}

uint64_t time_step(const Handle& directory) {
  constexpr uint64_t kSecond = 1'000'000'000;  // ns
  struct statfs found;
  if (check([&] { return fstatfs(fd(directory), &found); }) < 0) return 1;
  const std::string_view type = found.f_fstypename;
  if (type == "msdos") return 2 * kSecond;
  if (type == "hfs") return kSecond;
  if (type == "exfat") return kSecond / 100;
  return type == "smbfs" || type == "ntfs" ? 100 : 1;
}

int set_directory_mode(const Handle& directory, uint32_t mode) { return set_mode(directory, mode); }

// --- entries ---------------------------------------------------------------------------------

namespace {

// O_NONBLOCK: a FIFO must not block a worker.
constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

}  // namespace

int create_unnamed(const Handle& /*directory*/, const char* /*path*/, uint32_t /*mode*/,
                   Handle& /*out*/) {
  return -EOPNOTSUPP;
}

int name_file(const Handle& /*file*/, const Handle& /*directory*/, const char* /*name*/) {
  return -EOPNOTSUPP;
}

int open_unnamed(const Handle& /*file*/, Handle& /*out*/) { return -EOPNOTSUPP; }

int open_source_file(const Handle& directory, const char* name, Follow follow, bool& without_atime,
                     Handle& out) {
  without_atime = false;  // there is no O_NOATIME
  return open_at(directory, name, kReadFlags | nofollow(follow), 0, out);
}

int identify(const Handle& handle, Identity& out) {
  struct stat found;
  if (const int error = check([&] { return fstat(fd(handle), &found); }); error < 0) return error;
  out = {out.file_system, static_cast<uint64_t>(found.st_dev), found.st_ino,
         to_time(found.st_birthtimespec)};
  return 0;
}

uint64_t file_system(const Handle& /*handle*/) { return 0; }

bool exchange_renews_ctime(const Handle& /*directory*/) { return false; }

int open_entry(const Handle& directory, const char* name, Follow follow, Handle& out) {
  Stat found;
  if (const int error = stat_entry(directory, name, found, follow); error < 0) return error;
  switch (found.kind) {
    case Kind::character_device:  // opening one may have an effect
    case Kind::block_device:
    case Kind::socket: return -EOPNOTSUPP;
    default: break;
  }
  // O_SYMLINK opens a symlink itself; with O_NOFOLLOW that would fail.
  return open_at(directory, name, kReadFlags | (follow == Follow::yes ? 0 : O_SYMLINK), 0, out);
}

int make_special(const Handle& directory, const char* name, const Stat& source, uint32_t mode) {
  if (source.kind != Kind::fifo) return -EOPNOTSUPP;
  // macOS 13 has it. A plain reference would prevent loading the addon on older systems.
  using MakeFifo = int (*)(int, const char*, mode_t);
  static const auto make_fifo = reinterpret_cast<MakeFifo>(dlsym(RTLD_DEFAULT, "mkfifoat"));
  if (make_fifo == nullptr) return -EOPNOTSUPP;
  return check(
      [&] { return make_fifo(fd(directory), name, static_cast<mode_t>(mode & kPermissions)); });
}

// --- metadata of an entry ----------------------------------------------------------------------

int set_mode(const Handle& entry, uint32_t mode) {
  return check([&] { return fchmod(fd(entry), static_cast<mode_t>(mode)); });
}

int set_owner(const Handle& entry, uint32_t uid, uint32_t gid) {
  return check([&] { return fchown(fd(entry), uid, gid); });
}

int set_times(const Handle& entry, Time accessed, Time modified) {
  const timespec times[2] = {to_timespec(accessed), to_timespec(modified)};
  return check([&] { return futimens(fd(entry), times); });
}

int touch(const Handle& entry) {
  return check([&] { return futimens(fd(entry), nullptr); });
}

// Not F_FULLFSYNC, which also waits for a device's own cache, for seconds.
int sync(const Handle& file_or_directory) {
  return check([&] { return fsync(fd(file_or_directory)); });
}

// --- content ---------------------------------------------------------------------------------

const char* const clone_call = "clonefile";
const bool clones_are_created = true;
const bool writes_in_order = false;

Attempt clone_file(const Handle& /*src*/, const Handle& /*dst*/) {
  return {Attempt::not_here, false, EOPNOTSUPP, 0};
}

namespace {

/**
 * Opens a clone that was just created. Returns 0 or a negative errno; -EBUSY: the entry there is
 * not ours.
 */
int take_clone(const Handle& directory, const char* name, Handle& out) {
  if (const int error = open_at(directory, name, kReadFlags | O_NOFOLLOW, 0, out); error < 0) {
    return error;
  }
  struct stat made;
  if (const int error = check([&] { return fstat(fd(out), &made); }); error < 0) return error;
  // Another program may have put a hard link to an important file in its place, to have fastcp
  // change its mode.
  if (!S_ISREG(made.st_mode) || made.st_nlink != 1) return -EBUSY;
  constexpr uint32_t kLocks = UF_IMMUTABLE | UF_APPEND;
  if ((made.st_flags & kLocks) != 0) {
    const int error = check([&] { return fchflags(fd(out), made.st_flags & ~kLocks); });
    if (error < 0) return error;
  }
  return touch(out);
}

}  // namespace

int create_clone(const Handle& src, const Handle& directory, const char* name, Handle& out) {
  if (retry([&] { return fclonefileat(fd(src), fd(directory), name, CLONE_NOOWNERCOPY); }) < 0) {
    switch (errno) {
      case ENOTSUP:
      case EOPNOTSUPP:
      case EXDEV: return -EXDEV;
      case EINVAL:  // this file, or a policy for it
      case EPERM:
      case EACCES:
      case EBADF: return -EOPNOTSUPP;
      default: return failure();
    }
  }
  const int error = take_clone(directory, name, out);
  if (error == 0) return 0;
  out.close();
  if (error != -EBUSY) remove_file(directory, name);
  return error == -EACCES ? -EOPNOTSUPP : error;  // its mode denies reading
}

Attempt copy_range(const Handle& src, const Handle& dst, std::optional<uint64_t> offset,
                   uint64_t length) {
  // fcopyfile() copies whole files, from the positions of their file descriptors.
  Stat whole;
  if (offset.value_or(0) != 0 || stat_handle(src, whole) < 0 || whole.size > length ||
      lseek(fd(src), 0, SEEK_SET) != 0 || lseek(fd(dst), 0, SEEK_SET) != 0) {
    return {Attempt::not_here, false, EOPNOTSUPP, 0};
  }
  const std::unique_ptr<_copyfile_state, int (*)(copyfile_state_t)> state(copyfile_state_alloc(),
                                                                          copyfile_state_free);
  off_t copied = 0;
  if (state && fcopyfile(fd(src), fd(dst), state.get(), COPYFILE_DATA) == 0 &&
      copyfile_state_get(state.get(), COPYFILE_STATE_COPIED, &copied) == 0) {
    return {Attempt::done, false, 0, static_cast<uint64_t>(copied)};
  }
  switch (errno) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EROFS:
    case EIO:
    case ENOMEM: return {Attempt::failed, false, errno, 0};
    default:
      // EINTR also: the file descriptors have moved, so a second call would not begin at the start.
      return {Attempt::not_here, errno == ENOTSUP, errno, 0};
  }
}

// No call removes the pages of one file from memory. At least they are being written to the disk.
void drop_cache(const Handle& file) { sync(file); }

// --- the process -----------------------------------------------------------------------------

ThreadUsage thread_usage() {
  // The system counts reads of blocks only for the whole process.
  timespec used{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) != 0) return {};
  return {static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec),
          0};
}

Time change_time_floor() { return time_of(CLOCK_REALTIME); }

unsigned processor_count() {
  // APFS creates one entry of a volume at a time. More workers take longer, not less.
  constexpr long kUseful = 2;
  return static_cast<unsigned>(std::clamp(sysconf(_SC_NPROCESSORS_ONLN), 1L, kUseful));
}

}  // namespace fastcp::platform
