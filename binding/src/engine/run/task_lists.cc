#include "engine/run/task_lists.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace fastcp {
namespace {

/** The time that a worker keeps its thread without a task. */
constexpr auto kPatience = std::chrono::milliseconds(10);
constexpr auto kLook = std::chrono::milliseconds(1);

}  // namespace

thread_local TaskLists::List* TaskLists::own_ = nullptr;

TaskLists::Own::Own(TaskLists& lists) {
  const auto is_free = [](List& list) { return !list.is_own.exchange(true); };
  const auto at = std::find_if(lists.lists_.begin(), lists.lists_.end(), is_free);
  own_ = at == lists.lists_.end() ? &lists.lists_.back() : &*at;
}

TaskLists::Own::~Own() { std::exchange(own_, nullptr)->is_own = false; }

void TaskLists::push(TaskPtr task) {
  push(own_ == nullptr ? lists_.front() : *own_, std::move(task));
}

void TaskLists::push(List& list, TaskPtr task) {
  unfinished_++;
  {
    const std::lock_guard lock(list.mutex);
    Task* const added = task.release();
    added->older_ = list.newest;
    (list.newest == nullptr ? list.oldest : list.newest->newer_) = added;
    list.newest = added;
    list.size++;
    ready_++;
  }
  if (waiting_ == 0) return;
  changed_.notify_one();  // one that does not wait yet looks again soon
}

bool TaskLists::pop(List& list, bool the_newest, TaskPtr& out) {
  if (list.size == 0) return false;
  const std::lock_guard lock(list.mutex);
  Task* const taken = the_newest ? list.newest : list.oldest;
  if (taken == nullptr || (&list != own_ && list.is_own && taken->is_deep())) return false;
  (taken->older_ == nullptr ? list.oldest : taken->older_->newer_) = taken->newer_;
  (taken->newer_ == nullptr ? list.newest : taken->newer_->older_) = taken->older_;
  list.size--;
  ready_--;
  out.reset(taken);
  return true;
}

bool TaskLists::pop(TaskPtr& out) {
  if (pop(first_, true, out)) return true;
  constexpr unsigned kMany = 4096;
  if (own_ != nullptr && pop(*own_, !oldest_first_ || own_->size > kMany, out)) return true;
  const size_t first = own_ == nullptr ? 0 : static_cast<size_t>(own_ - lists_.data()) + 1;
  for (size_t i = 0; i < lists_.size() && ready_ > 0; i++) {
    if (pop(lists_[(first + i) % lists_.size()], false, out)) return true;
  }
  return false;
}

bool TaskLists::take(TaskPtr& out) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!stopped_ && any_unfinished()) {
    if (pop(out)) return true;
    if (std::chrono::steady_clock::now() > until) {
      left_ = true;
      return false;
    }
    std::unique_lock lock(mutex_);
    waiting_++;
    // A task may have come since pop(). Some that wait are for another worker.
    if (!stopped_ && any_unfinished()) changed_.wait_for(lock, kLook);
    waiting_--;
  }
  return false;
}

bool TaskLists::calls_back() {
  return left_.load(std::memory_order_relaxed) && has_task() && left_.exchange(false);
}

void TaskLists::done() {
  if (--unfinished_ % kQuestion > 0) return;
  { const std::lock_guard lock(mutex_); }
  changed_.notify_all();
}

void TaskLists::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
}

bool TaskLists::drop(TaskPtr& out) {
  if (!pop(out)) return false;
  unfinished_--;
  return true;
}

}  // namespace fastcp
