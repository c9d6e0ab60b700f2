// The tasks that wait. Each worker has a list of its own and takes the newest of it, so it walks its part of the tree
// depth first. A worker whose list is empty takes the oldest task of another list, which has most of the tree below it.
// (Where directories are created before their turn, each worker takes the oldest of its own, unless they are many.) A task in
// a deep directory stays with the worker that has the way there open, unless that worker leaves.
//
// A task is pushed to the list of the calling worker; other threads push to the first list. A list outlives its worker,
// which may leave tasks in it. No task is created, run or deleted while a mutex is held.
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

  void push(TaskPtr task);
  /** The same, but any worker takes it before all other tasks. */
  void push_first(TaskPtr task) { push(first_, std::move(task)); }

  /** From now on workers take their oldest task first, too. */
  void set_oldest_first() { oldest_first_.store(true, std::memory_order_relaxed); }

  /**
   * Takes the next task. If there is none, waits for pushes of other workers, at most `kPatience`.
   * Returns false if none came, or after stop(): then the worker gives its thread back.
   */
  bool take(TaskPtr& out);

  /** Fewer workers are there than useful. */
  void lacks_workers() { left_ = true; }

  /**
   * Returns true once if tasks wait now, and a worker is not there, or left because it had no task. The
   * caller must then tell the host, because only the host can bring the worker.
   */
  bool calls_back();

  /** Must be called for every task that was taken, after the pushes of that task. */
  void done();

  /** A question of a task is open: tasks will follow. */
  void question_begins() { unfinished_ += kQuestion; }
  /** The tasks of its answer were pushed, or there will be none. */
  void question_ends() { unfinished_ -= kQuestion; }

  /** Ends take() for all workers, and wakes those that wait. */
  void stop();

  /** Removes one task that no worker will run. */
  bool drop(TaskPtr& out);

  /** Returns whether a task waits. */
  [[nodiscard]] bool has_task() const { return ready_ > 0; }

  /**
   * Returns whether a worker waits or has left, and the calling worker's list is empty. Then it should share what it works
   * on.
   */
  [[nodiscard]] bool is_starved() const {
    const bool hungry =
        waiting_.load(std::memory_order_relaxed) > 0 || left_.load(std::memory_order_relaxed);
    return hungry && (own_ == nullptr || own_->size.load(std::memory_order_relaxed) == 0);
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

  void push(List& list, TaskPtr task);
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
  std::mutex mutex_;  // held to wait for changed_, and to end all waits
  std::condition_variable changed_;
  // Read for every entry, and seldom written: not in a cache line that every push changes.
  alignas(kCacheLine) std::atomic<unsigned> waiting_{0};  // workers that wait for a task
  std::atomic<bool> left_{false};                         // fewer workers are there than useful
};

}  // namespace fastcp
