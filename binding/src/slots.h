// The process's thread budget: one of the addon's two globals. All copies of all environments share
// libuv's pool with the host, so together they leave at least one of its threads free, and take turns.
#pragma once

#include <deque>
#include <memory>
#include <mutex>

namespace fastcp {

/** A copy that waits for a slot. */
class Waiting {
 public:
  virtual ~Waiting() = default;

  /** A slot was taken for this copy. Called on any thread. False: it is not wanted any more. */
  virtual bool slot_granted() = 0;
};

class Slots {
 public:
  static Slots& process();

  /** Pool threads that copies may use together. */
  [[nodiscard]] unsigned most() const { return most_; }
  /** True where libuv's pool has one thread: whoever holds it returns it every 10 ms. */
  [[nodiscard]] bool scarce() const { return pool_ == 1; }

  bool try_take();
  /** Asks for a slot as soon as one is free; slot_granted() answers, once. */
  void wait(std::weak_ptr<Waiting> copy);
  /** Gives a slot back, or on to who has waited longest. */
  void give();
  [[nodiscard]] bool anyone_waiting();

 private:
  Slots();

  const unsigned pool_;
  const unsigned most_;
  std::mutex mutex_;  // guards what follows; slot_granted() is called without it
  unsigned taken_ = 0;
  std::deque<std::weak_ptr<Waiting>> waiting_;
};

}  // namespace fastcp
