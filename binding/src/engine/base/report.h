// What a copy has done and what went wrong, as plain data.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "platform/platform.h"

namespace fastcp {

/** Appends a little-endian 32-bit number, as JavaScript reads it from a buffer. */
inline void append_number(std::string& to, uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8) to += static_cast<char>(number >> shift);
}

/** What is counted; the order is known to lib/native.ts. */
enum class Count : uint8_t {
  scanned,
  files,
  directories,
  symlinks,
  hard_links,
  special,
  bytes,
  clone,
  copy_file_range,
  read_write,
  unchanged,
  skipped,
  deleted,
};
inline constexpr size_t kCounts = static_cast<size_t>(Count::deleted) + 1;

using Counters = std::array<uint64_t, kCounts>;

/**
 * An error or a warning. `operation` is the system call that failed, or one of those below, where
 * the engine itself refuses; lib/errors.ts makes the Error of it.
 */
struct Problem {
  int error;              // positive errno
  const char* operation;  // static
  std::string path;       // in SRC
  std::string dest;       // in DEST
  int64_t offset = -1;    // bytes, where contents differ
};

/** `operation` of refusals: a rule of cp (EEXIST, EISDIR, ENOTDIR, …), a socket or FIFO as such. */
inline constexpr const char* kRefused = "cp";
inline constexpr const char* kSocket = "socket";
inline constexpr const char* kFifo = "fifo";
inline constexpr const char* kUnknown = "unknown";
/** What DEST has, and what is not replaced. */
inline constexpr const char* kSocketInDest = "socket in dest";
inline constexpr const char* kFifoInDest = "fifo in dest";
inline constexpr const char* kDeviceInDest = "device in dest";
inline constexpr const char* kUnknownInDest = "unknown in dest";
/** Nothing in a directory of DEST can be replaced. */
inline constexpr const char* kAppendOnly = "append-only";
/** What was written is not what is read back. */
inline constexpr const char* kVerify = "verify";
/** And a link in DEST that leads to SRC, where Node's fs.cp would not put one into SRC. */
inline constexpr const char* kSubdirectory = "subdirectory";
/** An entry of DEST that was looked at, or made, is another one now. */
inline constexpr const char* kReplaced = "replaced";
/** Two names of SRC that are one in DEST. */
inline constexpr const char* kCollision = "collision";

/** Problems of one sort, from all workers: the first 1,000 and a count of all. */
class Problems {
 public:
  static constexpr size_t kKept = 1000;

  Problems() { kept_.reserve(kReserved); }

  /** Where memory is short only the first ones are kept, and others counted. */
  void add(Problem problem) noexcept;

  [[nodiscard]] uint64_t count() const { return count_; }

  /** The kept ones from number `first` on, and how many there were in all. */
  uint64_t read(size_t first, std::vector<Problem>& out);

 private:
  /** There is room for these, whatever happens: an error that nobody sees would be taken for success. */
  static constexpr size_t kReserved = 8;

  std::mutex mutex_;  // guards kept_, and writing count_
  std::vector<Problem> kept_;
  std::atomic<uint64_t> count_ = 0;
};

/** What DEST may not take; the order is known to lib/native.ts. */
enum class Loss : uint8_t { mode, timestamps, ownership, xattrs, acls, hard_links };
inline constexpr size_t kLosses = static_cast<size_t>(Loss::hard_links) + 1;

/** How often something was not kept, and where first. */
class Losses {
 public:
  struct Kind {
    uint64_t count = 0;
    Problem first{};
  };

  void add(Loss loss, Problem problem);
  std::array<Kind, kLosses> read();

 private:
  std::mutex mutex_;  // guards kinds_
  std::array<Kind, kLosses> kinds_{};
};

/** The order is known to lib/events.ts. */
enum class Action : uint8_t { create, copy, replace, hard_link, metadata, skip, erase };

/**
 * What was done with each entry, for whoever asked. Bounded softly: workers leave while it is full,
 * so that a slow reader holds the copy back and not the memory.
 */
class Journal {
 public:
  static constexpr size_t kFull = 256 << 10;  // bytes

  void add(Action action, platform::Kind kind, const std::string& path, const std::string& dest);
  bool full() const { return size_.load(std::memory_order_relaxed) >= kFull; }

  /**
   * Takes all records: action and kind, a byte each, then path and dest, each a little-endian
   * 32-bit length and the bytes.
   */
  std::string take();

 private:
  std::mutex mutex_;  // guards records_
  std::string records_;
  std::atomic<size_t> size_{0};
};

}  // namespace fastcp
