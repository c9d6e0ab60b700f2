#include "engine/tree/copy_directory.h"

#include <algorithm>
#include <cstring>

#include "engine/entry/copy_entry.h"
#include "engine/entry/metadata.h"
#include "engine/tree/answers.h"
#include "engine/tree/mirror.h"
#include "engine/tree/open_directory.h"
#include "engine/tree/removal.h"
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
  // One that waits for its owner or ACL would keep a narrow mode if the copy were killed.
  const Preserve& keep = options.preserve;
  if (!parent.filling.fresh || !parent.filling.route->directories_early || keep.ownership ||
      keep.xattrs)
    return false;
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
    return worker.engine.tasks.push(
        make_task(DirectoryTask{.parent = use.again(),
                                .src_name = names.src,
                                .dst_name = names.dst,
                                .there = made ? There::made : There::unknown}));
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

/** Looks at SRC. `operation`: the call that was made last. */
int stat_root(const Engine& engine, const Directory& base, const Root& root, Stat& out,
              const char*& operation) {
  operation = "lstat";
  if (root.src_held < 0)
    return platform::stat_entry(base.src(), root.src.c_str(), out, follow_root(engine, root));
  operation = "open";
  Handle held;
  if (const int error = platform::open_again(root.src_held, held); error < 0) return error;
  operation = "fstat";
  return platform::stat_handle(held, out);
}

}  // namespace

void RootsTask::run(Worker& worker) {
  Engine& engine = worker.engine;
  for (const Root& root : roots) {
    Stat stat;
    const char* operation = nullptr;
    // A removal also spares the directory that `src` names, if that is another one.
    if (!(root.remove && root.src == root.dst) &&
        stat_root(engine, *base, root, stat, operation) == 0 && stat.kind == Kind::directory) {
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
  const char* operation = nullptr;
  const int error = worker.with_descriptor(
      [&] { return stat_root(worker.engine, *base, root, stat, operation); });
  if (error < 0) {
    worker.fail(*base, names, error, operation);
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
  if (root.made) task.there = There::made;
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
    directory->due.distrust();
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
