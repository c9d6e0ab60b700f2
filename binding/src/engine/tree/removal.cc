#include "engine/tree/removal.h"

#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/base/listing.h"
#include "engine/entry/access.h"
#include "engine/entry/entry_task.h"
#include "engine/entry/existing.h"
#include "engine/entry/metadata.h"
#include "engine/tree/mirror.h"

namespace fastcp {
namespace {

using platform::Follow;
using platform::Handle;
using platform::Kind;
using platform::Stat;

/** Keeps a doomed directory, or the one above it, because of an error, and reports the error. */
void keep(Engine& engine, Directory& directory, const char* name, int error,
          const char* operation) {
  directory.due.kept = true;
  fail_in_dest(engine, directory, name, error, operation);
}

void note_removal(Engine& engine, const Directory& directory, const char* name, Kind kind) {
  engine.count(Count::deleted);
  engine.note(directory, {name, name}, Action::erase, kind);
}

/**
 * Returns whether an entry belongs to an atomic copy at work (lib/atomic/hidden.ts), and stays: the copy's lock file is locked, or
 * the directory itself. That copy removes its own trees as roots, by absolute paths.
 */
bool is_in_use(Worker& worker, const Directory& parent, std::string_view name,
               const Handle* directory = nullptr) {
  constexpr std::string_view kMark = ".fastcp-";
  constexpr size_t kDigits = 16;
  const size_t at = name.rfind(kMark);
  if (name.front() == '/' || at == std::string_view::npos) return false;
  if (directory != nullptr && platform::is_locked(*directory)) return true;
  const std::string lock = std::string(name.substr(0, at + kMark.size() + kDigits)) + ".lock";
  bool without_atime = true;
  Handle file;
  const int error = worker.with_descriptor([&] {
    return platform::open_source_file(parent.dst(), lock.c_str(), Follow::no, without_atime, file);
  });
  return error == 0 && platform::is_locked(file);
}

/** A directory of DEST that has to be removed. */
struct Doomed {
  Handle readable, target;
  Stat stat{};
  // the mode that it had, which is restored if the directory stays
  std::optional<uint32_t> owed_mode{};
};

/** Opens both ends of a directory of DEST that has to be removed. Reports errors. */
bool open_doomed(Worker& worker, const Directory& parent, const char* name, Doomed& doomed) {
  Handle &readable = doomed.readable, &target = doomed.target;
  Stat& stat = doomed.stat;
  Engine& engine = worker.engine;
  OpenDirectories::current().make_room();
  int error = worker.with_descriptor(
      [&] { return platform::open_target_directory(parent.dst(), name, Follow::no, target); });
  if (error < 0)
    return error == -ENOENT ? false : fail_in_dest(engine, parent, name, error, "open");
  error = platform::stat_handle(target, stat);
  if (error < 0) return fail_in_dest(engine, parent, name, error, "fstat");
  const bool is_beyond =
      engine.options.traversal.one_file_system && stat.dev != parent.dst_stat.dev;
  if (is_beyond || platform::is_mount_point(parent.dst(), target))
    return fail_in_dest(engine, parent, name, EXDEV, kRefused);
  if (!engine.options.compares && engine.sources.has(stat))
    return fail_in_dest(engine, parent, name, EINVAL, kSourceInDest);
  const auto open = [&] {
    return worker.with_descriptor(
        [&] { return platform::open_source_directory(parent.dst(), name, Follow::no, readable); });
  };
  error = open();
  // it can be listed, but its entries cannot be looked at
  if (error == 0 && (stat.mode & 0100) == 0) {
    Stat itself;
    error = platform::stat_entry(readable, ".", itself);
  }
  if (error == -EACCES && engine.writer.open_up(target, stat.mode | kOwner) == 0) {
    doomed.owed_mode = stat.mode;
    error = open();
    if (error < 0) platform::set_directory_mode(target, stat.mode);
  }
  if (error < 0) return fail_in_dest(engine, parent, name, error, "open");
  return !is_in_use(worker, parent, name, &readable);
}

/**
 * Drops the remaining removals if memory is short, which is the error to report. A directory that
 * is not empty is then no error.
 */
class KeptOnThrow {
 public:
  explicit KeptOnThrow(Directory& directory) : directory_(directory) {}
  KeptOnThrow(const KeptOnThrow&) = delete;
  KeptOnThrow& operator=(const KeptOnThrow&) = delete;
  ~KeptOnThrow() {
    if (std::uncaught_exceptions() > exceptions_) directory_.due.kept = true;
  }

