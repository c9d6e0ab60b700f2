// One copy: what is to be done, what is left to do, and the workers' way through it.
//
//   work() on any number of threads:  take a task ── DirectoryTask ──> make directory, list it ──┐
//                                       ^            ListingTask ─> list some more         ├─> entries:
//                                       │            PartTask ────> entries read before ───┤   copy_entry.cc
//                                       │            EntryTask ───> one entry ─────────────┘
//                                       └─ push <─── LargeFileTask > parts of one file
//
// A worker waits for other workers, never for its host. It leaves when it has found nothing to do for 10 ms,
// when the copy is stopped, or when the host wants its thread; what is left then stays on the stack.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/report.h"
#include "engine/base/request.h"
#include "engine/run/directory.h"
#include "engine/run/hard_links.h"
#include "engine/run/questions.h"
#include "engine/run/task_stack.h"
#include "engine/run/writer.h"

namespace fastcp {

using Clock = std::chrono::steady_clock;

/** Whoever lends a worker its thread. */
class Host {
 public:
  virtual ~Host() = default;

  /** Called by the worker every few milliseconds, until it says true: leave, as soon as you can. */
  virtual bool wants_thread_back(Clock::time_point now) = 0;

  /** Engine::questions has some to be taken. */
  virtual void questions_wait() = 0;

  /** More workers than there are have something to do. */
  virtual void tasks_wait() = 0;
};

class Engine;

/** One thread's share: nothing here is seen by another. */
class Worker {
 public:
  Worker(Engine& engine_, Host& host);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void count(Count what, uint64_t amount = 1) { counted_[static_cast<size_t>(what)] += amount; }

  /** To be asked between entries: is it time to go? Looks at the clock now and then. */
  bool must_leave();

  /** The same, to be asked after what takes milliseconds, like a chunk of a large file. */
  bool must_leave_now();

  /** Engine::fail() */
  bool fail(const Directory& directory, Names names, int error, const char* operation);

  /** Engine::note() */
  void note(const Directory& directory, Names names, Action action, platform::Kind kind);

  /** Has the host bring back a worker that left for want of a task, where tasks wait now. */
  void call_back();

  /** Calls `open` again while it finds no free descriptor and other workers may free some. */
  template <class Open>
  int with_descriptor(Open open) {
    for (int tries = 0;; tries++) {
      const int error = open();
      if (error >= 0 || !may_retry(error, tries)) return error;
    }
  }

  /** Says that questions wait. */
  void tell_host() { host_.questions_wait(); }

  char* listing() { return listing_.get(); }
  char* content();

  static constexpr size_t kListing = 32 << 10;   // bytes
  static constexpr size_t kContent = 256 << 10;  // bytes

  Engine& engine;

 private:
  bool may_retry(int error, int tries);
  void flush();

  Host& host_;
  Counters counted_{};
  std::unique_ptr<char[]> listing_, content_;
  Clock::time_point looked_;
  unsigned asked_ = 0;
  bool leaving_ = false;
  platform::ThreadUsage usage_;
};

class Engine : private DirectoryOwner {
 public:
  Engine(const Options& options, const Writer& writer, std::vector<std::string> destinations);
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /** Works on the calling thread until nothing is left, stop(), or the host wants the thread. */
  void work(Host& host);

  /** Ends the copy soon: workers look between entries, and between chunks of 32 MiB. */
  void stop();
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

  /**
   * True when no worker is active, nothing is left and no question is open: then all descriptors
   * are closed.
   */
  bool finished();

  /** To be called before the end is reported: what others change in DEST from now on is seen by the next run. */
  void settle();

  /** For the thread that stops a copy that has no worker: lets go of all that is left. */
  void abandon();

  /**
   * Reports an error with an entry of a directory, or with the directory where there are no names, and stops the copy
   * where it is final. Returns false, for `return fail(…)`.
   */
  bool fail(const Directory& directory, Names names, int error, const char* operation) {
    return fail({error < 0 ? -error : error, operation, directory.src_path(names.src),
                 directory.dst_path(names.dst)},
                &directory);
  }
  /** `where`: the directory that it happened in, if it happened in one. */
  bool fail(Problem problem, const Directory* where);

  /**
   * Something of an entry could not be preserved. True, and a warning, where that is because it may not
   * be or DEST cannot, unless the user is strict; otherwise fails.
   */
  bool lose(const Directory& directory, Names names, Loss loss, int error, const char* operation);

  void count(Count what, uint64_t amount = 1) {
    counters_[static_cast<size_t>(what)].fetch_add(amount, std::memory_order_relaxed);
  }

  /** Puts into the journal, if one is kept, what was done with an entry. */
  void note(const Directory& directory, Names names, Action action, platform::Kind kind);

  /** Done so far; a few milliseconds behind while workers are active. */
  Counters counters() const;

  /**
   * How many workers would help now, by what was observed since the last call; at most `limit`. To
   * be called by one thread, every 20 ms or so.
   */
  unsigned useful_workers(unsigned limit);

  /** What is known of copying from a device to that of `dst`, any handle there. */
  Route& route(uint64_t src_dev, uint64_t dst_dev, const platform::Handle& dst);

  /** DEST's own directories. The walk may meet one by a mount that no comparison of paths shows. */
  void add_target(const platform::Stat& directory);
  bool is_target(const platform::Stat& directory);

  const Options options;
  const Writer& writer;
  Problems errors, warnings;
  Losses losses;
  Journal journal;
  TaskStack stack;
  Questions questions;
  DirectoryTable directories;
  HardLinks hard_links{stack, options.traversal.dereference};
  /** When somebody had waited for a descriptor for a second, and got none. */
  std::atomic<Clock::time_point> waited_in_vain{Clock::time_point{} - std::chrono::hours(1)};
  /** platform::attribute_view(), in a copy that preserves attributes. */
  const uint32_t attribute_view;
  /** An xattr, ACL or capability could not be preserved. */
  std::atomic<bool> has_lost_attributes{false};
  /** A directory of DEST was marked. */
  std::atomic<bool> has_marked{false};
  /** The most workers that the descriptor limit allows. */
  unsigned most_workers = 1;
  uint64_t next_temporary() { return temporary_++; }
  /** Workers in work(), and those that would be useful there. */
  unsigned workers() const { return std::max(active_.load(), useful_.load()); }

 private:
  friend class Worker;

  bool is_final(int error, const Directory* where) const;
  void out_of_memory();
  void finish(Directory& directory) override;

  const std::vector<std::string> destinations_;  // whole paths
  std::atomic<bool> stopped_{false};
  std::atomic<unsigned> active_{0};
  std::atomic<unsigned> useful_{1};  // by the last useful_workers()
  std::array<std::atomic<uint64_t>, kCounts> counters_{};
  std::atomic<uint64_t> temporary_;  // starts at random, so that processes do not meet
  // What useful_workers() goes by: time on the clock and on the processor, and reads from a device,
  // of all workers together.
  std::atomic<uint64_t> wall_ns_{0}, cpu_ns_{0}, blocks_read_{0};
  uint64_t seen_wall_ns_ = 0, seen_cpu_ns_ = 0, seen_blocks_ = 0;  // at its last call
  const unsigned cores_ = platform::processor_count();
  std::mutex devices_mutex_;  // guards routes_ and targets_
  std::vector<std::unique_ptr<Route>> routes_;
  std::vector<std::pair<uint64_t, uint64_t>> targets_;  // dev and ino
};

}  // namespace fastcp
