// Two contents side by side.
#pragma once

#include <cstdint>

#include "engine.h"

namespace fastcp {

struct Comparison {
  enum Outcome : uint8_t {
    same,
    differs,
    left,     // the worker has to leave; all before `offset` is the same
    stopped,  // so was the copy
    failed,
  };
  Outcome outcome = same;
  uint64_t offset = 0;         // of the first byte that differs, or is not known yet
  int error = 0;               // failed: a negative errno
  const char* operation = "";  // static
};

/**
 * Compares two open files from `offset` on, to the end of both. One that is found before `size` proves
 * nothing: they differ there. Leaves early only where it may.
 */
Comparison compare_content(Worker& worker, const platform::Handle& a, const platform::Handle& b,
                           uint64_t offset, uint64_t size, bool may_leave);

}  // namespace fastcp
