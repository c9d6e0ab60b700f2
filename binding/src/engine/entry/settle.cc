#include "engine/entry/settle.h"

#include <cerrno>
#include <utility>

#include "engine/entry/metadata.h"
#include "engine/entry/open_file.h"

namespace fastcp {

using platform::Follow;
using platform::Handle;
using platform::Kind;
using platform::kPermissions;
using platform::kSetGid;
using platform::Stat;

namespace {

constexpr uint32_t kUnknownMode = UINT32_MAX;

/** Removes ACLs that the source does not have. Returns false on failure, which is reported. */
bool take_lists(Engine& engine, const Directory& directory, Names names, const Handle& dst,
                Kind kind, Given& given) {
  const int error = remove_inherited_acls(dst, kind);
  given.kept_list = error < 0;
  return error == 0 || engine.lose(directory, names, Loss::acls, error, "removexattr");
}

}  // namespace

bool Settling::lose(Loss loss, int error, const char* operation) const {
  return engine.lose(directory, names, loss, error, operation);
}

bool Settling::lose_mode(int error) {
  return error == 0 || std::exchange(has_lost_mode, true) || lose(Loss::mode, error, "fchmod");
}

bool Settling::narrow() {
  if (!is_present || !engine.options.preserve.mode || src.kind == Kind::symlink) return true;
  if (now.mode == kUnknownMode) return true;  // it was narrowed for the owner
  const bool is_directory = src.kind == Kind::directory;
  const uint32_t mode = now.mode & (is_directory ? kOwner | kSetGid : kOwner & src.mode);
  if (now.mode == mode) return true;
  now.mode = kUnknownMode;
  return lose_mode(set_mode(dst, src.kind, mode));
}

bool Settling::settle() { return settle_access() && settle_times(); }

bool Settling::settle_access() { return settle_owner() && settle_attributes() && settle_mode(); }

int Settling::set_owner(uint32_t uid) {
  int error = platform::set_owner(dst, uid, src.gid);
  Stat got;
  if (error == 0) error = platform::stat_handle(dst, got);
  if (error < 0) return error;
  now.uid = got.uid;
  now.gid = got.gid;
  return (uid == platform::kSameId || uid == got.uid) && got.gid == src.gid ? 0 : -EOPNOTSUPP;
}

bool Settling::settle_owner() {
  const Preserve& keep = engine.options.preserve;
  if (!keeps_owner(keep, src.kind) || owner_of(now) == owner_of(src)) return true;
  if (!narrow()) return false;
  const int error = set_owner(src.uid);
  if (error < 0 && keep.ownership) {
    if (!lose(Loss::ownership, error, "fchown")) return false;
    if (now.gid != src.gid) set_owner(platform::kSameId);
  }
  now.mode = kUnknownMode;
  return true;
}

bool Settling::settle_attributes() {
  if (is_present) {
    if (!engine.options.preserve.xattrs) return true;
    AttributeChanges changes;
    if (!find_changes(engine, directory, names, attributes, dst, changes)) return false;
    changes_attributes = !changes.extra.empty() || !changes.lacking.empty();
    if (changes.has_access_list() && !narrow()) return false;
    return make_changes(engine, directory, names, changes, attributes, dst, given);
  }
  if (!engine.options.preserve.xattrs) return true;
  const Directory& above = src.kind == Kind::directory ? directory.parent() : directory;
  if (src.kind != Kind::symlink && engine.options.preserve.mode &&
      inherits(engine.options.preserve, above)) {
    if (!take_lists(engine, directory, names, dst, src.kind, given)) return false;
    now.mode = kUnknownMode;
  }
  return give_attributes(engine, directory, names, attributes, dst, given);
}

bool Settling::settle_mode() {
  if (src.kind == Kind::symlink) return true;
  const Preserve& keep = engine.options.preserve;
  if (!keep.mode && replaced == nullptr) return true;
  Stat dest = now;
  dest.mode = mode_before;
  // Opening up the directory may have cost its setgid.
  if (src.kind == Kind::directory) dest.mode |= directory.dst_stat.mode & kSetGid;
  uint32_t mode = keep.mode ? final_mode(keep, src, dest) : mode_of_replaced();
  // With an ACL the mode shows the ACL's mask in the group bits. The group itself may have fewer
  // rights.
  if (given.lost_list) mode = (mode & ~070U) | (mode & given.group << 3);
  if (given.kept_list) mode &= ~070U | mode_before;  // its mask does not grow
  if (is_beginning) {
    // Its owner fills it. Setgid that only SRC has would change what is created in it.
    const uint32_t first = (mode & ~kSetGid) | kOwner | (dest.mode & mode & kSetGid);
    if (first != mode) later_mode = mode;
    mode = first;
  }
  if (now.mode == mode && !given.mode_changed) return true;
  const int error = give_mode(dst, src.kind, mode);
  if (error < 0) later_mode.reset();
  return lose_mode(error);
}

uint32_t Settling::mode_of_replaced() const {
  const uint32_t mode = replaced->stat.mode & kPermissions;
  const bool is_same_group =
      now.gid == replaced->stat.gid && replaced->has_list == has_access_list(dst);
  return is_same_group ? mode : mode & (~070U | (mode & 07) << 3);
}

bool Settling::settle_times() {
  if (!engine.options.preserve.timestamps) return true;
  if (has_times) return true;
  const int error = platform::set_times(dst, src.atime, src.mtime);
  return error == 0 || lose(Loss::timestamps, error, "utimensat");
}

bool settle_file(Engine& engine, OpenFile& file) {
  Directory& directory = *file.directory;
  const Preserve& keep = engine.options.preserve;
  Settling settling{engine, directory, file.names, file.stat, file.attributes, file.dst, Stat{}};

  if (file.replaced) settling.replaced = &*file.replaced;
  const bool only_mode = keep.mode && !keep.xattrs && !keeps_owner(keep, Kind::file);
  // umask, a default ACL and some file systems change the modes of new files. A mode that an earlier file of the directory kept is not
  // changed. The umask counts as well: it may have been another one for a moment when that file was created.
  const bool has_mode =
      only_mode && !file.cloned && !directory.is_base() &&
      file.stat.mode == directory.filling.kept_mode.load(std::memory_order_relaxed) &&
      (file.stat.mode & engine.umask()) == 0;
  if (!has_mode && (keep.mode || keep.xattrs || keeps_owner(keep, Kind::file) || file.replaced)) {
    Stat& made = settling.now;
    if (const int error = platform::stat_handle(file.dst, made); error < 0) {
      return engine.fail(directory, file.names, error, "fstat");
    }
    // The base stands for several directories. Another copy that syncs may have set SRC's user and group, or the group alone.
    const bool is_of_creation = (made.uid == engine.own.uid || made.uid != file.stat.uid) &&
                                (made.gid == engine.own.gid || made.gid != file.stat.gid);
    if (!directory.is_base() && !file.cloned && is_of_creation &&
        !directory.filling.owners_may_differ)
      directory.filling.new_owner.store(owner_of(made), std::memory_order_relaxed);
    if (only_mode && made.mode == file.stat.mode) directory.filling.kept_mode = made.mode;
    if (!settling.settle_access()) return false;
  }
  return settling.settle_times();
}

namespace {

/**
 * Opens both ends and sets the metadata of SRC's entry on DEST's, if `is_it(now)` confirms that the
 * entry is the same.
 */
template <class IsIt>
Settled settle_entry(Engine& engine, const Directory& directory, Names names, const Stat& src,
                     const char* name, bool is_present, IsIt is_it) {
  const auto fail = [&](int error, const char* operation) {
    engine.fail(directory, names, error, operation);
    return Settled::no;
  };
  Attributes attributes;
  Handle dst;
  Stat now;
  if (engine.options.preserve.xattrs && may_open(src.kind)) {
    Handle from;
    const int error =
        platform::open_entry(directory.src(), names.src, engine.options.traversal.follow(), from);
    if (error < 0) return fail(error, kOpenSource);
    if (!read_attributes(engine, directory, names, from, attributes)) return Settled::no;
  }
  int error = platform::open_entry(directory.dst(), name, Follow::no, dst);
  if (error < 0) return fail(error, kOpenDest);
  if (error = platform::stat_handle(dst, now); error < 0) return fail(error, "fstat");
  if (now.kind != src.kind || !is_it(now)) {
    fail(EBUSY, kReplaced);
    return Settled::replaced;
  }
  const bool has_times = is_present && is_same_time(src.mtime, now, time_step(directory, dst));
  Settling settling{engine, directory, names, src, attributes, dst, now, is_present, has_times};
  const bool flushes = is_present && src.kind == Kind::file && engine.options.content.fsync;
  Handle file;
  // Before the mode that it gets may deny that, or after the mode that it had did.
  int opened = flushes ? platform::open_to_sync(directory.dst(), name, file) : -EOPNOTSUPP;
  if (!settling.settle()) return Settled::no;
  if (opened == -EACCES) opened = platform::open_to_sync(directory.dst(), name, file);
  if (opened == -EOPNOTSUPP) return Settled::yes;
  if (opened < 0) return fail(opened, kOpenDest);
  error = platform::sync(file);
  return error < 0 ? fail(error, "fsync") : Settled::yes;
}

}  // namespace

Settled settle_other(Engine& engine, const Directory& directory, Names names, const Stat& src,
                     const char* made) {
  // The inode is unknown, but the entry is new. An entry with several hard links belongs to another
  // program.
  return settle_entry(engine, directory, names, src, made, false, [&](const Stat& now) {
    return now.link_count == 1 && (src.kind == Kind::symlink || now.rdev == src.rdev);
  });
}

bool settle_present(Engine& engine, const Directory& directory, Names names, const Stat& src,
                    const Stat& present) {
  return settle_entry(engine, directory, names, src, names.dst, true,
                      [&](const Stat& now) { return is_same_entry(now, present); }) == Settled::yes;
}

}  // namespace fastcp
