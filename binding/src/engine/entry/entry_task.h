// The task of one entry that could not be finished at once, with the facts known so far. Pushed by
// entry/ and tree/, run by any worker. One worker at a time has it, so it needs no lock.
#pragma once

#include <cstdint>
#include <string>

#include "engine/run/engine.h"

namespace fastcp {

/** Copies one entry of a directory that was already listed. */
struct EntryTask {
  DirectoryUse directory;
  std::string src_name, dst_name;
  platform::Kind kind;
  uint8_t tries = 0;  // that failed because the source changed meanwhile
  /** DEST's entry of that name does not count: it was removed (in a dry run: would be), or a comparison excludes it. */
  bool vacated = false;
  bool separate = false;            // it cannot be a hard link to a copy, and that was reported
  Naming naming = Naming::unnamed;  // the first way that has not failed

  void run(Worker& worker);
};

}  // namespace fastcp
