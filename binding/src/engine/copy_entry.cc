#include "copy_entry.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "conflict.h"
#include "copy_content.h"
#include "metadata.h"

namespace fastcp {
namespace {

using platform::Kind;
using platform::Stat;

// --- making an entry -------------------------------------------------------------------------

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
  return error == 0 || worker.fail(folder, names, error, operation);
}

/** Gives a whole entry its name. */
bool commit(Worker& worker, const Folder& folder, Names names, const std::string& temporary) {
  if (temporary.empty()) return true;
  const int error = platform::rename_over(folder.dst(), temporary.c_str(), names.dst);
  return error == 0 || worker.fail(folder, names, error, "rename");
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
  worker.note(folder, names, temporary.empty() ? Action::copy : Action::replace, kind);
}

void copy_link(Worker& worker, const Folder& folder, Names names) {
  std::array<char, 4097> target;  // PATH_MAX and one, to see that it fitted
  const int64_t length = platform::read_link(folder.src(), names.src, target.data(), target.size());
  if (length < 0) {
    worker.fail(folder, names, static_cast<int>(length), "readlink");
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
    worker.fail(folder, names, error, "lstat");
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
    worker.fail(folder, names, error, operation);
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
    worker.fail(folder, names, error, "lstat");
    return;
  }
  const bool taken = exists(folder, names);
  if (taken && judge(worker, folder, names, kind) != Verdict::replace) return;
  if (kind == Kind::file) worker.count(Count::bytes, std::min(stat.size, stat.allocated));
  worker.count(kind == Kind::file   ? Count::files
               : kind == Kind::link ? Count::links
                                    : Count::special);
  worker.note(folder, names, taken ? Action::replace : Action::copy, kind);
}

}  // namespace

void copy_entry(Worker& worker, const FolderUse& use, Names names, Kind kind) {
  const Folder& folder = *use;
  if (kind == Kind::unknown) {
    Stat stat;
    if (const int error = platform::stat_entry(folder.src(), names.src, stat); error < 0) {
      worker.count(Count::found);
      worker.fail(folder, names, error, "lstat");
      return;
    }
    kind = stat.kind;
  }
  if (kind == Kind::folder) {
    worker.engine.stack.push(FolderTask{use.again(), names.src, names.dst});
    return;
  }
  worker.count(Count::found);
  if (kind == Kind::socket) {
    worker.engine.warnings.add(
        {EOPNOTSUPP, kSocket, folder.src_path(names.src), folder.dst_path(names.dst)});
    worker.count(Count::skipped);
    worker.note(folder, names, Action::skip, kind);
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
    if (error != -ECANCELED) worker.fail(*file.folder, file.names, error, operation);
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
  worker.note(*file.folder, file.names, file.temporary.empty() ? Action::copy : Action::replace,
              Kind::file);
}

void copy_large_file(Worker& worker, const LargeFileTask& task) {
  if (task.counted || task.file->join()) task.file->help(worker, task.file);
}

}  // namespace fastcp
