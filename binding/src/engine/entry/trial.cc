#include "engine/entry/trial.h"

#include <cerrno>
#include <string>

#include "engine/entry/access.h"
#include "engine/entry/existing.h"
#include "engine/entry/metadata.h"
#include "engine/entry/place.h"
#include "engine/entry/settle.h"
#include "engine/entry/symlinks.h"

namespace fastcp {

using platform::Follow;
using platform::Kind;
using platform::LinkKind;
using platform::Stat;

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

}  // namespace fastcp
