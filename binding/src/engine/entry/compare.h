// Compares two contents: of an entry that exists on both sides, or of a copy and its source. Called
// by unchanged.cc and copy_entry.cc, by any worker. Stateless: no locks.
#pragma once

#include <cstdint>

#include "engine/entry/open_file.h"

namespace fastcp {

struct Comparison {
  enum Outcome : uint8_t {
    same,
    differs,
    stopped,  // the copy was stopped
    failed,
  };
  Outcome outcome = same;
  uint64_t offset = 0;         // of the first byte that differs
  int error = 0;               // if failed: a negative errno
  const char* operation = "";  // static
};

/** Compares two open files to the end of both. An end before `size` is a difference. */
Comparison compare_content(Worker& worker, const platform::Handle& a, const platform::Handle& b,
                           uint64_t size);

/**
 * Reads a complete copy back and compares it with the source. Returns false if they differ or
 * cannot be read, which is reported.
 */
bool verify_file(Worker& worker, const OpenFile& file);

}  // namespace fastcp
