// A directory of SRC and its counterpart in DEST, open while workers use them. Each side is called an end.
//
//   base ── root ── packages ── app          Each directory holds its parent by a counted use until
//             └──── .git                     its own subtree is finished. A path is a walk upwards.
//
// Tasks (tree/) and the functions of entry/ hold DirectoryUses. They hold a DirectoryPin while they need open ends.
//
// The order of work (task_stack.h) bounds the number of open directories. If the budget of file descriptors is used
// up, the table closes a directory that is not pinned and was not used lately. It is reopened when its turn comes: by
// '..' from an open child, or down from the nearest open ancestor. Device and inode must be the same as before.
//
// Locks: a pin is a counter and takes no lock. DirectoryTable::mutex_ is held to open and to close: it guards the list
// of open directories, and which handles are open. System calls may block for ever if a network does not answer, so no
// thread makes one while it holds that mutex. The directories that a system call needs are pinned meanwhile. A thread
// that reopens a directory holds that directory's own mutex.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
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
class DirectoryKeep;
class DirectoryPin;

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

/** Facts about a pair of devices, and the copy methods that may work between them. Learned by trying. */
struct Route {
  uint64_t src_dev, dst_dev;
  std::atomic<bool> clone{true};
  std::atomic<bool> copy_range{true};
  std::atomic<bool> creates_unnamed{true};  // large files, and names them at the end
  std::atomic<Ctimes> ctimes{Ctimes::unknown};
  uint64_t time_step;  // ns, granularity of mtimes in DEST
  bool real_sizes;     // SRC is not a procfs or a server, and its files have the size they report
  bool directories_early;  // a new directory's subdirectories are created while it is listed
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

/** The open directories of one copy. All workers of the copy share it. */
class DirectoryTable {
 public:
  explicit DirectoryTable(DirectoryOwner& owner);
  ~DirectoryTable();
  DirectoryTable(const DirectoryTable&) = delete;
  DirectoryTable& operator=(const DirectoryTable&) = delete;

  /** Sets how many pairs of ends may be open. Other copies in the process count as well. */
  void set_budget(int64_t pairs) { budget_ = pairs; }

  /** Closes directories until one more pair fits the budget. Those that are pinned stay open. */
  void make_room();

  /**
   * Closes one directory, for a caller that found no free file descriptor: of this copy, or of
   * another copy in the process, whose tasks may be waiting for a worker. Returns false if it found
   * none to close.
   */
  bool close_one();

  /** Returns whether this thread should give up, because a wait for a descriptor was in vain lately. */
  [[nodiscard]] static bool is_hopeless();
  /** Tells all copies of the process that a wait was in vain. */
  static void give_up();

 private:
  friend class Directory;
  friend class DirectoryPin;
  friend class DirectoryUse;
  friend class DirectoryKeep;

  /** Handles taken from directories. They are closed after the mutex is released. */
  using Closing = std::vector<platform::Handle>;
  struct Step {
    const Directory* directory;
    bool has_dst;
  };

  /** What all copies of the process share: one of the addon's two globals. */
  struct Process {
    std::atomic<int64_t> open_pairs{0};
    // ns of the steady clock: when a worker last waited for a descriptor, and got none
    std::atomic<int64_t> waited_in_vain{INT64_MIN / 2};
    std::mutex mutex;  // guards tables; a table's mutex_ may be locked after it
    std::vector<DirectoryTable*> tables;
  };
  static Process& process();

  static constexpr int kMadeMeanwhile = 1;

  int reopen(Directory& directory, DirectoryPin& out);
  int open(Directory& directory, DirectoryPin& out);
  void open_parent(Directory& directory);
  static int open_upwards(const Directory& from, const std::vector<Step>& steps,
                          platform::Handle& src, platform::Handle& dst);
  static int open_downwards(const Directory& from, const std::vector<Step>& steps,
                            platform::Handle& src, platform::Handle& dst);
  static DirectoryKeep open_below_locked(Directory& directory, size_t most);
  void install_locked(Directory& directory, platform::Handle src, platform::Handle dst,
                      Closing& closing, DirectoryPin& out);
  bool close_one_locked(Closing& closing);
  void leave(Directory* directory);
  void forget(Directory* directory);

  DirectoryOwner& owner_;
  // Guards open_ and, for every directory, has_dst_, children_ and whether its handles are open.
  // Lock order: a directory's opening_ or changing, or Process::mutex, first, then mutex_. Never the other way round.
  std::mutex mutex_;
  std::list<Directory*> open_;  // open, the first candidate for closing first; not the base
  int64_t budget_ = 16;
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

 private:
  friend class DirectoryTable;
  /**
   * Keeps a directory found in the table. Returns an empty keep if the directory is leaving memory.
   */
  static DirectoryKeep try_keep(Directory& directory);

  Directory* directory_ = nullptr;
};

/** User and group. */
struct Owner {
  uint32_t uid, gid;
  bool operator==(const Owner&) const = default;
};

class Directory {
 public:
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  /** Returns the only use of a new base. Names in the base are whole paths. */
  static DirectoryUse base(DirectoryTable& table);

  /**
   * Creates a directory in `parent` with both ends open, and pins it. `dst` is closed if the copy
   * writes nothing there.
   */
  static DirectoryUse create(DirectoryUse parent, std::string src_name, std::string dst_name,
                             platform::Handle src, platform::Handle dst, DirectoryPin& pin);

  [[nodiscard]] bool is_base() const { return parent_ == nullptr; }
  [[nodiscard]] const platform::Handle& src() const { return src_; }
  [[nodiscard]] const platform::Handle& dst() const { return dst_; }
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

