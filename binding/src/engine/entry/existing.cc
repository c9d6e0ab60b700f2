#include "engine/entry/existing.h"

#include <cerrno>
#include <mutex>

#include "engine/entry/access.h"
#include "engine/entry/metadata.h"
#include "engine/entry/names.h"

namespace fastcp {

using platform::Follow;
using platform::Handle;
using platform::Kind;
using platform::Stat;

namespace {

/** Looks at DEST's entry that an entry of `kind` would replace. Returns 0 or a negative errno. */
int stat_existing(Engine& engine, Directory& directory, const char* name, Kind kind,
                  Stat& existing) {
  const int error = stat_with_access(engine, directory, name, existing);
  if (error < 0 || existing.kind != Kind::symlink || !directory.is_base() ||
      kind == Kind::symlink || engine.options.compatibility.like != Like::fastcp) {
    return error;
  }
  // A symlink named by the user stands for its target, if that is a directory or a device.
  Stat target;
  if (platform::stat_entry(directory.dst(), name, target, Follow::yes) == 0 &&
      target.kind != Kind::file) {
    existing = target;
  }
  return 0;
}

/**
 * Returns whether SRC has the same FIFO or device. Then nothing is lost if a hard link to its first
 * copy replaces DEST's entry.
 */
bool is_same_special(const Traversal& traversal, const Directory& directory, Names names,
                     const Stat& existing) {
  Stat src;
  return platform::stat_entry(directory.src(), names.src, src, traversal.follow()) == 0 &&
         src.kind == existing.kind && (src.kind == Kind::fifo || src.rdev == existing.rdev);
}

/** Returns whether SRC's entry has a newer mtime, also in the granularity of DEST's file system. */
bool is_newer(const Directory& directory, Names names, Follow follow, const Stat& existing) {
  Stat src;
  if (platform::stat_entry(directory.src(), names.src, src, follow) < 0) return true;
  return src.mtime > existing.mtime &&
         !is_same_time(src.mtime, existing, time_step(directory, names.dst));
}

/** Returns whether SRC's entry, or what it leads to, is the entry of DEST that its copy would replace. */
bool leads_to(const Directory& directory, Names names, const Stat& existing) {
  Stat target;
  return existing.kind != Kind::symlink &&
         platform::stat_entry(directory.src(), names.src, target, Follow::yes) == 0 &&
         is_same_entry(target, existing);
}

}  // namespace

bool is_special(Kind kind) {
  return kind != Kind::file && kind != Kind::directory && kind != Kind::symlink;
}

const char* refusal_of(Kind there) {
  switch (there) {
    case Kind::fifo: return kFifoInDest;
    case Kind::socket: return kSocketInDest;
    case Kind::character_device:
    case Kind::block_device: return kDeviceInDest;
    default: return kUnknownInDest;
  }
}

bool is_append_only(Directory& directory, const std::string& name) {
  if (directory.is_base()) {  // the base stands for several directories, and names are paths
    const std::string above = name.substr(0, name.rfind('/') + 1);
    return platform::is_append_only(directory.dst(), above.c_str());
  }
  DestFacts& dest = directory.dest();
  std::call_once(dest.append_only_learned, [&] {
    dest.append_only = !directory.filling.fresh && platform::is_append_only(directory.dst(), ".");
  });
  return dest.append_only;
}

bool becomes_symlink(const Options& options, Kind kind) {
  return kind == Kind::symlink ||
         (kind == Kind::file && options.content.instead == Instead::symlink);
}

Decision judge(Worker& worker, Directory& directory, Names names, Kind kind) {
  const Options& options = worker.engine.options;
  const auto refuse = [&](int error, const char* why = kRefused) {
    worker.fail(directory, names, error, why);
    return Decision::refused;
  };
  if (is_collision(directory, names.dst)) return refuse(EEXIST, kCollision);
  Stat existing;
  const int error = stat_existing(worker.engine, directory, names.dst, kind, existing);
  if (error < 0 && error != -ENOENT) return refuse(error, "lstat");
  const auto skip = [&] {
    worker.count(Count::skipped);
    worker.note(directory, names, Action::skip, kind);
    return Decision::skip;
  };
  if (error == 0 && existing.kind == Kind::directory) {
    const bool stays = !options.existing.force && !options.existing.error_on_exist &&
                       options.compatibility.like == Like::fastcp && !directory.is_base();
    return stays ? skip() : refuse(EISDIR);
  }
  if (options.existing.update && error == 0 &&
      !is_newer(directory, names, options.traversal.follow(), existing)) {
    return skip();
  }
  if (options.existing.force) {
    if (options.compares) return Decision::replace;
    if (error == 0 && becomes_symlink(options, kind) && leads_to(directory, names, existing))
      return refuse(EINVAL, kSameFile);
    if (error == 0 && is_special(existing.kind) &&
        !is_same_special(options.traversal, directory, names, existing)) {
      return refuse(EEXIST, refusal_of(existing.kind));
    }
    if (is_append_only(directory, names.dst)) return refuse(EPERM, kAppendOnly);
    return Decision::replace;
  }
  return options.existing.error_on_exist ? refuse(EEXIST) : skip();
}

bool would_lose_target(const Engine& engine, const Directory& directory, Names names) {
  Stat existing;
  const bool is_atomic = !engine.options.replaces.empty();
  const int error =
      is_atomic ? platform::stat_entry(Handle::working_directory(),
                                       engine.replaced_path(directory, names.dst).c_str(), existing)
                : platform::stat_entry(directory.dst(), names.dst, existing);
  return error == 0 && leads_to(directory, names, existing);
}

bool may_exist(const Directory& directory, Names names) {
  if (!directory.has_dst()) return false;
  Stat existing;
  const int error = platform::stat_entry(directory.dst(), names.dst, existing);
  return error == 0 || error == -EACCES;
}

}  // namespace fastcp
