// A file of SRC that is open, and its copy as long as that has no name.
#pragma once

#include <string>

#include "engine/entry/attributes.h"
#include "engine/entry/entry_task.h"
#include "engine/run/engine.h"

namespace fastcp {

/**
 * A file between opening its source and having its copy under its name. Removes what it created
 * unless it was committed: no partial file is left behind.
 */
class OpenFile {
 public:
  OpenFile(Directory& directory_, Names names_) : directory(&directory_), names(names_) {}
  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&&) = delete;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile();

  /** Removes what it created, unless that has its name for good or is another file by now. */
  void discard();

  /** Makes it independent of the caller's directory and names, in the place where it is to stay. */
  int keep(const DirectoryUse& use);

  Directory* directory;
  Names names;
  platform::Handle src, dst;
  platform::Stat stat{};    // of the source, before its content was read
  Attributes attributes{};  // of the source, where they are preserved
  Route* route = nullptr;
  uint32_t creation_mode = 0;
  std::string temporary{};  // the name it has until it replaces what DEST had
  bool created = false;     // and not committed
  bool unnamed = false;     // until it is whole: in its directory nothing could be removed
  bool cloned = false;      // created whole, as a clone
  HardLinks::Claim claim{};
  uint8_t tries = 0;  // before this one, that ended with a source that had changed

 private:
  DirectoryUse use_{};
  DirectoryPin pin_{};
  std::string src_name_{}, dst_name_{};
};

/**
 * Opens a file for reading. Waits, as an open() that may block does, while another process gives up a lease
 * on the file (Samba and NFS servers take them); `leased_since` is when that began. -ECANCELED if the worker
 * has to leave before: then the entry is to be tried again.
 */
int open_to_read(Worker& worker, const platform::Handle& directory, const char* name,
                 platform::Follow follow, bool& without_atime, Clock::time_point& leased_since,
                 platform::Handle& out);

/** After open_to_read() said -ECANCELED: makes the entry a task again, with what `again` knows of it. */
void wait_for_lease(Worker& worker, const DirectoryUse& directory, Names names,
                    const EntryTask& again, Clock::time_point leased_since);

}  // namespace fastcp
