// A directory of SRC and its counterpart in DEST. Each side is called an end.
//
//   base ── root ── packages ── app          Each directory holds its parent by a counted use until
//             └──── .git                     its own subtree is finished. A path is a walk upwards.
//
// Tasks (tree/) and the functions of entry/ hold DirectoryUses. The directory itself has neither a file descriptor nor a
// lock for its ends: each worker opens what it needs (open_directories.h). A caller of src() or dst() holds a DirectoryPin.
// For dst() the pin must be newer than the look at has_dst(): an older one may not have that end.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/sync_state.h"
#include "platform/platform.h"

namespace fastcp {

class Engine;
class Directory;

/** An entry's name on both sides. The names differ only in the base, where they are whole paths. */
struct Names {
  const char* src;
  const char* dst;
};

/** The changes that ctimes on both devices show. */
enum class Ctimes : uint8_t {
  unknown,
  all,           // every change and every renaming, by this host's clock
  not_exchange,  // all, except an exchange of two files' names
  foreign,       // nothing: another clock sets them, or they change at other times
};

/** How a new file that must be complete when it has its name gets it: the next way if one does not work there. */
enum class Naming : uint8_t { unnamed, renamed, first };

/** Facts about a pair of devices, and the copy methods that may work between them. Learned by trying. */
struct Route {
  uint64_t src_dev, dst_dev;
  std::atomic<bool> clone{true};
  std::atomic<bool> copy_range{true};
  std::atomic<Naming> naming{Naming::unnamed};
  std::atomic<Ctimes> ctimes{Ctimes::unknown};
  uint64_t time_step;      // ns, granularity of mtimes in DEST
  bool directories_early;  // a new directory's subdirectories are created while it is listed
  bool real_sizes;  // SRC is not a procfs or a server, and its files have the size they report
};

/** Tells whether a directory's end in DEST exists. */
enum class Made : uint8_t {
  yes,
  when_needed,  // created for the first included entry in it
  failed,       // reported already
};

/**
 * The work that is due when a directory is finished. Set by the code that creates the directory.
 */
class DirectoryEnd {
 public:
  virtual ~DirectoryEnd() = default;

  /** Called when the last use ends: nothing in the directory or below it will be touched again. */
  virtual void finish(Engine& engine, Directory& directory) = 0;
};

/** Is told when a directory's last use ends. Implemented by Engine. */
class DirectoryOwner {
 public:
  virtual ~DirectoryOwner() = default;

  /** Nothing in the directory or below it will be touched again. Its ends may be closed. */
  virtual void finish(Directory& directory) = 0;
};

/**
 * One use of a directory. The directory stays in memory, and its end is not finished before the
 * last use ends.
 */
class DirectoryUse {
 public:
  DirectoryUse() = default;
  explicit DirectoryUse(Directory* counted) : directory_(counted) {}  // takes over a use
  DirectoryUse(DirectoryUse&& other) noexcept
      : directory_(std::exchange(other.directory_, nullptr)) {}
  DirectoryUse& operator=(DirectoryUse&& other) noexcept {
    std::swap(directory_, other.directory_);
    return *this;
  }
  DirectoryUse(const DirectoryUse&) = delete;
  DirectoryUse& operator=(const DirectoryUse&) = delete;
  ~DirectoryUse();

  [[nodiscard]] DirectoryUse again() const;
  Directory& operator*() const { return *directory_; }
  Directory* operator->() const { return directory_; }
  explicit operator bool() const { return directory_ != nullptr; }

 private:
  friend class Directory;
  Directory* directory_ = nullptr;
};

/**
 * Keeps a directory in memory, so that it can be reopened. It does not delay the directory's end.
 */
class DirectoryKeep {
 public:
  DirectoryKeep() = default;
  explicit DirectoryKeep(Directory& directory);
  DirectoryKeep(DirectoryKeep&& other) noexcept
      : directory_(std::exchange(other.directory_, nullptr)) {}
  DirectoryKeep& operator=(DirectoryKeep&& other) noexcept {
    std::swap(directory_, other.directory_);
    return *this;
  }
  DirectoryKeep(const DirectoryKeep&) = delete;
  DirectoryKeep& operator=(const DirectoryKeep&) = delete;
  ~DirectoryKeep();

  [[nodiscard]] DirectoryKeep again() const { return DirectoryKeep(*directory_); }
  Directory& operator*() const { return *directory_; }
  explicit operator bool() const { return directory_ != nullptr; }
  [[nodiscard]] bool is(const Directory& directory) const { return directory_ == &directory; }

 private:
  Directory* directory_ = nullptr;
};

/** User and group. */
struct Owner {
  uint32_t uid, gid;
  bool operator==(const Owner&) const = default;
};

/** How the ends are opened. Only roots, whose names are paths from the user, have other values. */
struct Way {
  platform::Follow follow_src = platform::Follow::no, follow_dst = platform::Follow::no;
  intptr_t src_held = -1, dst_held = -1;  // see Root
  bool vacated = false;                   // see EntryTask
};

/**
 * What a worker needs while it fills a directory. The worker that opens the ends sets it before another sees the directory. One that
 * creates a directory when it is needed sets `made`, `fresh`, `route` and `owners_may_differ` later, while dest().changing is held. The
 * other atomic members may be set by any worker at any time.
 */
struct Filling {
  static constexpr Owner kUnknownOwner{UINT32_MAX, UINT32_MAX};

