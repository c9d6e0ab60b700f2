#include "engine/entry/metadata.h"

#include <cerrno>

#include "engine/entry/mark.h"
#include "engine/entry/open_file.h"

namespace fastcp {
namespace {

using platform::Follow;
using platform::Handle;
using platform::Kind;
using platform::kPermissions;
using platform::kSetGid;
using platform::kSetUid;
using platform::Stat;

constexpr uint32_t kUnknownMode = UINT32_MAX;

Owner owner_of(const Stat& stat) { return {stat.uid, stat.gid}; }

/** Removes ACLs that the source does not have. Returns false on failure, which is reported. */
bool take_lists(Engine& engine, const Directory& directory, Names names, const Handle& dst,
                Kind kind, Given& given) {
  const int error = remove_inherited_acls(dst, kind);
  given.kept_list = error < 0;
  return error == 0 || engine.lose(directory, names, Loss::acls, error, "removexattr");
}

int set_mode(const Handle& entry, Kind kind, uint32_t mode) {
  return kind == Kind::directory ? platform::set_directory_mode(entry, mode)
                                 : platform::set_mode(entry, mode);
}

/** Sets the metadata of one entry. */
struct Settling {
  Engine& engine;
  const Directory& directory;
  Names names;
  const Stat& src;
  const Attributes& attributes;
  const Handle& dst;
  Stat now;                 // the copy's present state
  bool is_present = false;  // DEST had it before
  bool has_times = false;
  bool changes_attributes = false;     // only if is_present
  Given given{};                       // the effects of its attributes
  const Replaced* replaced = nullptr;  // see OpenFile
  bool has_lost_mode = false;
  const uint32_t mode_before = now.mode;

  [[nodiscard]] bool lose(Loss loss, int error, const char* operation) const {
    return engine.lose(directory, names, loss, error, operation);
  }

  bool lose_mode(int error) {
    return error == 0 || std::exchange(has_lost_mode, true) || lose(Loss::mode, error, "fchmod");
  }

  /**
   * Narrows the mode before the owner or ACL of an existing entry changes. Otherwise the entry
   * would meanwhile give access to users who have it neither before nor afterwards. If a later step fails, it stays narrow.
   */
  bool narrow() {
    if (!is_present || !engine.options.preserve.mode || src.kind == Kind::symlink) return true;
    if (now.mode == kUnknownMode) return true;  // it was narrowed for the owner
    const bool is_directory = src.kind == Kind::directory;
    const uint32_t mode = now.mode & (is_directory ? kOwner | kSetGid : kOwner & src.mode);
    if (now.mode == mode) return true;
    now.mode = kUnknownMode;
    return lose_mode(set_mode(dst, src.kind, mode));
  }

  /** Sets everything in this order. Returns false on failure, which is reported. */
  bool settle() { return settle_access() && settle_times(); }
  bool settle_access() { return settle_owner() && settle_attributes() && settle_mode(); }

  /** Sets a user and SRC's group, and looks at them: some file systems report success and set nothing. */
  int set_owner(uint32_t uid) {
    int error = platform::set_owner(dst, uid, src.gid);
    Stat got;
    if (error == 0) error = platform::stat_handle(dst, got);
    if (error < 0) return error;
    now.uid = got.uid;
    now.gid = got.gid;
    return (uid == platform::kSameId || uid == got.uid) && got.gid == src.gid ? 0 : -EOPNOTSUPP;
  }

