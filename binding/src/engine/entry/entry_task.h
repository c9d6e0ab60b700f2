// The task of one entry that could not be finished at once, with the facts known so far. Pushed by
// entry/ and tree/, run by any worker. One worker at a time has it, so it needs no lock.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "engine/run/engine.h"

namespace fastcp {

/** How much of two contents was found equal, and in which states of both files. */
struct Compared {
  uint64_t offset = 0;
  platform::Time src_ctime{}, dst_ctime{};
};

/** Copies one entry of a directory that was already listed. */
struct EntryTask {
  DirectoryUse directory;
  std::string src_name, dst_name;
  platform::Kind kind;
  uint8_t tries = 0;  // that failed because the source changed meanwhile
  Compared compared{};
  /** DEST's entry of that name does not count: it was removed (in a dry run: would be), or a comparison excludes it. */
  bool vacated = false;
  bool separate = false;             // it cannot be a hard link to a copy, and that was reported
  bool named_first = false;          // a copy without a name could not be named
  Clock::time_point leased_since{};  // the first time that another process's lease denied access

  void run(Worker& worker);
};

}  // namespace fastcp
