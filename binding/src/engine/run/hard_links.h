// Which files of SRC that have several names were copied already, so that their other names become
// names of the copy. Grows only with such files, and forgets one when its last name was met. If symlinks
// are followed, each of them is one more name of its file, and nobody knows how many there are: then each
// file is remembered until the end, as GNU cp does.
//
//   take():  first name ── Claim ── copied ──> placed: later names are linked to it
//            later, while that goes on: kept aside, and pushed as a task when it ended; nobody waits
//            first one failed: whichever name comes next is the first
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/run/directory.h"
#include "engine/run/task_stack.h"

namespace fastcp {

class HardLinks {
  /** In SRC. */
  struct Key {
    uint64_t dev, ino;
    bool operator==(const Key&) const = default;
  };

 public:
  HardLinks(TaskStack& stack, bool follows_symlinks)
      : stack_(stack), follows_symlinks_(follows_symlinks) {}

  /** Whether a file may be met under another name. */
  [[nodiscard]] bool may_recur(const platform::Stat& src) const {
    return follows_symlinks_ || src.link_count > 1;
  }

  /** Held by whoever copies the first name; ends the others' waiting. */
  class Claim {
   public:
    Claim() = default;
    Claim(Claim&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)), key_(other.key_) {}
    Claim& operator=(Claim&& other) noexcept {
      std::swap(owner_, other.owner_);
      std::swap(key_, other.key_);
      return *this;
    }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;
    ~Claim() { release(); }

    explicit operator bool() const { return owner_ != nullptr; }

    /** The copy has its name. `made` is what it was before, and tells it from others. */
    void placed(Directory& directory, const char* name, const platform::Stat& made);
    /** It has none: the next name is the first. */
    void release();

   private:
    friend class HardLinks;
    HardLinks* owner_ = nullptr;
    Key key_{};
  };

  /** Where the copy of a file is. */
  struct Place {
    DirectoryKeep directory{};
    std::string name{};
    uint64_t dev = 0, ino = 0;
  };

  enum class Turn : uint8_t {
    first,  // the caller copies it, and has the claim
    later,  // the caller makes one more name for what is at `place`
    wait,   // nothing is to be done; the name is a task when its turn comes
    // The caller copies it for itself: since the first name was met the file was changed, or removed and its
    // inode used again, which nobody can tell apart.
    changed,
  };
  /** `again`: the task that is pushed when the caller's turn comes. */
  Turn take(const platform::Stat& src, TaskPtr again, Claim& claim, Place& place);

  /**
   * Whether a file of DEST was met under another name already, as the copy of another file of SRC: then the two
   * may not stay one. Remembers each file that it is asked about.
   */
  bool joins_others(const platform::Stat& src, const platform::Stat& dst);

  /** Lets go of all directories. */
  void clear();

 private:
  struct Known {
    Place place{};
    bool placed = false;
    platform::Time ctime{};   // of the first name
    uint64_t names_left = 0;  // that were not met yet, where that is known
    std::vector<TaskPtr> waiting{};
  };
  struct Hash {
    size_t operator()(const Key& key) const noexcept {
      return std::hash<uint64_t>()(key.dev * 0x9e3779b97f4a7c15 ^ key.ino);
    }
  };

  /** Ends a claim, and pushes those who waited for it. */
  void settle(const Key& key, Place* place);

  TaskStack& stack_;
  const bool follows_symlinks_;
  std::mutex mutex_;  // guards files_ and sources_
  std::unordered_map<Key, Known, Hash> files_;
  std::unordered_map<Key, Key, Hash> sources_;  // of files that DEST has, by what these are
};

}  // namespace fastcp
