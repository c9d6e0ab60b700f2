#include "host/slots.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "platform/platform.h"

namespace fastcp {
namespace {

/** Reads the size as libuv does when the pool starts (docs.libuv.org, threadpool). */
unsigned pool_size() {
  constexpr int kDefault = 4, kMost = 1024;
  const std::string text = platform::environment("UV_THREADPOOL_SIZE");
  if (text.empty()) return kDefault;
  const int size = std::atoi(text.c_str());
  return static_cast<unsigned>(std::clamp(size, 1, kMost));
}

}  // namespace

Slots& Slots::process() {
  static Slots slots;
  return slots;
}

Slots::Slots() : pool_(pool_size()), most_(std::max(1U, pool_ - 1)) {}

Slot::~Slot() {
  if (taken_) Slots::process().give();
}

void Slots::leave_line_locked(Waiting& copy) {
  std::erase_if(line_, [&](const Place& place) { return place.copy == &copy; });
}

bool Slots::take_locked(Waiting& copy) {
  if (copy.ticket_ == Waiting::Ticket::granted) {
    copy.ticket_ = Waiting::Ticket::none;
    return true;
  }
  if (taken_ >= most_) return false;
  taken_++;
  return true;
}

Slot Slots::take(Waiting& copy) {
  const std::lock_guard lock(mutex_);
  return Slot(take_locked(copy));
}

Slot Slots::take_or_wait(const std::shared_ptr<Waiting>& copy) {
  const std::lock_guard lock(mutex_);
  const bool taken = take_locked(*copy);
  if (!taken && copy->ticket_ == Waiting::Ticket::none) {
    line_.push_back({copy.get(), copy});
    copy->ticket_ = Waiting::Ticket::in_line;
  }
  return Slot(taken);
}

void Slots::leave(Waiting& copy) {
  bool granted = false;
  {
    const std::lock_guard lock(mutex_);
    granted = copy.ticket_ == Waiting::Ticket::granted;
    if (copy.ticket_ == Waiting::Ticket::in_line) leave_line_locked(copy);
    copy.ticket_ = Waiting::Ticket::none;
  }
  if (granted) give();
}

void Slots::give() {
  for (;;) {
    std::shared_ptr<Waiting> next;
    {
      const std::lock_guard lock(mutex_);
      while (!next && !line_.empty()) {
        next = line_.front().alive.lock();  // a copy that is being destroyed leaves by itself
        line_.pop_front();
      }
      if (!next) {
        taken_--;
        return;
      }
      next->ticket_ = Waiting::Ticket::granted;
    }
    if (next->wake()) return;
    // Meanwhile the copy may have taken the slot, or left and passed it on. Then the slot is no
    // longer ours.
    const std::lock_guard lock(mutex_);
    if (next->ticket_ != Waiting::Ticket::granted) return;
    next->ticket_ = Waiting::Ticket::none;
  }
}

bool Slots::anyone_waiting() {
  const std::lock_guard lock(mutex_);
  return !line_.empty();
}

unsigned Slots::taken() {
  const std::lock_guard lock(mutex_);
  return taken_;
}

}  // namespace fastcp
