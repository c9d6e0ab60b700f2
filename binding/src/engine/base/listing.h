// Lists an open directory. Called by tree/ and entry/. Stateless: no locks.
#pragma once

#include <array>
#include <cstring>

#include "platform/platform.h"

namespace fastcp {

/**
 * Calls `next(record, entry)` for each entry except '.' and '..', until it returns false. `buffer`
 * holds parts of the listing and must be aligned for 64-bit numbers. Returns 0 or a negative errno.
 */
template <class Next>
int list_entries(const platform::Handle& directory, char* buffer, size_t room, Next next) {
  for (;;) {
    const int64_t size = platform::read_listing(directory, buffer, room);
    if (size <= 0) return static_cast<int>(size);
    for (int64_t at = 0; at < size;) {
      const char* record = buffer + at;
      const platform::Listed entry = platform::parse_listing(record);
      at += static_cast<int64_t>(entry.size);
      if (std::strcmp(entry.name, ".") == 0 || std::strcmp(entry.name, "..") == 0) continue;
      if (!next(record, entry)) return 0;
    }
  }
}

/**
 * Calls `next(name)` for each entry of the directory `name` in `parent`, until it returns false. Returns false if the
 * directory cannot be listed.
 */
template <class Next>
bool list_names(const platform::Handle& parent, const char* name, Next next) {
  platform::Handle listing;
  if (platform::open_source_directory(parent, name, platform::Follow::no, listing) < 0)
    return false;
  alignas(uint64_t) std::array<char, 4096> buffer;  // records hold 64-bit numbers
  list_entries(listing, buffer.data(), buffer.size(),
               [&](const char*, const platform::Listed& entry) { return next(entry.name); });
  return true;
}

}  // namespace fastcp
