#include "engine/base/report.h"

#include <new>
#include <utility>

namespace fastcp {

void Problems::add(Problem problem) noexcept {
  const std::lock_guard lock(mutex_);
  count_++;
  if (kept_.size() >= kKept) return;
  try {
    kept_.push_back(std::move(problem));
  } catch (const std::bad_alloc&) {
    // Memory is short: the problem is counted, and an earlier one is stored.
  }
}

uint64_t Problems::read(size_t first, std::vector<Problem>& out) {
  const std::lock_guard lock(mutex_);
  for (size_t i = first; i < kept_.size(); i++) out.push_back(kept_[i]);
  return count_;
}

void Losses::add(Loss loss, Problem problem) {
  const std::lock_guard lock(mutex_);
  Kind& kind = kinds_[static_cast<size_t>(loss)];
  if (kind.count++ == 0) kind.first = std::move(problem);
}

std::array<Losses::Kind, kLosses> Losses::read() {
  const std::lock_guard lock(mutex_);
  return kinds_;
}

void Journal::add(Action action, platform::Kind kind, const std::string& path,
                  const std::string& dest) {
  const std::lock_guard lock(mutex_);
  records_ += static_cast<char>(action);
  records_ += static_cast<char>(kind);
  for (const std::string* text : {&path, &dest}) {
    append_number(records_, static_cast<uint32_t>(text->size()));
    records_ += *text;
  }
  size_.store(records_.size(), std::memory_order_relaxed);
}

std::string Journal::take() {
  const std::lock_guard lock(mutex_);
  size_.store(0, std::memory_order_relaxed);
  return std::exchange(records_, {});
}

}  // namespace fastcp
