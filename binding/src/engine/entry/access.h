// Directories of DEST whose mode keeps us out, though they are ours: opened up for as long as the copy lasts.
#pragma once

#include <cerrno>

#include "engine/run/engine.h"

namespace fastcp {

/** Makes a directory of DEST let its owner in, where its mode keeps us out. False where it cannot. */
bool open_up(Engine& engine, Directory& directory);

/** Calls again where a directory of DEST had to be opened up for it. */
template <class Call>
int with_access(Engine& engine, Directory& directory, Call call) {
  // Another shard may close it again when it has done its part.
  constexpr int kTries = 64;
  int error = call();
  for (int i = 0; error == -EACCES && i < kTries && open_up(engine, directory); i++) error = call();
  return error;
}

}  // namespace fastcp