  /** Read before anything is created in the directory. Becomes Made::yes after everything else here and in Due is set. */
  std::atomic<Made> made{Made::yes};
  std::atomic<bool> fresh{false};  // created empty by this copy; then route is set
  Route* route = nullptr;
  uint64_t path_hash = 0;  // of its path below SRC
  bool is_beyond_mount =
      false;  // its end in DEST, or one above, is not on its parent's file system
  bool owners_may_differ = false;  // of new files, from SRC's: see begin_directory()
  /** The owner that an earlier new file got; kUnknownOwner before the first one. A guess: see file_creation_mode(). */
  std::atomic<Owner> new_owner{kUnknownOwner};
  /** The mode that one had from its creation, as it was asked for. */
  std::atomic<uint32_t> kept_mode{UINT32_MAX};
  /** False after O_NOATIME was refused here. */
  std::atomic<bool> without_atime{true};
};

/**
 * What is due when the last use of a directory ends. Set by the same worker and at the same times as Filling, unless a member says
 * otherwise. The worker that finishes the directory reads it.
 */
struct Due {
  std::unique_ptr<DirectoryEnd> end{};  // null: nothing
  bool doomed = false;                  // only in DEST and to be removed: both ends are DEST's
  std::atomic<bool> kept{false};        // but something in it stays; set by any worker
  bool metadata = false;                // besides what the mode needs
  // The mode: later changed only by open_up(), while dest().changing is held.
  std::optional<uint32_t> owed_mode{};  // that it had or gets, if that denies access or has setgid
  bool opened_up = false;               // this copy changed it
  std::unique_ptr<SyncState> sync{};    // for the mark; null unless the copy syncs

  [[nodiscard]] bool owes_metadata() const { return metadata || opened_up || owed_mode; }
  /** Called by any worker if not everything in the directory is proven to be a copy of SRC: then it gets no mark. */
  void distrust() const {
    if (sync != nullptr) sync->is_doubtful = true;
  }
  /** Called by any worker if something in the directory becomes equal to SRC: then an older mark does not do. */
  void note_news() const {
    if (sync != nullptr) sync->is_news.store(true, std::memory_order_relaxed);
  }
};

/**
 * Facts about a directory of DEST that few directories need. The first worker that needs one learns it, and sets it under the flag
 * above it.
 */
struct DestFacts {
  /** Held by a worker that creates the directory when it is needed, or changes a mode that denies access. */
  std::recursive_mutex changing;  // recursive: creating a directory may need its mode changed

  /** For a directory that existed. Set when an entry has to be replaced. */
  std::once_flag append_only_learned;
  bool append_only = false;

  /** Another program has created an entry here since this copy created the directory. */
  std::atomic<bool> others_create{false};

  /** For a directory that existed. Set when a name exists already: count_spellings(). */
  std::once_flag spellings_counted;
  std::unordered_map<std::string, uint64_t> spellings;

  /** The highest backup number that DEST had for each name. Set when first needed. */
  std::once_flag backups_listed;
  std::unordered_map<std::string, uint64_t> backups;

  /** Whether new entries may get a default ACL. Set when inherits() is first called. */
  std::once_flag lists_learned;
  bool inherits = true;
};

class Directory {
 public:
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  /** Returns the only use of a new base. Names in the base are whole paths. */
  static DirectoryUse base(DirectoryOwner& owner);

  /**
   * Creates a directory in `parent`, which the calling worker has opened. `dst` is closed if the copy writes nothing there.
   */
  static DirectoryUse create(DirectoryUse parent, std::string src_name, std::string dst_name,
                             platform::Handle src, platform::Handle dst);

  [[nodiscard]] bool is_base() const { return parent_ == nullptr; }
  /** Returns whether it lies so deep that a worker who has none of its ancestors open takes long to get there. */
  [[nodiscard]] bool is_deep() const { return depth_ > 64; }
  /** Return an end that the calling worker has open. */
  [[nodiscard]] const platform::Handle& src() const;
  [[nodiscard]] const platform::Handle& dst() const;
  [[nodiscard]] bool has_dst() const { return has_dst_; }
  [[nodiscard]] Directory& parent() const { return *parent_; }
  [[nodiscard]] Names names() const { return {src_name_.c_str(), dst_name_.c_str()}; }

  /** Returns one more use. The caller must know that another use exists. */
  DirectoryUse use();

  /** Sets the end in DEST of a directory that had none. */
  void set_dst(platform::Handle dst, const platform::Stat& stat);

  /** Return paths as the user wrote them plus the names below: for reports, symlinks, and what symlinks lead to. */
  [[nodiscard]] std::string src_path(const char* name = nullptr) const;
  [[nodiscard]] std::string dst_path(const char* name = nullptr) const;

  // Set by the worker that opens the ends, before another sees the directory; dst_stat also by set_dst().
  platform::Stat src_stat{}, dst_stat{};  // as first seen; what is opened again must be the same
  Way way{};
  Filling filling{};
  Due due{};
  /** Returns the facts about its end in DEST, which are learned when they are first needed. */
  DestFacts& dest() const;

 private:
  friend class DirectoryUse;
  friend class DirectoryKeep;

  /** Takes over a use of the parent. */
  Directory(DirectoryOwner& owner, Directory* parent) : owner_(owner), parent_(parent) {}
  ~Directory() { delete dest_; }

  static void leave(Directory* directory);
  static void forget(Directory* directory);
  std::string path(const std::string& (*name_of)(const Directory&), const char* name) const;

  DirectoryOwner& owner_;
  Directory* const parent_;  // used until the last use of this ends, kept until this is deleted
  const uint32_t depth_ = parent_ == nullptr ? 0 : parent_->depth_ + 1;
  std::string src_name_, dst_name_;
  mutable std::atomic<DestFacts*> dest_{nullptr};
  std::atomic<bool> has_dst_{false};  // set after dst_stat, before made becomes Made::yes
  std::atomic<int> uses_{1};
  std::atomic<int> keeps_{1};  // one for all uses, one per child, one per DirectoryKeep
};

}  // namespace fastcp
