// One copy: what is to be done, what is left to do, and the workers' way through it.
//
//   work() on any number of threads:  take a task ── FolderTask ──> make folder, list it ──┐
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

#include "folder.h"
#include "hard_links.h"
#include "questions.h"
#include "report.h"
#include "task_stack.h"

namespace fastcp {

enum class Reflink : uint8_t { automatic, always, never };

/** What is made of a file: a copy, or one more name or a link for the one in SRC. */
enum class Instead : uint8_t { copy, hard_link, link };

/** What is kept of an entry beside its content. */
struct Preserve {
  bool mode = true;
  bool timestamps = false;
  bool ownership = false;
  bool xattrs = false;
  bool links = false;            // names of one file stay names of one file
  bool present_folders = false;  // folders that DEST has get what SRC's have, too
  bool bare = false;             // without `xattrs`: entries that DEST has lose theirs
};

struct Options {
  Preserve preserve{};
  bool dereference = false;     // links in SRC stand for what they point to
  bool absolute_links = false;  // relative links are made absolute, as Node's fs.cp does
  bool like_node = false;       // FIFOs, sockets and some links are errors, as in Node's fs.cp
  bool find_holes = false;      // zeros become holes
  bool backup = false;          // what is replaced gets a name with a number
  bool fsync = false;
  bool strict = false;             // what cannot be preserved is an error
  bool update = false;             // what is unchanged is left alone
  bool checksum = false;           // and only contents prove that
  bool quick_check = false;        // or else size and mtime do
  bool mirror = false;             // what SRC does not have is removed
  bool delete_excluded = false;    // so is what is not selected
  bool verify = false;             // what was written is read back
  uint32_t shard = 0, shards = 1;  // this copy's part of the tree, and of how many
  Instead instead = Instead::copy;
  bool force = true;
  bool error_on_exist = false;
  bool dry_run = false;
  bool compares = false;  // a dry run that tells how two trees differ, and refuses nothing for it
  bool one_file_system = false;
  bool stop_on_error = true;
  bool journal = false;
  Reflink reflink = Reflink::automatic;

  /** For entries in SRC: what a link there stands for. */
  [[nodiscard]] platform::Follow follow() const {
    return dereference ? platform::Follow::yes : platform::Follow::no;
  }
};

/** What the user named: SRC -> DEST, both whole paths. */
struct Root {
  std::string src, dst;
  bool follow_src;  // SRC ends in a slash: a link there stands for what it points to
  Scope scope;      // of a folder of which the host decides what is copied
  bool remove;      // nothing is copied: the folder at DEST is removed
};

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
  bool fail(const Folder& folder, Names names, int error, const char* operation);

  /** Engine::note() */
  void note(const Folder& folder, Names names, Action action, platform::Kind kind);

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

  /**
   * Opens a file for reading. Waits, as an open() that may block does, while another process gives up a lease
   * on the file (Samba and NFS servers take them); `leased_since` is when that began. -ECANCELED if the worker
   * has to leave before: then the entry is to be tried again.
   */
  int open_file(const platform::Handle& folder, const char* name, platform::Follow follow,
                bool& without_atime, Clock::time_point& leased_since, platform::Handle& out);

  /** After open_file() said -ECANCELED: makes the entry a task again, with what `again` knows of it. */
  void wait_for_lease(const FolderUse& folder, Names names, const EntryTask& again,
                      Clock::time_point leased_since);

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

class Engine : private FolderOwner {
 public:
  Engine(Options options, std::vector<Root> roots);
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
   * Reports an error with an entry of a folder, or with the folder where there are no names, and stops the copy
   * where it is final. Returns false, for `return fail(…)`.
   */
  bool fail(const Folder& folder, Names names, int error, const char* operation) {
    return fail({error < 0 ? -error : error, operation, folder.src_path(names.src),
                 folder.dst_path(names.dst)},
                &folder);
  }
  /** `where`: the folder that it happened in, if it happened in one. */
  bool fail(Problem problem, const Folder* where);

  /**
   * Something of an entry could not be preserved. True, and a warning, where that is because it may not
   * be or DEST cannot, unless the user is strict; otherwise fails.
   */
  bool lose(const Folder& folder, Names names, Loss loss, int error, const char* operation);

  void count(Count what, uint64_t amount = 1) {
    counters_[static_cast<size_t>(what)].fetch_add(amount, std::memory_order_relaxed);
  }

  /** Puts into the journal, if one is kept, what was done with an entry. */
  void note(const Folder& folder, Names names, Action action, platform::Kind kind);

  /** Done so far; a few milliseconds behind while workers are active. */
  Counters counters() const;

  /**
   * How many workers would help now, by what was observed since the last call; at most `limit`. To
   * be called by one thread, every 20 ms or so.
   */
  unsigned useful_workers(unsigned limit);

  /** What is known of copying from a device to that of `dst`, any handle there. */
  Route& route(uint64_t src_dev, uint64_t dst_dev, const platform::Handle& dst);

  /** DEST's own folders. The walk may meet one by a mount that no comparison of paths shows. */
  void add_target(const platform::Stat& folder);
  bool is_target(const platform::Stat& folder);

  const Options options;
  Problems errors, warnings;
  Losses losses;
  Journal journal;
  TaskStack stack;
  Questions questions;
  FolderTable folders;
  HardLinks hard_links{stack, options.dereference};
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

  void run(Worker& worker, Task& task);
  bool is_final(int error, const Folder* where) const;
  void out_of_memory();
  void finish(Folder& folder) override;

  const std::vector<Root> roots_;
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
