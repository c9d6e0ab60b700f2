#include "copy_entry.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "copy_content.h"
#include "metadata.h"

namespace fastcp {
namespace {

using platform::Follow;
using platform::Handle;
using platform::Kind;
using platform::Stat;

bool fail(Worker& worker, const Folder& folder, Names names, int error, const char* operation) {
  return worker.fail(error, operation, folder.src_path(names.src), folder.dst_path(names.dst));
}

void note(Worker& worker, const Folder& folder, Names names, Action action, Kind kind) {
  if (!worker.engine.options.journal) return;
  worker.engine.journal.add(action, kind, folder.src_path(names.src), folder.dst_path(names.dst));
}

// --- what DEST has already -------------------------------------------------------------------

enum class Verdict : uint8_t { replace, skip, refused };

/**
 * Whether the name that is taken in a folder of ours is another one, which DEST takes for the same:
 * its case, or its form of Unicode, differs. The very same name is somebody else's entry.
 */
bool is_collision(const Folder& folder, const char* name) {
  if (!folder.fresh) return false;
  Handle listing;
  if (platform::open_source_folder(folder.dst(), ".", Follow::no, listing) < 0) return false;
  std::array<char, 4096> buffer;
  int64_t size = 0;
  while ((size = platform::read_listing(listing, buffer.data(), buffer.size())) > 0) {
    for (int64_t at = 0; at < size;) {
      const platform::Listed entry = platform::parse_listing(buffer.data() + at);
      if (std::strcmp(entry.name, name) == 0) return false;
      at += static_cast<int64_t>(entry.size);
    }
  }
  return true;
}

/** The rules for an entry, not a folder, whose name is taken in DEST. Reports what it refuses. */
Verdict judge(Worker& worker, const Folder& folder, Names names, Kind kind) {
  const Options& options = worker.engine.options;
  const auto refuse = [&](int error) {
    fail(worker, folder, names, error, kRefused);
    return Verdict::refused;
  };
  if (is_collision(folder, names.dst)) return refuse(ENOTUNIQ);
  Stat existing;
  const int error = platform::stat_entry(folder.dst(), names.dst, existing);
  if (error == 0 && existing.kind == Kind::folder) return refuse(EISDIR);
  if (options.force) return Verdict::replace;
  if (options.error_on_exist) return refuse(EEXIST);
  worker.count(Count::skipped);
  note(worker, folder, names, Action::skip, kind);
  return Verdict::skip;
}

bool exists(const Folder& folder, Names names) {
  Stat existing;
  return folder.has_dst() && platform::stat_entry(folder.dst(), names.dst, existing) == 0;
}

/** A name beside `name` that nobody uses; in the base both are paths. */
std::string temporary_name(Worker& worker, const char* name) {
  const char* slash = std::strrchr(name, '/');
  std::string result(name, slash == nullptr ? 0 : static_cast<size_t>(slash - name) + 1);
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), ".fastcp-%016llx",
                static_cast<unsigned long long>(worker.engine.next_temporary()));
  return result + text.data();
}

/**
 * Makes an entry by `make(name)`, a negative errno: under its own name or, where that is taken and
 * may be replaced, beside it under the name that `temporary` then has. False where nothing was made;
 * what is to be reported is.
 */
template <class Make>
bool place(Worker& worker, const Folder& folder, Names names, Kind kind, const char* operation,
           std::string& temporary, Make make) {
  int error = make(names.dst);
  if (error == -EEXIST) {
    if (judge(worker, folder, names, kind) != Verdict::replace) return false;
    do {
      temporary = temporary_name(worker, names.dst);
      error = make(temporary.c_str());
    } while (error == -EEXIST);
  }
  return error == 0 || fail(worker, folder, names, error, operation);
}

/** Gives a whole entry its name. */
bool commit(Worker& worker, const Folder& folder, Names names, const std::string& temporary) {
  if (temporary.empty()) return true;
  const int error = platform::rename_over(folder.dst(), temporary.c_str(), names.dst);
  return error == 0 || fail(worker, folder, names, error, "rename");
}

