// Counts what a copy will come to, ahead of it: see onProgress in lib/types.ts.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace fastcp {

/** Lists on a thread of its own: those of libuv's pool are for copies and their host. */
class CountAhead {
 public:
  /** Begins at once. With `one_file_system` what is mounted below a directory is not listed. */
  CountAhead(std::vector<std::string> directories, bool one_file_system);
  /** Stops, and waits for the thread: at most for the system call that it is in. */
  ~CountAhead();
  CountAhead(const CountAhead&) = delete;
  CountAhead& operator=(const CountAhead&) = delete;

  void stop() { stopped_ = true; }

  /** The number of entries below the directories; -1 until it is known, and for ever if that failed or was stopped. */
  [[nodiscard]] int64_t total() const { return total_; }

 private:
  std::atomic<bool> stopped_{false};
  std::atomic<int64_t> total_{-1};
  std::thread thread_;  // not joinable where the system had none
};

}  // namespace fastcp
