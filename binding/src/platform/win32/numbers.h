// Windows: timestamps and file ids of the kernel in the engine's form. Includes no system header, so that tests run on
// any system. Stateless: no locks.
#pragma once

#include <algorithm>
#include <cstdint>

#include "platform/platform.h"

namespace fastcp::platform {

/** Converts a count of 100 ns since 1601, as the kernel stores timestamps. */
constexpr Time time_of(int64_t ticks) {
  constexpr int64_t kPerSecond = 10'000'000, kEpoch = 11'644'473'600;
  const int64_t seconds = ticks / kPerSecond - (ticks % kPerSecond < 0 ? 1 : 0);
  return {seconds - kEpoch, static_cast<uint32_t>((ticks - seconds * kPerSecond) * 100)};
}

/**
 * Converts back. Returns `least` for earlier timestamps: to a call that sets timestamps, 0 means
 * "do not change it", -1 and -2 stop and resume updates by the handle, and smaller numbers are
 * invalid (MS-FSCC, FileBasicInformation).
 */
constexpr int64_t ticks_of(Time time, int64_t least) {
  const int64_t ticks = (time.seconds + 11'644'473'600) * 10'000'000 + time.nanoseconds / 100;
  return std::max(ticks, least);
}

/** A file id (FILE_ID_128). Only ReFS uses the high half. */
struct FileId {
  uint64_t low, high;
};

/**
 * Returns a number for a file. Ids of ReFS have small numbers in both halves, so a sum or an
 * exclusive or of them would be the same for many files. Their 64-bit form is not unique
 * (BY_HANDLE_FILE_INFORMATION). `short_id` stands for the file if its file system has no long ids,
 * which are 0 then (FILE_ID_INFORMATION).
 */
constexpr uint64_t number_of(FileId id, uint64_t short_id) {
  if (id.high == 0) return id.low == 0 ? short_id : id.low;
  // Mixes all bits, one to one: files with equal high halves never get the same number. The
  // constants are those of splitmix64.
  uint64_t mixed = id.high;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
  return id.low ^ mixed ^ mixed >> 31;
}

}  // namespace fastcp::platform
