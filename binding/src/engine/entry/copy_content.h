// Copies the content of a file: clone, then copy_file_range, then read and write. A Route remembers
// the methods that cannot work between two file systems, so that they are not tried for every file.
// Holes stay holes.
//
// Called by copy_entry.cc, by any worker.
#pragma once

#include <cstdint>

#include "engine/entry/open_file.h"
#include "engine/run/engine.h"

namespace fastcp {

enum class CopyMethod : uint8_t { clone, copy_file_range, read_write };

/** The result of copying a content. */
struct CopiedContent {
  int error = 0;  // a negative errno; -ECANCELED: the copy was stopped
  const char* operation = "";
  CopyMethod method = CopyMethod::read_write;
  uint64_t bytes = 0;         // copied
  uint64_t counted = 0;       // those of `bytes` that Count::bytes already shows
  bool ended_early = false;   // the source had fewer bytes than its size
  bool ends_in_hole = false;  // writing alone does not give the copy its length
  uint64_t data_end = 0;  // of the last data found: the first hole after it, or the end of the file
  bool at_once = false;   // by one call, which has shown the size at that moment in `bytes`
};

/** A smaller file is copied in a moment, and a clone call costs more than copying its few pages. */
inline constexpr uint64_t kSmall = 64 << 10;  // bytes

inline bool has_holes(const platform::Stat& stat) { return stat.allocated < stat.size; }

/**
 * Returns whether to ask where a file's data is. Blocks preallocated past the end of a file may hide its holes from
 * has_holes(), but then it has more blocks than it needs. tmpfs looks at each page for the answer.
 */
inline bool may_have_holes(const platform::Stat& stat) {
  constexpr uint64_t kBlock = 4096;  // bytes
  return has_holes(stat) || (stat.size >= kSmall && stat.allocated - stat.size >= kBlock);
}

/** Copies the whole content of a file that is smaller than kLargeFile. */
CopiedContent copy_content(Worker& worker, const OpenFile& file);

/**
 * Returns whether the source changed since its copy began. A clone, or a small file that was copied
 * at once, is a copy of one moment and needs no further look at the source.
 */
bool source_changed(const OpenFile& file, const CopiedContent& content);

/** From this size on, threads that have nothing else to do help to copy a file. */
inline constexpr uint64_t kLargeFile = 64 << 20;  // bytes

/** Copies the whole content of a larger file, with the help of other threads. */
CopiedContent copy_large_content(Worker& worker, const OpenFile& file);

}  // namespace fastcp
