// The threads of the process on which copies go on that take longer than a moment. libuv's pool, where every copy begins, is
// shared with the host's own calls, and has few threads. A global. host/job.cc calls it, on any thread.
//
//   pool: a copy takes longer ── enlist() ──> a thread ─> next crew with work ─> Crew::work() ─┐
//                                               ^              no work for a moment: it ends   │
//                                               └──────────── no work in that copy any more ───┘
//
// A thread is created for a copy that has work and no worker, and for one that can use more while fewer threads run than there
// are processors. It serves one copy until Engine::work() returns; among copies the kernel is the scheduler.
//
// A thread may have a table of descriptors of its own (platform::leave_shared_table), where libuv's numbers mean something
// else. So nothing there calls JavaScript or wakes it, and only threads with the process's table start others. One of these,
// the pinger, starts them, wakes JavaScript for all copies, and has them measured every 20 ms.
//
// mutex_ guards everything, except that Crew::work() and Crew::tick() run without it.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace fastcp {

/** A copy that may go on with threads of its own. */
class Crew {
 public:
  virtual ~Crew() = default;

  /** Works until nothing is left to do now. On one of the threads. */
  virtual void work() = 0;
  /** Returns whether a worker would find something to do. Called on any thread, with the lock. */
  [[nodiscard]] virtual bool has_work() const = 0;
  /** Returns how many of its workers wait for work. */
  [[nodiscard]] virtual unsigned sleeping() const = 0;
  /** Wakes JavaScript. Returns how many workers are useful. On the pinger, every 20 ms while the copy has workers. */
  virtual unsigned tick() = 0;

 private:
  friend class Threads;
  unsigned workers_ = 0;   // in work(), or between enlist() and leave()
  unsigned wanted_ = 1;    // by the last tick()
  bool is_known_ = false;  // in crews_
  bool is_due_ = false;    // tick() was asked for
};

class Threads {
 public:
  static Threads& process();

  /**
   * Gives the copy threads from now on, while it has work. Returns false if there can be none now. Otherwise the caller counts
   * as one of its workers until leave().
   */
  bool enlist(const std::shared_ptr<Crew>& crew);
  void leave(Crew& crew);
  /** Gives it none any more. Returns false while one works for it. */
  bool dismiss(Crew& crew);
  /** Does the same, and waits for the workers, but not for a call of the system that does not return. */
  void end(Crew& crew);
  [[nodiscard]] bool has_workers(const Crew& crew);

  /** The copy has work again. Returns false if it has not enlisted, or no thread is free and none could be created. */
  bool wake(const Crew& crew);
  /** Wakes the copy's JavaScript soon. */
  void ping(Crew& crew);

  /** Returns how many threads there are. For tests. */
  [[nodiscard]] unsigned count();

 private:
  Threads() = default;
  void work();
  void ping_all();
  void leave_locked(Crew& crew);
  void forget_locked(Crew& crew);
  void tell_pinger_locked();
  bool start_one_locked();
  void start_useful_locked();
  [[nodiscard]] std::shared_ptr<Crew> next_locked();
  [[nodiscard]] bool may_grow_locked() const;

  std::mutex mutex_;
  std::condition_variable work_;  // for idle threads
  std::condition_variable news_;  // for the pinger
  std::condition_variable left_;  // a worker has left its copy
  std::vector<std::shared_ptr<Crew>> crews_;
  unsigned threads_ = 0;  // without the pinger
  unsigned idle_ = 0;     // of these, without a copy
  bool has_pinger_ = false;
  bool has_failed_ = false;  // to start the last thread
  bool has_news_ = false;
};

}  // namespace fastcp
