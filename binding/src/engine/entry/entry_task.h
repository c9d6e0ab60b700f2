// An entry that cannot be finished at once: what is known of it when its turn comes again.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "engine/run/engine.h"

namespace fastcp {

/** How far a content was found to be the same, and of which states of both files. */
struct Compared {
  uint64_t offset = 0;
  platform::Time src_ctime{}, dst_ctime{};
};

/** Copy one entry of a directory that was listed already. */
struct EntryTask {
  DirectoryUse directory;
  std::string src_name, dst_name;
  platform::Kind kind;
  uint8_t tries = 0;  // that ended with a source that had changed
  Compared compared{};
  bool vacated = false;              // in a dry run: what DEST has there would be gone
  Clock::time_point leased_since{};  // when somebody's lease first kept us out

  void run(Worker& worker);
};

}  // namespace fastcp
