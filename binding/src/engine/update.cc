#include "update.h"

#include <cerrno>
#include <string>

#include "compare.h"
#include "conflict.h"
#include "copy_other.h"
#include "metadata.h"

namespace fastcp {
namespace {

using platform::Follow;
using platform::Handle;
using platform::Kind;
using platform::Stat;
using platform::Time;

/** One entry that both sides have. */
struct Pair {
  Worker& worker;
  const FolderUse& use;
  Names names;
  Stat src{}, dst{};
  mutable bool stays = false;  // DEST's entry is what SRC has

  [[nodiscard]] const Options& options() const { return worker.engine.options; }
  [[nodiscard]] Folder& folder() const { return *use; }
  [[nodiscard]] bool is_settled() const { return fastcp::is_settled(options().preserve, src, dst); }

  bool fail(int error, const char* operation) const {
    worker.fail(folder(), names, error, operation);
    return true;  // nothing is left to do
  }

  bool skip(Action action = Action::skip) const {
    stays = true;
    worker.count(Count::skipped);
    worker.note(folder(), names, action, src.kind);
    return true;
  }
};

bool is_older(Time a, Time b) {
  // A file system that counts whole seconds, or pairs of them, says nothing about what came first in one.
  constexpr int64_t kCoarse = 2;
  if (a.nanoseconds == 0) return a.seconds + kCoarse < b.seconds;
  return a.seconds != b.seconds ? a.seconds < b.seconds : a.nanoseconds < b.nanoseconds;
}

/** The times at which both sides changed are of one clock. */
bool has_one_clock(const Folder& folder) {
  if (folder.route == nullptr) return false;
  std::atomic<Clocks>& known = folder.route->clocks;
  if (known == Clocks::unknown) {
    const bool own = platform::has_own_clock(folder.src()) && platform::has_own_clock(folder.dst());
    known = own ? Clocks::own : Clocks::foreign;
  }
  return known == Clocks::own;
}

/** The source is what it was when DEST's file was made. */
bool is_proven(const Pair& pair) {
  return !pair.options().checksum && is_same_time(pair.src.mtime, pair.dst.mtime) &&
         is_proven_older(pair.folder(), pair.src, pair.dst);
}

/**
 * One more name of it may be somebody else's, however many SRC's file has: what is set here would be set there.
 */
bool is_shared(const Pair& pair) { return pair.dst.links > 1; }

/** Gives an entry of the same content what else its source has. False where that failed, and was reported. */
bool settle(const Pair& pair) {
  return pair.options().dry_run ||
         settle_other(pair.worker.engine, pair.folder(), pair.names, pair.src, pair.names.dst);
}

enum class Contents : uint8_t { same, differ, left };  // left: nothing is to be done now

Contents compare(const Pair& pair, const Compared& before) {
  const Folder& folder = pair.folder();
  Handle src, dst;
  bool without_atime = folder.without_atime.load(std::memory_order_relaxed);
  const auto open = [&](const Handle& where, const char* name, Follow links, Handle& out) {
    return pair.worker.with_descriptor(
        [&] { return platform::open_source_file(where, name, links, without_atime, out); });
  };
  const int error = open(folder.src(), pair.names.src, pair.options().follow(), src);
  if (error < 0) {
    pair.fail(error, "open");
    return Contents::left;
  }
  // One that may not be read is replaced.
  if (open(folder.dst(), pair.names.dst, Follow::no, dst) < 0) return Contents::differ;
  // Somebody may have put a FIFO or a device in the place of what was looked at.
  Stat opened;
  if (platform::stat_handle(dst, opened) < 0 || opened.kind != Kind::file) return Contents::differ;
  if (platform::stat_handle(src, opened) < 0 || is_changed(pair.src, opened)) {
    return Contents::differ;
  }

  const bool resumed = before.src_ctime == pair.src.ctime && before.dst_ctime == pair.dst.ctime;
  const Comparison found =
      compare_content(pair.worker, src, dst, resumed ? before.offset : 0, pair.src.size, true);
  switch (found.outcome) {
    case Comparison::failed: pair.fail(found.error, found.operation); return Contents::left;
    case Comparison::differs: return Contents::differ;
    case Comparison::stopped: return Contents::left;
    case Comparison::left:
      pair.worker.engine.stack.push(
          EntryTask{pair.use.again(), pair.names.src, pair.names.dst, Kind::file, 0,
                    Compared{found.offset, pair.src.ctime, pair.dst.ctime}});
      return Contents::left;
    case Comparison::same: break;
  }
  Stat now;
  const bool whole = platform::stat_handle(src, now) == 0 && !is_changed(pair.src, now);
  return whole ? Contents::same : Contents::differ;
}

bool is_current_file(const Pair& pair, const Compared& compared) {
  if (pair.src.size != pair.dst.size) return false;
  const bool proven = is_proven(pair);
  if (proven && pair.is_settled()) return pair.skip();
  if (!proven) {
    const Contents contents = compare(pair, compared);
    if (contents != Contents::same) return contents == Contents::left;
    // Attributes, which nobody has looked at, may be what changed.
    const bool whole = is_shared(pair) && !pair.options().preserve.xattrs;
    if (pair.is_settled() && (pair.options().dry_run || whole)) return pair.skip();
  }
  if (is_shared(pair)) return false;
  if (!settle(pair)) return true;
  // What came meanwhile was not looked at, and the copy would look newer.
  Stat now;
  const int error =
      platform::stat_entry(pair.folder().src(), pair.names.src, now, pair.options().follow());
  if (error < 0 || is_changed(pair.src, now)) return false;
  return pair.skip(Action::touch);
}

/** For what is the same but for what lies beside its content. */
bool is_current_otherwise(const Pair& pair) {
  if (pair.is_settled()) return pair.skip();
  if (is_shared(pair)) return false;
  return settle(pair) ? pair.skip(Action::touch) : true;
}

bool is_current_link(const Pair& pair) {
  std::string src, dst;
  platform::LinkKind src_kind{}, dst_kind{};
  if (const int error = read_text(pair.folder().src(), pair.names.src, src, src_kind); error < 0) {
    return pair.fail(error, "readlink");
  }
  const int error = read_text(pair.folder().dst(), pair.names.dst, dst, dst_kind);
  if (error < 0 || src != dst || src_kind != dst_kind) return false;
  return is_current_otherwise(pair);
}

bool is_current(const Pair& pair, const Compared& compared) {
  if (pair.dst.kind != pair.src.kind) return false;
  switch (pair.src.kind) {
    case Kind::file: return is_current_file(pair, compared);
    case Kind::link: return is_current_link(pair);
    default: return pair.src.rdev == pair.dst.rdev && is_current_otherwise(pair);
  }
}

}  // namespace

bool is_same_time(Time src, Time dst) {
  // Some count in steps of 2 s, 1 s, 1 us or 100 ns.
  if (dst.nanoseconds == 0)
    return dst.seconds == src.seconds || dst.seconds == (src.seconds & ~1LL);
  return dst.seconds == src.seconds &&
         (dst.nanoseconds == src.nanoseconds || dst.nanoseconds == src.nanoseconds / 100 * 100 ||
          dst.nanoseconds == src.nanoseconds / 1000 * 1000);
}

bool is_proven_older(const Folder& folder, const Stat& src, const Stat& dst) {
  return is_older(src.ctime, dst.ctime) && has_one_clock(folder);
}

bool is_changed(const Stat& before, const Stat& now) {
  return now.size != before.size || now.mtime != before.mtime || now.ctime != before.ctime ||
         now.ino != before.ino || now.dev != before.dev;
}

bool is_up_to_date(Worker& worker, const FolderUse& use, Names names, Kind kind,
                   const Compared& compared) {
  const Folder& folder = *use;
  Pair pair{worker, use, names};
  if (!folder.has_dst() || platform::stat_entry(folder.dst(), names.dst, pair.dst) < 0) {
    return false;
  }
  if (!stat_source(worker, folder, names, pair.src)) return true;
  if (pair.src.kind != kind) return pair.fail(EBUSY, kRefused);  // it was that when listed

  HardLinks::Claim claim;
  if (!is_first_name(worker, use, names, pair.src, claim)) return true;
  if (!is_current(pair, compared)) return false;  // who copies it claims it anew
  // Else it failed, or is not compared to its end yet: then another name may be the first.
  if (claim && pair.stays) claim.placed(*use, names.dst, pair.dst);
  return true;
}

}  // namespace fastcp