  /**
   * Read before anything is created in the directory. All members below are set once, before it
   * becomes Made::yes.
   */
  std::atomic<Made> made{Made::yes};

  /**
   * Held by a worker that creates the directory when it is needed, or changes a mode that denies
   * access.
   */
  std::recursive_mutex changing;  // recursive: creating a directory may need its mode changed

  // Set once, before any other worker sees the directory, or while changing is held:
  platform::Stat src_stat{}, dst_stat{};
  Route* route = nullptr;
  std::atomic<bool> fresh{false};       // created empty by this copy; then route is set
  bool vacated = false;                 // see EntryTask
  bool doomed = false;                  // only in DEST and to be removed: both ends are DEST's
  uint64_t path_hash = 0;               // of its path below SRC
  std::unique_ptr<DirectoryEnd> end{};  // null: nothing is due
  bool is_beyond_mount = false;         // DEST's, or one above, is not on its parent's file system
  bool owners_may_differ = false;       // of new files here; see begin_directory()
  bool kept_list = false;               // the ACL that it inherited cannot be removed
  bool owed = false;                    // metadata has to be set when the last use ends
  std::optional<uint32_t> owed_mode{};  // the mode that it had, if that mode denied access
  std::unique_ptr<SyncState> sync;      // null unless the copy syncs
  /** Called by any worker if not everything in the directory is proven to be a copy of SRC: then it gets no mark. */
  void distrust() const {
    if (sync != nullptr) sync->is_doubtful = true;
  }
  // Only in roots, whose names are paths from the user:
  platform::Follow follow_src = platform::Follow::no, follow_dst = platform::Follow::no;
  intptr_t src_held = -1, dst_held = -1;  // see Root

  /** This copy changed its mode, which denied access. Guarded by changing. */
  bool opened_up = false;

  /** The directory is doomed, but something in it stays. */
  std::atomic<bool> kept{false};

  /** For a directory that existed in DEST. Set when an entry has to be replaced. */
  std::once_flag append_only_learned;
  bool append_only = false;

  /** Another program has created an entry here since this copy created the directory. */
  std::atomic<bool> others_create{false};

  /** For a directory that existed in DEST. Set when a name exists already: count_spellings(). */
  std::once_flag spellings_counted;
  std::unordered_map<std::string, uint64_t> spellings;

  /** The highest backup number that DEST had for each name. Set when first needed. */
  std::once_flag backups_listed;
  std::unordered_map<std::string, uint64_t> backups;

  /** Whether new entries may get a default ACL. Set when inherits() is first called. */
  mutable std::once_flag lists_learned;
  mutable bool inherits = true;

  /** The owner that an earlier new file here got; kUnknownOwner before the first one. A guess: see file_creation_mode(). */
  std::atomic<Owner> new_owner{kUnknownOwner};
  static constexpr Owner kUnknownOwner{UINT32_MAX, UINT32_MAX};
  /** The mode that a new file here had from its creation, as it was asked for. */
  std::atomic<uint32_t> kept_mode{UINT32_MAX};
  /** False after O_NOATIME was refused here. */
  std::atomic<bool> without_atime{true};

 private:
  friend class DirectoryTable;
  friend class DirectoryUse;
  friend class DirectoryPin;
  friend class DirectoryKeep;

  /** Takes over a use of the parent. */
  Directory(DirectoryTable& table, Directory* parent);
  ~Directory();

  std::string path(const std::string& (*name_of)(const Directory&), const char* name) const;
  [[nodiscard]] bool is_open() const { return pins_.load(std::memory_order_relaxed) >= 0; }

  DirectoryTable& table_;
  Directory* const parent_;  // used until the last use of this ends, kept until this is deleted
  std::string src_name_, dst_name_;
  platform::Handle src_, dst_;
  std::atomic<bool> has_dst_{false};  // set before made becomes Made::yes
  std::mutex opening_;                // held by a thread that reopens the directory
  std::list<Directory*> children_;    // only children in memory
  // List nodes that are spliced into the parent's children_ and the table's open_, and back.
  std::list<Directory*> sibling_node_{this}, open_node_{this};
  const std::list<Directory*>::iterator among_siblings_{sibling_node_.begin()};
  const std::list<Directory*>::iterator open_at_{open_node_.begin()};
  /**
   * A caller with a pin may read the handles. The value changes from 0 to kClosed, and from kClosed
   * to 1, only under the table's mutex_.
   */
  std::atomic<int> pins_{1};
  static constexpr int kClosed = -1;
  std::atomic<bool> used_{false};  // a pin ended since the table last looked for one to close
  std::atomic<int> uses_{1};
  std::atomic<int> keeps_{1};  // one for all uses, one per child, one per DirectoryKeep
};

/** Keeps a directory open. The caller must hold a use or a keep for longer than the pin. */
class DirectoryPin {
 public:
  DirectoryPin() = default;
  DirectoryPin(DirectoryPin&& other) noexcept
      : directory_(std::exchange(other.directory_, nullptr)) {}
  DirectoryPin& operator=(DirectoryPin&& other) noexcept {
    std::swap(directory_, other.directory_);
    return *this;
  }
  DirectoryPin(const DirectoryPin&) = delete;
  DirectoryPin& operator=(const DirectoryPin&) = delete;
  ~DirectoryPin() { release(); }

  /**
   * Returns 0, or a negative errno if a closed directory cannot be reopened. -ESTALE: its end in SRC
   * was moved; -EBUSY: its end in DEST.
   */
  int pin(Directory& directory);
  /** Returns the operation to report with an error of pin(). */
  static const char* operation(int error);
  void release();

 private:
  friend class Directory;
  friend class DirectoryTable;
  bool try_pin(Directory& directory);

  Directory* directory_ = nullptr;
};

}  // namespace fastcp
