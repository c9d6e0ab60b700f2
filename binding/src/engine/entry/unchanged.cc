#include "engine/entry/unchanged.h"

#include <cerrno>
#include <string>

#include "engine/entry/access.h"
#include "engine/entry/compare.h"
#include "engine/entry/hard_link.h"
#include "engine/entry/mark.h"
#include "engine/entry/metadata.h"
#include "engine/entry/open_file.h"
#include "engine/entry/symlinks.h"

namespace fastcp {
namespace {

using platform::Follow;
using platform::Handle;
using platform::Kind;
using platform::Stat;

/** An entry that exists on both sides. */
struct Pair {
  Worker& worker;
  const DirectoryUse& use;
  Names names;
  Stat src{}, dst{};
  bool by_symlink = false;     // SRC has a symlink there, which is followed
  mutable bool stays = false;  // DEST's entry is already the copy

  [[nodiscard]] const Options& options() const { return worker.engine.options; }
  [[nodiscard]] Directory& directory() const { return *use; }
  bool fail(int error, const char* operation) const {
    worker.fail(directory(), names, error, operation);
    return true;  // nothing is left to do
  }

  /**
   * If DEST's end cannot be read, that is not yet a difference. In a comparison it is reported, and
   * this returns true.
   */
  bool fails_to_compare(int error, const char* operation) const {
    if (!options().compares) return false;
    worker.engine.fail({-error, operation, directory().dst_path(names.dst), {}}, &directory());
    return true;
  }

