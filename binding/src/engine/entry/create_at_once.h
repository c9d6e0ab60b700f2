// Creates entries that one system call completes: symlinks, special files, hard links. Called by any worker. No locks.
#pragma once

#include <string>

#include "engine/entry/place.h"
#include "engine/entry/settle.h"

namespace fastcp {

/**
 * Creates an entry by `make(name)`, sets its metadata by `settle(name)`, which reports errors, and
 * gives it its name.
 */
template <class Make, class Settle>
bool create_at_once(Worker& worker, Directory& directory, Names names, platform::Kind kind,
                    const char* operation, Make make, Settle settle) {
  std::string temporary;
  const int error = place(worker, directory, names, kind, temporary, make);
  if (error == kNotPlaced) return false;
  if (error < 0) return worker.fail(directory, names, error, operation);
  const char* name = temporary.empty() ? names.dst : temporary.c_str();
  const Settled settled = settle(name);
  const bool is_link =
      kind == platform::Kind::file && worker.engine.options.content.instead == Instead::hard_link;
  const Entry entry = is_link ? Entry::link : Entry::created;
  if (settled != Settled::yes || !commit(worker, directory, names, temporary, entry)) {
    // An entry of another program must not be removed.
    if (settled != Settled::replaced) discard(worker.engine, directory, name);
    return false;
  }
  worker.note(directory, names, temporary.empty() ? Action::copy : Action::replace, kind);
  return true;
}

}  // namespace fastcp
