#include "engine/run/folder.h"

#include <algorithm>
#include <cerrno>
#include <utility>

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
  auto* folder = new Folder(table, parent.folder_);
  parent.folder_ = nullptr;  // the folder has taken over the use
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
  siblings.splice(siblings.end(), folder->sibling_node_);
  return FolderUse(folder);
}

FolderUse Folder::use() {
  uses_.fetch_add(1, std::memory_order_relaxed);
  return FolderUse(this);
}

void Folder::set_dst(Handle dst, const Stat& stat) {
  const std::lock_guard lock(table_.mutex_);
  has_dst_ = true;
  dst_stat = stat;
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

FolderKeep FolderKeep::try_keep(Folder& folder) {
  FolderKeep keep;
  int keeps = folder.keeps_;
  while (keeps > 0 && keep.folder_ == nullptr) {
    if (folder.keeps_.compare_exchange_weak(keeps, keeps + 1)) keep.folder_ = &folder;
  }
  return keep;
}

int FolderPin::pin(Folder& folder) {
  release();
  return folder.table_.pin(folder, *this);
}

void FolderPin::release() {
  if (folder_ == nullptr) return;
  Folder& folder = *std::exchange(folder_, nullptr);
  if (folder.is_base()) return;
  FolderTable& table = folder.table_;
  const std::lock_guard lock(table.mutex_);
  if (--folder.pins_ == 0) table.idle_.splice(table.idle_.end(), folder.idle_node_);
}

// --- FolderTable -----------------------------------------------------------------------------

bool FolderTable::close_oldest_locked(Closing& closing) {
  if (idle_.empty()) return false;
  closing.reserve(closing.size() + 2);
  Folder& folder = *idle_.front();
  folder.idle_node_.splice(folder.idle_node_.begin(), idle_, folder.idle_at_);
  closing.push_back(std::move(folder.src_));
  closing.push_back(std::move(folder.dst_));
  open_pairs_--;
  return true;
}

void FolderTable::make_room() {
  if (open_pairs_ < budget_) return;
  Closing closing;
  const std::lock_guard lock(mutex_);
  while (open_pairs_ >= budget_ && close_oldest_locked(closing)) {
  }
}

bool FolderTable::close_one() {
  Closing closing;
  const std::lock_guard lock(mutex_);
  return close_oldest_locked(closing);
}

void FolderTable::pin_locked(Folder& folder, FolderPin& out) {
  out.folder_ = &folder;
  if (folder.is_base() || folder.pins_++ > 0) return;
  // Idle, unless it was opened just now.
  if (folder.idle_node_.empty()) {
    folder.idle_node_.splice(folder.idle_node_.begin(), folder.table_.idle_, folder.idle_at_);
  }
}

/** What every folder that was opened again goes through: others may have to be closed for it. */
void FolderTable::install_locked(Folder& folder, Handle src, Handle dst, Closing& closing,
                                 FolderPin& out) {
  folder.src_ = std::move(src);
  folder.dst_ = std::move(dst);
  open_pairs_++;
  pin_locked(folder, out);
  while (open_pairs_ > budget_ && close_oldest_locked(closing)) {
  }
}

/** An open folder below a closed one, the nearest of `most` that are looked at. */
FolderKeep FolderTable::open_below_locked(Folder& folder, size_t most) {
  std::vector<Folder*> seen{&folder};
  for (size_t i = 0; i < seen.size() && i < most; i++) {
    for (Folder* child : seen[i]->children_) {
      if (child->src_.is_open()) return FolderKeep::try_keep(*child);
      if (seen.size() < most) seen.push_back(child);
    }
  }
  return {};
}

int FolderTable::open_upwards(const Folder& from, const std::vector<Step>& steps, Handle& src,
                              Handle& dst) {
  for (const auto& [folder, has_dst] : steps) {
    Handle next_src, next_dst;
    const Handle& child_src = src.is_open() ? src : from.src_;
    int error = platform::open_source_parent(child_src, next_src);
    if (error == 0 && has_dst) {
      error = platform::open_target_parent(src.is_open() ? dst : from.dst_, next_dst);
    }
    if (error < 0) return error;
    if (!is_same(next_src, folder->src_stat) || (has_dst && !is_same(next_dst, folder->dst_stat))) {
      return -ESTALE;
    }
    src = std::move(next_src);
    dst = std::move(next_dst);
  }
  return 0;
}

int FolderTable::open_downwards(const Folder& from, const std::vector<Step>& steps, Handle& src,
                                Handle& dst) {
  for (const auto& [folder, has_dst] : steps) {
    Handle next_src, next_dst;
    const Handle& above_src = src.is_open() ? src : from.src_;
    const Handle& above_dst = src.is_open() ? dst : from.dst_;
    int error =
        platform::open_source_folder(folder->doomed ? above_dst : above_src,
                                     folder->src_name_.c_str(), folder->follow_src, next_src);
    if (error == 0 && has_dst) {
      error = platform::open_target_folder(above_dst, folder->dst_name_.c_str(), folder->follow_dst,
                                           next_dst);
    }
    if (error < 0) return error;
    if (!is_same(next_src, folder->src_stat) || (has_dst && !is_same(next_dst, folder->dst_stat))) {
      return -ESTALE;
    }
    src = std::move(next_src);
    dst = std::move(next_dst);
  }
  return 0;
}

int FolderTable::pin(Folder& folder, FolderPin& out) {
  {
    const std::lock_guard lock(mutex_);
    if (folder.src_.is_open()) {
      pin_locked(folder, out);
      return 0;
    }
  }
  const std::lock_guard opening(folder.opening_);
  int result = kMadeMeanwhile;
  while (result == kMadeMeanwhile) result = open(folder, out);
  return result;
}

/**
 * Opens and pins a folder whose opening_ is held. kMadeMeanwhile: it has got its end in DEST since, which is
 * to be opened as well.
 */
int FolderTable::open(Folder& folder, FolderPin& out) {
  std::vector<Step> down,
      up;           // to the folder: from its nearest open ancestor, from an open one below
  FolderKeep kept;  // that one below
  FolderPin above, below;
  Closing closing;
  const Folder* ancestor = &folder;
  bool has_dst = false;
  {
    const std::lock_guard lock(mutex_);
    has_dst = folder.has_dst_;
    Folder* at = &folder;
    for (; !at->src_.is_open(); at = at->parent_) down.push_back({at, at->has_dst_});
    if (down.empty()) {
      pin_locked(folder, out);
      return 0;
    }
    std::reverse(down.begin(), down.end());
    pin_locked(*at, above);
    ancestor = at;
    // Up, where that is nearer: on the way out of a deep tree another worker may still be further down.
    kept = open_below_locked(folder, down.size());
    if (kept) {
      pin_locked(*kept, below);
      for (at = &*kept; at != &folder; at = at->parent_) {
        up.push_back({at->parent_, at->parent_->has_dst_});
      }
    }
  }
  Handle src, dst;
  int error = kept ? open_upwards(*kept, up, src, dst) : -ESTALE;
  if (error < 0) {
    src.close();
    dst.close();
    error = open_downwards(*ancestor, down, src, dst);
  }
  if (error < 0) return error;
  const std::lock_guard lock(mutex_);
  if (folder.has_dst_ != has_dst) return kMadeMeanwhile;
  install_locked(folder, std::move(src), std::move(dst), closing, out);
  return 0;
}

/** Opens a closed parent by '..' of an open folder, unless one of them was moved. */
void FolderTable::open_parent(Folder& folder) {
  Folder& parent = *folder.parent_;
  FolderPin from, opened;
  Closing closing;
  std::unique_lock<std::mutex> opening;
  std::vector<Step> up;
  {
    const std::lock_guard lock(mutex_);
    if (parent.src_.is_open() || !folder.src_.is_open()) return;
    opening = std::unique_lock(parent.opening_, std::try_to_lock);
    if (!opening) return;  // somebody else opens it
    pin_locked(folder, from);
    up.push_back({&parent, parent.has_dst_});
  }
  Handle src, dst;
  if (open_upwards(folder, up, src, dst) < 0) return;
  const std::lock_guard lock(mutex_);
  if (parent.has_dst_ != up.front().has_dst) return;
  install_locked(parent, std::move(src), std::move(dst), closing, opened);
}

/** Ends one use, and with a folder's last one its use of its parent: a loop, trees can be deep. */
void FolderTable::leave(Folder* folder) {
  while (folder != nullptr && folder->uses_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    Folder* parent = folder->parent_;
    if (parent != nullptr) {
      owner_.finish(*folder);
      // The parent may have nothing left to do, but the way up from a deep tree stays short.
      open_parent(*folder);
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
      folder->sibling_node_.splice(folder->sibling_node_.begin(), parent->children_,
                                   folder->among_siblings_);
      if (folder->idle_node_.empty()) {
        folder->idle_node_.splice(folder->idle_node_.begin(), idle_, folder->idle_at_);
      }
      if (folder->src_.is_open()) open_pairs_--;
    }
    delete folder;
    folder = parent;
  }
}

}  // namespace fastcp
