// The results of a copy as plain data: counters, errors, warnings and the journal. Workers add to
// them; host/job.cc and addon.cc read them. Problems, Losses and Journal each have a mutex of their
// own.
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

/** The counters. lib/bridge/native.ts knows their order. */
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
 * An error or a warning. `operation` is the system call that failed, or a constant below if the
 * engine itself refuses. lib/errors/from-engine.ts creates the Error.
 */
struct Problem {
  int error;              // positive errno
  const char* operation;  // static
  std::string path;       // in SRC
  std::string dest;       // in DEST
  int64_t offset = -1;    // first differing byte, if contents differ
  bool ends = false;      // nothing else is copied, although the copy continues after errors
};

/**
 * `operation` if a rule of cp refuses (EEXIST, EISDIR, ENOTDIR, …), or a socket or FIFO cannot be
 * copied.
 */
inline constexpr const char* kRefused = "cp";
/** The system call, and the end that it was about. Users see only the call. */
inline constexpr const char* kOpenSource = "open source";
inline constexpr const char* kOpenDest = "open dest";
inline constexpr const char* kSocket = "socket";
inline constexpr const char* kFifo = "fifo";
inline constexpr const char* kUnknown = "unknown";
/** Special entries of DEST, which are never replaced. */
inline constexpr const char* kSocketInDest = "socket in dest";
inline constexpr const char* kFifoInDest = "fifo in dest";
inline constexpr const char* kDeviceInDest = "device in dest";
inline constexpr const char* kUnknownInDest = "unknown in dest";
/** Nothing in a directory of DEST can be replaced. */
inline constexpr const char* kAppendOnly = "append-only";
/** The content that was read back differs from the content that was written. */
inline constexpr const char* kVerify = "verify";
/** Rule of fs.cp and fs-extra: both entries are one file. */
inline constexpr const char* kSameEntry = "same entry";
/** Rule of fs.cp and fs-extra: a symlink leads above the target of the symlink in DEST. */
inline constexpr const char* kAboveOld = "above old";
/** Rule of fs.cp and fs-extra: a symlink leads below the target of the symlink in DEST. */
inline constexpr const char* kSubdirectory = "subdirectory";
/** A directory of DEST is SRC itself. */
inline constexpr const char* kSourceInDest = "source in dest";
/** Other shards need access to a directory whose mode denies it to its owner. */
inline constexpr const char* kKeptOpen = "kept open";
/** A symlink of SRC leads to the entry of DEST that it would replace. */
inline constexpr const char* kSameFile = "same file";
/** One directory is at the same place in SRC and DEST. */
inline constexpr const char* kSameDirectory = "same directory";
/**
 * Another entry has taken the place of an entry of DEST since fastcp looked at it or created it.
 */
inline constexpr const char* kReplaced = "replaced";
/** The name of a directory of DEST leads to another entry now, or to none. */
inline constexpr const char* kMoved = "moved";
/** Two names of SRC are the same name in DEST. */
inline constexpr const char* kCollision = "collision";

/** Errors, or warnings, of all workers: the first 1,000 and a count of all. */
class Problems {
 public:
  static constexpr size_t kKept = 1000;

  Problems() { kept_.reserve(kReserved); }

  /**
   * Adds a problem. If memory is short, only the first ones are stored, and the others are counted.
   */
  void add(Problem problem) noexcept;

  [[nodiscard]] uint64_t count() const { return count_; }

  /** Copies the stored problems from number `first` on to `out`. Returns the count of all. */
  uint64_t read(size_t first, std::vector<Problem>& out);

 private:
  /** Room for these is always reserved. An error that nobody sees would look like success. */
  static constexpr size_t kReserved = 8;

  std::mutex mutex_;  // guards kept_, and writing count_
  std::vector<Problem> kept_;
  std::atomic<uint64_t> count_ = 0;
};

/** Metadata that DEST may not be able to hold. lib/bridge/native.ts knows the order. */
enum class Loss : uint8_t { mode, timestamps, ownership, xattrs, acls, hard_links };
inline constexpr size_t kLosses = static_cast<size_t>(Loss::hard_links) + 1;

/** Counts how often each kind of metadata was lost, and stores the first case. */
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

/** lib/bridge/events.ts knows the order. */
enum class Action : uint8_t { create, copy, replace, hard_link, metadata, skip, erase };

/**
 * The actions on each entry, if the user wants them. The bound is soft: workers leave while it is
 * full. So a slow reader delays the copy and does not fill the memory.
 */
class Journal {
 public:
  static constexpr size_t kFull = 256 << 10;  // bytes

  void add(Action action, platform::Kind kind, const std::string& path, const std::string& dest);
  bool full() const { return size_.load(std::memory_order_relaxed) >= kFull; }

  /**
   * Takes all records. A record is action and kind, a byte each, then path and dest. Each path is a
   * little-endian 32-bit length and its bytes.
   */
  std::string take();

 private:
  std::mutex mutex_;  // guards records_
  std::string records_;
  std::atomic<size_t> size_{0};
};

}  // namespace fastcp
