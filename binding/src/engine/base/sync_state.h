// Facts about one directory that a copy with `sync` needs. entry/mark.h explains what a mark
// proves. Workers set the atomic members; see each other member for the thread that sets it.
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
  // platform::attribute_view() of the process that found xattrs, ACLs and capabilities equal;
  // otherwise 0.
  uint32_t attributes;
};

/**
 * The state of one directory in a copy that syncs. Set before other workers see it, unless a member
 * says otherwise.
 */
struct SyncState {
  platform::Identity source{};
  uint64_t target_file_system = 0;  // platform::file_system() of DEST's directory
  platform::Time began;
  std::optional<Mark> mark{};  // the mark in DEST, if it names `source`
  bool hides_exchange =
      false;            // a mark in DEST would not show that files exchanged their names since
  uint64_t errors = 0;  // of the whole copy, when it reached this directory
  /**
   * Names that are not selected, each ended by a NUL. Appended while the directory's question is
   * answered, read when the directory's last use ends.
   */
  std::string excluded{};
  /** Something in the directory became equal, and the mark does not say so. Set by any worker. */
  std::atomic<bool> is_news{false};
  /** The newest ctime that looks at SRC's directory and its entries found, ns since the epoch. Set by any worker. */
  std::atomic<int64_t> newest{INT64_MIN};
  /** Not everything in the directory is proven to be a copy of SRC. Set by any worker. */
  std::atomic<bool> is_doubtful{false};
};

}  // namespace fastcp
