#include "engine/run/hard_links.h"

namespace fastcp {
namespace {

bool is_same_version(const platform::Stat& a, const platform::Stat& b) {
  return a.size == b.size && a.mtime == b.mtime && a.mode == b.mode && a.uid == b.uid &&
         a.gid == b.gid && a.kind == b.kind;
}

}  // namespace

HardLinks::Role HardLinks::take(const platform::Stat& src, TaskPtr again, Claim& claim,
                                Place& place) {
  const std::lock_guard lock(mutex_);
  const Key key{src.dev, src.ino};
  const auto [at, added] = files_.try_emplace(key);
  Known& known = at->second;
  if (added) {
    known.names = src.link_count;
    known.first = src;
    claim.owner_ = this;
    claim.key_ = key;
    return Role::first;
  }
  if (!known.placed) {
    known.waiting.push_back(std::move(again));
    return Role::wait;
  }
  place = {known.place.directory.again(), known.place.name, known.place.dev, known.place.ino,
           known.first.ctime};
  return is_same_version(known.first, src) ? Role::later : Role::changed;
}

void HardLinks::met(const platform::Stat& src) {
  Place place;  // destroyed without the lock, because this may end a directory
  const std::lock_guard lock(mutex_);
  const auto at = files_.find({src.dev, src.ino});
  if (at == files_.end()) return;
  at->second.names_met++;
  if (follows_symlinks_ || at->second.names_met + 1 < at->second.names) return;
  place = std::move(at->second.place);
  files_.erase(at);
}

bool HardLinks::joins_others(const platform::Stat& src, const platform::Stat& dst) {
  const Key source{src.dev, src.ino};
  const std::lock_guard lock(mutex_);
  const auto [known, is_first] = sources_.try_emplace(Key{dst.dev, dst.ino}, source);
  return !is_first && known->second != source;
}

void HardLinks::end_claim(const Key& key, Place* place) {
  std::vector<TaskPtr> waiting;
  {
    const std::lock_guard lock(mutex_);
    const auto at = files_.find(key);
    if (at == files_.end()) return;  // cleared, because the copy was stopped
    waiting = std::exchange(at->second.waiting, {});
    if (place == nullptr) {
      files_.erase(at);
    } else {
      at->second.place = std::move(*place);
      at->second.placed = true;
    }
  }
  for (TaskPtr& task : waiting) tasks_.push(std::move(task));
}

void HardLinks::clear() {
  // Destroyed without the lock, because this may end directories.
  std::unordered_map<Key, Known, Hash> files;
  const std::lock_guard lock(mutex_);
  files.swap(files_);
}

void HardLinks::Claim::placed(Directory& directory, const char* name, const platform::Stat& made) {
  Place place{DirectoryKeep(directory), name, made.dev, made.ino};
  if (owner_ != nullptr) std::exchange(owner_, nullptr)->end_claim(key_, &place);
}

void HardLinks::Claim::release() {
  if (owner_ != nullptr) std::exchange(owner_, nullptr)->end_claim(key_, nullptr);
}

}  // namespace fastcp
