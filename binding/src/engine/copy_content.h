// The ladder for a file's content: clone -> copy_file_range -> read and write. What a pair of file
// systems cannot do is remembered in its Route, so it is not tried for every file. Holes stay holes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "copy_entry.h"
#include "engine.h"

namespace fastcp {

enum class Means : uint8_t { cloned, kernel_copied, copied };

/** How the content went. */
struct Content {
  int error = 0;  // negative errno, -ECANCELED where the copy was stopped
  const char* operation = "";
  Means means = Means::copied;
  uint64_t bytes = 0;
  bool ended_early = false;  // the source had less to read than its size says
};

inline bool has_holes(const platform::Stat& stat) { return stat.allocated < stat.size; }

/** Copies the content of a small or middling file, whole. */
Content copy_content(Worker& worker, const OpenFile& file);

/** Whether the source is not what it was when its copying began. A clone was taken in one moment. */
bool source_changed(const OpenFile& file, const Content& content);

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
  explicit LargeFile(OpenFile file) : file_(std::move(file)) {}

  /** Takes over the file; returns when no part of it is left to take. */
  static void begin(Worker& worker, const FolderUse& use, OpenFile file);

  /** For a task that is not counted yet: false where the file is finished already. */
  bool join();

  /** The caller is counted: copies parts, and finishes the file if it is the last. */
  void help(Worker& worker, const std::shared_ptr<LargeFile>& self);

 private:
  void finish(Worker& worker);

  OpenFile file_;
  std::atomic<uint64_t> next_{0};  // offset of the next part that nobody has taken
  std::atomic<int> users_{1};      // 0 is final
  std::atomic<int> error_{0};      // the first one
  std::atomic<const char*> operation_{""};
  std::atomic<Means> means_{Means::copied};
  std::atomic<bool> ended_early_{false};
};

}  // namespace fastcp
