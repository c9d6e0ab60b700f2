// How every entry but a directory comes by its name: under it or, where DEST has it already, beside it
// and renamed over, so that what was there stays until the new is whole.
#pragma once

#include <cerrno>
#include <string>

#include "engine/entry/access.h"
#include "engine/entry/conflict.h"
#include "engine/entry/mark.h"
#include "engine/run/engine.h"

namespace fastcp {

/** What place() says where DEST's own entry stays; reported already. */
inline constexpr int kNotPlaced = 1;

/** A name beside `name` that nobody uses; in the base both are paths. */
std::string temporary_name(Worker& worker, const char* name);

/**
 * Makes an entry by `make(name)`, a negative errno: under its own name or, where that is taken and
 * may be replaced, beside it under the name that `temporary` then has. 0, kNotPlaced, or the errno,
 * which the caller reports.
 */
template <class Make>
int place(Worker& worker, Directory& directory, Names names, platform::Kind kind,
          std::string& temporary, Make make) {
  const auto make_as = [&](const char* name) {
    return with_access(worker.engine, directory, [&] { return make(name); });
  };
  if (directory.sync != nullptr) directory.sync->is_news.store(true, std::memory_order_relaxed);
  int error = make_as(names.dst);
  if (error != -EEXIST) return error;
  if (judge(worker, directory, names, kind) != Verdict::replace) return kNotPlaced;
  do {
    temporary = temporary_name(worker, names.dst);
    error = make_as(temporary.c_str());
  } while (error == -EEXIST);
  return error;
}

/** Gives a whole entry its name. False where that failed, and was reported. */
bool commit(Worker& worker, Directory& directory, Names names, const std::string& temporary);

}  // namespace fastcp
