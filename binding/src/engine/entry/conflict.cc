#include "engine/entry/conflict.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/link_target.h"
#include "engine/base/listing.h"
#include "engine/entry/copy_other.h"
#include "engine/entry/metadata.h"
#include "engine/entry/place.h"

namespace fastcp {

using platform::Follow;
using platform::Handle;
using platform::Kind;
using platform::leads_nowhere;
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

/** An empty directory in a directory of DEST, which has it until the object's end. */
class Probe {
 public:
  Probe(Worker& worker, Directory& directory, std::string name)
      : engine_(worker.engine), directory_(directory), name_(std::move(name)) {
    error_ = with_access(engine_, directory_, [&] {
      return platform::make_directory(directory_.dst(), name_.c_str(), kOwner);
    });
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  ~Probe() {
    if (error_ < 0) return;
    const int error = with_access(engine_, directory_, [&] {
      return platform::remove_directory(directory_.dst(), name_.c_str());
    });
    if (error < 0 && error != -ENOENT)
      report_left(engine_, directory_, name_.c_str(), error, "rmdir");
  }

  /** Returns 0 or a negative errno: nothing was created. */
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] const char* name() const { return name_.c_str(); }

 private:
  Engine& engine_;
  Directory& directory_;
  const std::string name_;
  int error_ = 0;
};

}  // namespace

