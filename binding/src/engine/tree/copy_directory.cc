#include "engine/tree/copy_directory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "engine/entry/access.h"
#include "engine/entry/copy_entry.h"
#include "engine/entry/directory_end.h"
#include "engine/entry/existing.h"
#include "engine/entry/foreign_rules.h"
#include "engine/entry/mark.h"
#include "engine/entry/metadata.h"
#include "engine/entry/names.h"
#include "engine/entry/place.h"
#include "engine/tree/answers.h"
#include "engine/tree/mirror.h"
#include "engine/tree/shard.h"

namespace fastcp {
namespace {

using platform::Follow;
using platform::Handle;
using platform::Kind;
using platform::Stat;

/** Creates an empty directory before its task, if that pays and the name is free. */
bool make_early(Worker& worker, Directory& parent, Names names) {
  // The task reports failures.
  const Options& options = worker.engine.options;
  if (!parent.fresh || !parent.route->directories_early) return false;
  Stat src;
  return platform::stat_entry(parent.src(), names.src, src, options.traversal.follow()) == 0 &&
         src.kind == Kind::directory &&
         platform::make_directory(parent.dst(), names.dst,
                                  directory_creation_mode(options.preserve, src)) == 0;
}

/** Copies an entry that a listing or the user named. Pushes a task for a directory. */
void copy_listed(Worker& worker, const DirectoryUse& use, Names names, Kind kind) {
  Directory& directory = *use;
  const Options& options = worker.engine.options;
  if (kind == Kind::unknown || (kind == Kind::symlink && options.traversal.dereference)) {
    Stat stat;
    const int error =
        platform::stat_entry(directory.src(), names.src, stat, options.traversal.follow());
    if (error < 0) {
      worker.count(Count::scanned);
      worker.fail(directory, names, error, options.traversal.dereference ? "stat" : "lstat");
      return;
    }
    kind = stat.kind;
  }
  if (kind == Kind::directory) {
    const bool made = make_early(worker, directory, names);
    return worker.engine.tasks.push(make_task(DirectoryTask{
        .parent = use.again(), .src_name = names.src, .dst_name = names.dst, .made = made}));
  }
  if (!directory.is_base() && !is_mine(options.traversal, directory, names.src)) return;
  copy_entry(worker, use, names, kind);
}

TaskPtr make_part(const DirectoryUse& use, const char* records, size_t size) {
  return make_task(PartTask{use.again(), std::string(records, size)});
}

/**
 * Copies the entries of a part of a listing. Leaves half of them to a worker that has no task if they are many, or take
 * long: two workers in one directory wait for each other. Returns false if the worker must leave; the rest is next then.
 */
bool copy_records(Worker& worker, const DirectoryUse& use, const char* records, size_t size) {
  TaskLists& tasks = worker.engine.tasks;
  const size_t many = Worker::kListing / std::max(2U, worker.engine.workers());  // bytes
  constexpr auto kLong = std::chrono::microseconds(200);
  const auto began = Clock::now();
  for (size_t at = 0; at < size;) {
    if (worker.must_leave()) {
      if (!worker.engine.stopped()) tasks.push_first(make_part(use, records + at, size - at));
      return false;
    }
    if (tasks.is_starved() && (size - at >= many || Clock::now() - began > kLong)) {
      size_t middle = at;
      while (middle - at < (size - at + 1) / 2) {
        middle += platform::parse_listing(records + middle).size;
      }
      if (middle < size) tasks.push(make_part(use, records + middle, size - middle));
      size = middle;
    }
    const platform::Listed entry = platform::parse_listing(records + at);
    at += entry.size;
    if (std::strcmp(entry.name, ".") == 0 || std::strcmp(entry.name, "..") == 0) continue;
    copy_listed(worker, use, {entry.name, entry.name}, entry.kind);
  }
  return true;
}

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
    if (at->made != Made::yes || !at->has_dst()) continue;
    if (is_same_entry(at->dst_stat, stat)) return true;
  }
  return false;
}

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
bool make_target(Worker& worker, Directory& parent, Names names, const Stat& src, Target& target) {
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
      ((options.incremental.sync && !parent.fresh && parent.has_dst()) || is_held) && open() == 0;
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
    if (error == -EEXIST && refuses_directory(options)) {
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

/**
 * Opens up a directory of DEST whose mode denies access to its entries. Otherwise all entries would
 * look absent, or could not be listed. A mode that only forbids new names is changed when there are
 * new names.
 */
void let_in(Engine& engine, Directory& directory) {
  const uint32_t needed = engine.options.incremental.mirror ? 0500 : 0100;
  if (!engine.options.incremental.sync || directory.fresh ||
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
  Route* above = directory.parent().route;  // nearly always the same
  const bool is_same = above != nullptr && above->src_dev == src_dev && above->dst_dev == dst_dev;
  directory.route =
      is_same ? above : &engine.route(src_dev, dst_dev, directory.src(), directory.dst());
  directory.fresh = target.made;
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
  if (parent.made != Made::yes || !parent.has_dst()) return Found::no;
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
  if (directory.made != Made::when_needed) return directory.made == Made::yes;
  Directory& parent = directory.parent();
  const Names names = directory.names();
  directory.made = Made::failed;  // until it succeeds
  DirectoryPin pin;
  if (!worker.pin(pin, parent, names)) return false;
  Target target;
  target.follow = directory.way.follow_dst;
  target.vacated = directory.way.vacated;
  if (!make_target(worker, parent, names, directory.src_stat, target)) return false;
  worker.count(Count::scanned);
  if (target.made) worker.count(Count::directories);
  if (target.made) worker.note(parent, names, Action::create, Kind::directory);
  DirectoryPin own;
  if (target.handle.is_open()) {
    directory.set_dst(std::move(target.handle), target.stat);
    if (!worker.pin(own, directory)) return false;
  }
  set_target(worker.engine, directory, target);
  directory.made = Made::yes;
  return true;
}

}  // namespace

bool make_needed(Worker& worker, Directory& directory) {
  std::vector<Directory*> waiting;
  for (Directory* at = &directory; at->made != Made::yes; at = &at->parent()) waiting.push_back(at);
  for (; !waiting.empty(); waiting.pop_back()) {
    if (!make_waiting(worker, *waiting.back())) return false;
  }
  return true;
}

namespace {

/** Returns whether another file system is mounted at a directory of SRC, and must not be entered. */
bool is_out_of_reach(const Worker& worker, const Directory& parent, const Stat& stat) {
  return worker.engine.options.traversal.one_file_system && !parent.is_base() &&
         stat.dev != parent.src_stat.dev;
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

/**
 * Opens both ends of a directory and creates the end in DEST. Reports errors; then the result is
 * empty.
 */
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
    if (task.made) platform::remove_directory(parent.dst(), names.dst);
    return {};
  }
  const bool from_base = parent.is_base();
  if (options.traversal.shards > 1 && options.preserve.mode && (src_stat.mode & kOwner) != kOwner) {
    src_stat.mode |= kOwner;
    engine.lose(parent, names, Loss::mode, EPERM, kKeptOpen);
  }
  Target target;
  target.made = task.made;
  target.follow = task.follow_dst;
  target.vacated = task.vacated;
  target.held = task.dst_held;
  // This is right also for a directory that is created only when needed: if nothing in it is included, DEST's entry is extra.
  if (task.replaces) {
    const Freed freed = free_for_directory(worker, parent, names);
    if (freed == Freed::failed) return {};
    if (freed == Freed::yes) target.vacated = true;
  }
  const Found there = task.when_needed ? find_target(worker, parent, names, target) : Found::yes;
  if (there == Found::failed) return {};
  const bool waits = there == Found::no;
  if (!task.when_needed) {
    if (!make_needed(worker, *task.parent)) return {};
    if (!worker.pin(pin, parent, names)) return {};  // its end in DEST may be new
    if (!make_target(worker, parent, names, src_stat, target)) return {};
  }
  // By a bind mount, or a symlink that is dereferenced.
  if (!target.made && target.handle.is_open() && !options.compares &&
      is_same_entry(src_stat, target.stat)) {
    worker.fail(parent, names, EINVAL, kSameDirectory);
    return {};
  }
  if (target.made) worker.count(Count::directories);
  if (target.made) worker.note(parent, names, Action::create, Kind::directory);

  DirectoryUse directory =
      Directory::create(std::move(task.parent), std::move(task.src_name), std::move(task.dst_name),
                        std::move(src), std::move(target.handle));
  DirectoryPin own;
  own.pin(*directory);  // it is open
  directory->src_stat = src_stat;
  directory->dst_stat = target.stat;
  const Directory& above = directory->parent();
  directory->is_beyond_mount =
      above.is_beyond_mount ||
      (!from_base && directory->has_dst() && directory->dst_stat.dev != above.dst_stat.dev);
  directory->path_hash = hash;
  directory->way.follow_src = follow_src;
  directory->way.follow_dst = target.follow;
  directory->way.src_held = task.src_held;
  directory->way.dst_held = target.held;
  directory->way.vacated = target.vacated;
  directory->made = waits ? Made::when_needed : Made::yes;
  begin_sync(engine, *directory, began);
  set_target(engine, *directory, target);
  return directory;
}

/**
 * Copies the entries of a directory. One worker reads its listing, and shares out what it has read. If it must leave before
 * the end, it shares out the rest, because only the descriptor that was read from knows the place in the listing.
 */
void copy_listing(Worker& worker, const DirectoryUse& directory) {
  DirectoryPin pin;
  if (!worker.pin(pin, *directory)) return;
  for (bool leaves = false; !worker.engine.stopped();) {
    const int64_t size =
        platform::read_listing(directory->src(), worker.listing(), Worker::kListing);
    if (size < 0) worker.fail(*directory, {}, static_cast<int>(size), "getdents64");
    if (size <= 0) return;
    const auto bytes = static_cast<size_t>(size);
    if (leaves)
      worker.engine.tasks.push_first(make_part(directory, worker.listing(), bytes));
    else
      leaves = !copy_records(worker, directory, worker.listing(), bytes);
  }
}

void copy_open_directory(Worker& worker, DirectoryUse directory, Scope scope) {
  if (scope == 0 && !is_mirrored(worker.engine, *directory)) return copy_listing(worker, directory);
  ask(worker, std::move(directory), scope);
}

Follow follow_root(const Engine& engine, const Root& root) {
  return root.follow_src ? Follow::yes : engine.options.traversal.follow();
}

int stat_root(const Engine& engine, const Directory& base, const Root& root, Stat& out) {
  Handle held;
  if (root.src_held < 0)
    return platform::stat_entry(base.src(), root.src.c_str(), out, follow_root(engine, root));
  const int error = platform::open_again(root.src_held, held);
  return error < 0 ? error : platform::stat_handle(held, out);
}

}  // namespace

void RootsTask::run(Worker& worker) {
  Engine& engine = worker.engine;
  for (const Root& root : roots) {
    Stat stat;
    // A removal also spares the directory that `src` names, if that is another one.
    if (!(root.remove && root.src == root.dst) && stat_root(engine, *base, root, stat) == 0 &&
        stat.kind == Kind::directory) {
      engine.sources.add(stat);
    }
  }
  for (size_t i = roots.size(); i-- > 0;) {
    engine.tasks.push(make_task(RootTask{base.again(), std::move(roots[i])}));
  }
}

void RootTask::run(Worker& worker) {
  const Names names{root.src.c_str(), root.dst.c_str()};
  if (root.remove) return RemoveDirectoryTask{std::move(base), root.dst}.run(worker);
  const Follow follow = follow_root(worker.engine, root);
  Stat stat;
  const int error =
      worker.with_descriptor([&] { return stat_root(worker.engine, *base, root, stat); });
  if (error < 0) {
    worker.fail(*base, names, error, root.src_held < 0 ? "lstat" : "open");
    return;
  }
  if (stat.kind != Kind::directory) {
    const char* slash = std::strrchr(names.src, '/');  // names of the base are paths
    const char* name = slash == nullptr ? names.src : slash + 1;
    if (is_mine(worker.engine.options.traversal, *base, name))
      copy_listed(worker, base, names, stat.kind);
    return;
  }
  DirectoryTask task{.parent = std::move(base), .src_name = root.src, .dst_name = root.dst};
  if (root.follow_dst) task.follow_dst = Follow::yes;
  task.made = root.made;
  task.src_held = root.src_held;
  task.dst_held = root.dst_held;
  DirectoryUse directory = open_directory(worker, std::move(task), follow);
  if (directory) copy_open_directory(worker, std::move(directory), root.scope);
}

void DirectoryTask::run(Worker& worker) {
  DirectoryUse directory =
      open_directory(worker, std::move(*this), worker.engine.options.traversal.follow());
  if (!directory) return;
  if (is_out_of_reach(worker, directory->parent(), directory->src_stat)) {
    worker.count(Count::skipped);
    directory->distrust();
    return;
  }
  copy_open_directory(worker, std::move(directory), scope);
}

void PartTask::run(Worker& worker) {
  if (!make_needed(worker, *directory)) return;
  DirectoryPin pin;
  if (!worker.pin(pin, *directory)) return;
  copy_records(worker, directory, records.data(), records.size());
}

void start(Engine& engine, const std::vector<Root>& roots) {
  engine.tasks.push(make_task(RootsTask{Directory::base(engine), roots}));
}

}  // namespace fastcp
