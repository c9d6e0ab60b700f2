#include "engine/entry/copy_entry.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/entry/compare.h"
#include "engine/entry/copy_content.h"
#include "engine/entry/existing.h"
#include "engine/entry/foreign_rules.h"
#include "engine/entry/hard_link.h"
#include "engine/entry/link_instead.h"
#include "engine/entry/mark.h"
#include "engine/entry/metadata.h"
#include "engine/entry/place.h"
#include "engine/entry/settle.h"
#include "engine/entry/unchanged.h"

namespace fastcp {
namespace {

using platform::Follow;
using platform::Handle;
using platform::Kind;
using platform::Stat;

int choose_route(Worker& worker, OpenFile& file) {
  const Directory& directory = *file.directory;
  file.route = directory.filling.route;
  if (file.route != nullptr && file.stat.dev == directory.src_stat.dev) return 0;
  // The base, or a file that is a mount point itself.
  Stat dst;
  const int error = platform::stat_handle(file.dst, dst);
  if (error == 0) file.route = &worker.engine.route(file.stat.dev, dst.dev, file.src, file.dst);
  return error;
}

/**
 * Returns whether the file may be created as a clone. The clone has the source's mode from the
 * beginning, so the file must be created with that mode. The mode
 * must give access to nobody whom a later ACL excludes; create_clone() does the same for a later owner.
 */
bool may_create_clone(const Content& how, const Preserve& keep, const OpenFile& file) {
  const Directory& directory = *file.directory;
  const auto is_creation_mode = [&] {
    const Attributes none;
    return keep.mode && file_creation_mode(keep, directory, file.stat, none, true) ==
                            (file.stat.mode & platform::kPermissions);
  };
  return platform::clones_are_created && how.reflink != Reflink::never && !how.find_holes &&
         file.stat.size > 0 &&
         (directory.filling.route == nullptr || directory.filling.route->clone) &&
         !has_acl(file.attributes) && is_creation_mode();
}

/** Returns whether DEST's directory is append-only. One that this copy has created is not, and is not asked. */
bool forbids_removal(Directory& directory, const char* name) {
  return !directory.filling.fresh && is_append_only(directory, name);
}

/**
 * Returns how a new file gets its name. It must be complete by then if later copies would keep it, and if it is large: several
 * workers write it out of order, so SIGKILL would leave gaps in a file of full size.
 */
Naming naming_of(const Options& options, const OpenFile& file) {
  const Route* const route = file.directory->filling.route;
  Naming naming = file.naming;
  if (route != nullptr) naming = std::max(naming, route->naming.load(std::memory_order_relaxed));
  // Before Linux 6.0 the umask does not apply to a file without a name everywhere. Then its mode must be set.
  if (!options.preserve.mode) naming = std::max(naming, Naming::renamed);
  const Existing& rules = options.existing;
  const bool is_kept =
      file.temporary.empty() && (rules.update || (!rules.force && !rules.error_on_exist));
  const bool hides_gaps = file.stat.size >= kLargeFile && naming == Naming::unnamed;
  return is_kept || hides_gaps ? naming : Naming::first;
}

/** Creates the copy under that name: empty, or as a clone on systems that create clones as new files. */
int create_named(const Options& options, OpenFile& file, const char* name, uint32_t mode) {
  const Handle& directory = file.directory->dst();
  const Preserve& keep = options.preserve;
  if (may_create_clone(options.content, keep, file)) {
    const auto with = keep.xattrs ? platform::WithAttributes::yes : platform::WithAttributes::no;
    const auto owner =
        keeps_owner(keep, Kind::file) ? platform::WithOwner::yes : platform::WithOwner::no;
    const int error = platform::create_clone(file.src, directory, name, with, owner, file.dst);
    file.cloned = error == 0;
    if (Route* const route = file.directory->filling.route; error == -EXDEV && route != nullptr)
      route->clone = false;
    if (error != -EXDEV && error != -EOPNOTSUPP) return error;
  }
  return platform::create_file(directory, name, mode, file.dst);
}

/** Creates the copy, or returns -EEXIST if DEST has the name. */
int create(Worker& worker, OpenFile& file, const char* name, uint32_t mode) {
  const Options& options = worker.engine.options;
  Directory& directory = *file.directory;
  const bool stays = forbids_removal(directory, name);  // whatever gets a name there
  Naming naming = stays ? Naming::unnamed : naming_of(options, file);
  if (naming != Naming::first && file.temporary.empty() && !directory.filling.fresh) {
    Stat there;
    const int found = platform::stat_entry(directory.dst(), name, there);
    if (found == 0) return -EEXIST;
    if (found != -ENOENT) naming = Naming::first;
  }
  if (naming == Naming::unnamed) {
    const std::string_view path = name;
    const std::string above(path.substr(0, path.rfind('/') + 1));
    const char* const directory_path = above.empty() ? "." : above.c_str();
    const int error = platform::create_unnamed(directory.dst(), directory_path, mode, file.dst);
    file.unnamed = error == 0;
    if (error == 0 || (stays && error != -EOPNOTSUPP)) return error;
    file.naming = Naming::renamed;
    naming = stays ? Naming::first : naming_of(options, file);
  }
  if (naming == Naming::first) return create_named(options, file, name, mode);
  std::string temporary;
  int error = 0;
  do {
    temporary = temporary_name(worker, name);
    error = create_named(options, file, temporary.c_str(), mode);
  } while (error == -EEXIST);
  file.hidden = error == 0;
  if (file.hidden) file.temporary = std::move(temporary);
  return error;
}

/** Looks at the file of DEST, or of the DEST that an atomic copy replaces, whose permissions the copy gets. */
std::optional<Replaced> file_to_replace(const Engine& engine, const Directory& directory,
                                        const char* name) {
  const bool is_atomic = !engine.options.replaces.empty();
  const std::string path = is_atomic ? engine.replaced_path(directory, name) : name;
  const Handle base = Handle::working_directory();
  Handle file;
  Stat stat;
  if (platform::open_entry(is_atomic ? base : directory.dst(), path.c_str(), Follow::no, file) <
          0 ||
      platform::stat_handle(file, stat) < 0 || stat.kind != Kind::file)
    return std::nullopt;
  return Replaced{stat, has_access_list(file)};
}

}  // namespace

void copy_file(Worker& worker, const DirectoryUse& use, Names names, EntryTask& again) {
  Directory& directory = *use;
  OpenFile file(worker.engine, directory, names);
  file.tries = again.tries;
  file.vacated = again.vacated;
  file.naming = again.naming;
  const auto stop_at = [&](int error, const char* operation) {
    worker.fail(directory, names, error, operation);
  };

  const Options& options = worker.engine.options;
  bool without_atime = directory.filling.without_atime.load(std::memory_order_relaxed);
  int error = open_to_read(worker, directory.src(), names.src, options.traversal.follow(),
                           without_atime, file.src);
  if (error == -ECANCELED) return put_off(worker, use, names, again);
  if (!without_atime) directory.filling.without_atime.store(false, std::memory_order_relaxed);
  if (error < 0) return stop_at(error, kOpenSource);
  if (error = platform::stat_handle(file.src, file.stat); error < 0) return stop_at(error, "fstat");
  if (file.stat.kind != Kind::file) return stop_at(EBUSY, kRefused);  // the listing had a file
  if (file.stat.size >= kLongFile && worker.hands_over()) return put_off(worker, use, names, again);
  note_source(worker.engine, directory, file.stat);

  if (!claim_or_link(worker, use, names, file.stat, file.claim, again)) return;
  file.separate = again.separate;
  if (options.preserve.xattrs &&
      !read_attributes(worker.engine, directory, names, file.src, file.attributes)) {
    return;
  }

  uint32_t mode = file_creation_mode(options.preserve, directory, file.stat, file.attributes,
                                     expects_owner(options.preserve, directory, file.stat));
  error = place(worker, directory, names, Kind::file, file.temporary, [&](const char* name) {
    const bool replaces = name != names.dst || !options.replaces.empty();
    if (replaces && !options.preserve.mode) {
      file.replaced = file_to_replace(worker.engine, directory, names.dst);
      if (file.replaced)
        mode = file.replaced->stat.mode & kOwner;  // the rest when it has its group
    }
    return worker.with_descriptor([&] { return create(worker, file, name, mode); });
  });
  if (error == kNotPlaced) return;
  if (error < 0) return stop_at(error, kOpenDest);
  file.created = true;
  if (error = choose_route(worker, file); error < 0) return stop_at(error, "fstat");
  if (options.content.find_holes || has_holes(file.stat)) platform::allow_holes(file.dst);

  finish_file(
      worker, file,
      file.stat.size >= kLargeFile ? copy_large_content(worker, file) : copy_content(worker, file));
}

namespace {

/** Copies an entry. The entry is not a directory, and it was not refused because of its kind. */
void copy_known(Worker& worker, const DirectoryUse& use, Names names, Kind kind, EntryTask& again) {
  Directory& directory = *use;
  const Options& options = worker.engine.options;
  // The removal of DEST's entry has made room.
  if (worker.engine.is_full && !again.vacated) return;
  if (becomes_symlink(options, kind) && !options.replaces.empty() &&
      would_lose_target(worker.engine, directory, names)) {
    worker.fail(directory, names, EINVAL, kSameFile);
    return;
  }
  // An existing FIFO or device stays in any case, because it has no content that could differ.
  const bool keeps = options.incremental.sync
                         ? options.content.instead == Instead::copy || kind != Kind::file
                         : options.existing.force && is_special(kind);
  const bool fresh = directory.filling.fresh;
  if (keeps && !fresh && needs_no_copy(worker, use, names, kind, again)) return;
  // If DEST's entry may not be replaced, the source need not even be opened.
  if ((!options.existing.force || options.existing.update) && !fresh && !again.vacated &&
      may_exist(directory, names) && judge(worker, directory, names, kind) != Decision::replace) {
    return;
  }
  if (kind == Kind::file && is_the_link_already(worker, directory, names)) return;
  worker.engine.writer.copy(worker, use, names, kind, again);
}

}  // namespace

void EntryTask::run(Worker& worker) {
  const Names names{src_name.c_str(), dst_name.c_str()};
  DirectoryPin pin;
  if (!worker.pin(pin, *directory, names)) return;
  copy_known(worker, directory, names, kind, *this);
}

void copy_entry(Worker& worker, const DirectoryUse& use, Names names, Kind kind) {
  Directory& directory = *use;
  worker.count(Count::scanned);
  if (refuse_by_foreign_rules(worker, directory, names, kind)) return;
  if (!has_copies(kind) && !worker.engine.options.compares) {
    const char* what = kind == Kind::socket ? kSocket : kUnknown;
    if (directory.is_base()) {  // the user named it
      worker.fail(directory, names, EINVAL, what);
      return;
    }
    worker.engine.warnings.add(
        {EOPNOTSUPP, what, directory.src_path(names.src), directory.dst_path(names.dst)});
    worker.count(Count::skipped);
    worker.note(directory, names, Action::skip, kind);
    return;
  }
  EntryTask untried{};
  copy_known(worker, use, names, kind, untried);
}

namespace {

/** Gives up this try, and pushes the entry as a task. `tries`: see EntryTask. */
void try_again(Worker& worker, OpenFile& file, uint8_t tries) {
  file.discard();
  file.claim.release();
  worker.engine.tasks.push(make_task(EntryTask{.directory = file.directory->use(),
                                               .src_name = file.names.src,
                                               .dst_name = file.names.dst,
                                               .kind = Kind::file,
                                               .tries = tries,
                                               .vacated = file.vacated,
                                               .separate = file.separate,
                                               .naming = file.naming}));
}

/**
 * Checks whether the source changed before its timestamps were set on the copy. Such a copy would
 * look current, so it does not get its name, and the source is copied once more. Reports a source
 * that does not come to rest.
 */
bool changed_meanwhile(Worker& worker, OpenFile& file) {
  constexpr uint8_t kTries = 3;
  Directory& directory = *file.directory;
  Stat now;
  if (!worker.engine.options.preserve.timestamps ||
      (platform::stat_handle(file.src, now) == 0 && !is_changed(file.stat, now))) {
    return false;
  }
  if (file.tries == kTries) {
    worker.fail(directory, file.names, EBUSY, kRefused);
    return true;
  }
  try_again(worker, file, static_cast<uint8_t>(file.tries + 1));
  return true;
}

/** Gives a new file its name, or the one that commit() renames. Returns as place() does. */
int give_name(Worker& worker, OpenFile& file) {
  const Handle& directory = file.directory->dst();
  // Whether it needs one is only known now.
  const std::string hidden = std::exchange(file.temporary, {});
  const auto name_as = [&](const char* name) {
    if (file.unnamed) return platform::name_file(file.dst, directory, name);
    int error = platform::rename_new(directory, hidden.c_str(), name);
    if (error != -EINVAL && error != -ENOSYS) return error;
    // NFS and FUSE: a second name replaces nothing, either.
    error =
        platform::make_hard_link(directory, hidden.c_str(), platform::Follow::no, directory, name);
    return error < 0 ? error : platform::remove_file(directory, hidden.c_str());
  };
  const int error = place(worker, *file.directory, file.names, Kind::file, file.temporary, name_as);
  if (error != 0) file.temporary = hidden;
  if (error == 0) file.unnamed = file.hidden = false;
  return error;
}

/** Does everything of finish_file() except counting bytes. Returns false if there is no copy. */
bool complete(Worker& worker, OpenFile& file, CopiedContent& content) {
  const auto stop_at = [&](int error, const char* operation) {
    // If the copy was stopped, nothing has to be reported: the caller of stop() knows.
    return error != -ECANCELED && worker.fail(*file.directory, file.names, error, operation);
  };

  if (content.error == 0 && source_changed(file, content)) {
    // Copies it once more. A source that still changes cannot be copied as one state.
    int error = platform::stat_handle(file.src, file.stat);
    if (error < 0) return stop_at(error, "fstat");
    note_source(worker.engine, *file.directory, file.stat);
    if (error = platform::set_size(file.dst, 0); error < 0) return stop_at(error, "ftruncate");
    const uint64_t counted = content.counted;
    file.used = true;
    content = copy_content(worker, file);
    content.counted = counted;
    if (content.error == 0 && source_changed(file, content)) return stop_at(EBUSY, kRefused);
  }
  if (content.error < 0) return stop_at(content.error, content.operation);
  // A file with blocks really has its size. procfs and the like report sizes that are not real.
  if (content.ended_early && file.stat.size > 0 && file.stat.allocated > 0) {
    return stop_at(EIO, "read");
  }

  if (worker.engine.options.content.verify && !verify_file(worker, file)) return false;
  if (!settle_file(worker.engine, file)) return false;
  if (changed_meanwhile(worker, file)) return false;
  if (worker.engine.options.content.fsync) {
    if (const int error = platform::sync(file.dst); error < 0) return stop_at(error, "fsync");
  }
  // Servers may report only now that they had no room.
  const auto close = [&] {
    const int error = file.dst.close();
    return error == 0 || stop_at(error, "close");
  };
  if (!file.unnamed && !close()) return false;
  if (file.unnamed || file.hidden) {
    const int error = give_name(worker, file);
    if (error == kNotPlaced) return false;
    if (error < 0) {
      if (forbids_removal(*file.directory, file.names.dst)) return stop_at(error, "link");
      // Some security modules and sandboxes forbid it, and some file systems have no such call.
      file.naming = file.unnamed ? Naming::renamed : Naming::first;
      file.route->naming = file.naming;
      try_again(worker, file, file.tries);
      return false;
    }
  }
  // DEST's file may have become newer while this one was copied.
  if (worker.engine.options.existing.update && !file.temporary.empty() &&
      judge(worker, *file.directory, file.names, Kind::file) != Decision::replace)
    return false;
  if (!close() || !commit(worker, *file.directory, file.names, file.temporary, Entry::created))
    return false;
  file.created = false;

  worker.count(Count::files);
  worker.count(content.method == CopyMethod::clone             ? Count::clone
               : content.method == CopyMethod::copy_file_range ? Count::copy_file_range
                                                               : Count::read_write);
  worker.note(*file.directory, file.names, file.temporary.empty() ? Action::copy : Action::replace,
              Kind::file);
  end_claim(worker, *file.directory, file.names, std::move(file.claim));
  return true;
}

}  // namespace

void finish_file(Worker& worker, OpenFile& file, CopiedContent content) {
  const uint64_t finished = complete(worker, file, content) ? content.bytes : 0;
  worker.count(Count::bytes, finished - content.counted);  // modulo 2^64: may subtract some
}

}  // namespace fastcp
