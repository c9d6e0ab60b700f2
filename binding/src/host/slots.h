// The process's thread budget: one of the addon's two globals. All copies of all environments share
// libuv's pool with the host, so together they leave at least one of its threads free, and take turns.
//
// A copy's ticket says where it stands. It changes under one mutex together with the number of slots, so a
// grant can be neither lost nor counted twice, whichever thread it meets:
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

/** A copy that may stand in line for a slot. */
class Waiting {
 public:
  virtual ~Waiting() = default;

  /**
   * A slot was granted, which the copy can take(). Called on any thread, without a lock. False: nobody
   * will take it.
   */
  virtual bool wake() = 0;

 private:
  friend class Slots;
  enum class Ticket : uint8_t { none, in_line, granted };
  Ticket ticket_ = Ticket::none;  // guarded by Slots' mutex
};

/** The right to use one thread of the pool. Its end gives the slot back, or on to the next in line. */
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

  /** Pool threads that copies may use together. */
  [[nodiscard]] unsigned most() const { return most_; }
  /** True where libuv's pool has one thread: whoever holds it returns it every 10 ms. */
  [[nodiscard]] bool scarce() const { return pool_ == 1; }

  /** Takes the slot that was granted to the copy, or a free one. The copy is not in line then. */
  Slot take(Waiting& copy);
  /** The same; where there is none, the copy stands in line until wake() or leave(). */
  Slot take_or_wait(const std::shared_ptr<Waiting>& copy);
  /** Leaves the line, and gives a granted slot on. Whoever may be in line calls this at its end. */
  void leave(Waiting& copy);
  [[nodiscard]] bool anyone_waiting();
  /** How many are taken or granted now; for tests. */
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
  std::mutex mutex_;  // guards what follows, and every ticket
  unsigned taken_ = 0;
  std::deque<Place> line_;  // empty while a slot is free
};

}  // namespace fastcp
