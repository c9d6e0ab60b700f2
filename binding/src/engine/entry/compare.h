// Two contents side by side: those of an entry that both sides have, or of a copy and its source.
#pragma once

#include <cstdint>

#include "engine/entry/open_file.h"

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

/** Reads back what was written, and compares it with the source. Of a file whose content is complete. False where it differs or cannot be read; that is reported. */
bool verify_file(Worker& worker, const OpenFile& file);

}  // namespace fastcp
