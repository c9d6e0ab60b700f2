// Both ends of a directory, open while it is worked on.
//
//   base ── root ── packages ── app          Each directory holds its parent, by a counted use, until
//             └──── .git                     its own subtree is finished; a path is a walk upwards.
//
// The order of work (task_stack.h) bounds how many are open at a time. Past the budget the idle one
// that was used longest ago is closed, and reopened when its turn comes: by '..' from an open child, or
// down from the nearest open ancestor. Either way device and inode must be what they were.
//
// System calls may take for ever where a network does not answer, so none is made while the table's mutex is
// held: what they need is pinned meanwhile, and who opens a directory holds that directory's own mutex.
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

/** An entry's name on both sides. They differ only in the base, where they are whole paths. */
struct Names {
  const char* src;
  const char* dst;
};

/** What ctimes on both devices say. */
enum class Ctimes : uint8_t {
  unknown,
  all,           // every change and renaming, by this host's clock
  not_exchange,  // all but that two files' names were exchanged
  foreign,       // nothing: they are given by another clock, or at other times
};

/** What may be used to copy between two devices; learned from what failed. */
struct Route {
  uint64_t src_dev, dst_dev;
  std::atomic<bool> clone{true};
  std::atomic<bool> copy_range{true};
  std::atomic<Ctimes> ctimes{Ctimes::unknown};
  uint64_t time_step;      // ns, of mtimes in DEST
  bool directories_early;  // those of a new directory are made while it is listed
};

/** Whether a directory's end in DEST is there. */
enum class Made : uint8_t {
  yes,
  when_needed,  // for something taken in it
  failed,       // and was reported
};

/** What DEST's file system makes of names that differ in case or in the form of Unicode. */
enum class Naming : uint8_t {
  exact,       // they are different names
  folding,     // some are the same, and are listed as they were given
  respelling,  // and are not
};

/** What is owed to a directory, given by whoever creates it. */
class DirectoryEnd {
 public:
  virtual ~DirectoryEnd() = default;

  /** Called when the last use ends: nothing in the directory or below it will be touched again. */
  virtual void finish(Engine& engine, Directory& directory) = 0;
};

/** Told when a directory's last use ends. */
class DirectoryOwner {
 public:
  virtual ~DirectoryOwner() = default;

  /** Both ends are open, if they can be. Nothing in the directory or below it will be touched again. */
  virtual void finish(Directory& directory) = 0;
};

/** The open directories of one copy. */
class DirectoryTable {
 public:
  explicit DirectoryTable(DirectoryOwner& owner) : owner_(owner) {}

  /** Pairs that may be open, those of other copies in the process included. */
  void set_budget(int64_t pairs) { budget_ = pairs; }

  /** Closes idle directories until one more pair fits the budget. */
  void make_room();

  /** Closes one idle directory, for a caller that found no descriptor. False if there is none. */
  bool close_one();

 private:
  friend class Directory;
  friend class DirectoryPin;
  friend class DirectoryUse;
  friend class DirectoryKeep;

  /** Handles taken from directories; closed where no mutex is held. */
  using Closing = std::vector<platform::Handle>;
  struct Step {
    const Directory* directory;
    bool has_dst;
  };

  static constexpr int kMadeMeanwhile = 1;

  int pin(Directory& directory, DirectoryPin& out);
  int open(Directory& directory, DirectoryPin& out);
  void open_parent(Directory& directory);
  static int open_upwards(const Directory& from, const std::vector<Step>& steps,
                          platform::Handle& src, platform::Handle& dst);
  static int open_downwards(const Directory& from, const std::vector<Step>& steps,
                            platform::Handle& src, platform::Handle& dst);
  static DirectoryKeep open_below_locked(Directory& directory, size_t most);
  static void pin_locked(Directory& directory, DirectoryPin& out);
  void install_locked(Directory& directory, platform::Handle src, platform::Handle dst,
                      Closing& closing, DirectoryPin& out);
  bool close_oldest_locked(Closing& closing);
  void leave(Directory* directory);
  void forget(Directory* directory);

  DirectoryOwner& owner_;
  // Guards idle_ and, of every directory, the handles' being open, has_dst_, pins_ and children_. It may be taken
  // while a directory's opening_ or changing is held, and not the other way round.
  std::mutex mutex_;
  std::list<Directory*> idle_;  // open and not pinned, the longest unused first
  int64_t budget_ = 16;

  /** The process's descriptor budget: one of the addon's two globals. */
  static std::atomic<int64_t> open_pairs_;
};

/** One use of a directory: it stays in memory, and what is owed to it waits. */
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

