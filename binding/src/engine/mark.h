// The mark: how `sync` and `mirror` know, without reading a file, that its copy is still the same.
//
// Size and mtime prove nothing, since npm, Yarn and Nix give every file one mtime. A ctime proves that an inode
// did not change, but not that the copy was made from this inode. So a run that finished a directory of DEST
// writes an extended attribute on it:
//
//   source    the directory of SRC that it was made from
//   began     if a source file's ctime is older, the file has not changed since that run read it
//   finished  if a copy's ctime is not newer, nobody has changed the copy since
//
// A file in a directory with a mark for the directory that is being read is unchanged where its ctime is older
// than `began`, and its copy's is not newer than `finished`: rename() and link() renew a ctime, too. A mark
// says nothing about entries that were not copied, so a directory with such an entry gets none.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "folder.h"

namespace fastcp {

class Engine;

struct Mark {
  platform::Identity source;
  platform::Time began, finished;
  // platform::attribute_view() of whoever found that xattrs, ACLs and capabilities are the same; else 0.
  uint32_t attributes;
  bool operator==(const Mark&) const = default;
};

/** What a copy that syncs knows of a directory. Set before other workers see it, unless a member says otherwise. */
struct SyncState {
  platform::Identity source{};
  platform::Time began;
  std::optional<Mark> mark{};  // that DEST has, and that names `source`
  std::optional<Mark> seen{};  // that DEST has, whatever it names
  uint64_t errors = 0;         // of the whole copy, when it came to this directory
  /**
   * Names, each ended by a NUL, that are not selected. Appended while the directory's question is answered, read
   * when its last use ends.
   */
  std::string excluded{};
  /** Something in it is the same by now, and the mark does not say so. Set by any worker. */
  std::atomic<bool> is_news{false};
  /** Something in it was taken for the same without proof. Set by any worker. */
  std::atomic<bool> is_doubtful{false};
};

/** Before a directory of SRC is listed. */
void begin_sync(Engine& engine, Folder& folder);

/** When DEST's directory is there: reads its mark or, where the copy does not sync, removes it. */
void read_mark(Engine& engine, Folder& folder);

/** Whether the mark proves that an entry, looked at just now, has the content that it had when it was copied. */
bool is_proven(const Folder& folder, const platform::Stat& src, const platform::Stat& dst);

/** Whether the mark also proves attributes, as far as this process can see them. */
bool has_proven_attributes(const Engine& engine, const Folder& folder);

/** Whether write_mark() has something to do when the directory's last use ends. */
bool owes_mark(const Engine& engine, const Folder& folder);

/** Writes the mark of a finished directory, if every copied entry in it is known to equal its source. */
void write_mark(Engine& engine, Folder& folder);

/** Whether an empty directory of ours can have a mark that proves something: 0 or a negative errno. */
int can_mark(const platform::Handle& directory);

/**
 * Waits until the kernel's clock of ctimes, which may be some milliseconds late, is past every mark written so
 * far: then no later change is covered by one.
 */
void settle_clock();

}  // namespace fastcp
