#include "slots.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "platform/platform.h"

namespace fastcp {
namespace {

/** As libuv reads it, when the pool starts (docs.libuv.org, threadpool). */
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

bool Slots::try_take() {
  const std::lock_guard lock(mutex_);
  if (taken_ >= most_) return false;
  taken_++;
  return true;
}

void Slots::wait(std::weak_ptr<Waiting> copy) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(copy));
    if (taken_ >= most_) return;
    taken_++;  // one became free meanwhile
  }
  give();
}

void Slots::give() {
  for (;;) {
    std::shared_ptr<Waiting> next;
    {
      const std::lock_guard lock(mutex_);
      while (!next && !waiting_.empty()) {
        next = waiting_.front().lock();
        waiting_.pop_front();
      }
      if (!next) {
        taken_--;
        return;
      }
    }
    if (next->slot_granted()) return;
  }
}

bool Slots::anyone_waiting() {
  const std::lock_guard lock(mutex_);
  return !waiting_.empty();
}

}  // namespace fastcp