// --- kinds -----------------------------------------------------------------------------------

/** For what comes into being whole: links, FIFOs, devices. */
template <class Make>
void copy_at_once(Worker& worker, const Folder& folder, Names names, Kind kind, Count counted,
                  const char* operation, Make make) {
  std::string temporary;
  if (!place(worker, folder, names, kind, operation, temporary, make)) return;
  if (!commit(worker, folder, names, temporary)) {
    platform::remove_file(folder.dst(), temporary.c_str());
    return;
  }
  worker.count(counted);
  note(worker, folder, names, temporary.empty() ? Action::copy : Action::replace, kind);
}

void copy_link(Worker& worker, const Folder& folder, Names names) {
  std::array<char, 4097> target;  // PATH_MAX and one, to see that it fitted
  const int64_t length = platform::read_link(folder.src(), names.src, target.data(), target.size());
  if (length < 0) {
    fail(worker, folder, names, static_cast<int>(length), "readlink");
    return;
  }
  target[static_cast<size_t>(length)] = '\0';
  copy_at_once(worker, folder, names, Kind::link, Count::links, "symlink", [&](const char* name) {
    return platform::make_link(folder.dst(), name, target.data());
  });
}

void copy_special(Worker& worker, const Folder& folder, Names names, Kind kind) {
  Stat stat;
  if (const int error = platform::stat_entry(folder.src(), names.src, stat); error < 0) {
    fail(worker, folder, names, error, "lstat");
    return;
  }
  const uint32_t mode = stat.mode & ~(platform::kSetUid | platform::kSetGid);
  copy_at_once(worker, folder, names, kind, Count::special, "mknod", [&](const char* name) {
    return platform::make_special(folder.dst(), name, stat, mode);
  });
}

int choose_route(Worker& worker, OpenFile& file) {
  const Folder& folder = *file.folder;
  file.route = folder.route;
  if (file.route != nullptr && file.stat.dev == folder.src_stat.dev) return 0;
  // In the base, or a file that is a mount point of its own.
  Stat dst;
  const int error = platform::stat_handle(file.dst, dst);
  if (error == 0) file.route = &worker.engine.route(file.stat.dev, dst.dev);
  return error;
}

void copy_file(Worker& worker, const FolderUse& use, Names names) {
  Folder& folder = *use;
  OpenFile file(folder, names);
  const auto stop_at = [&](int error, const char* operation) {
    fail(worker, folder, names, error, operation);
  };

  bool without_atime = folder.without_atime.load(std::memory_order_relaxed);
  int error = worker.with_descriptor(
      [&] { return platform::open_source_file(folder.src(), names.src, without_atime, file.src); });
  if (!without_atime) folder.without_atime.store(false, std::memory_order_relaxed);
  if (error < 0) return stop_at(error, "open");
  if (error = platform::stat_handle(file.src, file.stat); error < 0) return stop_at(error, "fstat");
  if (file.stat.kind != Kind::file) return stop_at(EBUSY, kRefused);  // it was one when listed

  const uint32_t mode = file.stat.mode & platform::kPermissions;
  if (!place(worker, folder, names, Kind::file, "open", file.temporary, [&](const char* name) {
        return worker.with_descriptor(
            [&] { return platform::create_file(folder.dst(), name, mode, file.dst); });
      })) {
    return;
  }
  file.created = true;
  if (error = choose_route(worker, file); error < 0) return stop_at(error, "fstat");

  if (file.stat.size >= kLargeFile) {
    LargeFile::begin(worker, use, std::move(file));
  } else {
    finish_file(worker, file, copy_content(worker, file));
  }
}

/** What copying the entry would do; nothing is written. */
void plan(Worker& worker, const Folder& folder, Names names, Kind kind) {
  Stat stat;
  if (const int error = platform::stat_entry(folder.src(), names.src, stat); error < 0) {
    fail(worker, folder, names, error, "lstat");
    return;
  }
  const bool taken = exists(folder, names);
  if (taken && judge(worker, folder, names, kind) != Verdict::replace) return;
  if (kind == Kind::file) worker.count(Count::bytes, std::min(stat.size, stat.allocated));
  worker.count(kind == Kind::file   ? Count::files
               : kind == Kind::link ? Count::links
                                    : Count::special);
  note(worker, folder, names, taken ? Action::replace : Action::copy, kind);
}

