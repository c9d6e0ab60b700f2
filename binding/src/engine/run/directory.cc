#include "engine/run/directory.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "engine/base/report.h"

namespace fastcp {

using platform::Handle;
using platform::Stat;

namespace {

bool is_same(const Handle& handle, const Stat& expected) {
  Stat found;
  return platform::stat_handle(handle, found) == 0 && is_same_entry(found, expected);
}

int64_t now_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/**
 * Returns 0 if reopened handles are a directory's ends, or the error of DirectoryPin::pin(). `dst` is
 * null if there is none.
 */
int check_reopened(const Directory& directory, const Handle& src, const Handle* dst) {
  if (!is_same(src, directory.src_stat)) return -ESTALE;
  return dst == nullptr || is_same(*dst, directory.dst_stat) ? 0 : -EBUSY;
}

}  // namespace

// --- Directory ----------------------------------------------------------------------------------

Directory::Directory(DirectoryTable& table, Directory* parent) : table_(table), parent_(parent) {}

Directory::~Directory() = default;

DirectoryUse Directory::base(DirectoryTable& table) {
  auto* directory = new Directory(table, nullptr);
  directory->src_ = Handle::working_directory();
  directory->dst_ = Handle::working_directory();
  directory->has_dst_ = true;
  return DirectoryUse(directory);
}

DirectoryUse Directory::create(DirectoryUse parent, std::string src_name, std::string dst_name,
                               Handle src, Handle dst, DirectoryPin& pin) {
  DirectoryTable& table = parent->table_;
  auto* directory = new Directory(table, parent.directory_);
  parent.directory_ = nullptr;  // the directory has taken over the use
  directory->parent_->keeps_.fetch_add(1, std::memory_order_relaxed);
  directory->src_name_ = std::move(src_name);
  directory->dst_name_ = std::move(dst_name);
  directory->has_dst_ = dst.is_open();
  directory->src_ = std::move(src);
  directory->dst_ = std::move(dst);
  directory->without_atime = directory->parent_->without_atime.load(std::memory_order_relaxed);
  pin.release();
  pin.directory_ = directory;
  DirectoryTable::process().open_pairs++;
  const std::lock_guard lock(table.mutex_);
  auto& siblings = directory->parent_->children_;
  siblings.splice(siblings.end(), directory->sibling_node_);
  table.open_.splice(table.open_.end(), directory->open_node_);
  return DirectoryUse(directory);
}

DirectoryUse Directory::use() {
  uses_.fetch_add(1, std::memory_order_relaxed);
  return DirectoryUse(this);
}

void Directory::set_dst(Handle dst, const Stat& stat) {
  const std::lock_guard lock(table_.mutex_);
  dst_stat = stat;
  if (is_open()) dst_ = std::move(dst);  // otherwise both ends are opened when they are needed
  has_dst_ = true;                       // last: it says that the others are set
}

std::string Directory::path(const std::string& (*name_of)(const Directory&),
                            const char* name) const {
  std::vector<const Directory*> upwards;
  for (const Directory* at = this; !at->is_base(); at = at->parent_) upwards.push_back(at);
  std::string result;
  const auto append = [&result](const char* part) {
    if (!result.empty() && result.back() != '/') result += '/';
    result += part;
  };
  while (!upwards.empty()) {
    append(name_of(*upwards.back()).c_str());
    upwards.pop_back();
  }
  if (name != nullptr) append(name);
  return result;
}

std::string Directory::src_path(const char* name) const {
  return path([](const Directory& at) -> const std::string& { return at.src_name_; }, name);
}

std::string Directory::dst_path(const char* name) const {
  return path([](const Directory& at) -> const std::string& { return at.dst_name_; }, name);
}

// --- uses and pins ---------------------------------------------------------------------------

DirectoryUse DirectoryUse::again() const {
  directory_->uses_.fetch_add(1, std::memory_order_relaxed);
  return DirectoryUse(directory_);
}

DirectoryUse::~DirectoryUse() {
  if (directory_ != nullptr) directory_->table_.leave(directory_);
}

DirectoryKeep::DirectoryKeep(Directory& directory) : directory_(&directory) {
  directory.keeps_.fetch_add(1, std::memory_order_relaxed);
}

DirectoryKeep::~DirectoryKeep() {
  if (directory_ != nullptr) directory_->table_.forget(directory_);
}

DirectoryKeep DirectoryKeep::try_keep(Directory& directory) {
  DirectoryKeep keep;
  int keeps = directory.keeps_;
  while (keeps > 0 && keep.directory_ == nullptr) {
    if (directory.keeps_.compare_exchange_weak(keeps, keeps + 1)) keep.directory_ = &directory;
  }
  return keep;
}

int DirectoryPin::pin(Directory& directory) {
  release();
  return try_pin(directory) ? 0 : directory.table_.reopen(directory, *this);
}

const char* DirectoryPin::operation(int error) { return error == -EBUSY ? kMoved : "open"; }

/** Returns false if the directory is closed. */
bool DirectoryPin::try_pin(Directory& directory) {
  int pins = directory.pins_.load(std::memory_order_relaxed);
  while (pins >= 0) {
    if (!directory.pins_.compare_exchange_weak(pins, pins + 1, std::memory_order_acquire,
                                               std::memory_order_relaxed)) {
      continue;
    }
    directory_ = &directory;
    return true;
  }
  return false;
}

void DirectoryPin::release() {
  if (directory_ == nullptr) return;
  Directory& directory = *std::exchange(directory_, nullptr);
  directory.used_.store(true, std::memory_order_relaxed);
  directory.pins_.fetch_sub(1, std::memory_order_release);
}

// --- DirectoryTable -----------------------------------------------------------------------------

DirectoryTable::Process& DirectoryTable::process() {
  static Process& one = *new Process;  // never deleted: workers may outlive the end of main()
  return one;
}

DirectoryTable::DirectoryTable(DirectoryOwner& owner) : owner_(owner) {
  const std::lock_guard lock(process().mutex);
  process().tables.push_back(this);
}

DirectoryTable::~DirectoryTable() {
  const std::lock_guard lock(process().mutex);
  std::erase(process().tables, this);
}

bool DirectoryTable::close_one_locked(Closing& closing) {
  closing.reserve(closing.size() + 2);
  // A directory that was used since the last search gets a second chance, so twice around at most.
  for (size_t left = 2 * open_.size(); left > 0; left--) {
    Directory& directory = *open_.front();
    int pins = 0;
    if (!directory.used_.exchange(false, std::memory_order_relaxed) &&
        directory.pins_.compare_exchange_strong(pins, Directory::kClosed)) {
      directory.open_node_.splice(directory.open_node_.begin(), open_, directory.open_at_);
      closing.push_back(std::move(directory.src_));
      closing.push_back(std::move(directory.dst_));
      process().open_pairs--;
      return true;
    }
    open_.splice(open_.end(), open_, open_.begin());
  }
  return false;
}

void DirectoryTable::make_room() {
  while (process().open_pairs >= budget_ && close_one()) {
  }
}

bool DirectoryTable::close_one() {
  Closing closing;  // closed after the locks are released
  {
    const std::lock_guard lock(mutex_);
    if (close_one_locked(closing)) return true;
  }
  const std::lock_guard lock(process().mutex);
  for (DirectoryTable* table : process().tables) {
    const std::lock_guard own(table->mutex_);
    if (table->close_one_locked(closing)) return true;
  }
  return false;
}

bool DirectoryTable::is_hopeless() {
  // After one full timeout, fail fast for 10 s. A second per entry would make a tree last for ever.
  constexpr int64_t kPause = 10'000'000'000;  // ns
  return now_ns() - process().waited_in_vain < kPause;
}

void DirectoryTable::give_up() { process().waited_in_vain = now_ns(); }

/** Finishes every reopening. Other directories may have to be closed for it. */
void DirectoryTable::install_locked(Directory& directory, Handle src, Handle dst, Closing& closing,
                                    DirectoryPin& out) {
  directory.src_ = std::move(src);
  directory.dst_ = std::move(dst);
  process().open_pairs++;
  open_.splice(open_.end(), directory.open_node_);
  directory.pins_.store(1, std::memory_order_release);
  out.directory_ = &directory;
  while (process().open_pairs > budget_ && close_one_locked(closing)) {
  }
}

/**
 * Returns an open directory below a closed one: the nearest among the first `most` candidates. It
 * has an end in DEST if the closed one has; otherwise set_dst() could change it meanwhile.
 */
DirectoryKeep DirectoryTable::open_below_locked(Directory& directory, size_t most) {
  std::vector<Directory*> seen{&directory};
  for (size_t i = 0; i < seen.size() && i < most; i++) {
    for (Directory* child : seen[i]->children_) {
      if (child->is_open() && (child->has_dst_ || !directory.has_dst_)) {
        return DirectoryKeep::try_keep(*child);
      }
      if (seen.size() < most) seen.push_back(child);
    }
  }
  return {};
}

int DirectoryTable::open_upwards(const Directory& from, const std::vector<Step>& steps, Handle& src,
                                 Handle& dst) {
  for (const auto& [directory, has_dst] : steps) {
    Handle next_src, next_dst;
    const Handle& child_src = src.is_open() ? src : from.src_;
    int error = platform::open_source_parent(child_src, next_src);
    if (error == 0 && has_dst) {
      error = platform::open_target_parent(src.is_open() ? dst : from.dst_, next_dst);
    }
    if (error == 0) error = check_reopened(*directory, next_src, has_dst ? &next_dst : nullptr);
    if (error < 0) return error;
    src = std::move(next_src);
    dst = std::move(next_dst);
  }
  return 0;
}

int DirectoryTable::open_downwards(const Directory& from, const std::vector<Step>& steps,
                                   Handle& src, Handle& dst) {
  for (const auto& [directory, has_dst] : steps) {
    Handle next_src, next_dst;
    const Handle& above_src = src.is_open() ? src : from.src_;
    const Handle& above_dst = src.is_open() ? dst : from.dst_;
    const bool src_held = directory->src_held >= 0, dst_held = directory->dst_held >= 0;
    int error = src_held ? platform::open_again(directory->src_held, next_src)
                         : platform::open_source_directory(
                               directory->doomed ? above_dst : above_src,
                               directory->src_name_.c_str(), directory->follow_src, next_src);
    if (error == 0 && has_dst) {
      error = dst_held ? platform::open_again(directory->dst_held, next_dst)
                       : platform::open_target_directory(above_dst, directory->dst_name_.c_str(),
                                                         directory->follow_dst, next_dst);
    }
    if (error == 0) error = check_reopened(*directory, next_src, has_dst ? &next_dst : nullptr);
    if (error < 0) return error;
    src = std::move(next_src);
    dst = std::move(next_dst);
  }
  return 0;
}

int DirectoryTable::reopen(Directory& directory, DirectoryPin& out) {
  const std::lock_guard opening(directory.opening_);
  int result = kMadeMeanwhile;
  while (result == kMadeMeanwhile) result = open(directory, out);
  return result;
}

/**
 * Opens and pins a directory whose opening_ is held. Returns kMadeMeanwhile if its end in DEST was
 * set meanwhile, which must be opened as well.
 */
int DirectoryTable::open(Directory& directory, DirectoryPin& out) {
  std::vector<Step> down,
      // to the directory: from its nearest open ancestor, and from an open one below
      up;
  DirectoryKeep kept;  // the open one below
  DirectoryPin above, below;
  Closing closing;
  const Directory* ancestor = &directory;
  bool has_dst = false, upwards = false;
  {
    const std::lock_guard lock(mutex_);
    has_dst = directory.has_dst_;
    Directory* at = &directory;
    // What is open now stays open while mutex_ is held.
    for (; !above.try_pin(*at); at = at->parent_) down.push_back({at, at->has_dst_});
    if (down.empty()) {
      out = std::move(above);
      return 0;
    }
    std::reverse(down.begin(), down.end());
    ancestor = at;
    // Upwards is nearer when a worker leaves a deep tree while another is still further down.
    kept = open_below_locked(directory, down.size());
    upwards = kept && below.try_pin(*kept);
    if (upwards) {
      for (at = &*kept; at != &directory; at = at->parent_) {
        up.push_back({at->parent_, at->parent_->has_dst_});
      }
    }
  }
  Handle src, dst;
  int error = upwards ? open_upwards(*kept, up, src, dst) : -ESTALE;
  if (error < 0) {
    src.close();
    dst.close();
    error = open_downwards(*ancestor, down, src, dst);
  }
  if (error < 0) return error;
  const std::lock_guard lock(mutex_);
  if (directory.has_dst_ != has_dst) return kMadeMeanwhile;
  install_locked(directory, std::move(src), std::move(dst), closing, out);
  return 0;
}

/** Opens a closed parent by '..' of an open directory, unless one of them was moved. */
void DirectoryTable::open_parent(Directory& directory) {
  Directory& parent = *directory.parent_;
  DirectoryPin from, opened;
  Closing closing;
  std::unique_lock<std::mutex> opening;
  std::vector<Step> up;
  if (parent.is_open()) return;
  {
    const std::lock_guard lock(mutex_);
    if (parent.is_open() || (parent.has_dst_ && !directory.has_dst_) || !from.try_pin(directory))
      return;
    opening = std::unique_lock(parent.opening_, std::try_to_lock);
    if (!opening) return;  // another thread is opening it
    up.push_back({&parent, parent.has_dst_});
  }
  Handle src, dst;
  if (open_upwards(directory, up, src, dst) < 0) return;
  const std::lock_guard lock(mutex_);
  if (parent.has_dst_ != up.front().has_dst) return;
  install_locked(parent, std::move(src), std::move(dst), closing, opened);
}

/**
 * Ends one use. If it is the last, also ends the directory's use of its parent. A loop, because
 * trees can be deep.
 */
void DirectoryTable::leave(Directory* directory) {
  while (directory != nullptr && directory->uses_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    Directory* parent = directory->parent_;
    if (parent != nullptr) {
      owner_.finish(*directory);
      // The parent may have no work left, but this keeps the way up from a deep tree short.
      open_parent(*directory);
    }
    forget(directory);
    directory = parent;
  }
}

/** Ends one keep. If it is the last, deletes the directory and ends its keep of its parent. */
void DirectoryTable::forget(Directory* directory) {
  while (directory != nullptr && directory->keeps_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    Directory* parent = directory->parent_;
    if (parent != nullptr) {
      const std::lock_guard lock(mutex_);
      directory->sibling_node_.splice(directory->sibling_node_.begin(), parent->children_,
                                      directory->among_siblings_);
      if (directory->is_open()) {
        directory->open_node_.splice(directory->open_node_.begin(), open_, directory->open_at_);
        process().open_pairs--;
      }
    }
    delete directory;
    directory = parent;
  }
}

}  // namespace fastcp
