#include "mirror.h"

#include <cerrno>
#include <cstring>
#include <exception>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "listing.h"
#include "metadata.h"

namespace fastcp {
namespace {

using platform::Follow;
using platform::Handle;
using platform::Kind;
using platform::Stat;

/** Where DEST alone is concerned its path is the one to show. */
bool fail(Engine& engine, const Folder& folder, const char* name, int error,
          const char* operation) {
  return engine.fail({error < 0 ? -error : error, operation, folder.dst_path(name), {}}, &folder);
}

/** A name, and what it names; one that is gone meanwhile is left out. */
bool find_kind(const Handle& folder, const char* name, Kind& kind) {
  Stat stat;
  if (platform::stat_entry(folder, name, stat) < 0) return false;
  kind = stat.kind;
  return true;
}

void note_removal(Engine& engine, const Folder& folder, const char* name, Kind kind) {
  engine.count(Count::removed);
  engine.note(folder, {name, name}, Action::remove, kind);
}

/** Opens both ends of a folder of DEST that is to go. Reports what goes wrong. */
bool open_doomed(Worker& worker, const Folder& parent, const char* name, Handle& readable,
                 Handle& target, Stat& stat) {
  Engine& engine = worker.engine;
  int error = worker.with_descriptor(
      [&] { return platform::open_target_folder(parent.dst(), name, Follow::no, target); });
  if (error < 0) return error == -ENOENT ? false : fail(engine, parent, name, error, "open");
  error = platform::stat_handle(target, stat);
  if (error < 0) return fail(engine, parent, name, error, "fstat");
  if (platform::is_mount_point(parent.dst(), target))
    return fail(engine, parent, name, EXDEV, kRefused);
  if ((stat.mode & kOwner) != kOwner && !engine.options.dry_run) {
    // Where this fails, opening or removing says why.
    platform::set_folder_mode(target, stat.mode | kOwner);
  }
  error = worker.with_descriptor(
      [&] { return platform::open_source_folder(parent.dst(), name, Follow::no, readable); });
  return error == 0 || fail(engine, parent, name, error, "open");
}

/**
 * What is still to be removed is forgotten where memory is short, which is the error to report: then a folder
 * that is not empty is none.
 */
class KeptOnThrow {
 public:
  explicit KeptOnThrow(Folder& folder) : folder_(folder) {}
  KeptOnThrow(const KeptOnThrow&) = delete;
  KeptOnThrow& operator=(const KeptOnThrow&) = delete;
  ~KeptOnThrow() {
    if (std::uncaught_exceptions() > exceptions_) folder_.kept = true;
  }

