#include "engine/entry/place.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "engine/entry/backups.h"

namespace fastcp {

std::string temporary_name(Worker& worker, const char* name) {
  const char* slash = std::strrchr(name, '/');
  std::string result(name, slash == nullptr ? 0 : static_cast<size_t>(slash - name) + 1);
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), ".fastcp-%016llx",
                static_cast<unsigned long long>(worker.engine.next_temporary()));
  return result + text.data();
}

bool commit(Worker& worker, Directory& directory, Names names, const std::string& temporary,
            Entry entry) {
  if (temporary.empty()) return true;
  Engine& engine = worker.engine;
  const Backup backup = engine.options.existing.backup;
  std::string kept;
  if (backup != Backup::none) {
    const int error = back_up(engine, directory, names.dst, backup, kept);
    if (error == -ENOENT) {
      kept.clear();  // another program has removed it meanwhile
    } else if (error < 0) {
      return worker.fail(directory, names, error, "rename");
    }
  }
  const int error = with_access(engine, directory, [&] {
    return platform::rename_over(directory.dst(), temporary.c_str(), names.dst);
  });
  if (error < 0) {
    worker.fail(directory, names, error, "rename");
    if (!kept.empty()) undo_back_up(engine, directory, names.dst, kept);
    return false;
  }
  // If another copy has linked the same file to that name meanwhile, rename() does nothing.
  if (entry == Entry::link) discard(engine, directory, temporary.c_str());
  return true;
}

}  // namespace fastcp
