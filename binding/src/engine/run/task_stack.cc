#include "engine/run/task_stack.h"

#include <chrono>
#include <iterator>
#include <utility>

namespace fastcp {
namespace {

/** The time that a worker keeps its thread without a task. */
constexpr auto kPatience = std::chrono::milliseconds(10);

}  // namespace

void TaskStack::push(TaskPtr task, Tasks& kind) {
  Tasks node;
  node.push_back(std::move(task));
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    kind.splice(kind.end(), node);
    unfinished_++;
    wake = waiting_ > 0;
  }
  if (wake) changed_.notify_one();
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
    waiting_++;
    const bool in_time = changed_.wait_for(lock, kPatience, settled);
    waiting_--;
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
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    last = --unfinished_ == 0;
  }
  if (last) changed_.notify_all();
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
  const auto hungry = [this] {
    return waiting_.load(std::memory_order_relaxed) > 0 || left_.load(std::memory_order_relaxed);
  };
  if (!hungry()) return false;
  const std::lock_guard lock(mutex_);
  return hungry() && !any_locked();
}

bool TaskStack::finished() {
  const std::lock_guard lock(mutex_);
  return unfinished_ == 0;
}

}  // namespace fastcp
