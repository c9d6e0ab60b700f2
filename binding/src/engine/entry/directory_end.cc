#include "engine/entry/directory_end.h"

#include <cerrno>

#include "engine/entry/mark.h"
#include "engine/entry/metadata.h"
#include "engine/entry/settle.h"

namespace fastcp {

using platform::Handle;
using platform::Kind;
using platform::kSetGid;
using platform::Stat;

namespace {

/** Sets everything but timestamps on a new directory. What its owner may not have, or setgid, follows at its end. */
void settle_new(Engine& engine, Directory& directory) {
  Attributes attributes;
  Settling settling{engine,          directory,         {}, directory.src_stat, attributes,
                    directory.dst(), directory.dst_stat};
  settling.is_beginning = true;
  // Opening it up may have cost its setgid.
  if (directory.due.opened_up) platform::stat_handle(directory.dst(), settling.now);
  if (engine.options.preserve.xattrs &&
      !read_attributes(engine, directory, {}, directory.src(), attributes))
    return;
  settling.settle_access();
  if (settling.later_mode) directory.due.owed_mode = settling.later_mode;
}

}  // namespace

void begin_directory(Engine& engine, Directory& directory) {
  const Preserve& keep = engine.options.preserve;
  // New files have the process's group, or the directory's if that has setgid (macOS: always). Another copy of SRC may set the
  // owner and mode of SRC's directory at any time.
  const Stat &src = directory.src_stat, &dst = directory.dst_stat;
  const bool keeps_owners = keeps_owner(keep, Kind::file);
  const bool is_own = keeps_owners && directory.filling.fresh && owner_of(dst) == engine.own &&
                      (dst.mode & kSetGid) == 0;
  const bool may_differ = !is_own && ((src.mode | dst.mode) & kSetGid) != 0;
  directory.filling.owners_may_differ = keeps_owners && (src.gid != dst.gid || may_differ);
  if (is_own && !directory.filling.owners_may_differ) directory.filling.new_owner = owner_of(dst);
  Due& due = directory.due;
  due.metadata = keep.existing_directory_times || engine.options.content.fsync;
  if (directory.filling.fresh) {
    settle_new(engine, directory);
    due.metadata |= keep.timestamps;
  } else if (keep.existing_directories) {
    const bool has_mode = dst.mode == final_mode(keep, src, dst);
    due.metadata |= (keep.mode && !has_mode) || keep.timestamps || keep.ownership || keep.xattrs;
  }
}

namespace {

/**
 * Returns whether a copy that syncs reports setting the metadata of a directory. It does not for a
 * new one.
 */
bool reports_metadata(const Options& options, const Directory& directory) {
  return options.incremental.sync && !directory.filling.fresh &&
         options.preserve.existing_directories;
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
  if (!directory.filling.fresh && keep.existing_directories) {
    Attributes attributes;
    Stat now;
    // The copy's work in the directory changed its timestamps, and others may have changed more.
    const int error = platform::stat_handle(directory.dst(), now);
    if (error < 0) return engine.fail(directory, {}, error, "fstat");
    const bool has_times =
        is_same_time(directory.src_stat.mtime, now, time_step(directory, directory.dst()));
    Settling settling{engine,          directory, none, directory.src_stat, attributes,
                      directory.dst(), now,       true, has_times};
    if (keep.xattrs && !read_attributes(engine, directory, none, directory.src(), attributes))
      return false;
    const bool settled = settling.settle();
    list_set = settling.given.list_set;
    if (!settled) return false;
    if (reports_metadata(engine.options, directory) &&
        (settling.changes_attributes || had_other_stat(keep, directory))) {
      note_metadata(engine, directory);
    }
  } else if (directory.filling.fresh ? keep.timestamps : keep.existing_directory_times) {
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
  // Even if that failed: the directory must not stay open.
  const bool has_mode = is_set && !directory.filling.fresh && engine.options.preserve.mode;
  if (directory.due.owed_mode && !has_mode) {
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
    if (!directory.due.owes_metadata() && !owes) return true;
    DirectoryPin pin;
    if (const int error = pin.pin(directory); error < 0)
      return engine.fail(directory, {}, error, DirectoryPin::operation(error));
    // Before its mode is restored, which may deny access.
    if (owes) write_mark(engine, directory);
    if (directory.due.owes_metadata()) settle_directory(engine, directory);
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