/** Keeps a directory in memory, and so within reach, while nothing waits for it. */
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
  /** For a directory that is found in the table, and may be on its way out of memory: empty then. */
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

  /** The base: names in it are whole paths. Its only use is returned. */
  static DirectoryUse base(DirectoryTable& table);

  /**
   * A directory in `parent`, with both ends open; `dst` is not where nothing is written. It stays open
   * at least until its first pin is released.
   */
  static DirectoryUse create(DirectoryUse parent, std::string src_name, std::string dst_name,
                             platform::Handle src, platform::Handle dst);

  [[nodiscard]] bool is_base() const { return parent_ == nullptr; }
  [[nodiscard]] const platform::Handle& src() const { return src_; }
  [[nodiscard]] const platform::Handle& dst() const { return dst_; }
  [[nodiscard]] bool has_dst() const { return has_dst_; }
  [[nodiscard]] Directory& parent() const { return *parent_; }
  [[nodiscard]] Names names() const { return {src_name_.c_str(), dst_name_.c_str()}; }

  /** One more use, for a caller that knows of one. */
  DirectoryUse use();

  /** Gives a directory that had none its end in DEST. */
  void set_dst(platform::Handle dst, const platform::Stat& stat);

  /** Paths as the user gave them plus the names below; for reports only. */
  [[nodiscard]] std::string src_path(const char* name = nullptr) const;
  [[nodiscard]] std::string dst_path(const char* name = nullptr) const;

  /** Read before anything is made in the directory; all below is set once before it says yes. */
  std::atomic<Made> made{Made::yes};

  /** Held by whoever makes the directory after it was needed, or changes a mode that keeps us out. */
  std::recursive_mutex changing;  // whoever makes a directory may have to open it up

  // Set once, before any other worker sees the directory or while changing is held:
  platform::Stat src_stat{}, dst_stat{};
  Route* route = nullptr;
  std::atomic<bool> fresh{false};       // made by us, empty; then there is a route
  bool doomed = false;                  // DEST's alone, and to be removed: both ends are there
  uint64_t path_hash = 0;               // of its path below SRC
  std::unique_ptr<DirectoryEnd> end{};  // null: nothing is owed
  bool inherits = true;                 // new entries may get a default access list from DEST
  bool owed = false;                    // something is to be settled when the last use ends
  std::optional<uint32_t> owed_mode{};  // a mode that it had, and that kept us out
  std::unique_ptr<SyncState> sync;      // where the copy syncs
  // Only in roots, whose name is a path that the user gave:
  platform::Follow follow_src = platform::Follow::no, follow_dst = platform::Follow::no;

  /** Its mode kept us out until we changed it. Guarded by changing. */
  bool opened_up = false;

  /** Something in it stays, though it is doomed. */
  std::atomic<bool> kept{false};

  /** Of one that DEST has; learned when an entry is to be replaced. */
  std::once_flag append_only_learned;
  bool append_only = false;

  /** Of a fresh one; learned when a name is taken. */
  std::once_flag naming_learned;
  Naming naming = Naming::exact;

  /** The highest numbers of backups that DEST had, by name; listed when first needed. */
  std::once_flag backups_listed;
  std::unordered_map<std::string, uint64_t> backups;

  /** Permission bits that are known to pass umask and default ACLs here. */
  std::atomic<uint32_t> passing_bits{0};
  /** Whose the files are that we create here; kUnknownOwner before the first one. */
  std::atomic<Owner> new_owner{kUnknownOwner};
  static constexpr Owner kUnknownOwner{UINT32_MAX, UINT32_MAX};
  /** Whether O_NOATIME is worth a try. */
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

  DirectoryTable& table_;
  Directory* const parent_;  // used until our last use ends, kept as long as we are
  std::string src_name_, dst_name_;
  platform::Handle src_, dst_;
  std::atomic<bool> has_dst_{false};  // set before made says yes
  std::mutex opening_;                // held by whoever opens the directory again
  std::list<Directory*> children_;    // those in memory
  // Nodes that go to the parent's children_ and to the table's idle_, and come back.
  std::list<Directory*> sibling_node_{this}, idle_node_{this};
  const std::list<Directory*>::iterator among_siblings_{sibling_node_.begin()};
  const std::list<Directory*>::iterator idle_at_{idle_node_.begin()};
  int pins_ = 0;
  std::atomic<int> uses_{1};
  std::atomic<int> keeps_{1};  // one for all uses, one for each child, and DirectoryKeeps
};

/** Keeps a directory open. The caller uses or keeps it for longer. */
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

  /** Returns a negative errno where a closed directory cannot be reopened; -ESTALE: it was moved. */
  int pin(Directory& directory);
  void release();

 private:
  friend class DirectoryTable;
  Directory* directory_ = nullptr;
};

}  // namespace fastcp
