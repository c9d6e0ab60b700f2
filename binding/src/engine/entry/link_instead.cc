#include "engine/entry/link_instead.h"

#include <string>

#include "engine/entry/create_at_once.h"

namespace fastcp {

using platform::Kind;
using platform::LinkKind;
using platform::Stat;

bool is_the_link_already(Worker& worker, const Directory& directory, Names names) {
  const Options& options = worker.engine.options;
  Stat src, there;
  // Renaming one hard link of a file over another one of it does nothing.
  if (options.content.instead != Instead::hard_link || !directory.has_dst() ||
      platform::stat_entry(directory.dst(), names.dst, there) < 0 ||
      platform::stat_entry(directory.src(), names.src, src, options.traversal.follow()) < 0 ||
      src.dev != there.dev || src.ino != there.ino) {
    return false;
  }
  worker.count(Count::unchanged);
  worker.note(directory, names, Action::skip, Kind::file);
  return true;
}

void make_link_instead(Worker& worker, Directory& directory, Names names) {
  const Options& options = worker.engine.options;
  const bool hard = options.content.instead == Instead::hard_link;
  const std::string text = hard ? "" : directory.src_path(names.src);
  const bool made = create_at_once(
      worker, directory, names, Kind::file, hard ? "link" : "symlink",
      [&](const char* name) {
        return hard ? platform::make_hard_link(directory.src(), names.src,
                                               options.traversal.follow(), directory.dst(), name)
                    : platform::make_symlink(directory.dst(), name, text.c_str(), LinkKind::file);
      },
      [](const char*) { return Settled::yes; });
  if (made) worker.count(hard ? Count::hard_links : Count::symlinks);
}

}  // namespace fastcp