void copy_entry(Worker& worker, const FolderUse& use, Names names, Kind kind) {
  const Folder& folder = *use;
  worker.count(Count::found);
  if (kind == Kind::unknown) {
    Stat stat;
    if (const int error = platform::stat_entry(folder.src(), names.src, stat); error < 0) {
      fail(worker, folder, names, error, "lstat");
      return;
    }
    kind = stat.kind;
  }
  if (kind == Kind::folder) {
    worker.engine.stack.push(FolderTask{use.again(), names.src, names.dst});
    return;
  }
  if (kind == Kind::socket) {
    worker.engine.warnings.add(
        {EOPNOTSUPP, kSocket, folder.src_path(names.src), folder.dst_path(names.dst)});
    worker.count(Count::skipped);
    note(worker, folder, names, Action::skip, kind);
    return;
  }
  const Options& options = worker.engine.options;
  if (options.dry_run) return plan(worker, folder, names, kind);
  // Not to be replaced: then the source need not even be opened.
  if (!options.force && !folder.fresh && exists(folder, names)) {
    judge(worker, folder, names, kind);
    return;
  }
  switch (kind) {
    case Kind::file: return copy_file(worker, use, names);
    case Kind::link: return copy_link(worker, folder, names);
    default: return copy_special(worker, folder, names, kind);
  }
}

/** Copies what a part of a listing names. False where the worker has to leave; the rest is pushed. */
bool copy_records(Worker& worker, const FolderUse& use, const char* records, size_t size) {
  for (size_t at = 0; at < size;) {
    if (worker.must_leave()) {
      if (!worker.engine.stopped()) {
        worker.engine.stack.push(PartTask{use.again(), std::string(records + at, size - at)});
      }
      return false;
    }
    const platform::Listed entry = platform::parse_listing(records + at);
    at += entry.size;
    if (std::strcmp(entry.name, ".") == 0 || std::strcmp(entry.name, "..") == 0) continue;
    copy_entry(worker, use, {entry.name, entry.name}, entry.kind);
  }
  return true;
}

// --- folders ---------------------------------------------------------------------------------

struct Target {
  Handle handle;
  Stat stat{};
  bool made = false;
  uint32_t passing_bits = 0;  // of those asked for when it was made
};

/** Makes the folder in DEST, or opens the one that is there. Reports what goes wrong. */
bool make_target(Worker& worker, const Folder& parent, Names names, const Stat& src,
                 Target& target) {
  const bool dry = worker.engine.options.dry_run;
  if (dry && !exists(parent, names)) {
    target.made = true;
    return true;
  }
  if (!dry) {
    const int error = platform::make_folder(parent.dst(), names.dst, folder_creation_mode(src));
    target.made = error == 0;
    if (error == -EEXIST && is_collision(parent, names.dst))
      return fail(worker, parent, names, ENOTUNIQ, kRefused);
    if (error < 0 && error != -EEXIST) return fail(worker, parent, names, error, "mkdir");
  }
  const Follow follow = parent.is_base() ? Follow::yes : Follow::no;  // DEST itself may be a link
  const int error = worker.with_descriptor(
      [&] { return platform::open_target_folder(parent.dst(), names.dst, follow, target.handle); });
  if (error == -ENOTDIR || error == -ELOOP) return fail(worker, parent, names, ENOTDIR, kRefused);
  if (error < 0) return fail(worker, parent, names, error, "open");
  const char* operation = "fstat";
  int failed = platform::stat_handle(target.handle, target.stat);
  if (target.made) target.passing_bits = folder_creation_mode(src) & target.stat.mode;
  if (failed == 0 && target.made && (target.stat.mode & kOwner) != kOwner) {
    // umask or a default ACL keeps us out of our own folder.
    operation = "fchmod";
    target.stat.mode |= kOwner;
    failed = platform::set_folder_mode(target.handle, target.stat.mode);
  }
  return failed == 0 || fail(worker, parent, names, failed, operation);
}

