#include "task_stack.h"

#include <chrono>
#include <utility>

#include "copy_content.h"

namespace fastcp {
namespace {

/** How long a worker waits before it looks whether it is still wanted. */
constexpr auto kPatience = std::chrono::milliseconds(10);

}  // namespace

void TaskStack::push(Task task) {
  auto node = std::make_unique<Node>(Node{std::move(task), nullptr});
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    node->below = std::move(top_);
    top_ = std::move(node);
    unfinished_++;
    wake = waiting_ > 0;
  }
  if (wake) changed_.notify_one();
}

std::unique_ptr<TaskStack::Node> TaskStack::pop_locked() {
  std::unique_ptr<Node> node = std::move(top_);
  if (node) top_ = std::move(node->below);
  return node;
}

TaskStack::Taken TaskStack::take(Task& out) {
  std::unique_ptr<Node> node;
  {
    std::unique_lock lock(mutex_);
    const auto settled = [this] { return stopped_ || top_ || unfinished_ == 0; };
    waiting_++;
    const bool in_time = changed_.wait_for(lock, kPatience, settled);
    waiting_--;
    if (!in_time) return Taken::waited;
    if (!stopped_) node = pop_locked();
  }
  if (!node) return Taken::nothing;
  out = std::move(node->task);
  return Taken::task;
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

bool TaskStack::drop(Task& out) {
  std::unique_ptr<Node> node;
  {
    const std::lock_guard lock(mutex_);
    node = pop_locked();
    if (node) unfinished_--;
  }
  if (!node) return false;
  out = std::move(node->task);
  return true;
}

bool TaskStack::has_task() {
  const std::lock_guard lock(mutex_);
  return top_ != nullptr;
}

bool TaskStack::is_starved() {
  if (waiting_.load(std::memory_order_relaxed) == 0) return false;
  const std::lock_guard lock(mutex_);
  return waiting_ > 0 && !top_;
}

bool TaskStack::finished() {
  const std::lock_guard lock(mutex_);
  return unfinished_ == 0;
}

}  // namespace fastcp
