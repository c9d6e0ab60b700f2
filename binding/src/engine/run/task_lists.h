// The tasks that wait. Each worker has a list of its own and takes the newest of it, so it walks its part of the tree
// depth first. A worker whose list is empty takes the oldest task of another list, which has most of the tree below it.
// (Where directories are created before their turn, each worker takes the oldest of its own, unless they are many.) A task in
// a deep directory stays with the worker that has the way there open, unless that worker leaves.
//
// A task is pushed to the list of the calling worker, or to the first one by another thread. An answer of JavaScript is pushed
// to the list of the worker that asked, which perhaps still has the directory open. A list outlives its worker, which may leave
// tasks in it.
//
// A worker without a task sleeps while tasks of others run. What could give it one changes version_, which a worker that is
// going to sleep reads before its last look, so no wake-up is lost. No task is created, run or deleted while a mutex is held.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/base/cache_line.h"

namespace fastcp {

class Worker;

/** The list of a worker. */
using ListNumber = size_t;

/** A unit of work. Its destructor releases everything that it holds. */
class Task {
 public:
  Task() = default;
  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  virtual void run(Worker& worker) = 0;
  [[nodiscard]] virtual bool is_deep() const = 0;

 private:
  friend class TaskLists;
  Task *older_ = nullptr, *newer_ = nullptr;  // in a list
};

using TaskPtr = std::unique_ptr<Task>;

/** Creates a task from data that has `void run(Worker&)`. */
template <class Work>
TaskPtr make_task(Work work) {
  class WorkTask final : public Task {
   public:
    explicit WorkTask(Work given) : work_(std::move(given)) {}
    void run(Worker& worker) override { work_.run(worker); }
    [[nodiscard]] bool is_deep() const override {
      if constexpr (requires { work_.parent->is_deep(); }) return work_.parent->is_deep();
      if constexpr (requires { work_.directory->is_deep(); }) return work_.directory->is_deep();
      if constexpr (requires { work_.is_deep(); }) return work_.is_deep();
      return false;
    }

   private:
    Work work_;
  };
  return std::make_unique<WorkTask>(std::move(work));
}

class TaskLists {
  struct alignas(kCacheLine) List {
    std::mutex mutex;  // guards both ends
    Task *newest = nullptr, *oldest = nullptr;
    std::atomic<unsigned> size{0};     // read without the mutex
    std::atomic<bool> is_own = false;  // of a worker
  };

 public:
  /** Makes the calling thread a worker with a list, as long as this exists. */
  class Own {
   public:
    explicit Own(TaskLists& lists);
    ~Own();
    Own(const Own&) = delete;
    Own& operator=(const Own&) = delete;

   private:
    TaskLists& lists_;
  };

  /** `count`: how many lists. More workers share the last one. */
  explicit TaskLists(size_t count) : lists_(count) {}

  /** Ends the question that was answered, when the tasks that follow have been pushed. */
  class Answering {
   public:
    explicit Answering(TaskLists& lists) : lists_(lists) {}
    ~Answering() { lists_.question_ends(); }
    Answering(const Answering&) = delete;
    Answering& operator=(const Answering&) = delete;

   private:
    TaskLists& lists_;
  };

  void push(TaskPtr task) { push(own_ == nullptr ? lists_.front() : *own_, std::move(task)); }
  /** The same, but any worker takes it before all other tasks. */
  void push_first(TaskPtr task) { push(first_, std::move(task)); }
  /** Pushes to the list of the worker that own() was called on. For any thread. */
  void push(TaskPtr task, ListNumber whose) { push(lists_[whose], std::move(task)); }
  [[nodiscard]] ListNumber own() const { return static_cast<ListNumber>(own_ - lists_.data()); }

  /** From now on workers take their oldest task first, too. */
  void set_oldest_first() { oldest_first_.store(true, std::memory_order_relaxed); }

  /** Takes the next task, without waiting. Returns false if there is none, or after stop(). */
  bool try_take(TaskPtr& out) { return !stopped_ && pop(out); }

