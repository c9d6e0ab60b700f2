// Copies the content of a file: clone, then copy_file_range, then read and write. A Route remembers
// the methods that cannot work between two file systems, so that they are not tried for every file.
// Holes stay holes.
//
// Called by copy_entry.cc, by any worker. LargeFile is shared by several workers, and has atomics instead of a lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

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
 * Returns whether it pays to ask where a file's data is. Blocks preallocated past the end of a file
 * hide its holes from has_holes(). Two system calls find these holes, and tmpfs looks at each page
 * for them: too much for a small file, and for one of less than 1 MiB that has only the blocks that
 * it needs.
 */
inline bool may_have_holes(const platform::Stat& stat) {
  if (has_holes(stat)) return true;
  constexpr uint64_t kLarge = 1 << 20, kBlock = 4096;  // bytes
  return stat.size >= (stat.allocated - stat.size < kBlock ? kLarge : kSmall);
}

/** Copies the whole content of a file that is smaller than kLargeFile. */
CopiedContent copy_content(Worker& worker, const OpenFile& file);

/**
 * Returns whether the source changed since its copy began. A clone, or a small file that was copied
 * at once, is a copy of one moment and needs no further look at the source.
 */
bool source_changed(const OpenFile& file, const CopiedContent& content);

/** From this size on, files are copied in parts by all workers that have no other task. */
inline constexpr uint64_t kLargeFile = 64 << 20;  // bytes

/**
 * A large file that several workers copy.
 *
 *   begin: clone? ── yes ─> finish
 *             │ no
 *             ├─> a task for each other worker ──┐
 *             └─> take part after part <─────────┘ until none is left ── last user ─> finish
 */
class LargeFile {
 public:
  LargeFile(Engine& engine, OpenFile file) : engine_(engine), file_(std::move(file)) {}
  LargeFile(const LargeFile&) = delete;
  LargeFile& operator=(const LargeFile&) = delete;
  ~LargeFile();

  /** Takes over the file. Returns when no part is left to take. */
  static void begin(Worker& worker, const DirectoryUse& use, OpenFile file);

  /**
   * Counts a task that does not own a user count yet. Returns false if the file is finished
   * already.
   */
  bool join();

  /**
   * Copies parts, and finishes the file if the caller is the last user. The caller must own a user
   * count.
   */
  void help(Worker& worker, const std::shared_ptr<LargeFile>& self);

 private:
  void count(uint64_t bytes);
  void finish(Worker& worker);

  Engine& engine_;
  OpenFile file_;
  bool skips_holes_ = false;       // set before other workers take part
  std::atomic<uint64_t> next_{0};  // offset of the next part that no worker has taken
  // Where the data ends that a part found. Kept, because tmpfs looks at each page up to there to tell it.
  std::atomic<uint64_t> data_end_{0};
  std::atomic<int> users_{1};  // 0 is final
  std::atomic<int> error_{0};  // the first error
  std::atomic<const char*> operation_{""};
  std::atomic<CopyMethod> method_{CopyMethod::read_write};
  std::atomic<bool> ended_early_{false}, ends_in_hole_{false};
  // Bytes that Count::bytes shows while the file is not finished. They are in the engine's counter,
  // not in a worker's. If a worker subtracted bytes that another worker had counted, its counter
  // would be negative for a moment.
  std::atomic<uint64_t> counted_{0};
};

/** Copies parts of a large file, if any are left when the task runs. */
struct LargeFileTask {
  std::shared_ptr<LargeFile> file;
  bool counted;  // owns a user count of the file, so the file waits for this task

  void run(Worker& worker);
};

}  // namespace fastcp
