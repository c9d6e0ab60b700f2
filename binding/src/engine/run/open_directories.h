// The directories that one worker has open. Only its thread uses them, so there are no locks.
//
// They are few: the least recently used one is closed when another is opened. A directory that another worker has opened,
// or that was closed, is opened by '..' from a child that is open here, or else by name from the nearest ancestor. When the
// last use of a directory ends, its parent is opened by '..' before it is closed, so that the way up from a deep tree stays
// short. Device and inode must be those that were seen first.
#pragma once

#include <array>
#include <cstdint>

#include "engine/run/directory.h"

namespace fastcp {

class OpenDirectories {
 public:
  explicit OpenDirectories(const Engine& engine);
  ~OpenDirectories();
  OpenDirectories(const OpenDirectories&) = delete;
  OpenDirectories& operator=(const OpenDirectories&) = delete;

  /** Returns those of the worker on the calling thread. */
  static OpenDirectories& current() { return *current_; }

  /** Closes directories until one more fits this worker's share of the budget. Those that are pinned stay open. */
  void make_room();

  /** Closes all that are not pinned. */
  void close_all();
  /** Does so if a worker of the process has found no free descriptor since the last call. */
  void help_others();

  /** Closes a directory, if it is open and not pinned. */
  void close(const Directory& directory);

  /** Calls `open` again while it finds no free file descriptor, and this or another worker may free one. */
  template <class Call>
  int with_descriptor(Call open) {
    for (int tries = 0;; tries++) {
      const int error = open();
      if (error >= 0 || !may_retry(error, tries)) return error;
    }
  }

 private:
  friend class Directory;
  friend class DirectoryPin;

  struct Open {
    DirectoryKeep directory{};
    platform::Handle src{}, dst{};
    unsigned pins = 0;
    uint64_t used = 0;  // clock_ at its last use
  };

  bool close_one();
  bool may_retry(int error, int tries);
  Open* find(const Directory& directory);
  const Open& pinned(const Directory& directory);
  void install(Directory& directory, platform::Handle src, platform::Handle dst);
  int open(Directory& directory, Open*& out);
  int open_below(const Directory& parent, Directory& directory, bool has_dst);
  bool open_above(const Open& child);
  void end(Directory& directory);
  void close(Open& open);

  static thread_local OpenDirectories* current_;

  const Engine& engine_;
  bool looked_ = false;  // the last opening got as far as a look at what it had opened
  int64_t size_ = 0;
  uint64_t clock_ = 0;    // counts uses
  uint64_t shortages_;    // of the process, at the last help_others()
  Open* last_ = nullptr;  // found last
  std::array<Open, 64> open_{};
};

/** Keeps a directory open for the worker that created the pin. The caller must hold a use or a keep for longer. */
class DirectoryPin {
 public:
  DirectoryPin() = default;
  DirectoryPin(const DirectoryPin&) = delete;
  DirectoryPin& operator=(const DirectoryPin&) = delete;
  ~DirectoryPin() { release(); }

  /**
   * Returns 0, or a negative errno if a closed directory cannot be opened again. -ESTALE: its end in SRC was moved;
   * -EBUSY: its end in DEST.
   */
  int pin(Directory& directory);
  /** Returns the operation to report with an error of pin(). */
  static const char* operation(int error);
  void release();

 private:
  OpenDirectories::Open* open_ = nullptr;  // null: nothing, or the base
};

}  // namespace fastcp
