// macOS: the functions that posix.cc lacks. Clones are created as new files. There is no O_PATH, so
// entries are opened for reading.

#include "platform/darwin/darwin.h"

#include <dlfcn.h>
#include <libproc.h>
#include <sys/attr.h>
#include <sys/clonefile.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace fastcp::platform {

// --- directories ---------------------------------------------------------------------------------

int call_openat(int directory, const char* name, int flags, mode_t mode) {
  return openat(directory, name, flags, mode);
}

int call_close(int descriptor) { return ::close(descriptor); }

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

bool volume_of(const Handle& entry, struct statfs& out) {
  return check([&] { return fstatfs(fd(entry), &out); }) == 0;
}

uint32_t creation_mask() { return 07777; }

bool is_read_only(const Handle& directory) {
  struct statfs found;
  return volume_of(directory, found) && (found.f_flags & MNT_RDONLY) != 0;
}

bool is_append_only(const Handle& directory, const char* path) {
  struct stat found;
  return check([&] { return fstatat(fd(directory), path, &found, 0); }) == 0 &&
         (found.st_flags & (UF_APPEND | SF_APPEND)) != 0;
}

bool has_own_clock(const Handle& directory) {
  struct statfs found;
  // Other file systems are on servers, or do not store a ctime at every change.
  return volume_of(directory, found) && (found.f_flags & MNT_LOCAL) != 0 &&
         std::string_view(found.f_fstypename) == "apfs";
}

uint64_t time_step(const Handle& directory) {
  constexpr uint64_t kSecond = 1'000'000'000;  // ns
  struct statfs found;
  if (!volume_of(directory, found)) return 1;
  const std::string_view type = found.f_fstypename;
  if (type == "msdos") return 2 * kSecond;
  if (type == "hfs") return kSecond;
  if (type == "exfat") return kSecond / 100;
  return type == "smbfs" || type == "ntfs" ? kForeignStep : 1;
}

// --- entries ---------------------------------------------------------------------------------

namespace {

// O_NONBLOCK: a FIFO must not block a worker.
constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

}  // namespace

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

const int write_access = O_RDWR;  // drop_cache() maps the file

void convert_own(const struct stat& from, Stat& to) {
  to.atime = to_time(from.st_atimespec);
  to.mtime = to_time(from.st_mtimespec);
  to.ctime = to_time(from.st_ctimespec);
  // The content is in an attribute: there are no blocks, but no holes either.
  if ((from.st_flags & UF_COMPRESSED) != 0) to.allocated = to.size;
}

// A FIFO counts its readers as soon as they open it, also with O_EVTONLY (xnu: fifo_open()).
const bool wakes_writers = true;

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
  const auto set = [&](uint32_t bits) {
    return check([&] { return fchmod(fd(entry), static_cast<mode_t>(bits)); });
  };
  const int error = set(mode);
  // An owner who is not in the group may not set setgid (xnu, vnode_authattr()). Linux sets the rest.
  return error == -EPERM && (mode & kSetGid) != 0 ? set(mode & ~kSetGid) : error;
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
const bool open_directories_stay = false;

Attempt clone_file(const Handle& /*src*/, const Handle& /*dst*/) {
  return {Attempt::not_here, false, EOPNOTSUPP, 0};
}

namespace {

/**
 * Returns whether a clone of the file would be an ordinary file. A clone has the file flags of its
 * source. Some forbid to change or remove it, even to its owner, and no other copy method preserves
 * any.
 */
bool has_plain_flags(const struct stat& src) {
  // Compressed content stays so in a clone. The system uses UF_TRACKED for itself.
  constexpr uint32_t kHarmless = UF_COMPRESSED | UF_TRACKED;
  return (src.st_flags & ~kHarmless) == 0;
}

/** A clone by the super-user has the owner of its source at once, unless a flag forbids that. */
bool gives_owner() { return geteuid() == 0; }

/**
 * Returns whether the mode of a new clone gives access to nobody whom the owner that it gets later
 * excludes.
 */
bool has_fit_mode(const struct stat& src, const Handle& directory, const char* name) {
  if ((src.st_mode >> 3 & 7) == (src.st_mode & 7)) return true;  // the group does not matter
  // New entries have the group of their directory (open(2)).
  const std::string path(name);
  const std::string above = path.substr(0, path.rfind('/') + 1) + '.';
  struct stat found;
  return src.st_uid == geteuid() &&
         check([&] { return fstatat(fd(directory), above.c_str(), &found, 0); }) == 0 &&
         src.st_gid == found.st_gid;
}

/**
 * Opens a clone that was just created. Returns 0 or a negative errno; -EBUSY: the entry there is
 * not ours.
 */
int take_clone(const Handle& directory, const char* name, WithAttributes with_attributes,
               Handle& out) {
  if (const int error = open_at(directory, name, kReadFlags | O_NOFOLLOW, 0, out); error < 0) {
    return error;
  }
  Stat made;
  if (const int error = stat_handle(out, made); error < 0) return error;
  // Another program may have put a hard link to an important file in its place, to have fastcp
  // change its mode.
  if (made.kind != Kind::file || made.link_count != 1) return -EBUSY;
  const int error = remove_attributes_of_clone(out, with_attributes);
  return error < 0 ? error : touch(out);
}

}  // namespace

