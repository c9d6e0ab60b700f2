#include "engine/entry/copy_other.h"

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "engine/base/link_target.h"
#include "engine/entry/foreign_rules.h"
#include "engine/entry/hard_link.h"
#include "engine/entry/mark.h"
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
  const bool is_link =
      kind == Kind::file && worker.engine.options.content.instead == Instead::hard_link;
  const Entry entry = is_link ? Entry::link : Entry::created;
  if (settled != Settled::yes || !commit(worker, directory, names, temporary, entry)) {
    // An entry of another program must not be removed.
    if (settled != Settled::replaced) discard(worker.engine, directory, name);
    return false;
  }
  worker.note(directory, names, temporary.empty() ? Action::copy : Action::replace, kind);
  return true;
}

/** Returns a path to the directory that has an entry. */
std::string directory_path(const std::string& entry_path) {
  return std::string(directory_of(entry_path));
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
  if (error < 0)
    return worker.fail(directory, names, error, follow == Follow::yes ? "stat" : "lstat");
  note_source(worker.engine, directory, stat);
  return true;
}

void copy_symlink(Worker& worker, const DirectoryUse& use, Names names, EntryTask& again) {
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
    if (!claim_or_link(worker, use, names, stat, claim, again)) return;
  }
  std::string text;
  LinkKind kind{};
  if (const int error = read_link_target(directory.src(), names.src, text, kind); error < 0) {
    worker.fail(directory, names, error, "readlink");
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

void copy_special(Worker& worker, const DirectoryUse& use, Names names, Kind kind,
                  EntryTask& again) {
  Directory& directory = *use;
  const Options& options = worker.engine.options;
  Stat stat;
  if (!stat_source(worker, directory, names, stat)) return;
  HardLinks::Claim claim;
  if (!claim_or_link(worker, use, names, stat, claim, again)) return;
  if (is_read_as_file(options.compatibility, kind)) {
    stat.kind = kind = Kind::file;
    stat.rdev = 0;
  }
  const uint32_t mode = file_creation_mode(options.preserve, directory, stat, {},
                                           expects_owner(options.preserve, directory, stat));
  const bool made = make_at_once(
      worker, directory, names, kind, "mknod",
      [&](const char* name) {
        platform::Handle file;
        return kind == Kind::file ? platform::create_file(directory.dst(), name, mode, file)
                                  : platform::make_special(directory.dst(), name, stat, mode);
      },
      [&](const char* name) { return settle_other(worker.engine, directory, names, stat, name); });
  if (!made) return;
  worker.count(kind == Kind::file ? Count::files : Count::special);
  end_claim(worker, directory, names, std::move(claim));
}

namespace {

/** An entry like SRC's under a temporary name of DEST. `error`: 0, or a negative errno of `operation`. */
struct TrialEntry {
  std::string name;
  int error = 0;
  const char* operation = nullptr;
};

/** What stands for a file in a trial: an empty file, or a hard link to SRC's. */
enum class FileTrial : uint8_t { empty, hard_link };

TrialEntry create_trial(Worker& worker, Directory& directory, Names names, const Stat& src,
                        FileTrial file_trial) {
  TrialEntry trial;
  std::string text;
  LinkKind kind{};
  if (src.kind == Kind::symlink) {
    trial.operation = "readlink";
    trial.error = read_link_target(directory.src(), names.src, text, kind);
    if (trial.error < 0) return trial;
  }
  trial.operation = src.kind == Kind::symlink ? "symlink"
                    : src.kind != Kind::file  ? "mknod"
                                              : "link";
  do {
    trial.name = temporary_name(worker, names.dst);
    const char* name = trial.name.c_str();
    trial.error = with_access(worker.engine, directory, [&] {
      const platform::Handle& dst = directory.dst();
      platform::Handle file;
      if (src.kind == Kind::symlink) return platform::make_symlink(dst, name, text.c_str(), kind);
      if (src.kind != Kind::file) return platform::make_special(dst, name, src, kOwner);
      if (file_trial == FileTrial::empty) {
        return worker.with_descriptor(
            [&] { return platform::create_file(dst, name, kOwner, file); });
      }
      return platform::make_hard_link(directory.src(), names.src,
                                      worker.engine.options.traversal.follow(), dst, name);
    });
  } while (trial.error == -EEXIST);
  return trial;
}

/** Removes the entry of a trial. Returns false on failure, which is reported for that entry and for the one that is not copied. */
bool remove_trial(Worker& worker, Directory& directory, Names names, const char* made) {
  const int error = discard(worker.engine, directory, made);
  return error == 0 || worker.fail(directory, names, error, "unlink");
}

/** Returns whether two entries of DEST have the same attributes, or may not be asked. */
bool have_same_attributes(Engine& engine, Directory& directory, Names names, Kind kind,
                          const char* made) {
  if (!may_open(kind)) return true;
  platform::Handle wanted, present;
  return platform::open_entry(directory.dst(), made, Follow::no, wanted) == 0 &&
         platform::open_entry(directory.dst(), names.dst, Follow::no, present) == 0 &&
         has_wanted_attributes(engine, directory, names, wanted, present);
}

}  // namespace

bool can_create(Worker& worker, Directory& directory, Names names, Kind kind) {
  Stat src;
  if (kind != Kind::symlink && !stat_source(worker, directory, names, src)) return false;
  src.kind = kind;
  const TrialEntry entry = create_trial(worker, directory, names, src, FileTrial::hard_link);
  if (entry.error == -ENOSPC || entry.error == -EDQUOT) return true;  // the removal makes room
  if (entry.error < 0) return worker.fail(directory, names, entry.error, entry.operation);
  return remove_trial(worker, directory, names, entry.name.c_str());
}

Trial try_metadata(Worker& worker, Directory& directory, Names names, const Stat& src,
                   const Stat& present) {
  if (is_append_only(directory, names.dst)) return Trial::differs;  // a temporary entry would stay
  Engine& engine = worker.engine;
  open_mark(engine, directory);
  const TrialEntry entry = create_trial(worker, directory, names, src, FileTrial::empty);
  // If it cannot be created, neither can the copy, which reports the error.
  if (entry.error < 0) return Trial::differs;
  const char* name = entry.name.c_str();
  const Settled settled = settle_other(engine, directory, names, src, name);
  Trial trial = Trial::failed;
  if (settled == Settled::yes) {
    const Preserve& keep = engine.options.preserve;
    Stat created;
    const bool is_same =
        platform::stat_entry(directory.dst(), name, created) == 0 &&
        is_settled(keep, created, present, 1) &&
        (!keep.xattrs || have_same_attributes(engine, directory, names, src.kind, name));
    trial = is_same ? Trial::same : Trial::differs;
  }
  if (settled == Settled::replaced) return trial;
  return remove_trial(worker, directory, names, name) ? trial : Trial::failed;
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

}  // namespace fastcp
