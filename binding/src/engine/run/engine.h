// One copy: its options, its tasks, and the workers that run them. host/job.cc calls it with threads.
//
//   work() on any number of threads:  take a task ── DirectoryTask > create directory, list it ┐
//                                       ^            PartTask ────> entries read before ───────┼─> entries:
//                                       │            EntryTask ───> one entry ─────────────────┘   copy_entry.cc
//                                       └─ push
//
// A worker ends where work() does: when no task can come, when the copy is stopped, when JavaScript must first take news or
// answers, when fewer workers are useful, or, on a thread of libuv's pool, after a moment. What it has not done stays in its list. A
// thread may have a table of descriptors of its own, so no descriptor leaves the worker that opened it, and no task has one.
//
// Locks: each public member has its own, or needs none. devices_mutex_ guards routes. No lock is held while a task runs.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/cache_line.h"
#include "engine/base/report.h"
#include "engine/base/request.h"
#include "engine/run/directory.h"
#include "engine/run/hard_links.h"
#include "engine/run/open_directories.h"
#include "engine/run/questions.h"
#include "engine/run/task_lists.h"
#include "engine/run/writer.h"

namespace fastcp {

using Clock = std::chrono::steady_clock;

/** The thread that a worker has. By default one that must not wait, but may work for long. Called on that thread. */
class Host {
 public:
  virtual ~Host() = default;

  /** Returns whether the worker may sleep until it gets a task. */
  [[nodiscard]] virtual bool may_sleep() const { return false; }

  /** Called when Engine::questions has questions to take. */
  virtual void questions_wait() {}

  /**
   * Called before work that may take long, and when others could help. Returns whether the copy has other threads from now on: the
   * worker must then leave that work as a task, and end.
   */
  virtual bool hands_over() { return false; }

  /** Called every few milliseconds. Returns whether the worker must end. */
  virtual bool is_over(Clock::time_point) { return false; }
};

class Engine;

/** One worker on one thread. No other thread sees its members. */
class Worker {
 public:
  Worker(Engine& engine_, Host& host);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void count(Count what, uint64_t amount = 1) { counted_[static_cast<size_t>(what)] += amount; }

  /**
   * Returns whether the worker must leave. Called between entries. Looks at the clock only now and
   * then.
   */
  bool must_leave();

  /** Does the same. Called after work of milliseconds, such as a chunk of a large file. */
  bool is_over();

  /** Takes the next task. Returns false if the worker must end. */
  bool take(TaskPtr& out);

  /** Calls Engine::fail(). */
  bool fail(const Directory& directory, Names names, int error, const char* operation);

  /** Calls Engine::note(). */
  void note(const Directory& directory, Names names, Action action, platform::Kind kind);

  /** Returns whether the worker must leave long work to another one, and then end. */
  bool hands_over();

  /** Pins a directory. Returns false on failure, which is reported for an entry in it, or for itself. */
  bool pin(DirectoryPin& pin, Directory& directory, Names names = {});

  /** See OpenDirectories. */
  template <class Call>
  int with_descriptor(Call open) {
    return open_.with_descriptor(open);
  }

  /** Asks the host. */
  void ask(Question question);

  char* listing() { return listing_.get(); }
  char* content();

  static constexpr size_t kListing = 32 << 10;   // bytes
  static constexpr size_t kContent = 256 << 10;  // bytes

  Engine& engine;

 private:
  void flush();

  Host& host_;
  Counters counted_{};
  std::unique_ptr<char[]> listing_, content_;
  OpenDirectories open_;
  Clock::time_point looked_;
  unsigned asked_ = 0;
  bool leaving_ = false;
  bool spare_ = false;  // see Engine::has_spare()
  platform::ThreadUsage usage_;
};

/**
 * Directories by their identity. Any worker may call any function. Without a lock, because has() is called for every directory
 * of the tree. It looks at all of them.
 */
class DirectorySet {
 public:
  DirectorySet() = default;
  ~DirectorySet();
  DirectorySet(const DirectorySet&) = delete;
  DirectorySet& operator=(const DirectorySet&) = delete;

  void add(const platform::Stat& directory);
  [[nodiscard]] bool has(const platform::Stat& directory) const;

 private:
  struct Node {
    uint64_t dev, ino;
    const Node* next;
  };
  std::atomic<const Node*> first_{nullptr};
};

class Engine : public DirectoryOwner {
 public:
  Engine(const Options& options, const Writer& writer, std::vector<std::string> destinations);
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /** Works on the calling thread, for one worker. */
  void work(Host& host);

  /** Ends the copy soon. Workers look for this between entries, and between calls that copy at most 8 MiB. */
  void stop();
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

  /**
   * Calls `help` on a thread of its own that shares the descriptors of the calling worker, if fewer workers are active
   * than useful. The caller must wait until `help` is deleted.
   */
  void start_helper(std::function<void(Worker&)> help);
  [[nodiscard]] unsigned helpers() const { return helpers_; }

  /**
   * Returns true if no worker is active, no task is left and no question is open.
   */
  bool finished();

  /**
   * Waits until changes that others make in DEST are visible
   * to the next run. Call it when the copy is finished(), before its end is reported. The last
   * worker has done it already, unless the copy was stopped.
   */
  void end();

  /** Drops all remaining tasks. For the thread that stops a copy that has no worker. */
  void abandon();

