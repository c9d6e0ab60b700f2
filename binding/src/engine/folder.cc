#include "folder.h"

#include <algorithm>
#include <cerrno>

#include "mark.h"

namespace fastcp {

using platform::Handle;
using platform::Stat;

std::atomic<int64_t> FolderTable::open_pairs_{0};

namespace {

bool is_same(const Handle& handle, const Stat& expected) {
  Stat found;
  return platform::stat_handle(handle, found) == 0 && found.dev == expected.dev &&
         found.ino == expected.ino;
}

}  // namespace

// --- Folder ----------------------------------------------------------------------------------

Folder::Folder(FolderTable& table, Folder* parent) : table_(table), parent_(parent) {}

Folder::~Folder() = default;

FolderUse Folder::base(FolderTable& table) {
  auto* folder = new Folder(table, nullptr);
  folder->src_ = Handle::working_folder();
  folder->dst_ = Handle::working_folder();
  folder->has_dst_ = true;
  return FolderUse(folder);
}

FolderUse Folder::create(FolderUse parent, std::string src_name, std::string dst_name, Handle src,
                         Handle dst) {
  FolderTable& table = parent->table_;
  auto* folder = new Folder(table, std::exchange(parent.folder_, nullptr));
  folder->parent_->keeps_.fetch_add(1, std::memory_order_relaxed);
  folder->src_name_ = std::move(src_name);
  folder->dst_name_ = std::move(dst_name);
  folder->has_dst_ = dst.is_open();
  folder->src_ = std::move(src);
  folder->dst_ = std::move(dst);
  folder->without_atime = folder->parent_->without_atime.load(std::memory_order_relaxed);
  FolderTable::open_pairs_++;
  const std::lock_guard lock(table.mutex_);
  auto& siblings = folder->parent_->children_;
  folder->among_siblings_ = siblings.insert(siblings.end(), folder);
  return FolderUse(folder);
}

FolderUse Folder::use() {
  uses_.fetch_add(1, std::memory_order_relaxed);
  return FolderUse(this);
}

void Folder::set_dst(Handle dst) {
  const std::lock_guard lock(table_.mutex_);
  has_dst_ = true;
  if (src_.is_open()) dst_ = std::move(dst);  // else both ends are opened when they are needed
}

std::string Folder::path(const std::string& (*name_of)(const Folder&), const char* name) const {
  std::vector<const Folder*> upwards;
  for (const Folder* at = this; !at->is_base(); at = at->parent_) upwards.push_back(at);
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

std::string Folder::src_path(const char* name) const {
  return path([](const Folder& at) -> const std::string& { return at.src_name_; }, name);
}

std::string Folder::dst_path(const char* name) const {
  return path([](const Folder& at) -> const std::string& { return at.dst_name_; }, name);
}

// --- uses and pins ---------------------------------------------------------------------------

FolderUse FolderUse::again() const {
  folder_->uses_.fetch_add(1, std::memory_order_relaxed);
  return FolderUse(folder_);
}

FolderUse::~FolderUse() {
  if (folder_ != nullptr) folder_->table_.leave(folder_);
}

FolderKeep::FolderKeep(Folder& folder) : folder_(&folder) {
  folder.keeps_.fetch_add(1, std::memory_order_relaxed);
}

FolderKeep::~FolderKeep() {
  if (folder_ != nullptr) folder_->table_.forget(folder_);
}

int FolderPin::pin(Folder& folder) {
  release();
  if (!folder.is_base()) {
    FolderTable& table = folder.table_;
    const std::lock_guard lock(table.mutex_);
    if (const int error = table.open_locked(folder); error < 0) return error;
    folder.pins_++;
    if (folder.idle_at_) table.idle_.erase(*folder.idle_at_);
    folder.idle_at_.reset();
  }
  folder_ = &folder;
  return 0;
}

void FolderPin::release() {
  if (folder_ == nullptr) return;
  Folder& folder = *std::exchange(folder_, nullptr);
  if (folder.is_base()) return;
  FolderTable& table = folder.table_;
  const std::lock_guard lock(table.mutex_);
  if (--folder.pins_ == 0) folder.idle_at_ = table.idle_.insert(table.idle_.end(), &folder);
}

// --- FolderTable -----------------------------------------------------------------------------

bool FolderTable::close_oldest_locked() {
  if (idle_.empty()) return false;
  Folder& folder = *idle_.front();
  idle_.pop_front();
  folder.idle_at_.reset();
  folder.src_.close();
  folder.dst_.close();
  open_pairs_--;
  return true;
}

void FolderTable::make_room() {
  if (open_pairs_ < budget_) return;
  const std::lock_guard lock(mutex_);
  while (open_pairs_ >= budget_ && close_oldest_locked()) {
  }
}

bool FolderTable::close_one() {
  const std::lock_guard lock(mutex_);
  return close_oldest_locked();
}

/** What every folder that was reopened goes through: others may have to be closed for it. */
void FolderTable::opened_locked(Folder& folder, Handle src, Handle dst) {
  folder.src_ = std::move(src);
  folder.dst_ = std::move(dst);
  open_pairs_++;
  folder.idle_at_ = idle_.insert(idle_.end(), &folder);
  while (open_pairs_ > budget_ && idle_.front() != &folder) close_oldest_locked();
}

/** An open folder below a closed one, the nearest of `most` that are looked at. */
Folder* FolderTable::open_below_locked(Folder& folder, size_t most) {
  std::vector<Folder*> seen{&folder};
  for (size_t i = 0; i < seen.size() && i < most; i++) {
    for (Folder* child : seen[i]->children_) {
      if (child->src_.is_open()) return child;
      if (seen.size() < most) seen.push_back(child);
    }
  }
  return nullptr;
}

/** Opens a closed folder. */
int FolderTable::open_locked(Folder& folder) {
  std::vector<Folder*> closed;
  Folder* at = &folder;
  for (; !at->src_.is_open(); at = at->parent_) closed.push_back(at);
  if (closed.empty()) return 0;

  // Up, where that is nearer: on the way out of a deep tree another worker may still be further down.
  if (Folder* below = open_below_locked(folder, closed.size()); below != nullptr) {
    for (; below != &folder; below = below->parent_) open_parent_locked(*below);
    if (folder.src_.is_open()) return 0;
  }

  // Down from the nearest ancestor that is open; those between stay closed.
  Handle src, dst;
  for (const Folder* above = at; !closed.empty(); closed.pop_back()) {
    const Folder& next = *closed.back();
    Handle next_src, next_dst;
    const Handle& above_src = src.is_open() ? src : above->src_;
    const Handle& above_dst = dst.is_open() ? dst : above->dst_;
    int error = platform::open_source_folder(next.doomed ? above_dst : above_src,
                                             next.src_name_.c_str(), next.follow_src, next_src);
    if (error == 0 && next.has_dst_) {
      error = platform::open_target_folder(above_dst, next.dst_name_.c_str(), next.follow_dst,
                                           next_dst);
    }
    if (error < 0) return error;
    if (!is_same(next_src, next.src_stat) || (next.has_dst_ && !is_same(next_dst, next.dst_stat))) {
      return -ESTALE;
    }
    src = std::move(next_src);
    dst = std::move(next_dst);
  }
  opened_locked(folder, std::move(src), std::move(dst));
  return 0;
}

/** Opens a closed parent by '..' of an open folder, unless one of them was moved. */
void FolderTable::open_parent_locked(Folder& folder) {
  Folder& parent = *folder.parent_;
  if (parent.src_.is_open() || !folder.src_.is_open()) return;
  Handle src, dst;
  if (platform::open_source_parent(folder.src_, src) < 0 || !is_same(src, parent.src_stat)) return;
  if (parent.has_dst_ && (!folder.has_dst_ || platform::open_target_parent(folder.dst_, dst) < 0 ||
                          !is_same(dst, parent.dst_stat))) {
    return;
  }
  opened_locked(parent, std::move(src), std::move(dst));
}

/** Ends one use, and with a folder's last one its use of its parent: a loop, trees can be deep. */
void FolderTable::leave(Folder* folder) {
  while (folder != nullptr && folder->uses_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    Folder* parent = folder->parent_;
    if (parent != nullptr) {
      owner_.finish(*folder);
      const std::lock_guard lock(mutex_);
      // The parent may have nothing left to do, but the way up from a deep tree stays short.
      open_parent_locked(*folder);
    }
    forget(folder);
    folder = parent;
  }
}

/** Ends what keeps a folder in memory, and with the last of it what it keeps of its parent. */
void FolderTable::forget(Folder* folder) {
  while (folder != nullptr && folder->keeps_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    Folder* parent = folder->parent_;
    if (parent != nullptr) {
      const std::lock_guard lock(mutex_);
      parent->children_.erase(folder->among_siblings_);
      if (folder->idle_at_) idle_.erase(*folder->idle_at_);
      if (folder->src_.is_open()) open_pairs_--;
    }
    delete folder;
    folder = parent;
  }
}

}  // namespace fastcp
