#include "engine/run/directory.h"

#include <utility>
#include <vector>

#include "engine/run/open_directories.h"

namespace fastcp {

using platform::Handle;
using platform::Stat;

namespace {

const Handle& working_directory() {
  static const Handle here = Handle::working_directory();
  return here;
}

}  // namespace

DirectoryUse Directory::base(DirectoryOwner& owner) {
  auto* directory = new Directory(owner, nullptr);
  directory->has_dst_ = true;
  return DirectoryUse(directory);
}

DirectoryUse Directory::create(DirectoryUse parent, std::string src_name, std::string dst_name,
                               Handle src, Handle dst) {
  auto* directory = new Directory(parent->owner_, parent.directory_);
  parent.directory_ = nullptr;  // the directory has taken over the use
  directory->parent_->keeps_.fetch_add(1, std::memory_order_relaxed);
  directory->src_name_ = std::move(src_name);
  directory->dst_name_ = std::move(dst_name);
  directory->has_dst_ = dst.is_open();
  directory->filling.without_atime =
      directory->parent_->filling.without_atime.load(std::memory_order_relaxed);
  DirectoryUse use(directory);
  OpenDirectories::current().install(*directory, std::move(src), std::move(dst));
  return use;
}

DirectoryUse Directory::use() {
  uses_.fetch_add(1, std::memory_order_relaxed);
  return DirectoryUse(this);
}

void Directory::set_dst(Handle dst, const Stat& stat) {
  dst_stat = stat;
  has_dst_ = true;
  OpenDirectories& all = OpenDirectories::current();
  if (all.find(*this) != nullptr) all.install(*this, Handle(), std::move(dst));
}

DestFacts& Directory::dest() const {
  DestFacts* facts = dest_;
  if (facts != nullptr) return *facts;
  auto added = std::make_unique<DestFacts>();
  // Otherwise another worker was first, and `facts` are those.
  return dest_.compare_exchange_strong(facts, added.get()) ? *added.release() : *facts;
}

const Handle& Directory::src() const {
  return is_base() ? working_directory() : OpenDirectories::current().pinned(*this).src;
}

const Handle& Directory::dst() const {
  return is_base() ? working_directory() : OpenDirectories::current().pinned(*this).dst;
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

// --- uses and keeps ---------------------------------------------------------------------------

DirectoryUse DirectoryUse::again() const { return directory_->use(); }

DirectoryUse::~DirectoryUse() {
  if (directory_ != nullptr) Directory::leave(directory_);
}

DirectoryKeep::DirectoryKeep(Directory& directory) : directory_(&directory) {
  directory.keeps_.fetch_add(1, std::memory_order_relaxed);
}

DirectoryKeep::~DirectoryKeep() {
  if (directory_ != nullptr) Directory::forget(directory_);
}

/** Ends one use. If it is the last, also ends the directory's use of its parent. A loop, because trees can be deep. */
void Directory::leave(Directory* directory) {
  while (directory != nullptr && directory->uses_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    Directory* parent = directory->parent_;
    if (parent != nullptr) {
      directory->owner_.finish(*directory);
      OpenDirectories::current().end(*directory);
    }
    forget(directory);
    directory = parent;
  }
}

/** Ends one keep. If it is the last, deletes the directory and ends its keep of its parent. */
void Directory::forget(Directory* directory) {
  while (directory != nullptr && directory->keeps_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    delete std::exchange(directory, directory->parent_);
  }
}

}  // namespace fastcp
