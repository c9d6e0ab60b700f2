#include "engine/entry/hard_link.h"

#include <cerrno>
#include <string>
#include <utility>

#include "engine/entry/entry_task.h"
#include "engine/entry/names.h"
#include "engine/entry/place.h"

namespace fastcp {

using platform::Follow;
using platform::Kind;
using platform::Stat;

namespace {

/** Returns whether DEST's name is already a hard link to the copy. */
bool is_linked(const Directory& directory, Names names, const HardLinks::Place& copy) {
  Stat there;
  return directory.has_dst() && platform::stat_entry(directory.dst(), names.dst, there) == 0 &&
         there.dev == copy.dev && there.ino == copy.ino;
}

}  // namespace

bool link_to_copy(Worker& worker, Directory& directory, Names names, Kind kind,
                  const HardLinks::Place& copy) {
  std::string temporary;
  DirectoryPin pin;
  int error = pin.pin(*copy.directory);
  if (error == 0) {
    error = place(worker, directory, names, kind, temporary, [&](const char* name) {
      return platform::make_hard_link((*copy.directory).dst(), copy.name.c_str(), Follow::no,
                                      directory.dst(), name);
    });
  }
  if (error == kNotPlaced) return true;
  const char* name = temporary.empty() ? names.dst : temporary.c_str();
  const char* operation = "link";
  if (error == 0) {
    // Another program may have put another entry under the name of the copy. Some servers give each name a number of its own
    // (sshfs, mergerfs): then the first name still has the one that it had.
    Stat made, first;
    error = platform::stat_entry(directory.dst(), name, made);
    if (error < 0) operation = "lstat";
    const auto is_copy = [&](const Stat& stat) {
      return stat.dev == copy.dev && stat.ino == copy.ino;
    };
    if (error == 0 && !is_copy(made)) {
      const bool is_there =
          platform::stat_entry((*copy.directory).dst(), copy.name.c_str(), first) == 0;
      if (!is_there || !is_copy(first)) error = -ESTALE;
      // Only the hard link that was just created, not another program's entry.
      if (error < 0 && temporary.empty() && is_there && is_same_entry(first, made))
        discard(worker.engine, directory, name);
    }
  }
  if (error < 0) {
    const bool is_copied = worker.engine.lose(directory, names, Loss::hard_links, error, operation);
    if (!temporary.empty()) discard(worker.engine, directory, name);
    return !is_copied;
  }
  if (!commit(worker, directory, names, temporary, Entry::link)) {
    discard(worker.engine, directory, name);
    return true;
  }
  worker.count(Count::hard_links);
  worker.note(directory, names, Action::hard_link, kind);
  return true;
}

bool claim_or_link(Worker& worker, const DirectoryUse& use, Names names, const Stat& src,
                   HardLinks::Claim& claim, EntryTask& again) {
  const Options& options = worker.engine.options;
  // A comparison looks at every name.
  if (!options.preserve.hard_links || options.compares || again.separate ||
      !worker.engine.hard_links.may_recur(src)) {
    return true;
  }
  HardLinks::Place copy;
  TaskPtr later = make_task(EntryTask{.directory = use.again(),
                                      .src_name = names.src,
                                      .dst_name = names.dst,
                                      .kind = src.kind,
                                      .vacated = again.vacated});
  switch (worker.engine.hard_links.take(src, std::move(later), claim, copy)) {
    case HardLinks::Role::first: return true;
    case HardLinks::Role::wait: return false;
    case HardLinks::Role::changed:
      again.separate = true;
      return worker.engine.lose(*use, names, Loss::hard_links, EBUSY, kRefused);
    default: break;
  }
  // Perhaps its content is newer than the copy, and older than the mark of this directory.
  if (src.ctime != copy.source_ctime) use->due.distrust();
  if (is_linked(*use, names, copy)) {
    // The name may lead there only because DEST takes two names of SRC for one.
    if (is_collision(*use, names.dst)) {
      worker.engine.hard_links.met(src);
      return worker.fail(*use, names, EEXIST, kCollision);
    }
    worker.count(Count::unchanged);
    worker.note(*use, names, Action::skip, src.kind);
  } else if (!worker.engine.writer.link(worker, *use, names, src.kind, copy, again.vacated)) {
    again.separate = true;
    return true;
  }
  worker.engine.hard_links.met(src);
  return false;
}

void end_claim(Worker& worker, Directory& directory, Names names, HardLinks::Claim claim) {
  if (!claim) return;
  Stat made;
  if (const int error = platform::stat_entry(directory.dst(), names.dst, made); error < 0) {
    // The other names become a separate file.
    worker.engine.lose(directory, names, Loss::hard_links, error, "lstat");
  } else {
    claim.placed(directory, names.dst, made);
  }
}

}  // namespace fastcp
