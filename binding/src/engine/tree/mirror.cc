#include "engine/tree/mirror.h"

#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "engine/base/listing.h"
#include "engine/entry/access.h"
#include "engine/entry/entry_task.h"
#include "engine/entry/metadata.h"

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

/** A folder of DEST that is to go. */
struct Doomed {
  Handle readable, target;
  Stat stat{};
  std::optional<uint32_t> owed_mode{};  // that it had, and gets back if it stays
};

/** Opens both ends of a folder of DEST that is to go. Reports what goes wrong. */
bool open_doomed(Worker& worker, const Folder& parent, const char* name, Doomed& doomed) {
  Handle &readable = doomed.readable, &target = doomed.target;
  Stat& stat = doomed.stat;
  Engine& engine = worker.engine;
  int error = worker.with_descriptor(
      [&] { return platform::open_target_folder(parent.dst(), name, Follow::no, target); });
  if (error < 0) return error == -ENOENT ? false : fail(engine, parent, name, error, "open");
  error = platform::stat_handle(target, stat);
  if (error < 0) return fail(engine, parent, name, error, "fstat");
  if (platform::is_mount_point(parent.dst(), target))
    return fail(engine, parent, name, EXDEV, kRefused);
  const auto open = [&] {
    return worker.with_descriptor(
        [&] { return platform::open_source_folder(parent.dst(), name, Follow::no, readable); });
  };
  error = open();
  if (error == 0 && (stat.mode & 0100) == 0) {  // it can be listed, and nothing in it looked at
    Stat itself;
    error = platform::stat_entry(readable, ".", itself);
  }
  if (error == -EACCES && !engine.options.dry_run &&
      platform::set_folder_mode(target, stat.mode | kOwner) == 0) {
    doomed.owed_mode = stat.mode;
    error = open();
    if (error < 0) platform::set_folder_mode(target, stat.mode);
  }
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

/** The end of a doomed folder: it is removed itself, unless something in it stays. */
class Removal final : public FolderEnd {
 public:
  /** `then`: what SRC has in its place, or unknown. */
  explicit Removal(Kind then) : then_(then) {}

  void finish(Engine& engine, Folder& folder) override {
    if (!engine.stopped()) remove(engine, folder);
    if (!removed_ && folder.owed_mode) give_back_mode(engine, folder);
  }

 private:
  void remove(Engine& engine, Folder& folder) {
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
      removed_ = !engine.options.dry_run;
      note_removal(engine, parent, name, Kind::folder);
    } else {
      parent.kept = true;
      if (!stays) fail(engine, parent, name, error, operation);
    }
    // Where the place is not free, making the entry says so.
    if (then_ != Kind::unknown) {
      EntryTask entry{parent.use(), name, name, then_};
      entry.vacated = !stays;
      engine.stack.push(make_task(std::move(entry)));
    }
  }

  static void give_back_mode(Engine& engine, Folder& folder) {
    FolderPin pin;
    int error = pin.pin(folder);
    if (error == 0) error = platform::set_folder_mode(folder.dst(), *folder.owed_mode);
    if (error < 0) fail(engine, folder, nullptr, error, "fchmod");
  }

  bool removed_ = false;
  const Kind then_;
};

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
    engine.stack.push(make_task(RemoveFolderTask{use.again(), name}));
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

void RemoveTask::run(Worker& worker) {
  const FolderUse use = folder.again();  // outlives what may throw
  const KeptOnThrow kept(*use);
  FolderPin pin;
  if (const int error = pin.pin(*folder); error < 0) {
    folder->kept = true;
    fail(worker.engine, *folder, nullptr, error, "open");
    return;
  }
  for (size_t at = 0; at < names.size();) {
    if (worker.must_leave()) {
      if (worker.engine.stopped()) return;
      names.erase(0, at);
      worker.engine.stack.push(make_task(std::move(*this)));
      return;
    }
    const char* name = names.data() + at;
    at += std::strlen(name) + 1;
    remove_entry(worker, folder, name);
  }
}

void RemoveFolderTask::run(Worker& worker) {
  Engine& engine = worker.engine;
  const FolderUse above = parent.again();  // outlives what may throw
  const KeptOnThrow above_kept(*above);
  FolderPin pin;
  if (const int error = pin.pin(*parent); error < 0) {
    parent->kept = true;
    fail(engine, *parent, name.c_str(), error, "open");
    return;
  }
  engine.folders.make_room();
  Doomed doomed;
  if (!open_doomed(worker, *parent, name.c_str(), doomed)) {
    parent->kept = true;
    return;
  }
  pin.release();
  FolderUse folder = Folder::create(std::move(parent), name, name, std::move(doomed.readable),
                                    std::move(doomed.target));
  folder->src_stat = folder->dst_stat = doomed.stat;
  folder->owed_mode = doomed.owed_mode;
  folder->doomed = true;
  folder->end = std::make_unique<Removal>(then);
  const FolderUse own_use = folder.again();
  const KeptOnThrow kept(*own_use);
  if (scope != 0) return ask_about(worker, std::move(folder), scope);

  constexpr size_t kPart = 8 << 10;  // bytes
  std::string part;
  const auto push_part = [&] {
    if (!part.empty())
      engine.stack.push(make_task(RemoveTask{folder.again(), std::exchange(part, {})}));
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

}  // namespace fastcp
