// The mark proves that a file is unchanged since it was copied, without reading it. `sync` and `mirror` use it.
//
// Size and mtime prove nothing, because npm, Yarn and Nix give every file one mtime. A ctime proves that an inode did
// not change, but not that the copy was made from this inode. So a run that finished a directory of DEST writes an
// extended attribute on that directory:
//
//   source    the directory of SRC that it was copied from
//   began     if a source file's ctime is older, the file has not changed since that run read it. The clock alone would
//             not tell: SRC may be a snapshot, and the next one is mounted in its place with changes from between the
//             first one and the run. So `began` is also just after the newest ctime of the directory and its entries.
//   finished  if a copy's ctime is not newer, nobody has changed the copy since
//
// A file is unchanged if all of these are true:
//
//   - the mark names the directory of SRC that is being read,
//   - the source file's ctime is older than `began`,
//   - the copy's ctime is not newer than `finished`.
//
// rename() and link() renew a ctime also. On some file systems an exchange of two names does not. There, neither directory
// may have changed since. If one of them has, a run that writes no new mark removes the old one, because the run also sets the
// mtime of DEST's directory, and that mtime alone shows the exchange.
//
// A mark says nothing about an entry of DEST that the selection excluded, so a directory with such an entry gets no mark.
// Nor does a directory that was opened but not listed (`oneFileSystem`), or of which a shard is copied.
//
// Whoever writes an entry renews its ctime. So an old mark stays true, also where a copy without marks writes. Nothing tells
// a mark of entries that another copy writes at the same time: locks keep copies apart (lib/placement/locks.ts), but not those of
// fastcp/fs (docs/again.md).
//
// base/sync_state.h says which thread sets which member.
#pragma once

#include "engine/run/engine.h"

namespace fastcp {

/**
 * Called before a directory of SRC is listed. `began`: platform::change_time_floor() before the
 * first look at it.
 */
void begin_sync(Engine& engine, Directory& directory, platform::Time began);

/** Reads the mark of DEST's directory, if the copy syncs. Called when that directory exists. */
void read_mark(Engine& engine, Directory& directory);

/** Called with what a look at SRC's directory or an entry of it found, before the entry is copied or taken for equal. */
void note_source(const Engine& engine, const Directory& directory, const platform::Stat& src);

/**
 * Returns whether the copy may mark directories. One of several shards does not know the work of the others, and quickCheck
 * proves nothing.
 */
inline bool can_get_mark(const Options& options) {
  return options.traversal.shards <= 1 && !options.incremental.quick_check;
}

/**
 * Returns whether the mark proves that an entry still has the content that was copied. `src` and
 * `dst` must be fresh.
 */
bool is_proven(const Directory& directory, const platform::Stat& src, const platform::Stat& dst);

/** Returns whether the mark also proves attributes, as far as this process can see them. */
bool has_proven_attributes(const Engine& engine, const Directory& directory);

/** Returns whether write_mark() has something to do when the directory's last use ends. */
bool owes_mark(const Options& options, const Directory& directory);

/**
 * Writes the mark of a finished directory, if every copied entry in it is known to equal its
 * source.
 */
void write_mark(Engine& engine, Directory& directory);

/**
 * Probes whether an empty directory of fastcp can have a mark that proves something. Returns 0 or a
 * negative errno.
 */
int can_mark(const platform::Handle& directory);

}  // namespace fastcp
