// The tasks that wait, last in first out. So a tree is walked depth first and few directories are
// open. One stack serves all workers of a copy.
//
// Tasks of directories that were created early wait in a second list. While that list is short, its oldest task is
// next. Tasks are added and taken under mutex_. No task is created, run or deleted while it is held.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

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
    [[nodiscard]] bool empty() const { return tasks_.empty() && early_.empty(); }

   private:
    friend class TaskStack;
    std::list<TaskPtr> tasks_, early_;
  };

  /** Pushes all tasks of a batch, and empties it. */
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
  [[nodiscard]] bool has_task() const { return ready_ > 0; }

  /** Returns whether so few tasks wait that none should be held back. */
  [[nodiscard]] bool is_short() const { return ready_.load(std::memory_order_relaxed) < kShort; }

  /**
   * Returns whether a worker waits or has left, and no task waits. Then a worker with much work
   * should share it.
   */
  [[nodiscard]] bool is_starved() const;

  /** Returns whether no task waits and none is running. */
  bool finished();

 private:
  // Nodes are moved under the lock, and created and deleted outside.
  using Tasks = std::list<TaskPtr>;
  void pop_locked(Tasks& out);

  static constexpr size_t kShort = 16;  // tasks

  std::mutex mutex_;  // guards tasks_, early_ and stopped_
  std::condition_variable changed_;
  Tasks tasks_, early_;  // the newest at the end
  bool stopped_ = false;
  size_t most_early_ = 0;
  // Read without the lock. All but unfinished_, which falls in done(), change under it.
  std::atomic<size_t> ready_ = 0;         // tasks that wait
  std::atomic<uint64_t> unfinished_ = 0;  // tasks pushed and not done
  // Read for every entry, and seldom written: not in a cache line that every push changes.
  alignas(kCacheLine) std::atomic<unsigned> waiting_ = 0;  // workers that wait for a task
  std::atomic<bool> left_ = false;                         // a worker left because it had no task
};

}  // namespace fastcp
