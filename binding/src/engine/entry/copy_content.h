// The ladder for a file's content: clone -> copy_file_range -> read and write. What a pair of file
// systems cannot do is remembered in its Route, so it is not tried for every file. Holes stay holes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "engine/entry/open_file.h"
#include "engine/run/engine.h"

namespace fastcp {

enum class CopyMethod : uint8_t { clone, copy_file_range, read_write };

/** How the content went. */
struct CopiedContent {
  int error = 0;  // negative errno, -ECANCELED where the copy was stopped
  const char* operation = "";
  CopyMethod method = CopyMethod::read_write;
  uint64_t bytes = 0;         // moved
  uint64_t counted = 0;       // of these, bytes that Count::bytes shows already
  bool ended_early = false;   // the source had less to read than its size says
  bool ends_in_hole = false;  // so that writing alone does not make the copy as long
};

inline bool has_holes(const platform::Stat& stat) { return stat.allocated < stat.size; }

/**
 * Whether it pays to ask where a file's data is. Blocks preallocated past the end of a file hide its holes
 * from has_holes(); two calls find these, which a small file is not worth.
 */
inline bool may_have_holes(const platform::Stat& stat) {
  constexpr uint64_t kWorthIt = 64 << 10;  // bytes
  return has_holes(stat) || stat.size >= kWorthIt;
}

/** Copies the content of a small or middling file, whole. */
CopiedContent copy_content(Worker& worker, const OpenFile& file);

/** Whether the source is not what it was when its copying began. A clone was taken in one moment. */
bool source_changed(const OpenFile& file, const CopiedContent& content);

/** Larger files are copied in parts, by all workers that have nothing better to do. */
inline constexpr uint64_t kLargeFile = 64 << 20;  // bytes

/**
 *   begin: clone? ── yes ─> finish
 *            │ no
 *            ├─> a task for each other worker ──┐
 *            └─> take part after part <─────────┘ until none is left ── last one out ─> finish
 */
class LargeFile {
 public:
  LargeFile(Engine& engine, OpenFile file) : engine_(engine), file_(std::move(file)) {}
  LargeFile(const LargeFile&) = delete;
  LargeFile& operator=(const LargeFile&) = delete;
  ~LargeFile();

  /** Takes over the file; returns when no part of it is left to take. */
  static void begin(Worker& worker, const DirectoryUse& use, OpenFile file);

  /** For a task that is not counted yet: false where the file is finished already. */
  bool join();

  /** The caller is counted: copies parts, and finishes the file if it is the last. */
  void help(Worker& worker, const std::shared_ptr<LargeFile>& self);

 private:
  void count(uint64_t bytes);
  void finish(Worker& worker);

  Engine& engine_;
  OpenFile file_;
  std::atomic<uint64_t> next_{0};  // offset of the next part that nobody has taken
  std::atomic<int> users_{1};      // 0 is final
  std::atomic<int> error_{0};      // the first one
  std::atomic<const char*> operation_{""};
  std::atomic<CopyMethod> method_{CopyMethod::read_write};
  std::atomic<bool> ended_early_{false}, ends_in_hole_{false};
  // Shown by Count::bytes while the file is not finished. The engine's counter has them, not a worker's:
  // a worker that takes back what another one counted would show less than nothing for a moment.
  std::atomic<uint64_t> counted_{0};
};

/** Copy parts of a large file, if any are left when the task's turn comes. */
struct LargeFileTask {
  std::shared_ptr<LargeFile> file;
  bool counted;  // holds one of the file's users, so the file waits for this task

  void run(Worker& worker);
};

}  // namespace fastcp
