// One entry of a folder: made under its own name, or beside what DEST has and renamed over it.
#pragma once

#include <string>

#include "attributes.h"
#include "engine.h"
#include "hard_links.h"

namespace fastcp {

/**
 * A file between opening its source and having its copy under its name. Removes what it created
 * unless it was committed: no partial file is left behind.
 */
class OpenFile {
 public:
  OpenFile(Folder& folder_, Names names_) : folder(&folder_), names(names_) {}
  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&&) = delete;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile();

  /** Makes it independent of the caller's folder and names, in the place where it is to stay. */
  int keep(const FolderUse& use);

  Folder* folder;
  Names names;
  platform::Handle src, dst;
  platform::Stat stat{};    // of the source, before its content was read
  Attributes attributes{};  // of the source, where they are preserved
  Route* route = nullptr;
  uint32_t creation_mode = 0;
  std::string temporary{};  // the name it has until it replaces what DEST had
  bool created = false;     // and not committed
  bool cloned = false;      // created whole, as a clone
  HardLinks::Claim claim{};
  uint8_t tries = 0;  // before this one, that ended with a source that had changed

 private:
  FolderUse use_{};
  FolderPin pin_{};
  std::string src_name_{}, dst_name_{};
};

/** Copies an entry of `folder`; a folder is pushed as a task. */
void copy_entry(Worker& worker, const FolderUse& folder, Names names, platform::Kind kind);

/** For an entry that had to wait until another one was copied. */
void copy_entry_again(Worker& worker, const EntryTask& task);

void copy_large_file(Worker& worker, const LargeFileTask& task);

struct Content;

/** The last step of every file: content is there or failed; mode, name, counters and report. */
void finish_file(Worker& worker, OpenFile& file, Content content);

}  // namespace fastcp