/** Both ends of the folder, open; empty where that failed, and was reported. */
FolderUse open_folder(Worker& worker, FolderTask task, Follow follow_src) {
  const Names names{task.src_name.c_str(), task.dst_name.c_str()};
  const Folder& parent = *task.parent;
  Engine& engine = worker.engine;
  FolderPin pin;
  if (const int error = pin.pin(*task.parent); error < 0) {
    fail(worker, parent, names, error, "open");
    return {};
  }
  engine.folders.make_room();
  Handle src;
  Stat src_stat;
  int error = worker.with_descriptor(
      [&] { return platform::open_source_folder(parent.src(), names.src, follow_src, src); });
  const char* operation = "open";
  if (error == 0) {
    operation = "fstat";
    error = platform::stat_handle(src, src_stat);
  }
  if (error < 0) {
    fail(worker, parent, names, error, operation);
    return {};
  }
  if (engine.is_target(src_stat)) {
    fail(worker, parent, names, EINVAL, kRefused);
    return {};
  }
  Target target;
  if (!make_target(worker, parent, names, src_stat, target)) return {};
  if (target.made) worker.count(Count::folders);
  if (target.made) note(worker, parent, names, Action::make, Kind::folder);

  const bool from_base = parent.is_base();
  if (from_base && target.handle.is_open()) engine.add_target(target.stat);
  pin.release();
  FolderUse folder =
      Folder::create(std::move(task.parent), std::move(task.src_name), std::move(task.dst_name),
                     std::move(src), std::move(target.handle));
  folder->src_stat = src_stat;
  folder->dst_stat = target.stat;
  folder->follow_src = follow_src;
  folder->follow_dst = from_base ? Follow::yes : Follow::no;
  if (folder->has_dst()) {
    folder->route = &engine.route(src_stat.dev, target.stat.dev);
    folder->fresh = target.made;
    if (target.made) settle_folder_mode(*folder, target.passing_bits);
  }
  return folder;
}

void copy_open_folder(Worker& worker, FolderUse folder) {
  ListingTask listing{std::move(folder), FolderPin()};
  if (const int error = listing.pin.pin(*listing.folder); error < 0) {
    worker.fail(error, "open", listing.folder->src_path(), listing.folder->dst_path());
    return;
  }
  copy_listing(worker, std::move(listing));
}

}  // namespace

// --- OpenFile --------------------------------------------------------------------------------

OpenFile::OpenFile(OpenFile&& other) noexcept
    : folder(other.folder),
      names(other.names),
      src(std::move(other.src)),
      dst(std::move(other.dst)),
      stat(other.stat),
      route(other.route),
      temporary(std::move(other.temporary)),
      created(std::exchange(other.created, false)) {}

int OpenFile::keep(const FolderUse& use) {
  src_name_ = names.src;
  dst_name_ = names.dst;
  names = {src_name_.c_str(), dst_name_.c_str()};
  use_ = use.again();
  return pin_.pin(*use_);
}

OpenFile::~OpenFile() {
  if (!created) return;
  // Only what we made: somebody may have put another file in its place.
  const char* name = temporary.empty() ? names.dst : temporary.c_str();
  Stat made, found;
  if (platform::stat_handle(dst, made) == 0 &&
      platform::stat_entry(folder->dst(), name, found) == 0 && made.dev == found.dev &&
      made.ino == found.ino) {
    platform::remove_file(folder->dst(), name);
  }
}

