// Finds hard links to files that were copied already, so that they become hard links to the copy.
//
// Called by entry/hard_link.cc and unchanged.cc, by any worker. The table has only files with several hard links, and
// forgets each when all its later names are hard links. If symlinks are followed, each symlink to a file counts as one
// more hard link, and the number of names is unknown. Then the table has every file until the end, as GNU cp does.
//
//   take():  first name ── Claim ── copied ──> placed: later names become hard links to it
//            a later name meanwhile: kept aside, and pushed as a task when the claim ends; no worker waits
//            the first name failed: the next name is the first
//
// mutex_ guards both tables. No system call is made while it is held.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/run/directory.h"
#include "engine/run/task_lists.h"

namespace fastcp {

class HardLinks {
  /** Of a file in SRC. */
  struct Key {
    uint64_t dev, ino;
    bool operator==(const Key&) const = default;
  };

 public:
  HardLinks(TaskLists& tasks, bool follows_symlinks)
      : tasks_(tasks), follows_symlinks_(follows_symlinks) {}

  /** Returns whether a file may be met again under another name. */
  [[nodiscard]] bool may_recur(const platform::Stat& src) const {
    return follows_symlinks_ || src.link_count > 1;
  }

  /** Held by the worker that copies the first name. Its end releases the names that wait. */
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

    /** The copy has its name. `made` identifies the copy. */
    void placed(Directory& directory, const char* name, const platform::Stat& made);
    /** The copy failed: the next name becomes the first. */
    void release();

   private:
    friend class HardLinks;
    HardLinks* owner_ = nullptr;
    Key key_{};
  };

  /** The location and identity of a file's copy. */
  struct Place {
    DirectoryKeep directory{};
    std::string name{};
    uint64_t dev = 0, ino = 0;
    platform::Time source_ctime{};  // as the first name was met
  };

  enum class Role : uint8_t {
    first,  // the caller copies the file, and holds the claim
    later,  // the caller creates a hard link to the copy at `place`
    wait,   // the caller does nothing; the name becomes a task when its turn comes
    // Since the first name was met, the file was changed, or it was removed and its inode number used again. The caller copies it
    // as a separate file. The ctime does not tell: it changes also with each link, and a mirror removes links.
    changed,
  };
  /** Decides what the caller does. `again` is the task that is pushed when the caller's turn comes. */
  Role take(const platform::Stat& src, TaskPtr again, Claim& claim, Place& place);

  /** A later name has become a hard link. The table forgets a file after its last name. */
  void met(const platform::Stat& src);

  /**
   * Returns whether a file of DEST was already met under another name, as the copy of another file
   * of SRC. Then the two names must be separated. The table keeps each file that is passed
   * here.
   */
  bool joins_others(const platform::Stat& src, const platform::Stat& dst);

  /** Releases all directories. */
  void clear();

 private:
  struct Known {
    Place place{};
    bool placed = false;
    platform::Stat first{};  // as its first name was met
    uint64_t names = 0;      // of SRC's file; more may be met if symlinks are followed
    uint64_t names_met = 0;  // without the first
    std::vector<TaskPtr> waiting{};
  };
  struct Hash {
    size_t operator()(const Key& key) const noexcept {
      return std::hash<uint64_t>()(key.dev * 0x9e3779b97f4a7c15 ^ key.ino);
    }
  };

  /** Ends a claim, and pushes the tasks that waited for it. */
  void end_claim(const Key& key, Place* place);

  TaskLists& tasks_;
  const bool follows_symlinks_;
  std::mutex mutex_;  // guards files_ and sources_
  std::unordered_map<Key, Known, Hash> files_;
  std::unordered_map<Key, Key, Hash> sources_;  // from a file of DEST to its file of SRC
};

}  // namespace fastcp
