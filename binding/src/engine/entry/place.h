// Gives every entry but a directory its name. A new entry is created under that name; a file that
// must be complete by then gets it at the end. If DEST has the name already, the new entry is created beside the old one and
// renamed over it. So the old entry stays until the new one is complete. Called by any worker, for
// files, hard links and all other kinds. No locks.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>

#include "engine/entry/access.h"
#include "engine/entry/existing.h"
#include "engine/run/engine.h"

namespace fastcp {

/** Result of place(): DEST's own entry stays. That was counted as skipped, or reported. */
inline constexpr int kNotPlaced = 1;

/** Returns an unused name beside `name`. In the base both are paths. */
std::string temporary_name(Worker& worker, const char* name);

/**
 * Creates an entry by `make(name)`, which returns 0 or a negative errno. If the name exists in DEST
 * and may be replaced, creates the entry beside it and sets `temporary` to its name, unless that fails. Returns 0,
 * kNotPlaced, or the errno, which the caller reports.
 */
template <class Make>
int place(Worker& worker, Directory& directory, Names names, platform::Kind kind,
          std::string& temporary, Make make) {
  const auto make_as = [&](const char* name) {
    return with_access(worker.engine, directory, [&] { return make(name); });
  };
  directory.due.note_news();
  int error = make_as(names.dst);
  if (error != -EEXIST) return error;
  if (judge(worker, directory, names, kind) != Decision::replace) return kNotPlaced;
  do {
    temporary = temporary_name(worker, names.dst);
    error = make_as(temporary.c_str());
  } while (error == -EEXIST);
  if (error < 0) temporary.clear();
  return error;
}

/** Whether an entry is new, or one more hard link of another. */
enum class Entry : uint8_t { created, link };

/**
 * Gives a complete entry its name. Returns false on failure, which
 * is reported.
 */
bool commit(Worker& worker, Directory& directory, Names names, const std::string& temporary,
            Entry entry);

}  // namespace fastcp
