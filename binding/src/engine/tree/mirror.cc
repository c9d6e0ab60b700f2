#include "engine/tree/mirror.h"

#include <cerrno>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "engine/base/listing.h"
#include "engine/entry/access.h"
#include "engine/entry/names.h"

namespace fastcp {
namespace {

using platform::Follow;
using platform::Handle;
using platform::Kind;
using platform::Stat;

struct SourceName {
  Kind kind;
  bool is_listed = false;  // DEST has exactly this name
};
using SourceNames = std::unordered_map<std::string_view, SourceName>;

/** Returns whether DEST's entry has to go before SRC's is copied: only one of the two is a directory. */
bool is_conflict(Kind src, Kind dst) {
  return (src == Kind::directory) != (dst == Kind::directory);
}

/**
 * Removes those from the list that a name of SRC leads to: DEST ignores case, or lists names in another form. On exfat-fuse each
 * spelling has an inode number of its own, and letters tell.
 */
void keep_respelled(const Directory& directory, const SourceNames& in_src,
                    std::vector<Extra>& extra) {
  if (extra.empty()) return;
  std::set<std::pair<uint64_t, uint64_t>> reached;  // dev and ino
  std::unordered_set<std::string> letters;
  Stat stat;
  for (const auto& [name, source] : in_src) {
    if (source.is_listed || platform::stat_entry(directory.dst(), name.data(), stat) < 0) continue;
    reached.insert({stat.dev, stat.ino});
    letters.insert(in_small_letters(name));
  }
  if (reached.empty()) return;
  std::erase_if(extra, [&](const Extra& entry) {
    return letters.contains(in_small_letters(entry.name)) ||
           (platform::stat_entry(directory.dst(), entry.name.c_str(), stat) == 0 &&
            reached.contains({stat.dev, stat.ino}));
  });
}

}  // namespace

bool is_mirrored(const Engine& engine, const Directory& directory) {
  // A comparison also lists these, but nothing is deleted.
  const bool is_out_of_reach = engine.options.traversal.one_file_system &&
                               !engine.options.compares && directory.filling.is_beyond_mount;
  return engine.options.incremental.mirror && directory.has_dst() && !directory.filling.fresh &&
         !is_out_of_reach;
}

bool find_kind(const Handle& directory, const platform::Listed& entry, Kind& kind) {
  Stat stat;
  const bool is_listed = entry.kind != Kind::unknown;
  if (!is_listed && platform::stat_entry(directory, entry.name, stat) < 0) return false;
  kind = is_listed ? entry.kind : stat.kind;
  return true;
}

bool list_extra(Worker& worker, const Directory& directory, const std::string& records,
                const std::string& kinds, std::vector<Extra>& out) {
  SourceNames in_src;
  in_src.reserve(kinds.size());
  for (size_t at = 0, index = 0; at < records.size(); index++) {
    const platform::Listed entry = platform::parse_listing(records.data() + at);
    at += entry.size;
    const auto kind = static_cast<Kind>(kinds[index]);
    in_src.emplace(entry.name, SourceName{kind});
  }
  const auto compare = [&](const char*, const platform::Listed& entry) {
    Kind kind = Kind::unknown;
    if (!find_kind(directory.dst(), entry, kind)) return true;
    const auto found = in_src.find(entry.name);
    if (found == in_src.end()) {
      out.push_back({entry.name, kind, false});
      return true;
    }
    found->second.is_listed = true;
    if (is_conflict(found->second.kind, kind)) out.push_back({entry.name, kind, true});
    return true;
  };
  int error = list_entries(directory.dst(), worker.listing(), Worker::kListing, compare);
  if (error == -EBADF || error == -EPERM) {  // it was opened without that right
    Handle listing;
    error = worker.with_descriptor(
        [&] { return platform::open_source_directory(directory.dst(), ".", Follow::no, listing); });
    if (error < 0) return fail_in_dest(worker.engine, directory, nullptr, error, "open");
    error = list_entries(listing, worker.listing(), Worker::kListing, compare);
  }
  if (error < 0) return fail_in_dest(worker.engine, directory, nullptr, error, "getdents64");
  keep_respelled(directory, in_src, out);
  return true;
}

}  // namespace fastcp
