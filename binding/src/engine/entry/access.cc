#include "engine/entry/access.h"

#include <mutex>

#include "engine/entry/mark.h"
#include "engine/entry/metadata.h"

namespace fastcp {

using platform::Follow;
using platform::Stat;

bool open_up(Engine& engine, Directory& directory) {
  if ((!engine.options.incremental.sync && !directory.due.doomed) || directory.is_base())
    return false;
  const std::lock_guard lock(directory.dest().changing);
  Stat now;
  if (platform::stat_handle(directory.dst(), now) < 0) return false;
  if ((now.mode & kOwner) == kOwner) return directory.due.opened_up;  // by another worker
  if (engine.writer.open_up(directory.dst(), now.mode | kOwner) < 0) return false;
  if (!directory.due.owed_mode && !directory.due.opened_up) directory.due.owed_mode = now.mode;
  directory.due.opened_up = true;
  return true;
}

int discard(Engine& engine, Directory& directory, const char* name) {
  const int error = engine.writer.remove_file(engine, directory, name);
  Stat left;
  if (error == 0 || error == -ENOENT || stat_with_access(engine, directory, name, left) == -ENOENT)
    return 0;
  fail_in_dest(engine, directory, name, error, "unlink");
  return error;
}

bool fail_in_dest(Engine& engine, const Directory& directory, const char* name, int error,
                  const char* operation) {
  return engine.fail({error < 0 ? -error : error, operation, directory.dst_path(name), {}},
                     &directory);
}

bool stat_source(Worker& worker, const Directory& directory, Names names, Stat& stat) {
  const Follow follow = worker.engine.options.traversal.follow();
  const int error = platform::stat_entry(directory.src(), names.src, stat, follow);
  if (error < 0)
    return worker.fail(directory, names, error, follow == Follow::yes ? "stat" : "lstat");
  note_source(worker.engine, directory, stat);
  return true;
}

}  // namespace fastcp
