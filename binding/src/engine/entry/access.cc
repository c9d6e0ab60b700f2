#include "engine/entry/access.h"

#include <mutex>

#include "engine/entry/metadata.h"

namespace fastcp {

using platform::Stat;

bool open_up(Engine& engine, Folder& folder) {
  const Options& options = engine.options;
  if ((!options.update && options.shards == 1 && !folder.doomed) || folder.is_base()) return false;
  const std::lock_guard lock(folder.changing);
  Stat now;
  if (platform::stat_handle(folder.dst(), now) < 0) return false;
  if ((now.mode & kOwner) == kOwner) {
    // Somebody else may just have done it.
    return folder.opened_up || options.shards > 1;
  }
  if (platform::set_folder_mode(folder.dst(), now.mode | kOwner) < 0) return false;
  if (!folder.owed_mode && !folder.opened_up) folder.owed_mode = now.mode;
  folder.opened_up = folder.owed = true;
  return true;
}

}  // namespace fastcp
