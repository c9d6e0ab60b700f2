#include "engine/entry/conflict.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/listing.h"
#include "engine/entry/copy_other.h"
#include "engine/entry/metadata.h"
#include "engine/entry/place.h"

namespace fastcp {

using platform::Follow;
using platform::Handle;
using platform::Kind;
using platform::Stat;

namespace {

/**
 * Lists a directory in `parent`, until `next(name)` returns false. Returns false if the directory
 * cannot be listed.
 */
template <class Next>
bool list(const Handle& parent, const char* name, Next next) {
  Handle listing;
  if (platform::open_source_directory(parent, name, Follow::no, listing) < 0) return false;
  alignas(uint64_t) std::array<char, 4096> buffer;  // records hold 64-bit numbers
  list_entries(listing, buffer.data(), buffer.size(),
               [&](const char*, const platform::Listed& entry) { return next(entry.name); });
  return true;
}

/** Finds GNU's `name.~N~` in a directory of DEST. Returns the highest number of each name. */
std::unordered_map<std::string, uint64_t> list_backups(const Directory& directory,
                                                       const char* name) {
  std::unordered_map<std::string, uint64_t> found;
  list(directory.dst(), name, [&](std::string_view entry) {
    const size_t at = entry.rfind(".~");
    if (at == std::string_view::npos || !entry.ends_with('~')) return true;
    uint64_t number = 0;
    const char* end = entry.data() + entry.size() - 1;
    const auto [stop, error] = std::from_chars(entry.data() + at + 2, end, number);
    if (error != std::errc() || stop != end) return true;
    uint64_t& last = found[std::string(entry.substr(0, at))];
    last = std::max(last, number);
    return true;
  });
  return found;
}

/** Returns whether the listing of DEST's directory lacks exactly that name. */
bool lacks(const Directory& directory, const char* name) {
  bool found = false;
  const bool listed = list(directory.dst(), ".", [&](const char* entry) {
    found = std::strcmp(entry, name) == 0;
    return !found;
  });
  return listed && !found;
}

/** Returns a name with the case of its ASCII letters turned. */
std::string turned(std::string_view name) {
  std::string result(name);
  for (char& letter : result) {
    const int small = letter | 0x20;
    if (small >= 'a' && small <= 'z') letter = static_cast<char>(letter ^ 0x20);
  }
  return result;
}

/**
 * Counts the names of SRC's directory in small letters. `name` exists in DEST: if it does not with
 * the case turned, DEST tells the two apart, and nothing has to be counted.
 */
std::unordered_map<std::string, uint64_t> count_spellings(const Directory& directory,
                                                          const char* name) {
  std::unordered_map<std::string, uint64_t> counts;
  Stat stat;
  if (platform::stat_entry(directory.dst(), turned(name).c_str(), stat) == -ENOENT) return counts;
  list(directory.src(), ".", [&](std::string_view entry) {
    counts[in_small_letters(entry)]++;
    return true;
  });
  return counts;
}

/** Returns whether SRC has names that are equal to `name` but for the case of ASCII letters. */
bool has_twin(Directory& directory, const char* name) {
  DestFacts& dest = directory.dest();
  std::call_once(dest.spellings_counted,
                 [&] { dest.spellings = count_spellings(directory, name); });
  if (dest.spellings.empty()) return false;
  const auto found = dest.spellings.find(in_small_letters(name));
  return found != dest.spellings.end() && found->second > 1;
}

/** Returns the highest number that a backup of `name` had; 0 if there was none. */
uint64_t last_backup(Directory& directory, const std::string& name) {
  const auto number_of = [](const auto& numbers, const std::string& key) {
    const auto found = numbers.find(key);
    return found == numbers.end() ? 0 : found->second;
  };
  if (directory.is_base()) {  // the base stands for several directories, and names are paths
    const size_t slash = name.rfind('/') + 1;
    return number_of(list_backups(directory, name.substr(0, slash).c_str()), name.substr(slash));
  }
  DestFacts& dest = directory.dest();
  std::call_once(dest.backups_listed, [&] { dest.backups = list_backups(directory, "."); });
  return number_of(dest.backups, name);
}

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

}  // namespace

std::string in_small_letters(std::string_view name) {
  std::string result(name);
  for (char& letter : result) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter | 0x20);
  }
  return result;
}

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

