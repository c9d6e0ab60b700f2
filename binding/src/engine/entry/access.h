// Makes directories of DEST accessible whose mode denies access to their owner, for as long as the
// copy lasts. Called by entry/ and tree/. A directory's `changing` is held while its mode changes.
#pragma once

#include <cerrno>

#include "engine/run/engine.h"

namespace fastcp {

/**
 * Changes the mode of a directory of DEST so that its owner has access, if the mode denied it.
 * Returns false if that is impossible.
 */
bool open_up(Engine& engine, Directory& directory);

/**
 * Calls `call`, and calls it again after a directory of DEST was opened up for it. Returns the last
 * result.
 */
template <class Call>
int with_access(Engine& engine, Directory& directory, Call call) {
  const int error = call();
  return error == -EACCES && open_up(engine, directory) ? call() : error;
}

/** Looks at an entry of a directory of DEST. Returns 0 or a negative errno. */
inline int stat_with_access(Engine& engine, Directory& directory, const char* name,
                            platform::Stat& out) {
  return with_access(engine, directory,
                     [&] { return platform::stat_entry(directory.dst(), name, out); });
}

/**
 * Removes an entry that fastcp has created but does not keep. If it stays, reports that, because nothing else names it, and returns
 * a negative errno. Otherwise returns 0.
 */
int discard(Engine& engine, Directory& directory, const char* name);

/** Reports an error with an entry that only DEST has, or with the directory itself if `name` is null. Returns false. */
bool fail_in_dest(Engine& engine, const Directory& directory, const char* name, int error,
                  const char* operation);

/**
 * Looks at an entry of SRC, or at its target if symlinks are followed. Returns false on failure,
 * which is reported.
 */
bool stat_source(Worker& worker, const Directory& directory, Names names, platform::Stat& stat);

}  // namespace fastcp
