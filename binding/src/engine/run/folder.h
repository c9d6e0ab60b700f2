// Both ends of a folder, open while it is worked on.
//
//   base ── root ── packages ── app          Each folder holds its parent, by a counted use, until
//             └──── .git                     its own subtree is finished; a path is a walk upwards.
//
// The order of work (task_stack.h) bounds how many are open at a time. Past the budget the idle one
// that was used longest ago is closed, and reopened when its turn comes: by '..' from an open child, or
// down from the nearest open ancestor. Either way device and inode must be what they were.
//
// System calls may take for ever where a network does not answer, so none is made while the table's mutex is
// held: what they need is pinned meanwhile, and who opens a folder holds that folder's own mutex.
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
class Folder;
class FolderKeep;
class FolderPin;

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
  uint64_t time_step;  // ns, of mtimes in DEST
  bool folders_early;  // those of a new folder are made while it is listed
};

/** Whether a folder's end in DEST is there. */
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

/** What is owed to a folder, given by whoever creates it. */
class FolderEnd {
 public:
  virtual ~FolderEnd() = default;

  /** Called when the last use ends: nothing in the folder or below it will be touched again. */
  virtual void finish(Engine& engine, Folder& folder) = 0;
};

/** Told when a folder's last use ends. */
class FolderOwner {
 public:
  virtual ~FolderOwner() = default;

  /** Both ends are open, if they can be. Nothing in the folder or below it will be touched again. */
  virtual void finish(Folder& folder) = 0;
};

/** The open folders of one copy. */
class FolderTable {
 public:
  explicit FolderTable(FolderOwner& owner) : owner_(owner) {}

  /** Pairs that may be open, those of other copies in the process included. */
  void set_budget(int64_t pairs) { budget_ = pairs; }

  /** Closes idle folders until one more pair fits the budget. */
  void make_room();

  /** Closes one idle folder, for a caller that found no descriptor. False if there is none. */
  bool close_one();

 private:
  friend class Folder;
  friend class FolderPin;
  friend class FolderUse;
  friend class FolderKeep;

  /** Handles taken from folders; closed where no mutex is held. */
  using Closing = std::vector<platform::Handle>;
  struct Step {
    const Folder* folder;
    bool has_dst;
  };

  static constexpr int kMadeMeanwhile = 1;

  int pin(Folder& folder, FolderPin& out);
  int open(Folder& folder, FolderPin& out);
  void open_parent(Folder& folder);
  static int open_upwards(const Folder& from, const std::vector<Step>& steps, platform::Handle& src,
                          platform::Handle& dst);
  static int open_downwards(const Folder& from, const std::vector<Step>& steps,
                            platform::Handle& src, platform::Handle& dst);
  static FolderKeep open_below_locked(Folder& folder, size_t most);
  static void pin_locked(Folder& folder, FolderPin& out);
  void install_locked(Folder& folder, platform::Handle src, platform::Handle dst, Closing& closing,
                      FolderPin& out);
  bool close_oldest_locked(Closing& closing);
  void leave(Folder* folder);
  void forget(Folder* folder);

  FolderOwner& owner_;
  // Guards idle_ and, of every folder, the handles' being open, has_dst_, pins_ and children_. It may be taken
  // while a folder's opening_ or changing is held, and not the other way round.
  std::mutex mutex_;
  std::list<Folder*> idle_;  // open and not pinned, the longest unused first
  int64_t budget_ = 16;

  /** The process's descriptor budget: one of the addon's two globals. */
  static std::atomic<int64_t> open_pairs_;
};

/** One use of a folder: it stays in memory, and what is owed to it waits. */
class FolderUse {
 public:
  FolderUse() = default;
  explicit FolderUse(Folder* counted) : folder_(counted) {}  // takes over a use
  FolderUse(FolderUse&& other) noexcept : folder_(std::exchange(other.folder_, nullptr)) {}
  FolderUse& operator=(FolderUse&& other) noexcept {
    std::swap(folder_, other.folder_);
    return *this;
  }
  FolderUse(const FolderUse&) = delete;
  FolderUse& operator=(const FolderUse&) = delete;
  ~FolderUse();

  [[nodiscard]] FolderUse again() const;
  Folder& operator*() const { return *folder_; }
  Folder* operator->() const { return folder_; }
  explicit operator bool() const { return folder_ != nullptr; }

 private:
  friend class Folder;
  Folder* folder_ = nullptr;
};

/** Keeps a folder in memory, and so within reach, while nothing waits for it. */
class FolderKeep {
 public:
  FolderKeep() = default;
  explicit FolderKeep(Folder& folder);
  FolderKeep(FolderKeep&& other) noexcept : folder_(std::exchange(other.folder_, nullptr)) {}
  FolderKeep& operator=(FolderKeep&& other) noexcept {
    std::swap(folder_, other.folder_);
    return *this;
  }
  FolderKeep(const FolderKeep&) = delete;
  FolderKeep& operator=(const FolderKeep&) = delete;
  ~FolderKeep();

