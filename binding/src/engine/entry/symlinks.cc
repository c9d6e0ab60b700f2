#include "engine/entry/symlinks.h"

#include <array>
#include <string>
#include <utility>

#include "engine/base/link_target.h"
#include "engine/entry/create_at_once.h"
#include "engine/entry/hard_link.h"

namespace fastcp {

using platform::Kind;
using platform::LinkKind;
using platform::Stat;

namespace {

/** Returns a path to the directory that has an entry. */
std::string directory_path(const std::string& entry_path) {
  return std::string(directory_of(entry_path));
}

}  // namespace

int read_link_target(const platform::Handle& directory, const char* name, std::string& text,
                     LinkKind& kind) {
  std::array<char, 4097> target;  // PATH_MAX and one more, to see that the target fitted
  const int64_t length =
      platform::read_symlink(directory, name, target.data(), target.size(), kind);
  if (length < 0) return static_cast<int>(length);
  text.assign(target.data(), static_cast<size_t>(length));
  return 0;
}

void copy_symlink(Worker& worker, const DirectoryUse& use, Names names, EntryTask& again) {
  Directory& directory = *use;
  const Options& options = worker.engine.options;
  const Preserve& keep = options.preserve;
  const bool settles = keep.timestamps || keep.ownership || keep.xattrs;
  Stat stat;
  HardLinks::Claim claim;
  if (settles || keep.hard_links) {
    const int error = platform::stat_entry(directory.src(), names.src, stat);
    if (error < 0) {
      worker.fail(directory, names, error, "lstat");
      return;
    }
    if (!claim_or_link(worker, use, names, stat, claim, again)) return;
  }
  std::string text;
  LinkKind kind{};
  if (const int error = read_link_target(directory.src(), names.src, text, kind); error < 0) {
    worker.fail(directory, names, error, "readlink");
    return;
  }
  if (options.compatibility.absolute_symlinks && platform::root_length(text) == 0) {
    text = resolve(directory_path(directory.src_path(names.src)), text);
  }
  const bool made = create_at_once(
      worker, directory, names, Kind::symlink, "symlink",
      [&](const char* name) {
        return platform::make_symlink(directory.dst(), name, text.c_str(), kind);
      },
      [&](const char* name) {
        return settles ? settle_other(worker.engine, directory, names, stat, name) : Settled::yes;
      });
  if (!made) return;
  worker.count(Count::symlinks);
  end_claim(worker, directory, names, std::move(claim));
}

}  // namespace fastcp
