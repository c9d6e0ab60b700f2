#include "conflict.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>

#include "listing.h"

namespace fastcp {

using platform::Follow;
using platform::Handle;
using platform::Kind;
using platform::Stat;

namespace {

/** Lists a folder of DEST, as long as `next(name)` says true. False where it cannot be listed. */
template <class Next>
bool list(const Folder& folder, const char* name, Next next) {
  Handle listing;
  if (platform::open_source_folder(folder.dst(), name, Follow::no, listing) < 0) return false;
  alignas(uint64_t) std::array<char, 4096> buffer;  // records hold 64-bit numbers
  list_entries(listing, buffer.data(), buffer.size(),
               [&](const char*, const platform::Listed& entry) { return next(entry.name); });
  return true;
}

/** Finds GNU's `name.~N~` in a folder of DEST: the highest number of each name. */
std::unordered_map<std::string, uint64_t> list_backups(const Folder& folder, const char* name) {
  std::unordered_map<std::string, uint64_t> found;
  list(folder, name, [&](std::string_view entry) {
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

/** The highest number that a backup of `name` had; 0 where there was none. */
uint64_t last_backup(Folder& folder, const std::string& name) {
  const auto number_of = [](const auto& numbers, const std::string& key) {
    const auto found = numbers.find(key);
    return found == numbers.end() ? 0 : found->second;
  };
  if (folder.is_base()) {  // stands for several folders, and names are paths
    const size_t slash = name.rfind('/') + 1;
    return number_of(list_backups(folder, name.substr(0, slash).c_str()), name.substr(slash));
  }
  std::call_once(folder.backups_listed, [&] { folder.backups = list_backups(folder, "."); });
  return number_of(folder.backups, name);
}

}  // namespace

bool is_collision(const Folder& folder, const char* name) {
  if (!folder.fresh) return false;
  bool found = false;
  const bool listed = list(folder, ".", [&](const char* entry) {
    found = std::strcmp(entry, name) == 0;
    return !found;
  });
  return listed && !found;
}

Verdict judge(Worker& worker, const Folder& folder, Names names, Kind kind) {
  const Options& options = worker.engine.options;
  const auto refuse = [&](int error, const char* why = kRefused) {
    worker.fail(folder, names, error, why);
    return Verdict::refused;
  };
  if (is_collision(folder, names.dst)) return refuse(EEXIST, kCollision);
  Stat existing;
  const int error = platform::stat_entry(folder.dst(), names.dst, existing);
  if (error == 0 && existing.kind == Kind::folder) return refuse(EISDIR);
  if (options.force) return Verdict::replace;
  if (options.error_on_exist) return refuse(EEXIST);
  worker.count(Count::skipped);
  worker.note(folder, names, Action::skip, kind);
  return Verdict::skip;
}

int back_up(Folder& folder, const char* name) {
  for (uint64_t number = last_backup(folder, name) + 1;; number++) {
    const std::string backup = std::string(name) + ".~" + std::to_string(number) + "~";
    int error =
        platform::make_hard_link(folder.dst(), name, Follow::no, folder.dst(), backup.c_str());
    // Where there are no hard links the name is free for a moment.
    if (error == -EPERM || error == -EOPNOTSUPP || error == -EMLINK) {
      error = platform::rename_new(folder.dst(), name, backup.c_str());
    }
    if (error != -EEXIST) return error;
  }
}

bool exists(const Folder& folder, Names names) {
  Stat existing;
  return folder.has_dst() && platform::stat_entry(folder.dst(), names.dst, existing) == 0;
}

}  // namespace fastcp