  [[nodiscard]] FolderKeep again() const { return FolderKeep(*folder_); }
  Folder& operator*() const { return *folder_; }
  explicit operator bool() const { return folder_ != nullptr; }

 private:
  friend class FolderTable;
  /** For a folder that is found in the table, and may be on its way out of memory: empty then. */
  static FolderKeep try_keep(Folder& folder);

  Folder* folder_ = nullptr;
};

/** User and group. */
struct Owner {
  uint32_t uid, gid;
  bool operator==(const Owner&) const = default;
};

class Folder {
 public:
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  /** The base: names in it are whole paths. Its only use is returned. */
  static FolderUse base(FolderTable& table);

  /**
   * A folder in `parent`, with both ends open; `dst` is not where nothing is written. It stays open
   * at least until its first pin is released.
   */
  static FolderUse create(FolderUse parent, std::string src_name, std::string dst_name,
                          platform::Handle src, platform::Handle dst);

  [[nodiscard]] bool is_base() const { return parent_ == nullptr; }
  [[nodiscard]] const platform::Handle& src() const { return src_; }
  [[nodiscard]] const platform::Handle& dst() const { return dst_; }
  [[nodiscard]] bool has_dst() const { return has_dst_; }
  [[nodiscard]] Folder& parent() const { return *parent_; }
  [[nodiscard]] Names names() const { return {src_name_.c_str(), dst_name_.c_str()}; }

  /** One more use, for a caller that knows of one. */
  FolderUse use();

  /** Gives a folder that had none its end in DEST. */
  void set_dst(platform::Handle dst, const platform::Stat& stat);

  /** Paths as the user gave them plus the names below; for reports only. */
  [[nodiscard]] std::string src_path(const char* name = nullptr) const;
  [[nodiscard]] std::string dst_path(const char* name = nullptr) const;

  /** Read before anything is made in the folder; all below is set once before it says yes. */
  std::atomic<Made> made{Made::yes};

  /** Held by whoever makes the folder after it was needed, or changes a mode that keeps us out. */
  std::recursive_mutex changing;  // whoever makes a folder may have to open it up

  // Set once, before any other worker sees the folder or while changing is held:
  platform::Stat src_stat{}, dst_stat{};
  Route* route = nullptr;
  std::atomic<bool> fresh{false};       // made by us, empty; then there is a route
  bool doomed = false;                  // DEST's alone, and to be removed: both ends are there
  uint64_t path_hash = 0;               // of its path below SRC
  std::unique_ptr<FolderEnd> end{};     // null: nothing is owed
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
  friend class FolderTable;
  friend class FolderUse;
  friend class FolderPin;
  friend class FolderKeep;

  /** Takes over a use of the parent. */
  Folder(FolderTable& table, Folder* parent);
  ~Folder();

  std::string path(const std::string& (*name_of)(const Folder&), const char* name) const;

  FolderTable& table_;
  Folder* const parent_;  // used until our last use ends, kept as long as we are
  std::string src_name_, dst_name_;
  platform::Handle src_, dst_;
  std::atomic<bool> has_dst_{false};  // set before made says yes
  std::mutex opening_;                // held by whoever opens the folder again
  std::list<Folder*> children_;       // those in memory
  // Nodes that go to the parent's children_ and to the table's idle_, and come back.
  std::list<Folder*> sibling_node_{this}, idle_node_{this};
  const std::list<Folder*>::iterator among_siblings_{sibling_node_.begin()};
  const std::list<Folder*>::iterator idle_at_{idle_node_.begin()};
  int pins_ = 0;
  std::atomic<int> uses_{1};
  std::atomic<int> keeps_{1};  // one for all uses, one for each child, and FolderKeeps
};

/** Keeps a folder open. The caller uses or keeps it for longer. */
class FolderPin {
 public:
  FolderPin() = default;
  FolderPin(FolderPin&& other) noexcept : folder_(std::exchange(other.folder_, nullptr)) {}
  FolderPin& operator=(FolderPin&& other) noexcept {
    std::swap(folder_, other.folder_);
    return *this;
  }
  FolderPin(const FolderPin&) = delete;
  FolderPin& operator=(const FolderPin&) = delete;
  ~FolderPin() { release(); }

  /** Returns a negative errno where a closed folder cannot be reopened; -ESTALE: it was moved. */
  int pin(Folder& folder);
  void release();

 private:
  friend class FolderTable;
  Folder* folder_ = nullptr;
};

}  // namespace fastcp