 private:
  Folder& folder_;
  const int exceptions_ = std::uncaught_exceptions();
};

/** Has the host say what of a doomed folder may go. */
void ask_about(Worker& worker, FolderUse folder, Scope scope) {
  Question question{std::move(folder), scope};
  const int error = list_entries(
      question.folder->src(), worker.listing(), Worker::kListing,
      [&](const char*, const platform::Listed& entry) {
        Kind kind = entry.kind;
        if (kind != Kind::unknown || find_kind(question.folder->src(), entry.name, kind)) {
          question.extras.push_back({entry.name, kind, false});
        }
        return true;
      });
  if (error < 0) {
    question.folder->kept = true;
    fail(worker.engine, *question.folder, nullptr, error, "getdents64");
    return;
  }
  if (!question.extras.empty() && worker.engine.questions.add(std::move(question))) {
    worker.tell_host();
  }
}

}  // namespace

bool is_mirrored(const Engine& engine, const Folder& folder) {
  return engine.options.mirror && folder.has_dst() && !folder.fresh;
}

bool list_extra(Worker& worker, const Folder& folder, const std::string& records,
                const std::string& kinds, std::vector<Extra>& out) {
  std::unordered_map<std::string_view, Kind> in_src;
  in_src.reserve(kinds.size());
  for (size_t at = 0, index = 0; at < records.size(); index++) {
    const platform::Listed entry = platform::parse_listing(records.data() + at);
    at += entry.size;
    in_src.emplace(entry.name, static_cast<Kind>(kinds[index]));
  }
  const auto compare = [&](const char*, const platform::Listed& entry) {
    Kind kind = entry.kind;
    if (kind == Kind::unknown && !find_kind(folder.dst(), entry.name, kind)) return true;
    const auto found = in_src.find(entry.name);
    if (found == in_src.end()) {
      out.push_back({entry.name, kind, false});
    } else if ((found->second == Kind::folder) != (kind == Kind::folder)) {
      out.push_back({entry.name, kind, true});
    }
    return true;
  };
  int error = list_entries(folder.dst(), worker.listing(), Worker::kListing, compare);
  if (error == -EBADF) {  // it was closed meanwhile, and opened to make entries in only
    Handle listing;
    error = worker.with_descriptor(
        [&] { return platform::open_source_folder(folder.dst(), ".", Follow::no, listing); });
    if (error < 0) return fail(worker.engine, folder, nullptr, error, "open");
    error = list_entries(listing, worker.listing(), Worker::kListing, compare);
  }
  return error == 0 || fail(worker.engine, folder, nullptr, error, "getdents64");
}

void remove_entry(Worker& worker, const FolderUse& use, const char* name) {
  Folder& folder = *use;
  Engine& engine = worker.engine;
  Stat stat;
  int error = platform::stat_entry(folder.dst(), name, stat);
  if (error == -ENOENT) return;
  if (error == 0 && stat.kind == Kind::folder) {
    engine.stack.push(RemoveFolderTask{use.again(), name});
    return;
  }
  const char* operation = "lstat";
  if (error == 0 && !engine.options.dry_run) {
    operation = "unlink";
    error = with_access(engine, folder, [&] { return platform::remove_file(folder.dst(), name); });
  }
  if (error < 0) {
    folder.kept = true;
    fail(engine, folder, name, error, operation);
    return;
  }
  note_removal(engine, folder, name, stat.kind);
}

void remove_entries(Worker& worker, RemoveTask task) {
  const FolderUse use = task.folder.again();  // outlives what may throw
  const KeptOnThrow kept(*use);
  FolderPin pin;
  if (const int error = pin.pin(*task.folder); error < 0) {
    task.folder->kept = true;
    fail(worker.engine, *task.folder, nullptr, error, "open");
    return;
  }
  for (size_t at = 0; at < task.names.size();) {
    if (worker.must_leave()) {
      if (worker.engine.stopped()) return;
      task.names.erase(0, at);
      worker.engine.stack.push(std::move(task));
      return;
    }
    const char* name = task.names.data() + at;
    at += std::strlen(name) + 1;
    remove_entry(worker, task.folder, name);
  }
}

void remove_folder(Worker& worker, RemoveFolderTask task) {
  Engine& engine = worker.engine;
  const FolderUse parent = task.parent.again();  // outlives what may throw
  const KeptOnThrow parent_kept(*parent);
  FolderPin pin;
  if (const int error = pin.pin(*task.parent); error < 0) {
    task.parent->kept = true;
    fail(engine, *task.parent, task.name.c_str(), error, "open");
    return;
  }
  engine.folders.make_room();
  Handle readable, target;
  Stat stat;
  if (!open_doomed(worker, *task.parent, task.name.c_str(), readable, target, stat)) {
    task.parent->kept = true;
    return;
  }
  pin.release();
  FolderUse folder = Folder::create(std::move(task.parent), task.name, task.name,
                                    std::move(readable), std::move(target));
  folder->src_stat = folder->dst_stat = stat;
  folder->doomed = true;
  folder->then = task.then;
  const FolderUse own_use = folder.again();
  const KeptOnThrow kept(*own_use);
  if (task.scope != 0) return ask_about(worker, std::move(folder), task.scope);

  constexpr size_t kPart = 8 << 10;  // bytes
  std::string part;
  const auto push_part = [&] {
    if (!part.empty()) engine.stack.push(RemoveTask{folder.again(), std::exchange(part, {})});
  };
  FolderPin own;  // gone before the folder is
  if (const int error = own.pin(*folder); error < 0) {
    fail(engine, *folder, nullptr, error, "open");
    return;
  }
  // All of it before the first is removed: some file systems lose their place in a listing then.
  const int error = list_entries(folder->src(), worker.listing(), Worker::kListing,
                                 [&](const char*, const platform::Listed& entry) {
                                   part.append(entry.name, std::strlen(entry.name) + 1);
                                   if (part.size() >= kPart) push_part();
                                   return true;
                                 });
  push_part();
  if (error < 0) {
    folder->kept = true;
    fail(engine, *folder, nullptr, error, "getdents64");
  }
}

void finish_removal(Engine& engine, Folder& folder) {
  if (engine.stopped()) return;
  Folder& parent = folder.parent();
  const char* name = folder.names().dst;
  FolderPin pin;
  int error = pin.pin(parent);
  const char* operation = "open";
  if (error == 0 && !engine.options.dry_run) {
    operation = "rmdir";
    error =
        with_access(engine, parent, [&] { return platform::remove_folder(parent.dst(), name); });
  }
  const bool stays = folder.kept && (error == -ENOTEMPTY || engine.options.dry_run);
  if (error == 0 && !stays) {
    note_removal(engine, parent, name, Kind::folder);
  } else {
    parent.kept = true;
    if (!stays) fail(engine, parent, name, error, operation);
  }
  // Where the place is not free, making the entry says so.
  if (folder.then != Kind::unknown) {
    EntryTask entry{parent.use(), name, name, folder.then};
    entry.vacated = !stays;
    engine.stack.push(std::move(entry));
  }
}

bool open_up(Engine& engine, Folder& folder) {
  const Options& options = engine.options;
  if ((!options.update && options.shards == 1) || folder.is_base()) return false;
  const std::lock_guard lock(folder.changing);
  Stat now;
  if (platform::stat_handle(folder.dst(), now) < 0) return false;
  if ((now.mode & kOwner) == kOwner) {
    // Somebody else may just have done it.
    return folder.opened_up || options.shards > 1;
  }
  if (platform::set_folder_mode(folder.dst(), now.mode | kOwner) < 0) return false;
  if (!folder.owed_mode && !folder.opened_up) folder.owed_mode = now.mode;
  folder.opened_up = folder.owed = true;
  return true;
}

}  // namespace fastcp
