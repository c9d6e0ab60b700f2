#include "engine/entry/copy_other.h"

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "engine/base/link_target.h"
#include "engine/entry/entry_task.h"
#include "engine/entry/metadata.h"
#include "engine/entry/place.h"

namespace fastcp {
namespace {

using platform::Follow;
using platform::Kind;
using platform::LinkKind;
using platform::Stat;

/**
 * Creates an entry by `make(name)`, sets its metadata by `settle(name)`, which reports errors, and
 * gives it its name.
 */
template <class Make, class Settle>
bool make_at_once(Worker& worker, Directory& directory, Names names, Kind kind,
                  const char* operation, Make make, Settle settle) {
  std::string temporary;
  const int error = place(worker, directory, names, kind, temporary, make);
  if (error == kNotPlaced) return false;
  if (error < 0) return worker.fail(directory, names, error, operation);
  const char* name = temporary.empty() ? names.dst : temporary.c_str();
  const Settled settled = settle(name);
  if (settled != Settled::yes || !commit(worker, directory, names, temporary)) {
    // An entry of another program must not be removed.
    if (settled != Settled::replaced) platform::remove_file(directory.dst(), name);
    return false;
  }
  worker.note(directory, names, temporary.empty() ? Action::copy : Action::replace, kind);
  return true;
}

/** Returns a path to the directory that has an entry. */
std::string directory_path(const std::string& entry_path) {
  return std::string(directory_of(entry_path));
}

/**
 * Node's rule: a symlink in DEST that leads to SRC itself may not be replaced by one that leads to
 * a directory in SRC.
 */
bool leads_to_subdirectory(const Directory& directory, Names names, const std::string& text) {
  std::string there;
  LinkKind kind{};
  if (directory.is_base() || read_link_target(directory.dst(), names.dst, there, kind) < 0)
    return false;
  const Directory* root = &directory;
  while (!root->parent().is_base()) root = &root->parent();
  const std::string src = resolve(root->src_path(), "");
  Stat target;
  return resolve(directory.dst_path(), there) == src &&
         is_below(resolve(directory.src_path(), text), src) &&
         platform::stat_entry(directory.src(), names.src, target, Follow::yes) == 0 &&
         target.kind == Kind::directory;
}

}  // namespace

int read_link_target(const platform::Handle& directory, const char* name, std::string& text,
                     LinkKind& kind) {
  std::array<char, 4097> target;  // PATH_MAX and one more, to see that the target fitted
  const int64_t length =
      platform::read_symlink(directory, name, target.data(), target.size(), kind);
  if (length < 0) return static_cast<int>(length);
  text.assign(target.data(), static_cast<size_t>(length));
  return 0;
}

bool stat_source(Worker& worker, const Directory& directory, Names names, Stat& stat) {
  const Follow follow = worker.engine.options.traversal.follow();
  const int error = platform::stat_entry(directory.src(), names.src, stat, follow);
  return error == 0 ||
         worker.fail(directory, names, error, follow == Follow::yes ? "stat" : "lstat");
}

void copy_symlink(Worker& worker, const DirectoryUse& use, Names names) {
  Directory& directory = *use;
  const Options& options = worker.engine.options;
  const Preserve& keep = options.preserve;
  const bool settles = keep.timestamps || keep.ownership || keep.xattrs;
  Stat stat;
  HardLinks::Claim claim;
  if (settles || keep.hard_links) {
    const int error = platform::stat_entry(directory.src(), names.src, stat);
    if (error < 0) {
      worker.fail(directory, names, error, "lstat");
      return;
    }
    if (!is_first_name(worker, use, names, stat, claim)) return;
  }
  std::string text;
  LinkKind kind{};
  if (const int error = read_link_target(directory.src(), names.src, text, kind); error < 0) {
    worker.fail(directory, names, error, "readlink");
    return;
  }
  if (options.compatibility.like_node && leads_to_subdirectory(directory, names, text)) {
    worker.fail(directory, names, EINVAL, kSubdirectory);
    return;
  }
  if (options.compatibility.absolute_symlinks && platform::root_length(text) == 0) {
    text = resolve(directory_path(directory.src_path(names.src)), text);
  }
  const bool made = make_at_once(
      worker, directory, names, Kind::symlink, "symlink",
      [&](const char* name) {
        return platform::make_symlink(directory.dst(), name, text.c_str(), kind);
      },
      [&](const char* name) {
        return settles ? settle_other(worker.engine, directory, names, stat, name) : Settled::yes;
      });
  if (!made) return;
  worker.count(Count::symlinks);
  end_claim(worker, directory, names, std::move(claim));
}

void copy_special(Worker& worker, const DirectoryUse& use, Names names, Kind kind) {
  Directory& directory = *use;
  const Options& options = worker.engine.options;
  Stat stat;
  if (!stat_source(worker, directory, names, stat)) return;
  HardLinks::Claim claim;
  if (!is_first_name(worker, use, names, stat, claim)) return;
  const uint32_t mode = file_creation_mode(options.preserve, directory, stat, {});
  const bool made = make_at_once(
      worker, directory, names, kind, "mknod",
      [&](const char* name) { return platform::make_special(directory.dst(), name, stat, mode); },
      [&](const char* name) { return settle_other(worker.engine, directory, names, stat, name); });
  if (!made) return;
  worker.count(Count::special);
  end_claim(worker, directory, names, std::move(claim));
}

// --- hard links and symlinks to existing files ----------------------------------------------

bool is_linked_already(Worker& worker, const Directory& directory, Names names) {
  const Options& options = worker.engine.options;
  Stat src, there;
  // Renaming one hard link of a file over another one of it does nothing.
  if (options.content.instead != Instead::hard_link || !directory.has_dst() ||
      platform::stat_entry(directory.dst(), names.dst, there) < 0 ||
      platform::stat_entry(directory.src(), names.src, src, options.traversal.follow()) < 0 ||
      src.dev != there.dev || src.ino != there.ino) {
    return false;
  }
  worker.count(Count::unchanged);
  worker.note(directory, names, Action::skip, Kind::file);
  return true;
}

void make_link_instead(Worker& worker, Directory& directory, Names names) {
  const Options& options = worker.engine.options;
  const bool hard = options.content.instead == Instead::hard_link;
  const std::string text = hard ? "" : directory.src_path(names.src);
  const bool made = make_at_once(
      worker, directory, names, Kind::file, hard ? "link" : "symlink",
      [&](const char* name) {
        return hard ? platform::make_hard_link(directory.src(), names.src,
                                               options.traversal.follow(), directory.dst(), name)
                    : platform::make_symlink(directory.dst(), name, text.c_str(), LinkKind::file);
      },
      [](const char*) { return Settled::yes; });
  if (made) worker.count(hard ? Count::hard_links : Count::symlinks);
}

namespace {

/** Returns whether DEST's name is already a hard link to the copy. */
bool is_linked(const Directory& directory, Names names, const HardLinks::Place& copy) {
  Stat there;
  return directory.has_dst() && platform::stat_entry(directory.dst(), names.dst, there) == 0 &&
         there.dev == copy.dev && there.ino == copy.ino;
}

}  // namespace

bool link_to_copy(Worker& worker, Directory& directory, Names names, Kind kind,
                  const HardLinks::Place& copy) {
  std::string temporary;
  DirectoryPin pin;
  int error = pin.pin(*copy.directory);
  if (error == 0) {
    error = place(worker, directory, names, kind, temporary, [&](const char* name) {
      return platform::make_hard_link((*copy.directory).dst(), copy.name.c_str(), Follow::no,
                                      directory.dst(), name);
    });
  }
  if (error == kNotPlaced) return true;
  const char* name = temporary.empty() ? names.dst : temporary.c_str();
  const char* operation = "link";
  if (error == 0) {
    // Another program may have put another entry under the name of the copy.
    Stat made;
    error = platform::stat_entry(directory.dst(), name, made);
    if (error < 0) operation = "lstat";
    if (error == 0 && (made.dev != copy.dev || made.ino != copy.ino)) {
      error = -ESTALE;
      // Only the hard link that was just created, not another program's entry.
      Stat linked;
      const bool is_ours =
          !temporary.empty() ||
          (platform::stat_entry((*copy.directory).dst(), copy.name.c_str(), linked) == 0 &&
           linked.dev == made.dev && linked.ino == made.ino);
      if (is_ours) platform::remove_file(directory.dst(), name);
    }
  }
  if (error < 0) return !worker.engine.lose(directory, names, Loss::hard_links, error, operation);
  if (!commit(worker, directory, names, temporary)) {
    platform::remove_file(directory.dst(), name);
    return true;
  }
  worker.count(Count::hard_links);
  worker.note(directory, names, Action::hard_link, kind);
  return true;
}

bool is_first_name(Worker& worker, const DirectoryUse& use, Names names, const Stat& src,
                   HardLinks::Claim& claim, bool vacated) {
  const Options& options = worker.engine.options;
  // A comparison looks at every name.
  if (!options.preserve.hard_links || options.compares ||
      !worker.engine.hard_links.may_recur(src)) {
    return true;
  }
  HardLinks::Place copy;
  TaskPtr again = make_task(EntryTask{.directory = use.again(),
                                      .src_name = names.src,
                                      .dst_name = names.dst,
                                      .kind = src.kind,
                                      .vacated = vacated});
  switch (worker.engine.hard_links.take(src, std::move(again), claim, copy)) {
    case HardLinks::Turn::first: return true;
    case HardLinks::Turn::wait: return false;
    case HardLinks::Turn::changed:
      return worker.engine.lose(*use, names, Loss::hard_links, ESTALE, "link");
    default: break;
  }
  if (is_linked(*use, names, copy)) {
    worker.count(Count::unchanged);
    worker.note(*use, names, Action::skip, src.kind);
    return false;
  }
  return !worker.engine.writer.link(worker, *use, names, src.kind, copy, vacated);
}

void end_claim(Worker& worker, Directory& directory, Names names, HardLinks::Claim claim) {
  if (!claim) return;
  Stat made;
  if (const int error = platform::stat_entry(directory.dst(), names.dst, made); error < 0) {
    // The other names become a separate file.
    worker.engine.lose(directory, names, Loss::hard_links, error, "lstat");
  } else {
    claim.placed(directory, names.dst, made);
  }
}

}  // namespace fastcp
