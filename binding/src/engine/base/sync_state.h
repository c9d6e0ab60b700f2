// What a copy that syncs knows of one directory. entry/mark.h says what a mark proves.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "platform/platform.h"

namespace fastcp {

struct Mark {
  platform::Identity source;
  platform::Time began, finished;
  // platform::attribute_view() of whoever found that xattrs, ACLs and capabilities are the same; else 0.
  uint32_t attributes;
  bool operator==(const Mark&) const = default;
};

/** What a copy that syncs knows of a directory. Set before other workers see it, unless a member says otherwise. */
struct SyncState {
  platform::Identity source{};
  uint64_t target_file_system = 0;  // platform::file_system() of DEST's directory
  platform::Time began;
  std::optional<Mark> mark{};  // that DEST has, and that names `source`
  std::optional<Mark> seen{};  // that DEST has, whatever it names
  uint64_t errors = 0;         // of the whole copy, when it came to this directory
  /**
   * Names, each ended by a NUL, that are not selected. Appended while the directory's question is answered, read
   * when its last use ends.
   */
  std::string excluded{};
  /** Something in it is the same by now, and the mark does not say so. Set by any worker. */
  std::atomic<bool> is_news{false};
  /** Something in it was taken for the same without proof. Set by any worker. */
  std::atomic<bool> is_doubtful{false};
};

}  // namespace fastcp