  bool skip(Action action = Action::skip) const {
    stays = true;
    worker.count(Count::unchanged);
    worker.note(directory(), names, action, src.kind);
    return true;
  }
};

/**
 * Returns whether the mark proves that the content has not changed. The target of a symlink may
 * have been exchanged.
 */
bool has_proof(const Pair& pair) {
  return !pair.options().incremental.checksum && !pair.by_symlink &&
         pair.src.mtime == pair.dst.mtime && is_proven(pair.directory(), pair.src, pair.dst);
}

/** Returns whether size and mtime are equal, if the user accepts them as proof. */
bool is_taken_for_same(const Pair& pair, uint64_t step) {
  return pair.options().incremental.quick_check && is_same_time(pair.src.mtime, pair.dst, step);
}

/**
 * Returns whether DEST's file has other hard links. They may belong to other files of SRC, however
 * many hard links SRC's file has. Setting metadata would change these names as well.
 */
bool is_shared(const Pair& pair) { return pair.dst.link_count > 1 && !pair.options().compares; }

bool has_equal_size(const Pair& pair) { return pair.src.size == pair.dst.size; }

enum class Contents : uint8_t { same, differ, left };  // left: nothing has to be done now

Contents compare(const Pair& pair, const EntryTask& again) {
  const Directory& directory = pair.directory();
  Handle src, dst;
  bool without_atime = directory.filling.without_atime.load(std::memory_order_relaxed);
  int error = open_to_read(pair.worker, directory.src(), pair.names.src,
                           pair.options().traversal.follow(), without_atime, src);
  if (error < 0 && error != -ECANCELED) {
    pair.fail(error, kOpenSource);
    return Contents::left;
  }
  if (error == 0) {
    error =
        open_to_read(pair.worker, directory.dst(), pair.names.dst, Follow::no, without_atime, dst);
  }
  if (error == -ECANCELED) {
    put_off(pair.worker, pair.use, pair.names, again);
    return Contents::left;
  }
  if (error < 0) {  // an unreadable entry is replaced
    return pair.fails_to_compare(error, "open") ? Contents::left : Contents::differ;
  }
  // Another program may have put a FIFO or a device in this place since the look.
  Stat opened;
  if (platform::stat_handle(dst, opened) < 0 || opened.kind != Kind::file) return Contents::differ;
  if (platform::stat_handle(src, opened) < 0 || is_changed(pair.src, opened)) {
    return Contents::differ;
  }

  // If a size may not be real, both are read to their ends, also in holes.
  const uint64_t size = has_equal_size(pair) ? pair.src.size : 0;
  const Comparison found = compare_content(pair.worker, src, dst, size);
  switch (found.outcome) {
    case Comparison::failed: pair.fail(found.error, found.operation); return Contents::left;
    case Comparison::differs: return Contents::differ;
    case Comparison::stopped: return Contents::left;
    case Comparison::same: break;
  }
  Stat now;
  const bool whole = platform::stat_handle(src, now) == 0 && !is_changed(pair.src, now);
  return whole ? Contents::same : Contents::differ;
}

/**
 * Returns whether all metadata is as wanted. If the mark did not prove it, this is news for the
 * mark.
 */
bool is_settled(const Pair& pair, bool proven, uint64_t step) {
  const Preserve& keep = pair.options().preserve;
  bool settled = is_settled(keep, pair.src, pair.dst, step);
  if (keep.xattrs && !(proven && has_proven_attributes(pair.worker.engine, pair.directory()))) {
    pair.directory().due.note_news();
    settled = settled && has_wanted_attributes(pair.worker.engine, pair.directory(), pair.names);
  }
  return settled;
}

/**
 * Sets the metadata of an entry with equal content. Returns false if the entry has to be replaced.
 */
bool settle(const Pair& pair, bool proven, uint64_t step) {
  if (is_settled(pair, proven, step)) return pair.skip();
  pair.directory().due.note_news();
  Directory& directory = pair.directory();
  Engine& engine = pair.worker.engine;
  if (is_shared(pair)) {
    const Trial trial =
        engine.writer.try_metadata(pair.worker, directory, pair.names, pair.src, pair.dst);
    return trial == Trial::failed || (trial == Trial::same && pair.skip());
  }
  if (!engine.writer.settle(engine, directory, pair.names, pair.src, pair.dst)) return true;
  // A change since the look was not compared, and the copy would look newer than that change.
  Stat now;
  const int error =
      platform::stat_entry(directory.src(), pair.names.src, now, pair.options().traversal.follow());
  if (error < 0 || is_changed(pair.src, now)) return false;
  return pair.skip(Action::metadata);
}

uint64_t time_step_at(const Pair& pair) {
  if (pair.src.mtime == pair.dst.mtime) return 1;  // then nobody needs to know
  return time_step(pair.directory(), pair.names.dst);
}

/**
 * Returns whether a file may have another size than it reports, as in procfs (0 bytes) and sysfs (a page). Also true for empty
 * files and small holes of other file systems.
 */
bool may_report_any_size(const Stat& file) {
  constexpr uint64_t kLargestPage = 64 << 10;  // bytes
  return file.allocated == 0 && file.size <= kLargestPage;
}

bool is_current_file(const Pair& pair, const EntryTask& again) {
  const bool has_size = has_equal_size(pair);
  if (!has_size && !may_report_any_size(pair.src)) return false;
  const bool proven = has_size && has_proof(pair);
  const uint64_t step = time_step_at(pair);
  if (!proven) {
    pair.directory().due.note_news();
    if (!has_size || !is_taken_for_same(pair, step)) {
      const Contents contents = compare(pair, again);
      if (contents != Contents::same) return contents == Contents::left;
    }
  }
  return settle(pair, proven, step);
}

bool is_current_symlink(const Pair& pair) {
  std::string src, dst;
  platform::LinkKind src_kind{}, dst_kind{};
  if (const int error = read_link_target(pair.directory().src(), pair.names.src, src, src_kind);
      error < 0) {
    return pair.fail(error, "readlink");
  }
  const int error = read_link_target(pair.directory().dst(), pair.names.dst, dst, dst_kind);
  if (error < 0 && pair.fails_to_compare(error, "readlink")) return true;
  if (error < 0 || src != dst || src_kind != dst_kind) return false;
  return settle(pair, has_proof(pair), time_step_at(pair));
}

bool is_current(const Pair& pair, const EntryTask& again) {
  if (pair.dst.kind != pair.src.kind) return false;
  switch (pair.src.kind) {
    case Kind::file: return is_current_file(pair, again);
    case Kind::symlink: return is_current_symlink(pair);
    default:
      return pair.src.rdev == pair.dst.rdev && settle(pair, has_proof(pair), time_step_at(pair));
  }
}

/**
 * In a comparison: tells the host the identity of each side's file, if the file may have several
 * hard links. The paths of the record end with a NUL and that identity. lib/compare-trees.ts finds
 * the groups.
 */
void note_identities(const Pair& pair) {
  Engine& engine = pair.worker.engine;
  const bool several =
      pair.src.link_count > 1 || pair.dst.link_count > 1 || pair.options().traversal.dereference;
  if (!several || pair.src.kind != pair.dst.kind) return;
  const auto with_identity = [](std::string path, const Stat& stat) {
    path += '\0';
    return path + std::to_string(stat.dev) + ':' + std::to_string(stat.ino);
  };
  engine.journal.add(Action::hard_link, pair.src.kind,
                     with_identity(pair.directory().src_path(pair.names.src), pair.src),
                     with_identity(pair.directory().dst_path(pair.names.dst), pair.dst));
}

}  // namespace

bool is_changed(const Stat& before, const Stat& now) {
  return now.size != before.size || now.mtime != before.mtime || now.ctime != before.ctime ||
         now.ino != before.ino || now.dev != before.dev;
}

bool needs_no_copy(Worker& worker, const DirectoryUse& use, Names names, Kind kind,
                   EntryTask& again) {
  const Directory& directory = *use;
  Pair pair{worker, use, names};
  if (!directory.has_dst()) return false;
  if (const int error = platform::stat_entry(directory.dst(), names.dst, pair.dst); error < 0) {
    return error != -ENOENT && pair.fails_to_compare(error, "lstat");
  }
  if (!stat_source(worker, directory, names, pair.src)) return true;
  if (worker.engine.options.traversal.dereference) {
    Stat itself;
    pair.by_symlink = platform::stat_entry(directory.src(), names.src, itself) < 0 ||
                      itself.kind == Kind::symlink;
  }
  if (pair.src.kind != kind) return pair.fail(EBUSY, kRefused);  // the listing had another kind

  const Options& options = worker.engine.options;
  if (pair.src.size >= kLongFile && has_equal_size(pair) && worker.hands_over()) {
    put_off(worker, use, names, again);
    return true;
  }
  if (options.compares && options.preserve.hard_links) note_identities(pair);
  // Otherwise a later write to one of them would change the other as well.
  if (pair.dst.link_count > 1 && !options.compares && kind != Kind::directory &&
      worker.engine.hard_links.joins_others(pair.src, pair.dst)) {
    return false;
  }
  HardLinks::Claim claim;
  if (!claim_or_link(worker, use, names, pair.src, claim, again)) return true;
  if (!is_current(pair, again)) return false;  // the worker that copies it claims it again
  // Otherwise it failed: then another name may become the first.
  if (claim && pair.stays) claim.placed(*use, names.dst, pair.dst);
  return true;
}

}  // namespace fastcp