  /**
   * Also sets the group alone: the user may set the group even if setting the owner is forbidden.
   */
  bool settle_owner() {
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

  bool settle_attributes() {
    if (is_present) {
      if (!engine.options.preserve.xattrs) return true;
      AttributeChanges changes;
      if (!find_changes(engine, directory, names, attributes, dst, changes)) return false;
      changes_attributes = !changes.extra.empty() || !changes.lacking.empty();
      if (changes.has_access_list() && !narrow()) return false;
      return make_changes(engine, directory, names, changes, attributes, dst, given);
    }
    if (!engine.options.preserve.xattrs) return true;
    // A directory's inherited ACL is handled when the directory is created.
    if (src.kind != Kind::symlink && src.kind != Kind::directory && engine.options.preserve.mode &&
        inherits(engine.options.preserve, directory)) {
      if (!take_lists(engine, directory, names, dst, src.kind, given)) return false;
      now.mode = kUnknownMode;
    }
    return give_attributes(engine, directory, names, attributes, dst, given);
  }

  bool settle_mode() {
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
    if (now.mode == mode && !given.mode_changed) return true;
    return lose_mode(give_mode(dst, src.kind, mode));
  }

  /** Returns the permissions of the file that the copy replaces. With another group or ACL, the group gets no more than everybody. */
  [[nodiscard]] uint32_t mode_of_replaced() const {
    const uint32_t mode = replaced->stat.mode & kPermissions;
    const bool is_same_group =
        now.gid == replaced->stat.gid && replaced->has_list == has_access_list(dst);
    return is_same_group ? mode : mode & (~070U | (mode & 07) << 3);
  }

  bool settle_times() {
    if (!engine.options.preserve.timestamps) return true;
    if (has_times) return true;
    const int error = platform::set_times(dst, src.atime, src.mtime);
    return error == 0 || lose(Loss::timestamps, error, "utimensat");
  }
};

}  // namespace

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

// --- files -----------------------------------------------------------------------------------

bool keeps_owner(const Preserve& keep, Kind kind) {
  return keep.ownership || (keep.as_node && kind == Kind::file);
}

bool expects_owner(const Preserve& keep, const Directory& directory, const Stat& src) {
  return !keeps_owner(keep, src.kind) ||
         directory.new_files.owner.load(std::memory_order_relaxed) == owner_of(src);
}

bool inherits(const Preserve& keep, const Directory& directory) {
  if (directory.is_base() || !directory.has_dst()) return true;
  DestFacts& dest = directory.dest();
  std::call_once(dest.lists_learned, [&] {
    // A new directory's ACL comes from its parent, or from another copy (perhaps a shard) that sets SRC's at any time.
    const bool may_have = !directory.fresh || inherits(keep, directory.parent());
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
      file.stat.mode == directory.new_files.kept_mode.load(std::memory_order_relaxed) &&
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
        !directory.new_files.owners_may_differ)
      directory.new_files.owner.store(owner_of(made), std::memory_order_relaxed);
    if (only_mode && made.mode == file.stat.mode) directory.new_files.kept_mode = made.mode;
    if (!settling.settle_access()) return false;
  }
  return settling.settle_times();
}

// --- symlinks, FIFOs and devices -----------------------------------------------------------------

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

uint64_t time_step(const Directory& directory, const char* name) {
  if (directory.route != nullptr) return directory.route->time_step;
  Handle dst;
  const int error = platform::open_entry(directory.dst(), name, Follow::no, dst);
  return error < 0 ? 1 : platform::time_step(dst);
}

uint64_t time_step(const Directory& directory, const Handle& dst) {
  // The base stands for several directories.
  return directory.route == nullptr ? platform::time_step(dst) : directory.route->time_step;
}

// --- directories ---------------------------------------------------------------------------------

uint32_t directory_creation_mode(const Preserve& keep, const Stat& src) {
  if (!keep.mode) return kPermissions;
  // The group and ACL that get access are unknown until the owner and ACL are set, at the end.
  if (keep.ownership || keep.xattrs) return kOwner;
  return (src.mode & (kPermissions | platform::kSticky)) | kOwner;
}

int begin_directory(const Engine& engine, Directory& directory) {
  const Preserve& keep = engine.options.preserve;
  const Content& content = engine.options.content;
  if (directory.fresh || keep.existing_directories) {
    const bool has_mode =
        directory.dst_stat.mode == final_mode(keep, directory.src_stat, directory.dst_stat);
    directory.due.metadata =
        (keep.mode && !has_mode) || keep.timestamps || keep.ownership || keep.xattrs;
  }
  directory.due.metadata |=
      keep.existing_directory_times || content.fsync || directory.due.opened_up;
  // New files have the process's group, or the directory's if that has setgid (macOS: always). Another copy of SRC may set the
  // owner and mode of SRC's directory at any time.
  const Stat &src = directory.src_stat, &dst = directory.dst_stat;
  const bool keeps_owners = keeps_owner(keep, Kind::file);
  const bool is_own =
      keeps_owners && directory.fresh && owner_of(dst) == engine.own && (dst.mode & kSetGid) == 0;
  const bool may_differ = !is_own && ((src.mode | dst.mode) & kSetGid) != 0;
  directory.new_files.owners_may_differ = keeps_owners && (src.gid != dst.gid || may_differ);
  if (!directory.fresh) return 0;
  if (is_own && !directory.new_files.owners_may_differ) directory.new_files.owner = owner_of(dst);
  const bool may_have_lists = keep.xattrs && keep.mode && inherits(keep, directory.parent());
  return may_have_lists ? remove_inherited_acls(directory.dst(), Kind::directory) : 0;
}

namespace {

/**
 * Returns whether a copy that syncs reports setting the metadata of a directory. It does not for a
 * new one.
 */
bool reports_metadata(const Options& options, const Directory& directory) {
  return options.incremental.sync && !directory.fresh && options.preserve.existing_directories;
}

/**
 * Compares with the state when the copy reached the directory. Since then the copy itself may have
 * changed mtime and mode.
 */
bool had_other_stat(const Preserve& keep, const Directory& directory) {
  return !is_settled(keep, directory.src_stat, directory.dst_stat,
                     time_step(directory, directory.dst()));
}

void note_metadata(Engine& engine, const Directory& directory) {
  engine.note(directory.parent(), directory.names(), Action::metadata, Kind::directory);
}

/**
 * Sets the metadata of SRC on a directory. Returns false on failure, which is reported. `list_set`: it has got SRC's ACL.
 */
bool set_metadata(Engine& engine, Directory& directory, bool& list_set) {
  const Preserve& keep = engine.options.preserve;
  const Names none{nullptr, nullptr};
  if (directory.fresh || keep.existing_directories) {
    Attributes attributes;
    Stat now = directory.dst_stat;
    const bool looked = !directory.fresh || directory.due.opened_up;
    if (looked) {
      // The copy's work in the directory changed its timestamps, and others may have changed more.
      const int error = platform::stat_handle(directory.dst(), now);
      if (error < 0) return engine.fail(directory, {}, error, "fstat");
    }
    const bool has_times = looked && is_same_time(directory.src_stat.mtime, now,
                                                  time_step(directory, directory.dst()));
    Settling settling{engine,     directory,       none, directory.src_stat,
                      attributes, directory.dst(), now,  !directory.fresh,
                      has_times};
    settling.given.kept_list = directory.due.kept_list;
    if (keep.xattrs && !read_attributes(engine, directory, none, directory.src(), attributes))
      return false;
    const bool settled = settling.settle();
    list_set = settling.given.list_set;
    if (!settled) return false;
    if (reports_metadata(engine.options, directory) &&
        (settling.changes_attributes || had_other_stat(keep, directory))) {
      note_metadata(engine, directory);
    }
  } else if (keep.existing_directory_times) {
    const Stat& src = directory.src_stat;
    const int error = platform::set_times(directory.dst(), src.atime, src.mtime);
    return error == 0 || engine.lose(directory, none, Loss::timestamps, error, "utimensat");
  }
  return true;
}

/**
 * Takes the permissions away again that a directory's owner got only for the copy. Another mode may be set by now. An ACL that was set has set
 * the owner's permissions, too.
 */
int give_owed_mode(const Directory& directory, bool list_set) {
  Stat now;
  if (const int error = platform::stat_handle(directory.dst(), now); error < 0) return error;
  const uint32_t owner = list_set ? now.mode : *directory.due.owed_mode;
  // Opening it up may have cost its setgid.
  const uint32_t set_gid = *directory.due.owed_mode & kSetGid;
  return give_mode(directory.dst(), Kind::directory,
                   (now.mode & ~kOwner) | (owner & kOwner) | set_gid);
}

/** Sets the metadata that a directory still needs at its end. */
void settle_directory(Engine& engine, Directory& directory) {
  bool list_set = false;
  const bool is_set = set_metadata(engine, directory, list_set);
  // Also if that failed: the directory must not stay open.
  if (directory.due.owed_mode && !(is_set && engine.options.preserve.mode)) {
    const int error = give_owed_mode(directory, list_set);
    if (error < 0 && !engine.lose(directory, {}, Loss::mode, error, "fchmod")) return;
  }
  if (!is_set || !engine.options.content.fsync || engine.stopped()) return;
  if (const int error = platform::sync(directory.dst()); error < 0 && error != -EINVAL) {
    engine.fail(directory, {}, error, "fsync");
  }
}

/**
 * Reports a directory of DEST if its name no longer leads to it. Another program renamed, replaced or
 * removed it, so the copies in it are not where the caller wanted them.
 */
void report_if_moved(Engine& engine, Directory& directory) {
  if (engine.stopped()) return;
  Directory& parent = directory.parent();
  DirectoryPin pin;
  const int failed = pin.pin(parent);
  if (failed == -EBUSY) return;  // the parent was moved, too, and is reported
  // The path is a way to look without a file descriptor, and if the parent in SRC was moved.
  const std::string path = failed == 0 ? std::string() : directory.dst_path();
  const Handle base = Handle::working_directory();
  Stat named;
  const int error = platform::stat_entry(failed == 0 ? parent.dst() : base,
                                         failed == 0 ? directory.names().dst : path.c_str(), named,
                                         directory.way.follow_dst);
  // Other errors do not tell where the name leads.
  // An atomic copy may replace a DEST that this copy has locked. It is then the later one.
  const bool is_later = directory.way.dst_held >= 0 && named.kind == Kind::directory;
  const bool is_other = error == 0 && !is_later && !is_same_entry(named, directory.dst_stat);
  if (platform::leads_nowhere(error) || is_other) engine.fail(directory, {}, EBUSY, kMoved);
}

class CopiedDirectory final : public DirectoryEnd {
 public:
  void finish(Engine& engine, Directory& directory) override {
    if (settle(engine, directory)) report_if_moved(engine, directory);
  }