 private:
  Directory& directory_;
  const int exceptions_ = std::uncaught_exceptions();
};

/** Closes a doomed directory at the end of each task, where one that is open would outlive its removal. */
class ClosedAtEnd {
 public:
  explicit ClosedAtEnd(const Directory& directory) : directory_(directory) {}
  ClosedAtEnd(const ClosedAtEnd&) = delete;
  ClosedAtEnd& operator=(const ClosedAtEnd&) = delete;
  ~ClosedAtEnd() {
    if (platform::open_directories_stay && directory_.due.doomed)
      OpenDirectories::current().close(directory_);
  }

 private:
  const Directory& directory_;
};

/** Asks the host which entries of a doomed directory may be removed. */
void ask_about(Worker& worker, DirectoryUse directory, Scope scope) {
  Question question{std::move(directory), scope};
  DirectoryPin pin;
  if (const int open_error = pin.pin(*question.directory); open_error < 0)
    return keep(worker.engine, *question.directory, nullptr, open_error, "open");
  const int error = list_entries(question.directory->src(), worker.listing(), Worker::kListing,
                                 [&](const char*, const platform::Listed& entry) {
                                   Kind kind = Kind::unknown;
                                   if (find_kind(question.directory->src(), entry, kind))
                                     question.extras.push_back({entry.name, kind, false});
                                   return true;
                                 });
  if (error < 0) return keep(worker.engine, *question.directory, nullptr, error, "getdents64");
  if (!question.extras.empty()) worker.ask(std::move(question));
}

/** The end of a doomed directory: removes the directory itself, unless something in it stays. */
class Removal final : public DirectoryEnd {
 public:
  /** `kind_to_copy_after_removal`: the kind of SRC's entry of that name, or unknown. */
  explicit Removal(Kind kind_to_copy_after_removal)
      : kind_to_copy_after_removal_(kind_to_copy_after_removal) {}

  void finish(Engine& engine, Directory& directory) override {
    if (!engine.stopped()) remove(engine, directory);
    if (!removed_ && directory.due.owed_mode) give_back_mode(engine, directory);
  }

 private:
  void remove(Engine& engine, Directory& directory) {
    Directory& parent = directory.parent();
    const char* name = directory.names().dst;
    if (platform::open_directories_stay) OpenDirectories::current().close(directory);
    const ClosedAtEnd parent_closed(parent);
    DirectoryPin pin;
    int error = pin.pin(parent);
    const char* operation = "open";
    if (error == 0) {
      operation = "rmdir";
      error = engine.writer.remove_directory(engine, directory);
    }
    const bool has_kept = directory.due.kept && error == -ENOTEMPTY;
    if (error == 0) {
      removed_ = true;
      note_removal(engine, parent, name, Kind::directory);
    } else {
      parent.due.kept = true;
      if (!has_kept) fail_in_dest(engine, parent, name, error, operation);
    }
    // If the name is not free, creating the entry reports that.
    if (kind_to_copy_after_removal_ != Kind::unknown) {
      engine.count(Count::scanned);
      EntryTask entry{parent.use(), name, name, kind_to_copy_after_removal_};
      entry.vacated = !has_kept;
      engine.tasks.push(make_task(std::move(entry)));
    }
  }

  static void give_back_mode(Engine& engine, Directory& directory) {
    DirectoryPin pin;
    int error = pin.pin(directory);
    if (error < 0) {
      fail_in_dest(engine, directory, nullptr, error, DirectoryPin::operation(error));
      return;
    }
    error = give_mode(directory.dst(), Kind::directory, *directory.due.owed_mode);
    if (error < 0) engine.lose(directory, {}, Loss::mode, error, "fchmod");
  }

