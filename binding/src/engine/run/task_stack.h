// What is left to do: last in, first out, so that a tree is walked depth first and few directories are
// open. Directories that were made early are for later: while not many wait, the oldest is next. One for
// all workers of a copy.
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

/** A task knows what it does. Whatever it holds is given back when it ends. */
class Task {
 public:
  Task() = default;
  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  virtual void run(Worker& worker) = 0;
};

using TaskPtr = std::unique_ptr<Task>;

/** A task of data that has `void run(Worker&)`. */
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
  /** How many directories that were made early wait until the newest is next. */
  void set_most_early(size_t count) { most_early_ = count; }

  void push(TaskPtr task) { push(std::move(task), tasks_); }

  /** The same for a directory that was made before its turn. */
  void push_early(TaskPtr task) { push(std::move(task), early_); }

  /**
   * Takes the next task; waits for other workers' pushes, at most `kPatience`. False where there is none, or
   * after stop(): then the worker gives its thread back.
   */
  bool take(TaskPtr& out);

  /**
   * True once after a worker left for want of a task while others went on, and now tasks wait: the host is to
   * be told, because it alone can bring the worker back.
   */
  bool calls_back();

  /** Every task that was taken is reported here, after what it pushed. */
  void done();

  /** Hands out nothing any more, and wakes those who wait. */
  void stop();

  /** Removes one task that nobody will run. */
  bool drop(TaskPtr& out);

  /** Something waits to be taken. */
  bool has_task();

  /** A worker waits, or has left, and there is nothing for it: whoever has much left should share it. */
  bool is_starved();

  /** Nothing waits, and nothing is being run. */
  bool finished();

 private:
  // Nodes are moved under the lock, and made and ended outside.
  using Tasks = std::list<TaskPtr>;
  void push(TaskPtr task, Tasks& kind);
  void pop_locked(Tasks& out);
  bool any_locked() const { return !tasks_.empty() || !early_.empty(); }

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  Tasks tasks_, early_;  // the newest at the end
  size_t most_early_ = 0;
  uint64_t unfinished_ = 0;            // pushed and not done
  std::atomic<unsigned> waiting_ = 0;  // changed under the lock
  std::atomic<bool> left_ = false;     // a worker, for want of a task; changed under the lock
  bool stopped_ = false;
};

}  // namespace fastcp