 private:
  /** Returns false if the directory cannot be opened for what it is owed; reports that. */
  static bool settle(Engine& engine, Directory& directory) {
    const bool owes = owes_mark(engine.options, directory);
    // Another run with `sync` may compare a file before this copy replaces it, and mark the directory after that. If the file has
    // SRC's mtime, the next run would take the mark as a proof of it.
    const Options& options = engine.options;
    const bool keeps_times =
        options.preserve.timestamps || options.content.instead == Instead::hard_link;
    const bool unmarks = directory.sync == nullptr && keeps_times;
    const bool must_open = directory.due.metadata || owes;
    if (!must_open && !unmarks) return true;
    DirectoryPin pin;
    if (const int error = pin.pin(directory); error < 0) {
      if (!must_open) return true;
      return engine.fail(directory, {}, error, DirectoryPin::operation(error));
    }
    // Before its mode is restored, which may deny access.
    if (owes) write_mark(engine, directory);
    if (unmarks) remove_mark(directory);
    if (directory.due.metadata) settle_directory(engine, directory);
    return true;
  }
};

}  // namespace

void plan_directory(Engine& engine, Directory& directory) {
  const Preserve& keep = engine.options.preserve;
  if (reports_metadata(engine.options, directory) &&
      (had_other_stat(keep, directory) ||
       (keep.xattrs &&
        !has_wanted_attributes(engine, directory, {}, directory.src(), directory.dst())))) {
    note_metadata(engine, directory);
  }
}

std::unique_ptr<DirectoryEnd> end_of_copied_directory() {
  return std::make_unique<CopiedDirectory>();
}

}  // namespace fastcp
