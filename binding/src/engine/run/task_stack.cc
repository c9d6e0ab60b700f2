#include "engine/run/task_stack.h"

#include <algorithm>
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
  if (batch.empty()) return;
  const size_t count = batch.tasks_.size() + batch.early_.size();
  size_t wake = 0;
  {
    const std::lock_guard lock(mutex_);
    tasks_.splice(tasks_.end(), batch.tasks_);
    early_.splice(early_.end(), batch.early_);
    unfinished_ += count;
    ready_ += count;
    wake = std::min<size_t>(waiting_, count);
  }
  for (; wake > 0; wake--) changed_.notify_one();
}

void TaskStack::pop_locked(Tasks& out) {
  if (ready_ == 0) return;
  Tasks& from = tasks_.empty() ? early_ : tasks_;
  const bool oldest = tasks_.empty() && early_.size() <= most_early_;
  out.splice(out.end(), from, oldest ? from.begin() : std::prev(from.end()));
  ready_--;
}

bool TaskStack::take(TaskPtr& out) {
  Tasks node;
  {
    std::unique_lock lock(mutex_);
    const auto settled = [this] { return stopped_ || has_task() || unfinished_ == 0; };
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
  return has_task() && left_.exchange(false);
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

bool TaskStack::is_starved() const {
  const bool hungry =
      waiting_.load(std::memory_order_relaxed) > 0 || left_.load(std::memory_order_relaxed);
  return hungry && !has_task();
}

bool TaskStack::finished() { return unfinished_ == 0; }

}  // namespace fastcp
