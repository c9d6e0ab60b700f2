// The process's thread budget: one of the addon's two globals. All copies of all environments share libuv's pool with
// the host. Together they leave at least one of its threads free, and take turns. host/job.cc calls it, on any thread.
//
// A copy's ticket shows its state. mutex_ guards all tickets and the number of slots together. So a grant can be
// neither lost nor counted twice, whichever thread gets it:
//
//   none ── take_or_wait(), no slot is free ──> in line ── give() ──> granted ── take() ──> none, with a Slot
//     ^                                            │                     │
//     └───────────────── leave() ──────────────────┴── the slot goes on ─┘  (or wake() has failed)
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

namespace fastcp {

/** A copy that may wait in line for a slot. */
class Waiting {
 public:
  virtual ~Waiting() = default;

  /**
   * Tells the copy that a slot was granted, which it can take(). Called on any thread, without a
   * lock. Returns false if the copy will not take the slot.
   */
  virtual bool wake() = 0;

 private:
  friend class Slots;
  enum class Ticket : uint8_t { none, in_line, granted };
  Ticket ticket_ = Ticket::none;  // guarded by Slots' mutex
};

/**
 * The right to use one thread of the pool. Its destructor passes the slot to the next in line, or
 * frees it.
 */
class Slot {
 public:
  Slot() = default;
  Slot(Slot&& other) noexcept : taken_(std::exchange(other.taken_, false)) {}
  Slot& operator=(Slot&& other) noexcept {
    std::swap(taken_, other.taken_);
    return *this;
  }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  ~Slot();

  explicit operator bool() const { return taken_; }

 private:
  friend class Slots;
  explicit Slot(bool taken) : taken_(taken) {}
  bool taken_ = false;
};

class Slots {
 public:
  static Slots& process();

  /** Returns the number of pool threads that all copies together may use. */
  [[nodiscard]] unsigned most() const { return most_; }
  /**
   * Returns whether libuv's pool has only one thread. A copy on that thread gives it back every 10
   * ms.
   */
  [[nodiscard]] bool scarce() const { return pool_ == 1; }

  /**
   * Takes the slot that was granted to the copy, or a free one. Afterwards the copy is not in line.
   */
  Slot take(Waiting& copy);
  /** Does the same. If no slot is free, the copy waits in line until wake() or leave(). */
  Slot take_or_wait(const std::shared_ptr<Waiting>& copy);
  /**
   * Leaves the line, and passes a granted slot on. Every copy that may be in line must call this at
   * its end.
   */
  void leave(Waiting& copy);
  [[nodiscard]] bool anyone_waiting();
  /** Returns the number of slots taken or granted now. For tests. */
  [[nodiscard]] unsigned taken();

 private:
  friend class Slot;
  struct Place {
    Waiting* copy;
    std::weak_ptr<Waiting> alive;
  };

  Slots();
  bool take_locked(Waiting& copy);
  void leave_line_locked(Waiting& copy);
  void give();

  const unsigned pool_;
  const unsigned most_;
  std::mutex mutex_;  // guards the members below, and every ticket
  unsigned taken_ = 0;
  std::deque<Place> line_;  // empty while a slot is free
};

}  // namespace fastcp
