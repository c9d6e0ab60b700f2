#include "conflict.h"

#include <array>
#include <cerrno>
#include <cstring>

namespace fastcp {

using platform::Follow;
using platform::Handle;
using platform::Kind;
using platform::Stat;

bool is_collision(const Folder& folder, const char* name) {
  if (!folder.fresh) return false;
  Handle listing;
  if (platform::open_source_folder(folder.dst(), ".", Follow::no, listing) < 0) return false;
  alignas(uint64_t) std::array<char, 4096> buffer;  // records hold 64-bit numbers
  int64_t size = 0;
  while ((size = platform::read_listing(listing, buffer.data(), buffer.size())) > 0) {
    for (int64_t at = 0; at < size;) {
      const platform::Listed entry = platform::parse_listing(buffer.data() + at);
      if (std::strcmp(entry.name, name) == 0) return false;
      at += static_cast<int64_t>(entry.size);
    }
  }
  return true;
}

Verdict judge(Worker& worker, const Folder& folder, Names names, Kind kind) {
  const Options& options = worker.engine.options;
  const auto refuse = [&](int error) {
    worker.fail(folder, names, error, kRefused);
    return Verdict::refused;
  };
  if (is_collision(folder, names.dst)) return refuse(ENOTUNIQ);
  Stat existing;
  const int error = platform::stat_entry(folder.dst(), names.dst, existing);
  if (error == 0 && existing.kind == Kind::folder) return refuse(EISDIR);
  if (options.force) return Verdict::replace;
  if (options.error_on_exist) return refuse(EEXIST);
  worker.count(Count::skipped);
  worker.note(folder, names, Action::skip, kind);
  return Verdict::skip;
}

bool exists(const Folder& folder, Names names) {
  Stat existing;
  return folder.has_dst() && platform::stat_entry(folder.dst(), names.dst, existing) == 0;
}

}  // namespace fastcp
