// The tasks that wait, last in first out. So a tree is walked depth first and few directories are
// open. One stack serves all workers of a copy.
//
// Tasks of directories that were created early wait in a second list. While that list is short, its oldest task is
// next. mutex_ guards all members. No task is created, run or deleted while mutex_ is held.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

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
};

using TaskPtr = std::unique_ptr<Task>;

/** Creates a task from data that has `void run(Worker&)`. */
template <class Work>
TaskPtr make_task(Work work) {
  class WorkTask final : public Task {
   public:
    explicit WorkTask(Work given) : work_(std::move(given)) {}
    void run(Worker& worker) override { work_.run(worker); }

   private:
    Work work_;
  };
  return std::make_unique<WorkTask>(std::move(work));
}

class TaskStack {
 public:
  /** Sets how many directories that were created early may wait before the newest is next. */
  void set_most_early(size_t count) { most_early_ = count; }

  void push(TaskPtr task);

  /** Tasks that are pushed together, so that the lock is taken once for them. */
  class Batch {
   public:
    /** `early`: the task of a directory that was created before its turn. */
    void add(TaskPtr task, bool early) { (early ? early_ : tasks_).push_back(std::move(task)); }

   private:
    friend class TaskStack;
    std::list<TaskPtr> tasks_, early_;
  };

  /** Pushes all tasks of a batch, which is empty then. */
  void push(Batch& batch);

  /**
   * Takes the next task. If there is none, waits for pushes of other workers, at most `kPatience`.
   * Returns false if none came, or after stop(): then the worker gives its thread back.
   */
  bool take(TaskPtr& out);

  /**
   * Returns true once if tasks wait now, and a worker left earlier because it had no task. The
   * caller must then tell the host, because only the host can bring the worker back.
   */
  bool calls_back();

  /** Must be called for every task that was taken, after the pushes of that task. */
  void done();

  /** Ends take() for all workers, and wakes those that wait. */
  void stop();

  /** Removes one task that no worker will run. */
  bool drop(TaskPtr& out);

  /** Returns whether a task waits. */
  bool has_task();

  /** Returns whether a worker waits or has left. */
  [[nodiscard]] bool is_hungry() const {
    return waiting_.load(std::memory_order_relaxed) > 0 || left_.load(std::memory_order_relaxed);
  }

  /** Returns whether one is, and no task waits. Then a worker with much work should share it. */
  bool is_starved();

  /** Returns whether no task waits and none is running. */
  bool finished();

 private:
  // Nodes are moved under the lock, and created and deleted outside.
  using Tasks = std::list<TaskPtr>;
  void pop_locked(Tasks& out);
  bool any_locked() const { return !tasks_.empty() || !early_.empty(); }

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  Tasks tasks_, early_;  // the newest at the end
  size_t most_early_ = 0;
  std::atomic<uint64_t> unfinished_ = 0;  // tasks pushed and not done; grows under the lock
  std::atomic<unsigned> waiting_ = 0;     // changed under the lock
  // a worker left because it had no task; changed under the lock
  std::atomic<bool> left_ = false;
  bool stopped_ = false;
};

}  // namespace fastcp