  /**
   * Reports an error with an entry of a directory, or with the directory itself if there are no
   * names. Stops the copy if the error is final. Returns false, for `return fail(…)`.
   */
  bool fail(const Directory& directory, Names names, int error, const char* operation) {
    return fail({error < 0 ? -error : error, operation, directory.src_path(names.src),
                 directory.dst_path(names.dst)},
                &directory);
  }
  /** `where`: the directory in which the problem occurred, or null. */
  bool fail(Problem problem, const Directory* where);

  /**
   * Reports that metadata of an entry could not be preserved. Gives a warning and returns true if
   * DEST cannot hold it or permission is missing. Otherwise, or if the user is strict, calls
   * fail().
   */
  bool lose(const Directory& directory, Names names, Loss loss, int error, const char* operation);

  void count(Count what, uint64_t amount = 1) {
    counters_[static_cast<size_t>(what)].fetch_add(amount, std::memory_order_relaxed);
  }

  /** Adds an action to the journal, if the user wants one. */
  void note(const Directory& directory, Names names, Action action, platform::Kind kind);

  /** Returns the counters so far. They are a few milliseconds behind while workers are active. */
  Counters counters() const;

  /**
   * Returns how many workers would help now, at most `limit`. Measures from its last call to this
   * one. One thread must call it, every 20 ms or so.
   */
  unsigned useful_workers(unsigned limit);

  /** With Options::replaces: returns the path whose place an entry of DEST will take. */
  std::string replaced_path(const Directory& directory, const char* name) const {
    return options.replaces + directory.dst_path(name).substr(destinations_.front().size());
  }

  /** Returns the route from a device to the device of `dst`, any handle there. */
  Route& route(uint64_t src_dev, uint64_t dst_dev, const platform::Handle& src,
               const platform::Handle& dst);

  const Options options;
  const Writer& writer;
  /** Entries that the copy creates have later ctimes, if DEST has this host's clock. */
  const platform::Time began = platform::change_time_floor();
  Problems errors, warnings;
  Losses losses;
  Journal journal;
  TaskLists tasks{std::max(8U, platform::allowed_processors() * 2)};
  Questions questions{tasks};
  /** How many directories all workers that share a table of descriptors may have open. */
  int64_t most_directories = 4;
  /** The directories that are a SRC. The walk may meet one in DEST, even through a mount that no comparison of paths shows. */
  DirectorySet sources;
  /** With `dereference`: the directories of DEST that this copy has created. Symlinks may lead there. */
  DirectorySet created;
  HardLinks hard_links{tasks, options.traversal.dereference};
  /** platform::attribute_view(), if the copy preserves attributes. */
  const uint32_t attribute_view;
  /**
   * What the process takes away from the modes of new files. The host must not change it during a copy. Read at the first call, because
   * a copy of one file does without.
   */
  uint32_t umask() {
    std::call_once(umask_read_, [this] { umask_ = platform::creation_mask(); });
    return umask_;
  }
  /** An xattr, ACL or capability could not be preserved. */
  std::atomic<bool> has_lost_attributes{false};
  /** The owner that the process gives new entries, except where a directory passes on its group. */
  const Owner own{platform::own_user(), platform::own_group()};
  /** DEST has no room left. From now on the mirror copies no entry, unless it has just removed the one of that name. */
  std::atomic<bool> is_full{false};
  /** The copy marked a directory of DEST. */
  std::atomic<bool> has_marked{false};
  /** The most workers that the limit of file descriptors allows. */
  unsigned most_workers = 1;
  uint64_t next_temporary() { return temporary_++; }
  /** Returns the workers in work(), or the useful number if that is higher. */
  unsigned workers() const { return std::max(active_.load(), useful_.load()); }

 private:
  friend class Worker;

  /** Returns how many workers and helpers have work. */
  [[nodiscard]] unsigned running() const {
    const unsigned active = active_, sleeping = tasks.sleeping();
    return active > sleeping ? active - sleeping : 0;
  }
  bool has_spare();
  bool is_final(int error, const Directory* where) const;
  bool add_error(Problem problem, bool final);
  void out_of_memory();
  void finish(Directory& directory) override;

  const std::vector<std::string> destinations_;  // whole paths
  std::atomic<bool> stopped_{false};
  std::atomic<unsigned> active_{0};  // workers and helpers
  std::atomic<unsigned> helpers_{0};
  std::atomic<unsigned> spare_{0};   // workers that end because they are too many
  std::atomic<unsigned> useful_{1};  // result of the last useful_workers()
  // Not in the cache line of stopped_, which is read for every entry.
  alignas(kCacheLine) std::array<std::atomic<uint64_t>, kCounts> counters_{};
  std::atomic<uint64_t> temporary_;
  // Input of useful_workers(), summed over all workers: wall time, processor time, and reads from a
  // device.
  std::atomic<uint64_t> wall_ns_{0}, cpu_ns_{0}, blocks_read_{0};
  uint64_t seen_wall_ns_ = 0, seen_cpu_ns_ = 0, seen_blocks_ = 0;  // at its last call

  std::mutex devices_mutex_;  // guards routes_
  std::vector<std::unique_ptr<Route>> routes_;
  std::once_flag umask_read_;
  uint32_t umask_ = 0;
};

}  // namespace fastcp
