#include <algorithm>
#include <cerrno>

#include "engine/entry/access.h"
#include "engine/entry/directory_end.h"
#include "engine/entry/entry_task.h"
#include "engine/entry/existing.h"
#include "engine/entry/hard_link.h"
#include "engine/entry/writers.h"

namespace fastcp {
namespace {

using platform::Kind;
using platform::Stat;

/** Counts an entry as its copy would be. */
void count(Worker& worker, Kind kind, const Stat& src) {
  const Instead instead = worker.engine.options.content.instead;
  if (kind == Kind::file && instead == Instead::copy) {
    worker.count(Count::bytes, std::min(src.size, src.allocated));
    worker.count(Count::files);
  } else if (kind == Kind::file) {
    worker.count(instead == Instead::hard_link ? Count::hard_links : Count::symlinks);
  } else {
    worker.count(kind == Kind::symlink ? Count::symlinks : Count::special);
  }
}

/** Here some entries are still in DEST that a real run would have removed: see `vacated`. */
// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): nobody derives from it nor deletes it
class DryRunWriter final : public Writer {
 public:
  void copy(Worker& worker, const DirectoryUse& use, Names names, Kind kind,
            EntryTask& again) const override {
    Directory& directory = *use;
    Stat src;
    if (!stat_source(worker, directory, names, src)) return;
    HardLinks::Claim claim;
    const bool copies =
        kind != Kind::file || worker.engine.options.content.instead == Instead::copy;
    if (copies && !claim_or_link(worker, use, names, src, claim, again)) return;
    const bool taken = !again.vacated && may_exist(directory, names);
    if (taken && judge(worker, directory, names, kind) != Decision::replace) return;
    count(worker, kind, src);
    worker.note(directory, names, taken ? Action::replace : Action::copy, kind);
    if (claim) claim.placed(directory, names.dst, Stat{});  // no entry of DEST could be its copy
  }

  bool link(Worker& worker, Directory& directory, Names names, Kind kind, const HardLinks::Place&,
            bool vacated) const override {
    const bool taken = !vacated && may_exist(directory, names);
    if (taken && judge(worker, directory, names, kind) != Decision::replace) return true;
    worker.count(Count::hard_links);
    worker.note(directory, names, Action::hard_link, kind);
    return true;
  }

  bool settle(Engine&, const Directory&, Names, const Stat&, const Stat&) const override {
    return true;
  }

  Trial try_metadata(Worker&, Directory&, Names, const Stat&, const Stat&) const override {
    return Trial::differs;
  }

  int make_directory(Engine&, Directory& parent, const char* name, uint32_t,
                     bool vacated) const override {
    return !vacated && may_exist(parent, {name, name}) ? -EEXIST : kPlanned;
  }

  void begin_directory(Engine& engine, Directory& directory) const override {
    plan_directory(engine, directory);
  }

  bool can_create(Worker&, Directory&, Names, Kind) const override { return true; }

  int open_up(const platform::Handle&, uint32_t) const override { return -EACCES; }

  int remove_file(Engine&, Directory&, const char*) const override { return 0; }

  int remove_directory(Engine&, Directory& directory) const override {
    return directory.due.kept ? -ENOTEMPTY : 0;
  }
};

}  // namespace

const Writer& dry_run_writer() {
  static constexpr DryRunWriter writer{};
  return writer;
}

}  // namespace fastcp
