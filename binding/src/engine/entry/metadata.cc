#include "engine/entry/metadata.h"

#include <cerrno>
#include <mutex>

namespace fastcp {

using platform::Follow;
using platform::Handle;
using platform::Kind;
using platform::kPermissions;
using platform::kSetGid;
using platform::kSetUid;
using platform::Stat;

int set_mode(const Handle& entry, Kind kind, uint32_t mode) {
  return kind == Kind::directory ? platform::set_directory_mode(entry, mode)
                                 : platform::set_mode(entry, mode);
}

int give_mode(const Handle& entry, Kind kind, uint32_t mode) {
  Stat got;
  // Another copy of SRC that sets the owner may narrow the mode between the call and the look.
  for (int tries = 0; tries < 2; tries++) {
    if (const int error = set_mode(entry, kind, mode); error < 0) return error;
    if (platform::stat_handle(entry, got) < 0 || got.mode == mode) return 0;
  }
  return (got.mode ^ mode) == kSetGid ? -EPERM : -EOPNOTSUPP;
}

uint32_t final_mode(const Preserve& keep, const Stat& src, const Stat& dst) {
  const bool is_directory = src.kind == Kind::directory;
  uint32_t mode = src.mode;
  if (keep.as_node && is_directory) return mode;
  if (src.uid != dst.uid) mode &= ~kSetUid;
  if (src.gid != dst.gid) mode &= ~kSetGid;
  if (is_directory && (!keep.ownership || src.gid != dst.gid)) mode |= dst.mode & kSetGid;
  return mode;
}

bool is_settled(const Preserve& keep, const Stat& src, const Stat& dst, uint64_t time_step) {
  const bool has_mode =
      !keep.mode || src.kind == Kind::symlink || dst.mode == final_mode(keep, src, dst);
  return has_mode && (!keep.timestamps || is_same_time(src.mtime, dst, time_step)) &&
         (!keep.ownership || owner_of(src) == owner_of(dst));
}

bool is_same_time(platform::Time src, const Stat& present, uint64_t step) {
  const platform::Time dst = present.mtime;
  if (src == dst) return true;
  constexpr int64_t kSecond = 1'000'000'000;  // ns
  // Unlike an mtime, which a program may have set to a whole second, a ctime is hardly ever one.
  const bool is_coarser = step == platform::kForeignStep && present.ctime.nanoseconds == 0;
  const auto unit = is_coarser ? kSecond : static_cast<int64_t>(step);
  const int64_t seconds = unit / kSecond, nanoseconds = unit % kSecond;
  if (seconds > 0) {
    return dst.nanoseconds == 0 &&
           dst.seconds == src.seconds - (src.seconds % seconds + seconds) % seconds;
  }
  return dst.seconds == src.seconds &&
         dst.nanoseconds == src.nanoseconds - src.nanoseconds % nanoseconds;
}

bool keeps_owner(const Preserve& keep, Kind kind) {
  return keep.ownership || (keep.as_node && kind == Kind::file);
}

bool expects_owner(const Preserve& keep, const Directory& directory, const Stat& src) {
  return !keeps_owner(keep, src.kind) ||
         directory.filling.new_owner.load(std::memory_order_relaxed) == owner_of(src);
}

bool inherits(const Preserve& keep, const Directory& directory) {
  if (directory.is_base() || !directory.has_dst()) return true;
  DestFacts& dest = directory.dest();
  std::call_once(dest.lists_learned, [&] {
    // A new directory's ACL comes from its parent, or from another copy (perhaps a shard) that sets SRC's at any time.
    const bool may_have = !directory.filling.fresh || inherits(keep, directory.parent());
    dest.inherits = (keep.xattrs && has_default_list(directory.src())) ||
                    (may_have && has_default_list(directory.dst()));
  });
  return dest.inherits;
}

uint32_t file_creation_mode(const Preserve& keep, const Directory& directory, const Stat& src,
                            const Attributes& attributes, bool owned) {
  constexpr uint32_t kUsual = 0666;
  if (!keep.mode) return kUsual;
  const uint32_t mode = src.mode & kPermissions;
  if (!attributes.empty()) return (mode & kOwner) | 0600;
  // An ACL inherited from DEST's directory stays until the content is complete. Until then it must
  // give access to nobody.
  if (keep.xattrs && inherits(keep, directory)) return mode & kOwner;
  return owned ? mode : mode & kOwner;
}

uint64_t time_step(const Directory& directory, const char* name) {
  if (directory.filling.route != nullptr) return directory.filling.route->time_step;
  Handle dst;
  const int error = platform::open_entry(directory.dst(), name, Follow::no, dst);
  return error < 0 ? 1 : platform::time_step(dst);
}

uint64_t time_step(const Directory& directory, const Handle& dst) {
  // The base stands for several directories.
  const Route* const route = directory.filling.route;
  return route == nullptr ? platform::time_step(dst) : route->time_step;
}

uint32_t directory_creation_mode(const Preserve& keep, const Stat& src) {
  if (!keep.mode) return kPermissions;
  // The group and ACL that get access are unknown until the owner and ACL are set: begin_directory().
  if (keep.ownership || keep.xattrs) return kOwner;
  return (src.mode & (kPermissions | platform::kSticky)) | kOwner;
}

}  // namespace fastcp
