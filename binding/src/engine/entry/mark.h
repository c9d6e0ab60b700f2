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
// than `began`, and its copy's is not newer than `finished`: rename() and link() renew a ctime, too. Where an
// exchange of names does not, neither directory may have changed since. A mark says nothing about an entry of DEST
// that the selection excluded, so a directory with such an entry gets none.
#pragma once

#include "engine/run/engine.h"

namespace fastcp {

/** Before a directory of SRC is listed. `began`: platform::change_time_floor() before it was looked at. */
void begin_sync(Engine& engine, Directory& directory, platform::Time began);

/** When DEST's directory is there: reads its mark, if the copy syncs. */
void read_mark(Engine& engine, Directory& directory);

/** Removes the mark of a directory in which a copy that does not sync is going to write. */
void remove_mark(const Directory& directory);

/** Whether the mark proves that an entry, looked at just now, has the content that it had when it was copied. */
bool is_proven(const Directory& directory, const platform::Stat& src, const platform::Stat& dst);

/** Whether the mark also proves attributes, as far as this process can see them. */
bool has_proven_attributes(const Engine& engine, const Directory& directory);

/** Whether write_mark() has something to do when the directory's last use ends. */
bool owes_mark(const Engine& engine, const Directory& directory);

/** Writes the mark of a finished directory, if every copied entry in it is known to equal its source. */
void write_mark(Engine& engine, Directory& directory);

/** Whether an empty directory of ours can have a mark that proves something: 0 or a negative errno. */
int can_mark(const platform::Handle& directory);

}  // namespace fastcp
