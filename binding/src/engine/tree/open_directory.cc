#include "engine/tree/open_directory.h"

#include <cerrno>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/entry/access.h"
#include "engine/entry/directory_end.h"
#include "engine/entry/existing.h"
#include "engine/entry/foreign_rules.h"
#include "engine/entry/mark.h"
#include "engine/entry/metadata.h"
#include "engine/entry/names.h"
#include "engine/tree/removal.h"
#include "engine/tree/shard.h"

namespace fastcp {

using platform::Follow;
using platform::Handle;
using platform::Kind;
using platform::Stat;

bool is_out_of_reach(const Worker& worker, const Directory& parent, const Stat& stat) {
  return worker.engine.options.traversal.one_file_system && !parent.is_base() &&
         stat.dev != parent.src_stat.dev;
}

namespace {

// --- the end in SRC --------------------------------------------------------------------------

/**
 * Returns whether a symlink has led back to a directory that is being copied, which would be
 * endless.
 */
bool is_above(const Directory& directory, const Stat& src) {
  for (const Directory* at = &directory; !at->is_base(); at = &at->parent()) {
    if (is_same_entry(at->src_stat, src)) return true;
  }
  return false;
}

/**
 * Returns whether a directory of SRC is the one in DEST to which a directory above is being copied, or with `dereference` any
 * that this copy has created. Mounts and symlinks may bring it there. New entries of DEST then appear in SRC, so the copy would
 * be endless.
 */
bool is_filled(const Engine& engine, Directory& parent, const Stat& stat) {
  // Not `>=`: SRC may have been created in the tick in which the copy began.
  if (stat.ctime > engine.began && engine.created.has(stat)) return true;
  for (Directory* at = &parent; !at->is_base(); at = &at->parent()) {
    if (at->filling.made != Made::yes || !at->has_dst()) continue;
    if (is_same_entry(at->dst_stat, stat)) return true;
  }
  return false;
}

/** Opens a directory of SRC, which must not lead into itself. Reports errors. */
bool open_source(Worker& worker, Directory& parent, Names names, Follow follow, intptr_t held,
                 Handle& src, Stat& stat) {
  int error = worker.with_descriptor([&] {
    return held >= 0 ? platform::open_again(held, src)
                     : platform::open_source_directory(parent.src(), names.src, follow, src);
  });
  // It was a directory when it was listed.
  const bool is_other = error == -ENOTDIR || (error == -ELOOP && follow == Follow::no);
  if (is_other) return worker.fail(parent, names, EBUSY, kRefused);
  if (error < 0) return worker.fail(parent, names, error, kOpenSource);
  error = platform::stat_handle(src, stat);
  if (error < 0) return worker.fail(parent, names, error, "fstat");
  if (worker.engine.options.traversal.dereference && is_above(parent, stat)) {
    return worker.fail(parent, names, ELOOP, kRefused);
  }
  return worker.engine.options.compares || is_out_of_reach(worker, parent, stat) ||
         !is_filled(worker.engine, parent, stat) || worker.fail(parent, names, EINVAL, kRefused);
}

// --- the end in DEST -------------------------------------------------------------------------

struct Target {
  Handle handle;
  Stat stat{};
  bool made = false;
  bool vacated = false;  // see EntryTask
  bool opened_up = false;
  std::optional<uint32_t> owed_mode{};
  Follow follow = Follow::no;  // a symlink in the place of the directory
  intptr_t held = -1;          // see Root
};

/**
 * Returns whether a directory of DEST is SRC itself, which lies in DEST. Entries of SRC would be
 * replaced or deleted before they are read.
 */
bool is_source(Worker& worker, const Target& target) {
  return !target.made && !worker.engine.options.compares && worker.engine.sources.has(target.stat);
}

/**
 * Creates the directory in DEST, unless that was done early, or opens the existing one. Reports
 * errors.
 */
bool open_or_create(Worker& worker, Directory& parent, Names names, const Stat& src,
                    Target& target) {
  const Options& options = worker.engine.options;
  const uint32_t mode = directory_creation_mode(options.preserve, src);
  const auto open = [&] {
    return worker.with_descriptor([&] {
      if (target.held >= 0) {
        const int error = platform::open_again(target.held, target.handle);
        if (error != -EACCES) return error;  // its mode denies access: see let_in()
      }
      // Opens it for listing if permitted: list_extra().
      const int error = options.incremental.mirror
                            ? platform::open_source_directory(parent.dst(), names.dst,
                                                              target.follow, target.handle)
                            : -EACCES;
      if (error != -EACCES) return error;
      return platform::open_target_directory(parent.dst(), names.dst, target.follow, target.handle);
    });
  };
  // In an incremental copy most directories exist. Creating them would fail, and take the parent's
  // lock.
  const bool is_held = target.held >= 0;
  const bool found =
      ((options.incremental.sync && !parent.filling.fresh && parent.has_dst()) || is_held) &&
      open() == 0;
  if (found && !is_held && is_collision(parent, names.dst))
    return worker.fail(parent, names, EEXIST, kCollision);
  if (!found && !target.made) {
    if (worker.engine.is_full) return false;
    const int error =
        worker.engine.writer.make_directory(worker.engine, parent, names.dst, mode, target.vacated);
    target.made = error >= 0;
    if (error == Writer::kPlanned) return true;
    if (error == -EEXIST && is_collision(parent, names.dst))
      return worker.fail(parent, names, EEXIST, kCollision);
    if (error < 0 && error != -EEXIST) return worker.fail(parent, names, error, "mkdir");
    // Another user may have put a directory in the place of an atomic copy's new tree.
    const bool is_foreign = parent.is_base() && !options.replaces.empty();
    if (error == -EEXIST && (is_foreign || refuses_directory(options))) {
      return worker.fail(parent, names, EEXIST, kRefused);
    }
  }
  const int error = found ? 0 : open();
  if (error == -ENOTDIR || error == -ELOOP) {
    Stat there;
    const bool is_known = platform::stat_entry(parent.dst(), names.dst, there, target.follow) == 0;
    const bool is_refused =
        is_known && is_special(there.kind) && options.compatibility.like == Like::fastcp;
    return is_refused ? worker.fail(parent, names, EEXIST, refusal_of(there.kind))
                      : worker.fail(parent, names, ENOTDIR, kRefused);
  }
  if (error < 0) return worker.fail(parent, names, error, kOpenDest);
  const char* operation = "fstat";
  int failed = platform::stat_handle(target.handle, target.stat);
  if (target.made) inherits(options.preserve, parent);  // while the parent is open
  if (failed == 0 && target.made && (target.stat.mode & kOwner) != kOwner) {
    // umask or a default ACL denies access to the new directory.
    operation = "fchmod";
    if (!options.preserve.mode) target.owed_mode = target.stat.mode;
    target.stat.mode |= kOwner;
    target.opened_up = true;
    failed = platform::set_directory_mode(target.handle, target.stat.mode);
  }
  if (failed < 0) return worker.fail(parent, names, failed, operation);
  return !is_source(worker, target) || worker.fail(parent, names, EINVAL, kSourceInDest);
}

/** Does the same, and reports the directory if this copy has created it. */
bool make_target(Worker& worker, Directory& parent, Names names, const Stat& src, Target& target) {
  if (!open_or_create(worker, parent, names, src, target)) return false;
  if (target.made) worker.count(Count::directories);
  if (target.made) worker.note(parent, names, Action::create, Kind::directory);
  return true;
}

/**
 * Opens up a directory of DEST whose mode denies access to its entries. Otherwise all entries would
 * look absent, or could not be listed. A mode that only forbids new names is changed when there are
 * new names.
 */
void let_in(Engine& engine, Directory& directory) {
  const uint32_t needed = engine.options.incremental.mirror ? 0500 : 0100;
  if (!engine.options.incremental.sync || directory.filling.fresh ||
      (directory.dst_stat.mode & needed) == needed)
    return;
  Handle probe;  // root has access anyway
  if (platform::open_source_directory(directory.dst(), ".", Follow::no, probe) == -EACCES) {
    open_up(engine, directory);
  }
}

/** Sets the facts about a directory's end in DEST when that end exists. */
void set_target(Engine& engine, Directory& directory, const Target& target) {
  if (!directory.has_dst()) return;
  const uint64_t src_dev = directory.src_stat.dev, dst_dev = target.stat.dev;
  Route* above = directory.parent().filling.route;  // nearly always the same
  const bool is_same = above != nullptr && above->src_dev == src_dev && above->dst_dev == dst_dev;
  directory.filling.route =
      is_same ? above : &engine.route(src_dev, dst_dev, directory.src(), directory.dst());
  directory.filling.fresh = target.made;
  if (target.made && engine.options.traversal.dereference) engine.created.add(target.stat);
  directory.due.opened_up = target.opened_up;
  directory.due.owed_mode = target.owed_mode;
  read_mark(engine, directory);  // may open the directory up
  engine.writer.begin_directory(engine, directory);
  let_in(engine, directory);
}

enum class Found : uint8_t { yes, no, failed };

/** Opens a directory's counterpart in DEST if it exists. make_target() reports a non-directory. */
Found find_target(Worker& worker, Directory& parent, Names names, Target& target) {
  if (parent.filling.made != Made::yes || !parent.has_dst()) return Found::no;
  DirectoryPin
      pin;  // after that look, because another worker may have created the parent's end since it was pinned
  if (!worker.pin(pin, parent, names)) return Found::failed;
  int error = worker.with_descriptor([&] {
    return platform::open_target_directory(parent.dst(), names.dst, Follow::no, target.handle);
  });
  if (error == -ENOENT || error == -ENOTDIR || error == -ELOOP) return Found::no;
  // Without a mirror the directory is needed only for included entries, and then its creation
  // reports this.
  if (error == -EACCES && !worker.engine.options.incremental.mirror) return Found::no;
  const char* operation = kOpenDest;
  if (error == 0) {
    error = platform::stat_handle(target.handle, target.stat);
    operation = "fstat";
  }
  if (error == 0 && is_source(worker, target)) {
    error = -EINVAL;
    operation = kSourceInDest;
  }
  if (error == 0) return Found::yes;
  worker.fail(parent, names, error, operation);
  return Found::failed;
}

/**
 * Creates a directory that waited, in an existing parent. Other workers that need the directory
 * wait for this.
 */
bool make_waiting(Worker& worker, Directory& directory) {
  const std::lock_guard lock(directory.dest().changing);
  if (directory.filling.made != Made::when_needed) return directory.filling.made == Made::yes;
  Directory& parent = directory.parent();
  const Names names = directory.names();
  directory.filling.made = Made::failed;  // until it succeeds
  DirectoryPin pin;
  if (!worker.pin(pin, parent, names)) return false;
  Target target;
  target.follow = directory.way.follow_dst;
  target.vacated = directory.way.vacated;
  if (!make_target(worker, parent, names, directory.src_stat, target)) return false;
  worker.count(Count::scanned);
  DirectoryPin own;
  if (target.handle.is_open()) {
    directory.set_dst(std::move(target.handle), target.stat);
    if (!worker.pin(own, directory)) return false;
  }
  set_target(worker.engine, directory, target);
  directory.filling.made = Made::yes;
  return true;
}

}  // namespace

bool make_needed(Worker& worker, Directory& directory) {
  std::vector<Directory*> waiting;
  for (Directory* at = &directory; at->filling.made != Made::yes; at = &at->parent()) {
    waiting.push_back(at);
  }
  for (; !waiting.empty(); waiting.pop_back()) {
    if (!make_waiting(worker, *waiting.back())) return false;
  }
  return true;
}

namespace {

/** Finds or creates the end in DEST. `failed` was reported; `no`: it waits until an entry in it is included. */
Found open_target(Worker& worker, const DirectoryTask& task, DirectoryPin& pin, const Stat& src,
                  Target& target) {
  Directory& parent = *task.parent;
  const Names names{task.src_name.c_str(), task.dst_name.c_str()};
  target.made = task.there == There::made;
  target.vacated = task.there == There::vacated;
  target.follow = task.follow_dst;
  target.held = task.dst_held;
  // This is right also for a directory that is created only when needed: if nothing in it is included, DEST's entry is extra.
  if (task.there == There::replaced) {
    const Freed freed = free_for_directory(worker, parent, names);
    if (freed == Freed::failed) return Found::failed;
    target.vacated = freed == Freed::yes;
  }
  Found found = Found::yes;
  if (task.when_needed) {
    found = find_target(worker, parent, names, target);
  } else if (!make_needed(worker, parent) ||
             !worker.pin(pin, parent, names) ||  // its end in DEST may be new
             !make_target(worker, parent, names, src, target)) {
    return Found::failed;
  }
  // By a bind mount, or a symlink that is dereferenced.
  const bool is_src = !target.made && target.handle.is_open() && !worker.engine.options.compares &&
                      is_same_entry(src, target.stat);
  if (!is_src) return found;
  worker.fail(parent, names, EINVAL, kSameDirectory);
  return Found::failed;
}

}  // namespace

DirectoryUse open_directory(Worker& worker, DirectoryTask task, Follow follow_src) {
  const Names names{task.src_name.c_str(), task.dst_name.c_str()};
  Directory& parent = *task.parent;
  Engine& engine = worker.engine;
  const Options& options = engine.options;
  const uint64_t hash = path_hash(parent, names.src);
  if (!task.when_needed) worker.count(Count::scanned);
  DirectoryPin pin;
  if (!worker.pin(pin, parent, names)) return {};
  OpenDirectories::current().make_room();
  // Only a mark needs it.
  const auto began = options.incremental.sync ? platform::change_time_floor() : platform::Time{};
  Handle src;
  Stat src_stat;
  if (!open_source(worker, parent, names, follow_src, task.src_held, src, src_stat)) {
    if (task.there == There::made) platform::remove_directory(parent.dst(), names.dst);
    return {};
  }
  if (options.traversal.shards > 1 && options.preserve.mode && (src_stat.mode & kOwner) != kOwner) {
    src_stat.mode |= kOwner;
    engine.lose(parent, names, Loss::mode, EPERM, kKeptOpen);
  }
  Target target;
  const Found found = open_target(worker, task, pin, src_stat, target);
  if (found == Found::failed) return {};

  DirectoryUse directory =
      Directory::create(std::move(task.parent), std::move(task.src_name), std::move(task.dst_name),
                        std::move(src), std::move(target.handle));
  DirectoryPin own;
  own.pin(*directory);  // it is open
  directory->src_stat = src_stat;
  directory->dst_stat = target.stat;
  directory->filling.path_hash = hash;
  directory->filling.is_beyond_mount =
      parent.filling.is_beyond_mount ||
      (!parent.is_base() && directory->has_dst() && target.stat.dev != parent.dst_stat.dev);
  directory->way = {follow_src, target.follow, task.src_held, target.held, target.vacated};
  directory->filling.made = found == Found::no ? Made::when_needed : Made::yes;
  begin_sync(engine, *directory, began);
  set_target(engine, *directory, target);
  return directory;
}

}  // namespace fastcp
