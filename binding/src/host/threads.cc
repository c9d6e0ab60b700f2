#include "host/threads.h"

#include <algorithm>
#include <utility>

#include "platform/platform.h"

namespace fastcp {
namespace {

using Clock = std::chrono::steady_clock;

/** The time between two looks at a copy. */
constexpr auto kTick = std::chrono::milliseconds(20);
/** The time for which a thread without work stays. */
constexpr auto kPatience = std::chrono::milliseconds(10);
/** The time after which a copy passes a thread on to one that has none. */
constexpr auto kTurn = std::chrono::milliseconds(10);
/** How long the end of a JavaScript environment waits for workers. */
constexpr auto kEnd = std::chrono::milliseconds(200);

}  // namespace

Threads& Threads::process() {
  // Never destroyed: a thread may still be in a call of the system when the process ends.
  static auto* threads = new Threads;
  return *threads;
}

bool Turn::is_over(Clock::time_point now) {
  Threads& threads = Threads::process();
  if (threads.others_wait_ && now - since_ >= kTurn) return true;
  const std::lock_guard lock(threads.mutex_);
  // Not all leave: each counts those that do.
  if (crew_.workers_ - crew_.leaving_ <= std::max(1U, crew_.wanted_)) return false;
  crew_.leaving_++;
  return was_too_many_ = true;
}

bool Threads::enlist(const std::shared_ptr<Crew>& crew) {
  const std::lock_guard lock(mutex_);
  if (threads_ == 0 && !start_one_locked()) return false;
  if (!has_pinger_) {
    const auto run = [](void* threads) { static_cast<Threads*>(threads)->ping_all(); };
    has_pinger_ = platform::start_thread(run, this) == 0;
    if (!has_pinger_) return false;
  }
  if (!knows_locked(*crew)) crews_.push_back(crew);
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

bool Threads::dismiss(const Crew& crew) {
  const std::lock_guard lock(mutex_);
  if (crew.workers_ > 0) return false;
  forget_locked(crew);
  return true;
}

void Threads::end(const Crew& crew) {
  std::unique_lock lock(mutex_);
  forget_locked(crew);
  left_.wait_for(lock, kEnd, [&] { return crew.workers_ == 0; });
}

void Threads::forget_locked(const Crew& crew) {
  std::erase_if(crews_, [&](const auto& known) { return known.get() == &crew; });
  tell_pinger_locked();
}

bool Threads::has_workers(const Crew& crew) {
  const std::lock_guard lock(mutex_);
  return crew.workers_ > 0;
}

bool Threads::wake(const Crew& crew) {
  const std::lock_guard lock(mutex_);
  if (!knows_locked(crew)) return false;
  work_.notify_one();
  tell_pinger_locked();
  return threads_ > 0 || !has_failed_;
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

bool Threads::knows_locked(const Crew& crew) const {
  return std::any_of(crews_.begin(), crews_.end(),
                     [&](const auto& known) { return known.get() == &crew; });
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

/** Returns the copy that should get a thread: one without any, or else one that wants more. */
std::shared_ptr<Crew> Threads::next_locked() {
  for (const bool more : {false, true}) {
    for (auto& crew : crews_) {
      if ((more ? crew->workers_ >= crew->wanted_ : crew->workers_ > 0) || !crew->has_work())
        continue;
      std::shared_ptr<Crew> next = crew;
      std::rotate(crews_.begin() + (&crew - crews_.data()),
                  crews_.begin() + (&crew - crews_.data()) + 1, crews_.end());
      return next;
    }
  }
  return nullptr;
}

void Threads::work() {
  std::unique_lock lock(mutex_);
  while (threads_ <= most_locked()) {
    std::shared_ptr<Crew> crew = next_locked();
    if (crew == nullptr) {
      if (work_.wait_for(lock, kPatience) == std::cv_status::no_timeout) continue;
      if ((crew = next_locked()) == nullptr) break;
    }
    idle_--;
    crew->workers_++;
    others_wait_ = any_waits_locked();
    Turn turn(*crew);
    turns_.push_back(&turn);
    lock.unlock();
    crew->work(turn);
    lock.lock();
    std::erase(turns_, &turn);
    if (turn.was_too_many_) crew->leaving_--;
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

/**
 * Returns how many threads there should be. One that stays after its turn, with a large file or in a call of the system that
 * does not return, must not keep the place of copies that have none.
 */
unsigned Threads::most_locked() const {
  constexpr auto kOverdue = 5 * kTurn;
  constexpr unsigned kMostOverdue = 64;
  unsigned most = platform::allowed_processors();
  for (const auto& crew : crews_) most = std::max(most, crew->wanted_);
  const auto overdue = Clock::now() - kOverdue;
  const auto late = std::count_if(turns_.begin(), turns_.end(),
                                  [&](const Turn* turn) { return turn->since_ < overdue; });
  return others_wait_ ? most + std::min(static_cast<unsigned>(late), kMostOverdue) : most;
}

unsigned Threads::missing_locked() const {
  unsigned missing = 0;
  for (const auto& crew : crews_) {
    if (crew->workers_ < crew->wanted_ && crew->has_work())
      missing += crew->wanted_ - crew->workers_;
  }
  return missing;
}

bool Threads::any_waits_locked() const {
  return std::any_of(crews_.begin(), crews_.end(),
                     [](const auto& crew) { return crew->workers_ == 0 && crew->has_work(); });
}

void Threads::start_useful_locked() {
  others_wait_ = any_waits_locked();
  const unsigned missing = missing_locked(), most = most_locked();
  while (idle_ < missing && threads_ < most && start_one_locked()) {
  }
  if (missing > 0 && idle_ > 0) work_.notify_all();
}

void Threads::ping_all() {
  std::unique_lock lock(mutex_);
  auto looked = Clock::now();
  while (!crews_.empty() || threads_ > 0) {
    const auto is_busy = [](const auto& crew) { return crew->workers_ > 0 || crew->has_work(); };
    // Those in line have nothing new to tell, unless there is no thread, and they have to go on in the pool.
    const auto is_told_of = [&](const auto& crew) { return crew->workers_ > 0 || threads_ == 0; };
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
