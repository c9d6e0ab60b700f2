#include "engine/entry/mark.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/entry/access.h"
#include "engine/run/engine.h"

namespace fastcp {
namespace {

using platform::Identity;
using platform::Stat;
using platform::Time;

/** A mark in the form of the attribute. It is small enough for ext4 to store it in the inode. */
struct Stored {
  uint32_t version, attributes;
  uint64_t file_system, dev, ino;
  int64_t birth, began, finished;  // ns since the epoch
};
static_assert(sizeof(Stored) == 56);

constexpr uint32_t kVersion = 1;
constexpr int64_t kSecond = 1'000'000'000;  // ns

int64_t to_number(Time time) {
  // Unsigned, because an overflow must not be undefined. A mark that overflows is of no use anyway.
  return static_cast<int64_t>(static_cast<uint64_t>(time.seconds) * kSecond + time.nanoseconds);
}

Time to_time(int64_t number) {
  const int64_t rest = number % kSecond;  // negative before the epoch
  return {number / kSecond - (rest < 0 ? 1 : 0),
          static_cast<uint32_t>(rest < 0 ? rest + kSecond : rest)};
}

/** Reads the mark of a directory of DEST. Returns 0, also if there is none, or a negative errno. */
int load(const platform::Handle& directory, std::optional<Mark>& mark) {
  Stored stored;
  mark.reset();
  const int64_t size = platform::get_attribute(directory, platform::kMark,
                                               reinterpret_cast<char*>(&stored), sizeof stored);
  if (size == -EACCES) return -EACCES;
  if (size != sizeof stored || stored.version != kVersion) return 0;
  mark = Mark{{stored.file_system, stored.dev, stored.ino, to_time(stored.birth)},
              to_time(stored.began),
              to_time(stored.finished),
              stored.attributes};
  return 0;
}

int store(const platform::Handle& directory, const Mark& mark) {
  const Stored stored{kVersion,
                      mark.attributes,
                      mark.source.file_system,
                      mark.source.dev,
                      mark.source.ino,
                      to_number(mark.source.birth),
                      to_number(mark.began),
                      to_number(mark.finished)};
  return platform::set_attribute(directory, platform::kMark, reinterpret_cast<const char*>(&stored),
                                 sizeof stored);
}

/**
 * Returns whether a ctime may be in steps of one or two seconds. Such a ctime does not show the
 * order of events within a step.
 */
bool is_coarse(Time ctime) { return ctime.nanoseconds == 0; }
constexpr int64_t kCoarse = 2;  // seconds

/** Returns the end of the step of a ctime. Changes until then may have the same ctime. */
Time end_of_step(Time ctime) {
  return {ctime.seconds + (is_coarse(ctime) ? kCoarse : 0), ctime.nanoseconds};
}

/**
 * Returns the earliest ctime of changes that this run cannot have seen: of those after it began to look, or after the snapshot
 * that it looks at was made.
 */
Time first_change(const Directory& directory) {
  Time newest = to_time(directory.due.sync->newest);
  newest.nanoseconds++;
  return std::min(directory.due.sync->began, newest);
}

/** Returns the changes that the ctimes on both sides show. */
Ctimes ctimes_of(const Directory& directory) {
  std::atomic<Ctimes>& known = directory.filling.route->ctimes;
  if (known == Ctimes::unknown) {
    const platform::Handle &src = directory.src(), &dst = directory.dst();
    const bool own = platform::has_own_clock(src) && platform::has_own_clock(dst);
    const bool all = platform::exchange_renews_ctime(src) && platform::exchange_renews_ctime(dst);
    known = !own ? Ctimes::foreign : all ? Ctimes::all : Ctimes::not_exchange;
  }
  return known;
}

/**
 * Returns whether names may have been exchanged in either directory since it was marked, which the
 * ctimes of the files would not show. An exchange changes SRC's directory. It also changes DEST's:
 * the mark itself renewed its ctime, and its mtime is SRC's if timestamps are preserved.
 */
bool may_hide_exchange(const Directory& directory, const Mark& mark) {
  if (ctimes_of(directory) != Ctimes::not_exchange) return false;
  const Time src = directory.src_stat.mtime, dst = directory.dst_stat.mtime;
  return directory.src_stat.ctime >= mark.began || (dst > mark.finished && dst != src);
}

/** The identity of SRC's directory, on its file system, combined with DEST's file system. */
Identity identity_to_mark(const SyncState& sync) {
  Identity result = sync.source;
  result.file_system ^= std::rotl(sync.target_file_system, 1);
  return result;
}

/**
 * Returns whether DEST has an entry under a name that was not selected. Nobody compared such an
 * entry.
 */
bool has_excluded(const Directory& directory, const std::string& names) {
  Stat there;
  for (size_t at = 0; at < names.size(); at += std::strlen(names.c_str() + at) + 1) {
    if (platform::stat_entry(directory.dst(), names.c_str() + at, there) != -ENOENT) return true;
  }
  return false;
}

}  // namespace

void begin_sync(Engine& engine, Directory& directory, Time began) {
  const Options& options = engine.options;
  if (!options.incremental.sync || options.content.instead != Instead::copy) return;
  auto sync = std::make_unique<SyncState>();
  sync->began = began;
  sync->errors = engine.errors.count();
  if (platform::identify(directory.src(), sync->source) < 0) return;
  // Asking is slow on some file systems.
  const SyncState* const above = directory.parent().due.sync.get();
  const bool is_known = above != nullptr && above->source.dev == sync->source.dev;
  sync->source.file_system =
      is_known ? above->source.file_system : platform::file_system(directory.src());
  directory.due.sync = std::move(sync);
  note_source(engine, directory, directory.src_stat);
}

void read_mark(Engine& engine, Directory& directory) {
  SyncState* const sync = directory.due.sync.get();
  if (sync == nullptr) return;
  const Directory& parent = directory.parent();
  const bool is_known = parent.due.sync != nullptr && parent.has_dst() &&
                        parent.dst_stat.dev == directory.dst_stat.dev;
  sync->target_file_system =
      is_known ? parent.due.sync->target_file_system : platform::file_system(directory.dst());
  if (directory.filling.fresh) return;
  // A mode without read permission also hides the mark.
  std::optional<Mark> seen;
  with_access(engine, directory, [&] { return load(directory.dst(), seen); });
  sync->hides_exchange = seen && may_hide_exchange(directory, *seen);
  // A mark from the future was written before the clock was set back. Later changes may look older
  // than the mark.
  if (seen && seen->source == identity_to_mark(*sync) && seen->finished <= sync->began &&
      !sync->hides_exchange) {
    sync->mark = seen;
  }
}

void note_source(const Engine& engine, const Directory& directory, const Stat& src) {
  if (directory.due.sync == nullptr) return;
  // A symlink may lead to another file system, with another clock. The mark proves nothing of its target.
  if (engine.options.traversal.dereference && src.dev != directory.src_stat.dev) return;
  std::atomic<int64_t>& newest = directory.due.sync->newest;
  const int64_t ctime = to_number(end_of_step(src.ctime));
  int64_t before = newest.load(std::memory_order_relaxed);
  while (before < ctime && !newest.compare_exchange_weak(before, ctime)) {
  }
}

bool is_proven(const Directory& directory, const Stat& src, const Stat& dst) {
  const SyncState* const sync = directory.due.sync.get();
  if (sync == nullptr || !sync->mark) return false;
  const Mark& mark = *sync->mark;
  const Ctimes known = ctimes_of(directory);
  if (known == Ctimes::foreign) return false;
  if (end_of_step(src.ctime) >= mark.began) return false;
  return is_coarse(dst.ctime) ? dst.ctime.seconds + kCoarse < mark.finished.seconds
                              : dst.ctime <= mark.finished;
}

bool has_proven_attributes(const Engine& engine, const Directory& directory) {
  const uint32_t seen = directory.due.sync->mark->attributes;
  return seen != 0 && seen == engine.attribute_view;
}

bool owes_mark(const Options& options, const Directory& directory) {
  const SyncState* const sync = directory.due.sync.get();
  if (sync == nullptr || !directory.has_dst()) return false;
  if (!can_get_mark(options)) return sync->hides_exchange;
  return directory.filling.fresh || !sync->mark || sync->is_news;
}

void write_mark(Engine& engine, Directory& directory) {
  const SyncState& sync = *directory.due.sync;
  const platform::Handle& dst = directory.dst();
  const bool is_whole = can_get_mark(engine.options) && !engine.stopped() && !engine.is_full &&
                        !sync.is_doubtful && sync.errors == engine.errors.count() &&
                        ctimes_of(directory) != Ctimes::foreign &&
                        !has_excluded(directory, sync.excluded);
  // An old mark stays. It does not cover the ctimes of entries written since. But the mtime of DEST's
  // directory, which this copy sets, may be all that shows an exchange.
  if (!is_whole) {
    if (!sync.hides_exchange) return;
    with_access(engine, directory,
                [&] { return platform::remove_attribute(dst, platform::kMark); });
    return;
  }
  // If the copy lost attributes of a file under its first name, the later names in other
  // directories lack them also.
  const bool has_attributes = engine.options.preserve.xattrs && !engine.has_lost_attributes;
  const Mark mark{identity_to_mark(sync), first_change(directory), platform::change_time_ceiling(),
                  has_attributes ? engine.attribute_view : 0};
  // If it cannot be written, contents decide the next time.
  const auto write = [&] { return store(dst, mark); };
  if (with_access(engine, directory, write) == 0) engine.has_marked = true;
}

int can_mark(const platform::Handle& directory) {
  if (!platform::has_own_clock(directory)) return -EOPNOTSUPP;
  if (const int error = store(directory, Mark{}); error < 0) return error;
  return platform::remove_attribute(directory, platform::kMark);
}

}  // namespace fastcp
