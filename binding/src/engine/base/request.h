// The user's request, as lib/request/request.ts describes it. addon.cc creates it. It does not change
// while the copy runs, so no lock guards it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platform/platform.h"

namespace fastcp {

/** The host's number of a directory whose entries it selects; 0: everything is included. */
using Scope = uint32_t;

enum class Reflink : uint8_t { automatic, always, never };

/**
 * What the copy creates for a file: a copy, a hard link to the file of SRC, or a symlink to that
 * file.
 */
enum class Instead : uint8_t { copy, hard_link, symlink };

/** The backup name of a replaced entry: a number, or as `cp --backup=existing` chooses. */
enum class Backup : uint8_t { none, numbered, existing };

/** Metadata that is preserved. */
struct Preserve {
  /** Preserves the mode. Otherwise new entries get the mode that umask leaves. */
  bool mode = true;
  /** Preserves the mtime. A source is then checked once more after its copy (copy_entry.cc). */
  bool timestamps = false;
  /** Preserves user and group. */
  bool ownership = false;
  /**
   * As fs.cp: preserves user and group of files if the process may set them (libuv's
   * uv_fs_copyfile()), and setuid and setgid of directories for any owner (fs.chmod()).
   */
  bool as_node = false;
  /** Preserves extended attributes, ACLs and capabilities. */
  bool xattrs = false;
  /** Hard links to one file stay hard links to one file (run/hard_links.h). */
  bool hard_links = false;
  /**
   * Also applies this group to directories that already exist in DEST. Otherwise only new
   * directories get it.
   */
  bool existing_directories = false;
  /** Also applies timestamps to directories that already exist in DEST, as fs.cp of Node 26 does. */
  bool existing_directory_times = false;
};

/** How the content of a file is copied. */
struct Content {
  /** Clones files if that pays, always (otherwise it is an error), or never. */
  Reflink reflink = Reflink::automatic;
  /** Blocks of zeros become holes. Excludes cloning and copy_file_range(). */
  bool find_holes = false;
  /** Each copy is read back and compared with its source before it gets its name. */
  bool verify = false;
  /** Each file is synchronized before it gets its name, each directory when it is finished. */
  bool fsync = false;
  /** What the copy creates for a file. */
  Instead instead = Instead::copy;
};

/** The rules for an entry of DEST, not a directory, whose name also exists in SRC. */
struct Existing {
  /** Replaces the entry. Otherwise the entry stays. */
  bool force = true;
  /** Without `force`: an entry that stays is an error. */
  bool error_on_exist = false;
  /** With `force`: replaces the entry only if SRC has a newer mtime, as `cp -u` does. */
  bool update = false;
  /** Keeps a replaced entry under another name: back_up() in entry/backups.h. */
  Backup backup = Backup::none;
};

/** What a repeated copy does not touch, and what it deletes. */
struct Incremental {
  /** Skips unchanged entries (entry/unchanged.h), and marks directories of DEST (entry/mark.h). */
  bool sync = false;
  /** With `sync`: only equal contents prove that a file is unchanged. */
  bool checksum = false;
  /** With `sync`: equal size and mtime are enough. */
  bool quick_check = false;
  /** With `sync`: deletes entries that only DEST has (tree/mirror.h). */
  bool mirror = false;
  /** With `mirror`: also deletes entries that the selection excludes. */
  bool delete_excluded = false;
  /** With `sync`: devices whose ctimes prove nothing, because an overlay copies metadata alone there. */
  std::vector<uint64_t> distrusted{};
};

/** Which entries of SRC are visited, and whether symlinks are followed. */
struct Traversal {
  /** A symlink in SRC stands for its target. */
  bool dereference = false;
  /** Skips directories where another file system is mounted: tree/copy_directory.cc. */
  bool one_file_system = false;
  /** This copy's part of the tree, counted from 0, and the number of parts (0: it is no shard): tree/shard.h. */
  uint32_t shard = 0, shards = 0;

  /** The argument of platform calls that look at an entry of SRC. */
  [[nodiscard]] platform::Follow follow() const {
    return dereference ? platform::Follow::yes : platform::Follow::no;
  }
};

/** The program whose rules apply: fastcp/fs and fastcp/fs-extra set another one than fastcp. */
enum class Like : uint8_t { fastcp, node, fs_extra };

/** Rules of other programs that differ from fastcp's: entry/foreign_rules.h. */
struct Compatibility {
  Like like = Like::fastcp;
  /** Relative symlinks become absolute. */
  bool absolute_symlinks = false;
  /** Unless `like` is fastcp: the process's working directory. */
  std::string working_directory{};
};

/** What is reported, and which errors end the copy. */
struct Reporting {
  /** The first error ends the copy. */
  bool stop_on_error = true;
  /** Metadata that cannot be preserved is an error, not a warning. */
  bool strict = false;
  /** Notes every entry in the journal (base/report.h). */
  bool journal = false;
};

/** All options of a copy. A function takes only the group that it needs. */
struct Options {
  Preserve preserve{};
  Content content{};
  Existing existing{};
  Incremental incremental{};
  Traversal traversal{};
  Compatibility compatibility{};
  Reporting reporting{};
  /** Atomic replacement: the path of the old DEST, whose place the copy will take. Else empty. */
  std::string replaces{};
  /** The number in the first temporary name. Random, so that processes use different names. */
  uint64_t first_temporary = 0;
  /** Nothing in DEST changes. Counters and journal are those of a real copy. */
  bool dry_run = false;
  /**
   * With `dry_run`: reports how two trees differ. Nothing is refused. An entry that cannot be read
   * is an error.
   */
  bool compares = false;
};

/** A pair SRC -> DEST of the user, both whole paths. */
struct Root {
  std::string src, dst;
  bool follow_src;  // SRC ends in a slash: a symlink there is followed
  Scope scope;      // 0 unless the host selects what is copied of the directory
  bool remove;      // nothing is copied: the directory at DEST is removed
  bool follow_dst;  // DEST was named by the user: a symlink to a directory there is followed
  bool made;        // the host has created DEST, and nothing is in it
  // File descriptors that the host keeps open until the copy ends: SRC and DEST are these
  // directories, wherever their paths lead by then. -1: none.
  intptr_t src_held, dst_held;
};

}  // namespace fastcp
