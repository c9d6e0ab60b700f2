#include "engine/run/task_stack.h"

#include <chrono>
#include <iterator>
#include <utility>

namespace fastcp {
namespace {

/** The time that a worker keeps its thread without a task. */
constexpr auto kPatience = std::chrono::milliseconds(10);

}  // namespace

void TaskStack::push(TaskPtr task) {
  Batch one;
  one.add(std::move(task), false);
  push(one);
}

void TaskStack::push(Batch& batch) {
  const size_t count = batch.tasks_.size() + batch.early_.size();
  if (count == 0) return;
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    tasks_.splice(tasks_.end(), batch.tasks_);
    early_.splice(early_.end(), batch.early_);
    unfinished_ += count;
    wake = waiting_ > 0;
  }
  if (!wake) return;
  if (count == 1) {
    changed_.notify_one();
  } else {
    changed_.notify_all();
  }
}

void TaskStack::pop_locked(Tasks& out) {
  if (!any_locked()) return;
  Tasks& from = tasks_.empty() ? early_ : tasks_;
  const bool oldest = tasks_.empty() && early_.size() <= most_early_;
  out.splice(out.end(), from, oldest ? from.begin() : std::prev(from.end()));
}

bool TaskStack::take(TaskPtr& out) {
  Tasks node;
  {
    std::unique_lock lock(mutex_);
    const auto settled = [this] { return stopped_ || any_locked() || unfinished_ == 0; };
    bool in_time = settled();
    if (!in_time) {
      waiting_++;
      in_time = changed_.wait_for(lock, kPatience, settled);
      waiting_--;
    }
    if (!in_time) left_ = true;
    if (in_time && !stopped_) pop_locked(node);
  }
  if (node.empty()) return false;
  out = std::move(node.front());
  return true;
}

bool TaskStack::calls_back() {
  if (!left_.load(std::memory_order_relaxed)) return false;
  const std::lock_guard lock(mutex_);
  return any_locked() && left_.exchange(false);
}

void TaskStack::done() {
  if (unfinished_.fetch_sub(1) > 1) return;
  // So that no worker is between its look at the number and its wait.
  { const std::lock_guard lock(mutex_); }
  changed_.notify_all();
}

void TaskStack::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
}

bool TaskStack::drop(TaskPtr& out) {
  Tasks node;
  {
    const std::lock_guard lock(mutex_);
    pop_locked(node);
    unfinished_ -= node.size();
  }
  if (node.empty()) return false;
  out = std::move(node.front());
  return true;
}

bool TaskStack::has_task() {
  const std::lock_guard lock(mutex_);
  return any_locked();
}

bool TaskStack::is_starved() {
  if (!is_hungry()) return false;
  const std::lock_guard lock(mutex_);
  return is_hungry() && !any_locked();
}

bool TaskStack::finished() { return unfinished_ == 0; }

}  // namespace fastcp