void finish_file(Worker& worker, OpenFile& file, Content content) {
  const auto stop_at = [&](int error, const char* operation) {
    // Where the copy was stopped there is nothing to report: whoever stopped it knows.
    if (error != -ECANCELED) fail(worker, *file.folder, file.names, error, operation);
  };

  if (content.error == 0 && source_changed(file, content)) {
    // Once more; what still changes cannot be copied as one state.
    int error = platform::stat_handle(file.src, file.stat);
    if (error < 0) return stop_at(error, "fstat");
    if (error = platform::set_size(file.dst, 0); error < 0) return stop_at(error, "ftruncate");
    content = copy_content(worker, file);
    if (content.error == 0 && source_changed(file, content)) return stop_at(EBUSY, kRefused);
  }
  if (content.error < 0) return stop_at(content.error, content.operation);

  const char* operation = "";
  const int error = settle_file_mode(*file.folder, file.stat, file.dst, operation);
  if (error < 0) return stop_at(error, operation);
  if (!commit(worker, *file.folder, file.names, file.temporary)) return;
  file.created = false;

  worker.count(Count::files);
  worker.count(content.means == Means::cloned          ? Count::cloned
               : content.means == Means::kernel_copied ? Count::kernel_copied
                                                       : Count::copied);
  note(worker, *file.folder, file.names, file.temporary.empty() ? Action::copy : Action::replace,
       Kind::file);
}

// --- tasks -----------------------------------------------------------------------------------

void copy_root(Worker& worker, FolderUse base, const Root& root) {
  const Names names{root.src.c_str(), root.dst.c_str()};
  const Follow follow = root.follow_src ? Follow::yes : Follow::no;
  Stat stat;
  if (const int error = platform::stat_entry(base->src(), names.src, stat, follow); error < 0) {
    fail(worker, *base, names, error, "lstat");
    return;
  }
  if (stat.kind != Kind::folder) return copy_entry(worker, base, names, stat.kind);
  worker.count(Count::found);
  FolderUse folder = open_folder(worker, {std::move(base), root.src, root.dst}, follow);
  if (folder) copy_open_folder(worker, std::move(folder));
}

void copy_folder(Worker& worker, FolderTask task) {
  const bool from_base = task.parent->is_base();
  const uint64_t parent_dev = task.parent->src_stat.dev;
  FolderUse folder = open_folder(worker, std::move(task), Follow::no);
  if (!folder) return;
  if (worker.engine.options.one_file_system && !from_base && folder->src_stat.dev != parent_dev) {
    worker.count(Count::skipped);  // what is mounted here
    return;
  }
  copy_open_folder(worker, std::move(folder));
}

void copy_listing(Worker& worker, ListingTask task) {
  // A listing that fills so much of the buffer probably goes on.
  constexpr int64_t kWide = Worker::kListing / 4;
  for (;;) {
    Folder& folder = *task.folder;
    const int64_t size = platform::read_listing(folder.src(), worker.listing(), Worker::kListing);
    if (size < 0) {
      worker.fail(static_cast<int>(size), "getdents64", folder.src_path(), folder.dst_path());
    }
    if (size <= 0) return;

    if (size > kWide) {
      // Whoever is free reads on, while this worker copies what it has read.
      ListingTask rest{task.folder.again(), FolderPin()};
      if (const int error = rest.pin.pin(folder); error < 0) {
        worker.fail(error, "open", folder.src_path(), folder.dst_path());
        return;
      }
      worker.engine.stack.push(std::move(rest));
      copy_records(worker, task.folder, worker.listing(), static_cast<size_t>(size));
      return;
    }
    if (!copy_records(worker, task.folder, worker.listing(), static_cast<size_t>(size))) {
      if (!worker.engine.stopped()) worker.engine.stack.push(std::move(task));
      return;
    }
  }
}

void copy_part(Worker& worker, PartTask task) {
  FolderPin pin;
  if (const int error = pin.pin(*task.folder); error < 0) {
    worker.fail(error, "open", task.folder->src_path(), task.folder->dst_path());
    return;
  }
  copy_records(worker, task.folder, task.records.data(), task.records.size());
}

void copy_large_file(Worker& worker, const LargeFileTask& task) {
  if (task.counted || task.file->join()) task.file->help(worker, task.file);
}

}  // namespace fastcp
