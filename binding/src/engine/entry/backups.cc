#include "engine/entry/backups.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "engine/base/listing.h"
#include "engine/entry/access.h"

namespace fastcp {

using platform::Follow;
using platform::Handle;
using platform::Stat;

namespace {

/** Finds GNU's `name.~N~` in a directory of DEST. Returns the highest number of each name. */
std::unordered_map<std::string, uint64_t> list_backups(const Directory& directory,
                                                       const char* name) {
  std::unordered_map<std::string, uint64_t> found;
  list_names(directory.dst(), name, [&](std::string_view entry) {
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

}  // namespace fastcp
