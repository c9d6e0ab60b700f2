// The mark: how `sync` and `mirror` know, without reading a file, that its copy is still the same.
//
// Size and mtime prove nothing, since npm, Yarn and Nix give every file one mtime. A ctime proves that an inode
// did not change, but not that the copy was made from this inode. So a run that finished a directory of DEST
// writes an extended attribute on it:
//
//   source    the directory of SRC that it was made from
//   began     ctimes in SRC that are older belong to what that run read, or to what was there before
//   finished  ctimes in DEST that are not newer belong to what that run left
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

/** What a copy that syncs knows of a directory. Of it all but `is_news` is set before other workers see it. */
struct SyncState {
  platform::Identity source;
  platform::Time began;
  std::optional<Mark> mark{};  // that DEST has, and that names `source`
  std::optional<Mark> seen{};  // that DEST has, whatever it names
  uint64_t errors = 0;         // of the whole copy, when it came to this directory
  /** Names, each ended by a NUL, that are not selected: set where the host answers, before its tasks run. */
  std::string excluded{};
  /** Something in it is the same by now, and the mark does not say so. */
  std::atomic<bool> is_news{false};
  /** Something in it was taken for the same without proof. */
  std::atomic<bool> is_doubtful{false};
};

/** Before a directory of SRC is listed. */
void begin_sync(Engine& engine, Folder& folder);

/** When DEST's directory is there: reads its mark or, where the copy does not sync, removes it. */
void read_mark(Engine& engine, Folder& folder);

/** Whether the mark proves that an entry, looked at just now, has the content that it had when it was copied. */
bool is_proven(const Folder& folder, const platform::Stat& src, const platform::Stat& dst);

/** Whether the mark also proves attributes, as far as this process can see them. */
bool has_proven_attributes(const Folder& folder);

/** Whether write_mark() has something to do when the directory's last use ends. */
bool owes_mark(const Engine& engine, const Folder& folder);

/** Marks a directory, whose entries are all done, where each is known to be the same. */
void write_mark(Engine& engine, Folder& folder);

/** Whether an empty directory of ours can have a mark that proves something: 0 or a negative errno. */
int can_mark(const platform::Handle& directory);

/**
 * Returns when no change from now on gets a ctime that a mark written until now covers: the kernel's clock of
 * ctimes may be some milliseconds late.
 */
void settle_clock();

}  // namespace fastcp
