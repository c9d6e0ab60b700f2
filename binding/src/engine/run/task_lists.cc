#include "engine/run/task_lists.h"

#include <algorithm>
#include <utility>

#include "engine/base/moments.h"

namespace fastcp {

thread_local TaskLists::List* TaskLists::own_ = nullptr;

TaskLists::Own::Own(TaskLists& lists) : lists_(lists) {
  const auto is_free = [](List& list) { return !list.is_own.exchange(true); };
  const auto at = std::find_if(lists.lists_.begin(), lists.lists_.end(), is_free);
  own_ = at == lists.lists_.end() ? &lists.lists_.back() : &*at;
  lists.workers_++;
}

TaskLists::Own::~Own() {
  lists_.workers_--;
  std::exchange(own_, nullptr)->is_own = false;
  lists_.wake(true);  // others may take its deep tasks now
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
  wake(&list != own_ && &list != &first_);  // perhaps only its owner may take it
}

void TaskLists::wake(bool all) {
  // A worker that is not counted yet looks once more before it sleeps.
  if (sleeping_ == 0) return;
  {
    const std::lock_guard lock(mutex_);
    version_++;
  }
  all ? changed_.notify_all() : changed_.notify_one();
}

/** Returns false if a moment has passed. */
bool TaskLists::sleep(uint64_t seen, bool is_long) {
  std::unique_lock lock(mutex_);
  const auto is_over = [&] { return version_ != seen; };
  if (!is_long) return changed_.wait_for(lock, kMoment, is_over);
  changed_.wait(lock, is_over);
  return true;
}

void TaskLists::ends(uint64_t what) {
  if ((unfinished_ -= what) % kQuestion == 0) wake(true);
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
  const size_t first = own_ == nullptr ? 0 : own() + 1;
  for (size_t i = 0; i < lists_.size() && ready_ > 0; i++) {
    if (pop(lists_[(first + i) % lists_.size()], false, out)) return true;
  }
  return false;
}

bool TaskLists::drop(TaskPtr& out) {
  if (!pop(out)) return false;
  unfinished_--;
  return true;
}

}  // namespace fastcp