bool is_collision(Directory& directory, const char* name) {
  // An entry with another spelling may be older than the copy, unless SRC has both spellings.
  const bool may_be_others = !directory.fresh || directory.dest().others_create;
  if (may_be_others && (directory.is_base() || !has_twin(directory, name))) return false;
  // A listing can miss a name while another copy renames its new file over that name, which then has another file.
  constexpr int kLooks = 100;
  for (int look = 0; look < kLooks; look++) {
    Stat before{}, after{};
    if (platform::stat_entry(directory.dst(), name, before) == -ENOENT) return false;
    if (!lacks(directory, name)) {
      directory.dest().others_create = true;
      return false;
    }
    if (platform::stat_entry(directory.dst(), name, after) == -ENOENT) return false;
    // The number of a freed inode may be used again.
    if (is_same_entry(before, after) && before.ctime == after.ctime) return true;
  }
  return true;  // the name changed at every look and was never listed; a collision loses no data
}

bool is_append_only(Directory& directory, const std::string& name) {
  if (directory.is_base()) {  // the base stands for several directories, and names are paths
    const std::string above = name.substr(0, name.rfind('/') + 1);
    return platform::is_append_only(directory.dst(), above.c_str());
  }
  DestFacts& dest = directory.dest();
  std::call_once(dest.append_only_learned, [&] {
    dest.append_only = !directory.fresh && platform::is_append_only(directory.dst(), ".");
  });
  return dest.append_only;
}

namespace {

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

bool becomes_symlink(const Options& options, Kind kind) {
  return kind == Kind::symlink ||
         (kind == Kind::file && options.content.instead == Instead::symlink);
}

Verdict judge(Worker& worker, Directory& directory, Names names, Kind kind) {
  const Options& options = worker.engine.options;
  const auto refuse = [&](int error, const char* why = kRefused) {
    worker.fail(directory, names, error, why);
    return Verdict::refused;
  };
  if (is_collision(directory, names.dst)) return refuse(EEXIST, kCollision);
  Stat existing;
  const int error = stat_existing(worker.engine, directory, names.dst, kind, existing);
  if (error < 0 && error != -ENOENT) return refuse(error, "lstat");
  const auto skip = [&] {
    worker.count(Count::skipped);
    worker.note(directory, names, Action::skip, kind);
    return Verdict::skip;
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
    if (options.compares) return Verdict::replace;
    if (error == 0 && becomes_symlink(options, kind) && leads_to(directory, names, existing))
      return refuse(EINVAL, kSameFile);
    if (error == 0 && is_special(existing.kind) &&
        !is_same_special(options.traversal, directory, names, existing)) {
      return refuse(EEXIST, refusal_of(existing.kind));
    }
    if (is_append_only(directory, names.dst)) return refuse(EPERM, kAppendOnly);
    return Verdict::replace;
  }
  return options.existing.error_on_exist ? refuse(EEXIST) : skip();
}

namespace {

/** Renames an entry to a new name. Where no call does both (FUSE), reserves the name by an empty file first. */
int rename_to_new(Engine& engine, Directory& directory, const char* from, const char* to) {
  const platform::Handle& dst = directory.dst();
  const int error =
      with_access(engine, directory, [&] { return platform::rename_new(dst, from, to); });
  if (error != -EINVAL && error != -ENOSYS) return error;
  Handle reserved;
  const int created = with_access(engine, directory,
                                  [&] { return platform::create_file(dst, to, 0600, reserved); });
  if (created < 0) return created;
  reserved.close();
  const int renamed =
      with_access(engine, directory, [&] { return platform::rename_over(dst, from, to); });
  if (renamed < 0) discard(engine, directory, to);
  return renamed;
}

}  // namespace

int back_up(Engine& engine, Directory& directory, const char* name, Backup how, std::string& made) {
  const auto keep_as = [&](const std::string& backup) {
    made = backup;
    const int error = with_access(engine, directory, [&] {
      const Handle& dst = directory.dst();
      return platform::make_hard_link(dst, name, Follow::no, dst, backup.c_str());
    });
    const bool has_hard_links =
        error != -EPERM && error != -EOPNOTSUPP && error != -ENOSYS && error != -EMLINK;
    // Otherwise the name is free for a moment.
    return has_hard_links ? error : rename_to_new(engine, directory, name, backup.c_str());
  };
  uint64_t number = last_backup(directory, name) + 1;
  int error = -EEXIST;
  if (how == Backup::existing && number == 1) error = keep_as(std::string(name) + '~');
  for (; error == -EEXIST; number++) {
    error = keep_as(std::string(name) + ".~" + std::to_string(number) + '~');
  }
  return error;
}

void undo_back_up(Engine& engine, Directory& directory, const char* name, const std::string& made) {
  Stat original, backup;
  if (stat_with_access(engine, directory, made.c_str(), backup) < 0) return;
  const int error = stat_with_access(engine, directory, name, original);
  if (error == 0 && is_same_entry(original, backup)) {
    discard(engine, directory, made.c_str());
  } else if (error == -ENOENT) {
    rename_to_new(engine, directory, made.c_str(), name);
  }
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