int create_clone(const Handle& src, const Handle& directory, const char* name,
                 WithAttributes with_attributes, WithOwner with_owner, Handle& out) {
  struct stat source;
  if (check([&] { return fstat(fd(src), &source); }) < 0 || !has_plain_flags(source)) {
    return -EOPNOTSUPP;
  }
  const bool root_gives_owner = with_owner == WithOwner::yes && gives_owner();
  if (with_owner == WithOwner::yes && !root_gives_owner && !has_fit_mode(source, directory, name)) {
    return -EOPNOTSUPP;
  }
  const uint32_t flags = root_gives_owner ? 0 : CLONE_NOOWNERCOPY;
  if (retry([&] { return fclonefileat(fd(src), fd(directory), name, flags); }) < 0) {
    switch (errno) {
      case EXDEV: return -EXDEV;
      case ENOTSUP:  // this file, or all of the volume
      case EOPNOTSUPP: return has_clones(src) ? -EOPNOTSUPP : -EXDEV;
      case EINVAL:  // this file, or a policy for it
      case EPERM:
      case EACCES:
      case EBADF: return -EOPNOTSUPP;
      default: return failure();
    }
  }
  const int error = take_clone(directory, name, with_attributes, out);
  if (error == 0) return 0;
  out.close();
  if (error != -EBUSY) remove_file(directory, name);
  // Its mode denies reading, or removing attributes.
  return error == -EACCES ? -EOPNOTSUPP : error;
}

// No system call copies a part of a file. fcopyfile() reads and writes in the same way as fastcp,
// with more system calls for each file.
Attempt copy_range(const Handle& /*src*/, const Handle& /*dst*/, std::optional<uint64_t> /*offset*/,
                   uint64_t /*length*/) {
  return {Attempt::not_here, true, EOPNOTSUPP, 0};
}

bool knows_holes(const Handle& file) {
  Stat found;
  // APFS reports holes where data is that is only in memory, and too few blocks. So the file is
  // flushed first.
  return stat_handle(file, found) == 0 && found.allocated < found.size && sync(file) == 0;
}

void drop_cache(const Handle& file) {
  Stat found;
  if (sync(file) < 0 || stat_handle(file, found) < 0 || found.size == 0) return;
  // F_NOCACHE would still read what is in memory. msync() can throw it away.
  const size_t size = found.size;
  void* pages = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd(file), 0);
  if (pages == MAP_FAILED) return;
  msync(pages, size, MS_SYNC | MS_INVALIDATE);
  munmap(pages, size);
}

// --- the process -----------------------------------------------------------------------------

ThreadUsage thread_usage() {
  timespec used{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) != 0) return {};
  rusage_info_v2 process{};
  constexpr uint64_t kBlock = 512;  // bytes
  if (proc_pid_rusage(getpid(), RUSAGE_INFO_V2, reinterpret_cast<rusage_info_t*>(&process)) != 0) {
    process = {};
  }
  return {static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec),
          process.ri_diskio_bytesread / kBlock};
}

Time change_time_floor() { return time_of(CLOCK_REALTIME); }

// APFS creates one entry of a volume at a time: pnpm measured 6,088 entries per second with one
// thread, and 4,035 with four (pnpm issue 14248). That two workers are best while the source is
// cached, and four while they wait for a device, is a guess that nobody has measured.
unsigned processor_count() {
  constexpr long kCached = 2;
  return static_cast<unsigned>(std::clamp(sysconf(_SC_NPROCESSORS_ONLN), 1L, kCached));
}

const unsigned most_waiting_workers = 4;

}  // namespace fastcp::platform