  bool removed_ = false;
  const Kind kind_to_copy_after_removal_;
};

/**
 * Returns whether SRC's entry can be copied; reports the error if not. Called before the directory
 * of its name is removed, so that DEST keeps one of the two.
 */
bool can_be_copied(Worker& worker, Directory& parent, Names names, Kind kind) {
  if (kind == Kind::unknown) return true;  // SRC has no entry of that name
  Engine& engine = worker.engine;
  if (would_lose_target(engine, parent, names))
    return worker.fail(parent, names, EINVAL, kSameFile);
  if (kind != Kind::file || engine.options.content.instead == Instead::hard_link) {
    return engine.writer.can_create(worker, parent, names, kind);
  }
  Handle src;
  bool without_atime = true;
  const int error = worker.with_descriptor([&] {
    return platform::open_source_file(parent.src(), names.src, engine.options.traversal.follow(),
                                      without_atime, src);
  });
  // EAGAIN: another process has a lease
  return error == 0 || error == -EAGAIN || worker.fail(parent, names, error, kOpenSource);
}

/** Removes one entry of DEST. A directory is pushed as a task. */
void remove_entry(Worker& worker, const DirectoryUse& use, const char* name) {
  Directory& directory = *use;
  Engine& engine = worker.engine;
  Stat stat;
  int error = platform::stat_entry(directory.dst(), name, stat);
  if (error == -ENOENT) return;
  if (error == 0 && stat.kind == Kind::directory) {
    engine.tasks.push_first(make_task(RemoveDirectoryTask{use.again(), name}));
    return;
  }
  if (error == 0 && is_in_use(worker, directory, name)) {
    directory.due.kept = true;
    return;
  }
  const char* operation = "lstat";
  if (error == 0) {
    operation = "unlink";
    error = engine.writer.remove_file(engine, directory, name);
  }
  if (error < 0) return keep(engine, directory, name, error, operation);
  note_removal(engine, directory, name, stat.kind);
}

}  // namespace

Freed free_for_directory(Worker& worker, Directory& parent, Names names) {
  Engine& engine = worker.engine;
  Stat there;
  if (platform::stat_entry(parent.dst(), names.dst, there) < 0 || there.kind == Kind::directory)
    return Freed::not_needed;
  if (is_special(there.kind) && !engine.options.compares) {
    worker.fail(parent, names, EEXIST, refusal_of(there.kind));
    return Freed::failed;
  }
  if (engine.is_full) return Freed::failed;  // reported; there is no room for the directory
  const int error = engine.writer.remove_file(engine, parent, names.dst);
  if (error == -ENOENT) return Freed::not_needed;
  if (error < 0) {
    fail_in_dest(engine, parent, names.dst, error, "unlink");
    return Freed::failed;
  }
  note_removal(engine, parent, names.dst, there.kind);
  return Freed::yes;
}

void RemoveTask::run(Worker& worker) {
  const DirectoryUse use = directory.again();  // outlives code that may throw
  const KeptOnThrow kept(*use);
  const ClosedAtEnd closed(*use);
  DirectoryPin pin;
  if (const int error = pin.pin(*directory); error < 0)
    return keep(worker.engine, *directory, nullptr, error, "open");
  for (size_t at = 0; at < names.size();) {
    if (worker.must_leave()) {
      if (worker.engine.stopped()) return;
      names.erase(0, at);
      worker.engine.tasks.push_first(make_task(std::move(*this)));
      return;
    }
    const char* name = names.data() + at;
    at += std::strlen(name) + 1;
    remove_entry(worker, directory, name);
  }
}

void RemoveDirectoryTask::run(Worker& worker) {
  Engine& engine = worker.engine;
  const DirectoryUse above = parent.again();  // outlives code that may throw
  const KeptOnThrow above_kept(*above);
  const ClosedAtEnd above_closed(*above);
  DirectoryPin pin;
  if (const int error = pin.pin(*parent); error < 0)
    return keep(engine, *parent, name.c_str(), error, "open");
  // SRC's entry of that name will not be copied.
  const bool is_vain = engine.is_full && kind_to_copy_after_removal != Kind::unknown;
  const Names both{name.c_str(), name.c_str()};
  Doomed doomed;
  if (is_vain || !can_be_copied(worker, *parent, both, kind_to_copy_after_removal) ||
      !open_doomed(worker, *parent, both.dst, doomed)) {
    parent->due.kept = true;
    return;
  }
  pin.release();
  DirectoryUse directory = Directory::create(std::move(parent), name, name,
                                             std::move(doomed.readable), std::move(doomed.target));
  directory->src_stat = directory->dst_stat = doomed.stat;
  directory->due.owed_mode = doomed.owed_mode;
  directory->due.doomed = true;
  directory->due.end = std::make_unique<Removal>(kind_to_copy_after_removal);
  const DirectoryUse own_use = directory.again();
  const KeptOnThrow kept(*own_use);
  const ClosedAtEnd closed(*own_use);
  if (scope != 0) return ask_about(worker, std::move(directory), scope);
  DirectoryPin own;
  own.pin(*directory);  // it is open

  constexpr size_t kPart = 8 << 10;  // bytes
  std::string part;
  const auto push_part = [&] {
    if (!part.empty())
      engine.tasks.push_first(make_task(RemoveTask{directory.again(), std::exchange(part, {})}));
  };
  // Lists everything before the first removal, because some file systems lose their place in a
  // listing otherwise.
  const int error = list_entries(directory->src(), worker.listing(), Worker::kListing,
                                 [&](const char*, const platform::Listed& entry) {
                                   part.append(entry.name, std::strlen(entry.name) + 1);
                                   if (part.size() >= kPart) push_part();
                                   return true;
                                 });
  push_part();
  if (error < 0) keep(engine, *directory, nullptr, error, "getdents64");
}

}  // namespace fastcp
