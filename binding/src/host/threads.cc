#include "host/threads.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/base/moments.h"
#include "platform/platform.h"

namespace fastcp {
namespace {

using Clock = std::chrono::steady_clock;

/** How long the end of a JavaScript environment waits for workers. */
constexpr auto kEnd = std::chrono::milliseconds(200);

}  // namespace

Threads& Threads::process() {
  // Never destroyed: a thread may still be in a call of the system when the process ends.
  static auto* threads = new Threads;
  return *threads;
}

bool Threads::enlist(const std::shared_ptr<Crew>& crew) {
  const std::lock_guard lock(mutex_);
  if (threads_ == 0 && !start_one_locked()) return false;
  if (!has_pinger_) {
    const auto run = [](void* threads) { static_cast<Threads*>(threads)->ping_all(); };
    has_pinger_ = platform::start_thread(run, this) == 0;
    if (!has_pinger_) return false;
  }
  if (!std::exchange(crew->is_known_, true)) crews_.push_back(crew);
  crew->workers_++;
  crew->is_due_ = true;
  tell_pinger_locked();
  return true;
}

void Threads::leave(Crew& crew) {
  const std::lock_guard lock(mutex_);
  leave_locked(crew);
}

void Threads::leave_locked(Crew& crew) {
  crew.workers_--;
  crew.is_due_ = true;
  tell_pinger_locked();
  left_.notify_all();
}

bool Threads::dismiss(Crew& crew) {
  const std::lock_guard lock(mutex_);
  if (crew.workers_ > 0) return false;
  forget_locked(crew);
  return true;
}

void Threads::end(Crew& crew) {
  std::unique_lock lock(mutex_);
  forget_locked(crew);
  left_.wait_for(lock, kEnd, [&] { return crew.workers_ == 0; });
}

void Threads::forget_locked(Crew& crew) {
  if (!std::exchange(crew.is_known_, false)) return;
  std::erase_if(crews_, [&](const auto& known) { return known.get() == &crew; });
  tell_pinger_locked();
}

bool Threads::has_workers(const Crew& crew) {
  const std::lock_guard lock(mutex_);
  return crew.workers_ > 0;
}

bool Threads::wake(const Crew& crew) {
  const std::lock_guard lock(mutex_);
  if (!crew.is_known_) return false;
  if (crew.workers_ > 0) return true;
  work_.notify_one();
  tell_pinger_locked();
  return idle_ > 0 || !has_failed_;
}

void Threads::ping(Crew& crew) {
  const std::lock_guard lock(mutex_);
  crew.is_due_ = true;
  tell_pinger_locked();
}

unsigned Threads::count() {
  const std::lock_guard lock(mutex_);
  return threads_ + (has_pinger_ ? 1 : 0);
}

void Threads::tell_pinger_locked() {
  has_news_ = true;
  news_.notify_one();
}

// --- the threads ---------------------------------------------------------------------------------

/** The caller has the process's table, which the new thread leaves. */
bool Threads::start_one_locked() {
  const auto run = [](void* threads) {
    platform::leave_shared_table();
    static_cast<Threads*>(threads)->work();
  };
  has_failed_ = platform::start_thread(run, this) != 0;
  if (has_failed_) return false;
  threads_++;
  idle_++;
  return true;
}

/** Returns whether more threads than one for each copy are useful. */
bool Threads::may_grow_locked() const {
  unsigned most = platform::allowed_processors(), sleeping = 0;
  for (const auto& crew : crews_) {
    most = std::max(most, crew->wanted_);  // more while a copy waits for a device
    sleeping += crew->sleeping();
  }
  return threads_ - idle_ < most + sleeping;
}

/** Returns the copy that should get a thread: one without any, or else one that can use more. */
std::shared_ptr<Crew> Threads::next_locked() {
  const auto find = [this](auto&& lacks) {
    const auto found = std::find_if(crews_.begin(), crews_.end(), [&](const auto& crew) {
      return lacks(*crew) && crew->has_work();
    });
    return found == crews_.end() ? nullptr : *found;
  };
  std::shared_ptr<Crew> next = find([](const Crew& crew) { return crew.workers_ == 0; });
  if (next == nullptr && may_grow_locked())
    next = find([](const Crew& crew) { return crew.workers_ < crew.wanted_; });
  return next;
}

void Threads::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    std::shared_ptr<Crew> crew = next_locked();
    if (crew == nullptr) {
      if (work_.wait_for(lock, kMoment) == std::cv_status::no_timeout) continue;
      if ((crew = next_locked()) == nullptr) break;
    }
    idle_--;
    crew->workers_++;
    lock.unlock();
    crew->work();
    lock.lock();
    idle_++;
    leave_locked(*crew);
    // Without the lock, because it may be the last to know the copy.
    lock.unlock();
    crew.reset();
    lock.lock();
  }
  idle_--;
  threads_--;
  tell_pinger_locked();  // it ends after the last thread
}

// --- the pinger ----------------------------------------------------------------------------------

void Threads::start_useful_locked() {
  // Copies with workers, copies that wait for their first one, and how many more workers are useful.
  unsigned served = 0, first = 0, more = 0;
  for (const auto& crew : crews_) {
    if (crew->workers_ > 0) served++;
    if (crew->workers_ >= crew->wanted_ || !crew->has_work()) continue;
    if (crew->workers_ == 0) first++;
    more += crew->wanted_ - std::max(1U, crew->workers_);
  }
  // Those that are idle are about to take one. Copies beyond so many wait until another copy leaves its thread.
  constexpr unsigned kMost = 64;
  while (idle_ < first && served + idle_ < kMost && start_one_locked()) {
  }
  while (idle_ < first + more && may_grow_locked() && start_one_locked()) {
  }
  if (first + more > 0 && idle_ > 0) work_.notify_all();
}

void Threads::ping_all() {
  std::unique_lock lock(mutex_);
  auto looked = Clock::now();
  while (!crews_.empty() || threads_ > 0) {
    const auto is_busy = [](const auto& crew) { return crew->workers_ > 0 || crew->has_work(); };
    // Those without a worker have nothing new to tell, unless they have to go on in the pool.
    const auto is_told_of = [&](const auto& crew) { return crew->workers_ > 0 || has_failed_; };
    const auto is_told = [this] { return has_news_; };
    if (std::any_of(crews_.begin(), crews_.end(), is_busy)) {
      news_.wait_until(lock, looked + kTick, is_told);
    } else {
      news_.wait(lock, is_told);
    }
    has_news_ = false;
    const auto now = Clock::now();
    const bool is_time = now - looked >= kTick;
    if (is_time) looked = now;
    std::vector<std::shared_ptr<Crew>> due;
    for (const auto& crew : crews_) {
      if (std::exchange(crew->is_due_, false) || (is_time && is_told_of(crew))) due.push_back(crew);
    }
    for (auto& crew : due) {
      lock.unlock();
      const unsigned wanted = crew->tick();
      lock.lock();
      crew->wanted_ = wanted;
    }
    start_useful_locked();
    lock.unlock();
    due.clear();  // without the lock: see work()
    lock.lock();
  }
  has_pinger_ = false;
}

}  // namespace fastcp
