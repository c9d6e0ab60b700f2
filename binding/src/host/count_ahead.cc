#include "host/count_ahead.h"

#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "engine/base/listing.h"
#include "platform/platform.h"

namespace fastcp {
namespace {

using platform::Follow;
using platform::Handle;
using platform::Kind;
using platform::Listed;
using platform::Stat;

/**
 * The number of directories on the way down that are open at a time. Those above are reopened by
 * '..'.
 */
constexpr size_t kOpen = 16;
constexpr size_t kListing = 32 << 10;

/** A directory on the way down. */
struct Level {
  Handle directory;
  Stat stat{};
  std::string names{};  // of subdirectories, each ended by a NUL
  size_t next = 0;      // in `names`: the next one to enter
};

class Walk {
 public:
  Walk(const std::atomic<bool>& stopped, bool one_file_system)
      : stopped_(stopped),
        one_file_system_(one_file_system),
        buffer_(kListing / sizeof(uint64_t)) {}

  /**
   * Counts the entries below a directory. Returns false after a stop, or if the number would be
   * wrong.
   */
  bool count(const std::string& path) {
    if (!enter(path, Follow::yes)) return false;
    while (!levels_.empty()) {
      if (stopped_) return false;
      Level& level = levels_.back();
      if (level.next < level.names.size()) {
        const std::string name = level.names.c_str() + level.next;
        level.next += name.size() + 1;
        if (!enter(name, Follow::no)) return false;
      } else if (!leave()) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] int64_t entries() const { return entries_; }

 private:
  bool enter(const std::string& name, Follow follow) {
    const Handle here = Handle::working_directory();
    const Handle& parent = levels_.empty() ? here : levels_.back().directory;
    Level level;
    int error = platform::open_source_directory(parent, name.c_str(), follow, level.directory);
    if (error == -EMFILE || error == -ENFILE || error == -ENOMEM) return false;
    if (error == 0 && one_file_system_) {
      error = platform::stat_handle(level.directory, level.stat);
      if (!levels_.empty() && level.stat.dev != levels_.back().stat.dev) return true;
    }
    if (error < 0) return true;  // the copy cannot list it either, and reports that
    list(level);
    levels_.push_back(std::move(level));
    return levels_.size() <= kOpen || suspend(levels_[levels_.size() - 1 - kOpen]);
  }

  /** Closes a directory that leave() will reopen. */
  static bool suspend(Level& level) {
    if (!level.directory.is_open()) return true;
    const bool known = platform::stat_handle(level.directory, level.stat) == 0;
    level.directory.close();
    return known;
  }

  /** Returns to the directory above. Returns false if that is another directory now. */
  bool leave() {
    const Level left = std::move(levels_.back());
    levels_.pop_back();
    if (levels_.empty() || levels_.back().directory.is_open()) return true;
    Level& parent = levels_.back();
    Stat found;
    return platform::open_source_parent(left.directory, parent.directory) == 0 &&
           platform::stat_handle(parent.directory, found) == 0 && is_same_entry(found, parent.stat);
  }

  void list(Level& level) {
    char* buffer = reinterpret_cast<char*>(buffer_.data());
    list_entries(level.directory, buffer, kListing, [&](const char*, const Listed& entry) {
      entries_++;
      if (is_directory(level.directory, entry)) {
        level.names.append(entry.name, std::strlen(entry.name) + 1);
      }
      return !stopped_;
    });
  }

  static bool is_directory(const Handle& parent, const Listed& entry) {
    if (entry.kind != Kind::unknown) return entry.kind == Kind::directory;
    Stat stat;
    return platform::stat_entry(parent, entry.name, stat) == 0 && stat.kind == Kind::directory;
  }

  const std::atomic<bool>& stopped_;
  const bool one_file_system_;
  std::vector<uint64_t> buffer_;  // numbers, for their alignment
  std::vector<Level> levels_{};   // from the first directory down
  int64_t entries_ = 0;
};

int64_t count_below(const std::vector<std::string>& directories, bool one_file_system,
                    const std::atomic<bool>& stopped) {
  try {
    Walk walk(stopped, one_file_system);
    for (const std::string& path : directories) {
      if (!walk.count(path)) return -1;
    }
    return walk.entries();
  } catch (const std::bad_alloc&) {
    return -1;  // the copy may still have enough memory
  }
}

}  // namespace

CountAhead::CountAhead(std::vector<std::string> directories, bool one_file_system) {
  try {
    thread_ = std::thread([this, directories = std::move(directories), one_file_system] {
      total_ = count_below(directories, one_file_system, stopped_);
    });
  } catch (const std::system_error&) {
    // No thread is available: the total stays unknown.
  }
}

CountAhead::~CountAhead() {
  stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace fastcp
