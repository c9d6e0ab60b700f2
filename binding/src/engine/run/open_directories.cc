#include "engine/run/open_directories.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/report.h"
#include "engine/run/engine.h"

namespace fastcp {

using platform::Handle;
using platform::Stat;

namespace {

/** The workers of all copies, which share the file descriptors of the process. */
std::atomic<int64_t> workers{0};

/** When a worker last waited for a file descriptor, and got none. ns of the steady clock. */
std::atomic<int64_t> waited_in_vain{INT64_MIN / 2};

/** How often workers of the process found no free file descriptor. */
std::atomic<uint64_t> shortages{0};

/** Returns 0 if handle is the entry of expected, `moved` if it is another, or the error of looking at it. */
int check_end(const Handle& handle, const Stat& expected, int moved) {
  Stat found;
  if (const int error = platform::stat_handle(handle, found); error < 0) return error;
  return is_same_entry(found, expected) ? 0 : moved;
}

/** Returns 0 if handles are a directory's ends, or the error of DirectoryPin::pin(). */
int check_ends(const Directory& directory, const Handle& src, const Handle& dst) {
  const int error = check_end(src, directory.src_stat, -ESTALE);
  return error < 0 || !dst.is_open() ? error : check_end(dst, directory.dst_stat, -EBUSY);
}

}  // namespace

thread_local OpenDirectories* OpenDirectories::current_ = nullptr;

OpenDirectories::OpenDirectories(const Engine& engine) : engine_(engine), shortages_(shortages) {
  current_ = this;
  workers++;
}

OpenDirectories::~OpenDirectories() {
  for (Open& open : open_) {
    assert(open.pins == 0);
    if (open.directory) close(open);
  }
  current_ = nullptr;
  workers--;
}

void OpenDirectories::close(Open& open) {
  open = Open();
  size_--;
}

bool OpenDirectories::may_retry(int error, int tries) {
  if ((error != -EMFILE && error != -ENFILE) || engine_.stopped()) return false;
  if (close_one()) return true;
  shortages++;
  constexpr int kTries = 1000;  // about a second
  // After that, fail fast for 10 s. A second per entry would make a tree last for ever.
  constexpr int64_t kPause = 10'000'000'000;  // ns
  const int64_t now =
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  if (tries >= kTries) waited_in_vain = now;
  if (now - waited_in_vain < kPause) return false;
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return true;
}

/** Closes the directory that was used least recently. Returns false if there is none, or all are pinned. */
bool OpenDirectories::close_one() {
  Open* oldest = nullptr;
  for (Open& open : open_) {
    if (!open.directory || open.pins > 0) continue;
    if (oldest == nullptr || open.used < oldest->used) oldest = &open;
  }
  if (oldest != nullptr) close(*oldest);
  return oldest != nullptr;
}

void OpenDirectories::make_room() {
  constexpr int64_t kLeast = 4;
  const int64_t sharing = platform::has_own_table() ? 1 : workers.load();
  while (size_ >= std::max(kLeast, engine_.most_directories / sharing) && close_one()) {
  }
}

void OpenDirectories::help_others() {
  if (shortages_ == shortages) return;
  shortages_ = shortages;
  close_all();
}

void OpenDirectories::close_all() {
  while (close_one()) {
  }
}

void OpenDirectories::close(const Directory& directory) {
  if (Open* open = find(directory); open != nullptr && open->pins == 0) close(*open);
}

OpenDirectories::Open* OpenDirectories::find(const Directory& directory) {
  if (last_ != nullptr && last_->directory.is(directory)) return last_;
  for (Open& open : open_) {
    if (open.directory.is(directory)) return last_ = &open;
  }
  return nullptr;
}

const OpenDirectories::Open& OpenDirectories::pinned(const Directory& directory) {
  const Open* open = find(directory);
  assert(open != nullptr && open->pins > 0);
  return *open;
}

void OpenDirectories::install(Directory& directory, Handle src, Handle dst) {
  if (Open* open = find(directory); open != nullptr) {
    open->dst = std::move(dst);  // this end was created since the other was opened
    return;
  }
  if (size_ == static_cast<int64_t>(open_.size())) close_one();
  const auto free =
      std::find_if(open_.begin(), open_.end(), [](const Open& open) { return !open.directory; });
  assert(free != open_.end());  // a worker pins a few
  free->directory = DirectoryKeep(directory);
  free->src = std::move(src);
  free->dst = std::move(dst);
  free->used = ++clock_;
  size_++;
  last_ = &*free;
}

/** Opens a directory in its parent, which is pinned. */
int OpenDirectories::open_below(const Directory& parent, Directory& directory, bool has_dst) {
  const Names names = directory.names();
  Handle src, dst;
  const Handle& above = directory.due.doomed ? parent.dst() : parent.src();
  int error = directory.way.src_held >= 0 ? platform::open_again(directory.way.src_held, src)
                                          : platform::open_source_directory(
                                                above, names.src, directory.way.follow_src, src);
  if (error == 0 && has_dst) {
    error = directory.way.dst_held >= 0
                ? platform::open_again(directory.way.dst_held, dst)
                : platform::open_target_directory(parent.dst(), names.dst, directory.way.follow_dst,
                                                  dst);
  }
  looked_ = error == 0;
  if (looked_) error = check_ends(directory, src, dst);
  if (error == 0) install(directory, std::move(src), std::move(dst));
  return error;
}

/** Opens the parent of an open directory, unless one of the two was moved. */
bool OpenDirectories::open_above(const Open& child) {
  Directory& parent = (*child.directory).parent();
  if ((*child.directory).due.doomed && !parent.due.doomed) return false;  // both ends are DEST's
  if (parent.is_base() || (parent.has_dst() && !child.dst.is_open())) return false;
  Handle src, dst;
  int error = platform::open_source_parent(child.src, src);
  if (error == 0 && parent.has_dst()) error = platform::open_target_parent(child.dst, dst);
  if (error < 0 || check_ends(parent, src, dst) < 0) return false;
  install(parent, std::move(src), std::move(dst));
  return true;
}

int OpenDirectories::open(Directory& directory, Open*& out) {
  for (const Open& child : open_) {
    if (!child.directory || &(*child.directory).parent() != &directory || !open_above(child))
      continue;
    out = find(directory);
    return 0;
  }
  const auto is_open = [this](Directory& at) {
    const Open* found = find(at);
    return at.is_base() || (found != nullptr && (found->dst.is_open() || !at.has_dst()));
  };
  std::vector<Directory*> way;
  for (Directory* at = &directory; !is_open(*at); at = &at->parent()) way.push_back(at);
  DirectoryPin above;
  for (; !way.empty(); way.pop_back()) {
    Directory& next = *way.back();
    // Before the parent is pinned: then the parent has an end in DEST if this one has.
    const bool has_dst = next.has_dst();
    int error = above.pin(next.parent());
    if (error < 0) return error;
    make_room();
    error = with_descriptor([&] { return open_below(next.parent(), next, has_dst); });
    if (error < 0) return error;
  }
  out = find(directory);
  return 0;
}

/** Closes a directory that is finished. */
void OpenDirectories::end(Directory& directory) {
  Open* open = find(directory);
  if (open == nullptr || open->pins > 0) return;
  open->pins++;
  if (find(directory.parent()) == nullptr) open_above(*open);
  open->pins--;
  close(*open);
}

int DirectoryPin::pin(Directory& directory) {
  release();
  if (directory.is_base()) return 0;
  OpenDirectories& all = OpenDirectories::current();
  OpenDirectories::Open* found = all.find(directory);
  if (found == nullptr || (!found->dst.is_open() && directory.has_dst())) {
    if (const int error = all.open(directory, found); error < 0) return error;
  }
  found->pins++;
  found->used = ++all.clock_;
  open_ = found;
  return 0;
}

const char* DirectoryPin::operation(int error) {
  if (error == -EBUSY) return kMoved;
  return OpenDirectories::current().looked_ ? "fstat" : "open";
}

void DirectoryPin::release() {
  if (open_ != nullptr) std::exchange(open_, nullptr)->pins--;
}

}  // namespace fastcp
