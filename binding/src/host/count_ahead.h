// Counts the entries of a copy before the copy reaches them: see onProgress in lib/types.ts.
// addon.cc creates one for a copy with a progress bar. total() may be called on any thread; no
// locks.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace fastcp {

/**
 * Lists directories on its own thread. The threads of libuv's pool are for copies and their host.
 */
class CountAhead {
 public:
  /**
   * Begins at once. With `one_file_system` it skips directories where another file system is
   * mounted.
   */
  CountAhead(std::vector<std::string> directories, bool one_file_system);
  /** Stops and waits for the thread, at most until its present system call returns. */
  ~CountAhead();
  CountAhead(const CountAhead&) = delete;
  CountAhead& operator=(const CountAhead&) = delete;

  void stop() { stopped_ = true; }

  /**
   * Returns the number of entries below the directories; -1 while it is unknown. It stays -1 after
   * an error or a stop.
   */
  [[nodiscard]] int64_t total() const { return total_; }

 private:
  std::atomic<bool> stopped_{false};
  std::atomic<int64_t> total_{-1};
  std::thread thread_;  // not joinable if the system could not create it
};

}  // namespace fastcp