Naming learn_naming(Worker& worker, Directory& directory) {
  // Upper and lower case, an accented letter, and at the end a dot, which some file systems drop.
  const std::string stem = temporary_name(worker, "");
  std::string capitals = stem;
  std::transform(stem.begin(), stem.end(), capitals.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  const std::array<std::string, 3> others{capitals + "-N\u00e9.", stem + "-Ne\u0301.",
                                          stem + "-N\u00e9"};
  const Probe probe(worker, directory, stem + "-N\u00e9.");
  if (probe.error() < 0) return Naming::folding;  // as it may be
  Naming naming = Naming::exact;
  Stat stat;
  for (const std::string& other : others) {
    if (platform::stat_entry(directory.dst(), other.c_str(), stat) == 0) naming = Naming::folding;
  }
  if (naming == Naming::folding && lacks(directory, probe.name())) naming = Naming::respelling;
  return naming;
}

namespace {

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

/** Returns whether a name leads to the same entry of DEST if the case of its letters is turned. */
bool is_same_turned(const Directory& directory, const char* name) {
  Stat one, other;
  return platform::stat_entry(directory.dst(), name, one) == 0 &&
         platform::stat_entry(directory.dst(), turned(name).c_str(), other) == 0 &&
         is_same_entry(one, other);
}

/** Returns whether SRC has names that are equal to `name` but for the case of ASCII letters. */
bool has_twin(Directory& directory, const char* name) {
  std::call_once(directory.spellings_counted,
                 [&] { directory.spellings = count_spellings(directory, name); });
  if (directory.spellings.empty()) return false;
  const auto found = directory.spellings.find(in_small_letters(name));
  return found != directory.spellings.end() && found->second > 1;
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
  std::call_once(directory.backups_listed,
                 [&] { directory.backups = list_backups(directory, "."); });
  return number_of(directory.backups, name);
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

bool is_collision(Worker& worker, Directory& directory, const char* name) {
  // In a directory that DEST had, an entry with another spelling may be older than the copy, unless
  // SRC has both spellings.
  if (!directory.fresh &&
      (directory.is_base() || !has_twin(directory, name) || is_append_only(directory, name))) {
    return false;
  }
  std::call_once(directory.naming_learned,
                 [&] { directory.naming = worker.engine.writer.learn_naming(worker, directory); });
  if (directory.naming == Naming::exact) return false;
  // HFSX respells names, but does not ignore case.
  if (directory.naming == Naming::respelling)
    return directory.fresh || is_same_turned(directory, name);
  // A listing can miss a name while another job renames its new file over that name. The name then
  // has another file, and one more look is needed. A collision does not change.
  constexpr int kLooks = 100;
  for (int look = 0; look < kLooks; look++) {
    Stat before{};
    if (platform::stat_entry(directory.dst(), name, before) == -ENOENT) return false;
    if (!lacks(directory, name)) return false;
    Stat after{};
    if (platform::stat_entry(directory.dst(), name, after) == -ENOENT) return false;
    // The number of a freed inode may be used again.
    if (is_same_entry(before, after) && before.ctime == after.ctime) return true;
  }
  return true;  // The name changed at every look and was never listed. A collision loses no data.
}

bool is_append_only(Directory& directory, const std::string& name) {
  if (directory.is_base()) {  // the base stands for several directories, and names are paths
    const std::string above = name.substr(0, name.rfind('/') + 1);
    return platform::is_append_only(directory.dst(), above.c_str());
  }
  std::call_once(directory.append_only_learned, [&] {
    directory.append_only = !directory.fresh && platform::is_append_only(directory.dst(), ".");
  });
  return directory.append_only;
}

int make_hard_link(const Engine& engine, const Handle& directory, const char* name, Follow follow,
                   const Handle& dst, const char* link, Removable removable) {
  const uint32_t user = engine.own.uid;
  Stat file, parent;
  if (removable == Removable::yes && platform::stat_entry(directory, name, file, follow) == 0 &&
      file.uid != user) {
    const std::string path = link;
    const size_t slash = path.rfind('/');  // only in the base
    const std::string above = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    if (platform::stat_entry(dst, above.c_str(), parent) == 0 && parent.uid != user &&
        (parent.mode & platform::kSticky) != 0 && !platform::acts_as_owner())
      return -EPERM;
  }
  return platform::make_hard_link(directory, name, follow, dst, link);
}

namespace {

/** Returns whether SRC's entry has a newer mtime, also in the granularity of DEST's file system. */
bool is_newer(const Directory& directory, Names names, Follow follow, const Stat& existing) {
  Stat src;
  if (platform::stat_entry(directory.src(), names.src, src, follow) < 0) return true;
  return src.mtime > existing.mtime &&
         !is_same_time(src.mtime, existing, time_step(directory, names.dst));
}

bool look(const std::string& at, Stat& out) {
  return platform::stat_entry(Handle::working_directory(), at.c_str(), out) == 0;
}

std::string_view name_in(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/** Where a path leads. */
struct Way {
  std::string end{};  // without symlinks
  // Of the last look; -ENOTDIR if the path goes on behind an entry that is no directory. After an error names are taken as they are.
  int error = 0;
  size_t looked_in = 0;  // the length of the path of the directory of that look
  int links = 0;         // symlinks followed
  bool met = false;
};

/**
 * Goes on from `way.end` by a path, one name after another, as the system does. If it meets `entry`, takes the rest as it is. A symlink
 * of /proc is taken for its text.
 */
void follow(Way& way, std::string_view path, const Stat* entry = nullptr) {
  constexpr int kMostLinks = 40;  // as in Linux
  std::string rest;
  const auto go_on = [&](std::string_view text) {
    const size_t root = platform::root_length(text);
    // On Windows `/directory` is on the drive of the symlink.
    const std::string_view drive = root > 1 || way.end.empty() ? text : way.end;
    if (root > 0) way.end = std::string(drive.substr(0, platform::root_length(drive)));
    rest.insert(0, std::string(text.substr(root)) + '/');
    return root > 0;
  };
  if (go_on(path)) way.error = 0;
  while (!rest.empty()) {
    const std::string name = rest.substr(0, rest.find('/'));
    rest.erase(0, name.size() + 1);
    if (name.empty() || name == ".") continue;
    const std::string above = way.end;
    if (name == "..") {
      way.end = directory_of(above);
      // The look may have failed for a name that was too long, or in a directory that denied it.
      if (way.end.size() <= way.looked_in && !leads_nowhere(way.error)) way.error = 0;
      continue;
    }
    if (!way.end.ends_with('/')) way.end += '/';
    way.end += name;
    if (way.error < 0) continue;
    Stat found;
    way.looked_in = above.size();
    way.error = platform::stat_entry(Handle::working_directory(), way.end.c_str(), found);
    if (way.error == 0 && found.kind != Kind::symlink && found.kind != Kind::directory &&
        !rest.empty()) {
      way.error = -ENOTDIR;
    }
    if (way.error < 0) continue;
    way.met = entry != nullptr && is_same_entry(found, *entry);
    if (way.met) {
      way.end = resolve(way.end, rest);
      break;
    }
    if (found.kind != Kind::symlink) continue;
    std::string target;
    platform::LinkKind kind{};
    way.error = way.links++ == kMostLinks
                    ? -ELOOP
                    : read_link_target(Handle::working_directory(), way.end.c_str(), target, kind);
    if (way.error < 0) continue;
    way.end = above;
    go_on(target);
  }
}

Way way_of(const Directory& directory, const char* name, const Stat* entry = nullptr) {
  Way way;
  const std::string path = directory.src_path(name);
  follow(way, directory_of(path), entry);
  way.links = 0;
  if (!way.met) follow(way, name_in(path), entry);
  return way;
}

bool is_root(std::string_view path) { return path.size() == platform::root_length(path); }

/**
 * Asks `decide(path, entry)` about an entry and each directory above it, and returns its first answer. Returns false if there is none,
 * or one of them cannot be looked at.
 */
template <class Decide>
bool climb(std::string at, Decide decide) {
  for (;; at = directory_of(at)) {
    Stat entry;
    if (!look(at, entry)) return false;
    if (const std::optional<bool> decided = decide(at, entry)) return *decided;
    if (is_root(at)) return false;
  }
}

/** Returns whether an entry, by its path without symlinks, is a DEST of this copy, or the old one. */
bool is_destination(const Engine& engine, const std::string& path, const Stat& entry) {
  // Another hard link of a file that is DEST is not DEST: files are compared by their directory and name.
  const bool has_one_name = entry.kind == Kind::directory;
  Stat place = entry;
  if (!has_one_name && !look(std::string(directory_of(path)), place)) return false;
  return engine.has_destination([&](const std::string& dest) {
    Stat found;
    const std::string at(has_one_name ? dest : directory_of(dest));
    return (has_one_name || name_in(dest) == name_in(path)) &&
           platform::stat_entry(Handle::working_directory(), at.c_str(), found, Follow::yes) == 0 &&
           is_same_entry(found, place);
  });
}

/**
 * Returns whether a symlink of SRC leads to an entry that is in SRC itself. Returns false if it is in a mount, which may show DEST,
 * or if that cannot be found out (mounts: before Linux 5.8). Looks at the entry and each directory above it.
 */
bool leads_into_source(const Engine& engine, const Directory& directory, Names names) {
  if (directory.is_base()) return false;
  const Directory* top = &directory;
  while (!top->parent().is_base()) top = &top->parent();
  const Way way = way_of(directory, names.src);
  if (way.error < 0) return false;
  return climb(way.end, [&](const std::string& at, const Stat& entry) -> std::optional<bool> {
    if (is_same_entry(entry, top->src_stat)) return true;
    // DEST may be in SRC, also that of another SRC.
    const bool is_dest = is_same_entry(entry, top->dst_stat) || is_destination(engine, at, entry);
    if (is_dest || platform::is_mount_root(Handle::working_directory(), at.c_str())) return false;
    return std::nullopt;
  });
}

/**
 * For a copy that is a symlink: returns whether it would replace the content that it leads to. This is so if SRC's entry is DEST's
 * entry, or a symlink to DEST's entry or through it. A file with several hard links also has other names: a symlink to one in SRC stays
 * right, because the copy removes nothing there.
 *
 * `place`: the path of DEST's entry. `existing`: null if that cannot be looked at.
 */
bool leads_to_replaced(const Engine& engine, const Directory& directory, Names names,
                       const std::string& place, const Stat* existing) {
  if (existing != nullptr && existing->kind == Kind::symlink) return false;
  const bool is_directory = existing == nullptr || existing->kind == Kind::directory;
  const auto loses_it = [&] {
    return is_directory || existing->link_count < 2 || !leads_into_source(engine, directory, names);
  };
  Stat target;
  const int error = platform::stat_entry(directory.src(), names.src, target, Follow::yes);
  if (error == 0 && existing != nullptr && is_same_entry(target, *existing)) return loses_it();
  // After ELOOP follow() decides: perhaps only SRC's mount follows no symlinks.
  const bool is_dangling = error == -ENOENT || error == -ENOTDIR;
  if ((error == 0 && !is_directory) || is_dangling) return false;
  std::string text;
  platform::LinkKind kind{};
  if (read_link_target(directory.src(), names.src, text, kind) < 0) return false;
  // The way to SRC itself may go anywhere: the copy is there already.
  Way way;
  follow(way, directory_of(directory.src_path(names.src)));
  way.links = 1;  // SRC's own, whose text this is
  follow(way, text, existing);
  if (way.met) return loses_it();
  // Hidden: by a directory that denies a look, though the copy may open it; or the path is too long.
  if (way.error == 0 || leads_nowhere(way.error)) return false;
  Way there;  // DEST's path may have symlinks, too
  follow(there, directory_of(place));
  const std::string at = resolve(there.end, name_in(place));
  return way.end == at || is_below(way.end, at);
}

}  // namespace

bool becomes_symlink(const Options& options, Kind kind) {
  return kind == Kind::symlink ||
         (kind == Kind::file && options.content.instead == Instead::symlink);
}

bool leads_to_its_place(const Directory& directory, Names names, const std::string& temporary) {
  Stat existing, found;
  if (platform::stat_entry(directory.dst(), names.dst, existing) < 0 ||
      existing.kind == Kind::symlink) {
    return false;
  }
  const Way way = way_of(directory, names.src);
  const std::string above(directory_of(way.end));
  return way.error == 0 && name_in(way.end) == name_in(names.dst) &&
         look(above + '/' + std::string(name_in(temporary)), found);
}

Verdict judge(Worker& worker, Directory& directory, Names names, Kind kind) {
  const Options& options = worker.engine.options;
  const auto refuse = [&](int error, const char* why = kRefused) {
    worker.fail(directory, names, error, why);
    return Verdict::refused;
  };
  if (is_collision(worker, directory, names.dst)) return refuse(EEXIST, kCollision);
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
    // New symlinks hold SRC's path. If it leads through DEST's symlink, it would then lead elsewhere, or to itself.
    const auto leads_through = [&] {
      Way way;
      const std::string path = directory.src_path(names.src);
      const bool follows = options.traversal.dereference && kind == Kind::file;
      if (options.content.instead == Instead::symlink && existing.kind == Kind::symlink)
        follow(way, follows ? path : directory_of(path), &existing);
      return way.met;
    };
    const auto replaces_target = [&] {
      return becomes_symlink(options, kind) &&
             leads_to_replaced(worker.engine, directory, names, directory.dst_path(names.dst),
                               &existing);
    };
    if (error == 0 && (replaces_target() || leads_through())) return refuse(EINVAL, kSameFile);
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
      return make_hard_link(engine, dst, name, Follow::no, dst, backup.c_str(), Removable::yes);
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

namespace {

/** Returns whether a path leads through a symlink in the old DEST, and the first such symlink. */
bool is_behind_symlink(const std::string& old, const std::string& path, Stat& symlink) {
  for (size_t end = old.size(); (end = path.find('/', end + 1)) != std::string::npos;) {
    if (look(path.substr(0, end), symlink) && symlink.kind == Kind::symlink) return true;
  }
  return false;
}

/** Returns whether a path in the old DEST leads out of it. Returns false if a bind mount may lead back. */
bool leads_out(const std::string& old, const std::string& path) {
  Way top, way;
  follow(top, old);
  follow(way, directory_of(path));
  Stat old_dest;
  if (way.error < 0 || !look(old, old_dest)) return false;
  return climb(way.end, [&](const std::string& at, const Stat& entry) -> std::optional<bool> {
    if (is_same_entry(entry, old_dest)) return false;
    if (is_root(at) || is_below(top.end, at)) return true;
    const bool may_lead_back = entry.dev == old_dest.dev &&
                               platform::is_mount_root(Handle::working_directory(), at.c_str());
    return may_lead_back ? std::optional(false) : std::nullopt;
  });
}

}  // namespace

bool would_lose_target(const Engine& engine, const Directory& directory, Names names) {
  Stat existing;
  const std::string& old = engine.options.replaces;
  const std::string place =
      old.empty() ? directory.dst_path(names.dst) : engine.replaced_path(directory, names.dst);
  const int error =
      old.empty() ? platform::stat_entry(directory.dst(), names.dst, existing)
                  : platform::stat_entry(Handle::working_directory(), place.c_str(), existing);
  if (leads_nowhere(error)) return false;
  Stat symlink;
  if (!old.empty() && is_behind_symlink(old, place, symlink) && leads_out(old, place)) {
    // Only that symlink is replaced, and nothing behind it. But the new symlink could lead to itself.
    const Way way = way_of(directory, names.src, &symlink);
    const std::string at = resolve(place, "");
    return way.met && (way.end == at || is_below(way.end, at));
  }
  return leads_to_replaced(engine, directory, names, place, error == 0 ? &existing : nullptr);
}

bool may_exist(const Directory& directory, Names names) {
  if (!directory.has_dst()) return false;
  Stat existing;
  const int error = platform::stat_entry(directory.dst(), names.dst, existing);
  return error == 0 || error == -EACCES;
}

}  // namespace fastcp