  /**
   * Takes the next task. Sleeps while other workers may push one, and for a moment if only an answer may bring one. Returns
   * false if none can come, after that moment, or after stop(). Calls `sleeps_long` before a sleep that has no limit.
   */
  template <class Call>
  bool take(TaskPtr& out, Call sleeps_long) {
    const Sleeper sleeper(*this);
    for (bool is_long = false;;) {
      const uint64_t seen = version_;
      if (try_take(out)) return true;
      if (stopped_ || finished()) return false;
      if (is_long) sleeps_long();
      if (sleep(seen, is_long)) {
        is_long = false;
      } else if (is_long = any_unfinished(); !is_long) {
        return false;
      }
    }
  }

  /** So many workers are useful. */
  void wants_workers(unsigned wanted) { wanted_ = wanted; }
  [[nodiscard]] bool lacks_workers() const {
    return workers_.load(std::memory_order_relaxed) < wanted_.load(std::memory_order_relaxed);
  }
  /** Returns how many workers have no task. */
  [[nodiscard]] unsigned sleeping() const { return sleeping_; }

  /** Must be called for every task that was taken, after the pushes of that task. */
  void done() { ends(1); }

  /** A question of a task is open: tasks will follow. */
  void question_begins() { unfinished_ += kQuestion; }
  /** The tasks of its answer were pushed, or there will be none. */
  void question_ends() { ends(kQuestion); }

  /** Ends take() for all workers, and wakes those that sleep. */
  void stop() {
    stopped_ = true;
    wake(true);
  }

  /** Removes one task that no worker will run. */
  bool drop(TaskPtr& out);

  /** Returns whether a task waits. */
  [[nodiscard]] bool has_task() const { return ready_ > 0; }

  /**
   * Returns whether a worker sleeps or is missing, and the calling worker's list is empty. Then it should share what it works
   * on.
   */
  [[nodiscard]] bool is_starved() const {
    return (sleeping_.load(std::memory_order_relaxed) > 0 || lacks_workers()) &&
           own_->size.load(std::memory_order_relaxed) == 0;
  }

  /** Returns whether questions are open, but no task waits or is running. */
  [[nodiscard]] bool wait_for_answers() const {
    const uint64_t unfinished = unfinished_;
    return unfinished > 0 && unfinished % kQuestion == 0;
  }

  /** Returns whether no task waits, none is running, and no question is open: none can follow. */
  [[nodiscard]] bool finished() const { return unfinished_ == 0; }

 private:
  static constexpr uint64_t kQuestion = uint64_t{1} << 32;

  class Sleeper {
   public:
    explicit Sleeper(TaskLists& lists) : lists_(lists) { lists_.sleeping_++; }
    ~Sleeper() { lists_.sleeping_--; }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;

   private:
    TaskLists& lists_;
  };

  void push(List& list, TaskPtr task);
  void ends(uint64_t what);
  void wake(bool all);
  bool sleep(uint64_t seen, bool is_long);
  bool pop(TaskPtr& out);
  bool pop(List& list, bool the_newest, TaskPtr& out);
  [[nodiscard]] bool any_unfinished() const { return unfinished_ % kQuestion > 0; }

  static thread_local List* own_;  // of the worker on this thread

  std::atomic<bool> oldest_first_{false};
  List first_;  // see push_first()
  std::vector<List> lists_;
  // Tasks pushed and not done, and open questions times kQuestion: together, because one becomes the other.
  std::atomic<uint64_t> unfinished_{0};
  std::atomic<size_t> ready_{0};  // tasks that wait
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;  // held to wait for changed_, and to change version_
  std::condition_variable changed_;
  std::atomic<uint64_t> version_{0};
  // Read for every entry, and seldom written: not in a cache line that every push changes.
  alignas(kCacheLine) std::atomic<unsigned> sleeping_{0};  // workers without a task
  std::atomic<unsigned> workers_{0}, wanted_{0};
};

}  // namespace fastcp
