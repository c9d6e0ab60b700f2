// An open file of SRC and its copy, until the copy has its name. Used in entry/ alone. One worker
// owns it. While helpers copy parts of it, they use its handles, and nobody changes it.
#pragma once

#include <optional>
#include <string>

#include "engine/entry/attributes.h"
#include "engine/entry/entry_task.h"
#include "engine/run/engine.h"

namespace fastcp {

/** A file of DEST whose permissions its replacement gets. */
struct Replaced {
  platform::Stat stat;
  bool has_list;  // an access ACL
};

/**
 * A file between the opening of its source and the naming of its copy. Its destructor removes the
 * copy unless it was committed, so no partial file stays.
 */
class OpenFile {
 public:
  OpenFile(Engine& engine_, Directory& directory_, Names names_)
      : engine(engine_), directory(&directory_), names(names_) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile();

  /**
   * Removes the file that it created, unless that file has its final name or was replaced by
   * another file.
   */
  void discard();

  Engine& engine;
  Directory* directory;
  Names names;
  platform::Handle src, dst;
  platform::Stat stat{};    // of the source, before its content was read
  Attributes attributes{};  // of the source, if they are preserved
  Route* route = nullptr;
  std::string temporary{};             // the copy's name until it replaces DEST's entry
  bool created = false;                // and not committed
  bool unnamed = false;                // nameless until complete
  bool hidden = false;                 // new, and under its temporary name until complete
  bool used = false;                   // `src` and `dst` may stand anywhere
  bool cloned = false;                 // created complete, as a clone
  std::optional<Replaced> replaced{};  // if modes are not preserved and the copy replaces a file
  HardLinks::Claim claim{};
  uint8_t tries = 0;  // earlier tries that failed because the source changed meanwhile
  bool vacated = false, separate = false;  // see EntryTask
  Naming naming = Naming::unnamed;         // see EntryTask
};

/**
 * Opens a file for reading. If another process has a lease on the file, waits for its end, as a
 * blocking open() does. Samba and NFS servers take such leases. Returns -ECANCELED if the worker
 * must leave before: then the entry has to be tried again.
 */
int open_to_read(Worker& worker, const platform::Handle& directory, const char* name,
                 platform::Follow follow, bool& without_atime, platform::Handle& out);

/** Pushes a file as a task for another worker, or a later time. `again` has the facts known so far. */
void put_off(Worker& worker, const DirectoryUse& directory, Names names, const EntryTask& again);

/** The size from which a file is left to threads of the copy's own: the host may need its thread before it is done. */
inline constexpr uint64_t kLongFile = 8 << 20;  // bytes

}  // namespace fastcp
