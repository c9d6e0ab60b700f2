// What the user asked for, as lib/native.ts hands it over. It does not change while the copy runs.
#pragma once

#include <cstdint>
#include <string>

#include "platform/platform.h"

namespace fastcp {

/** By which the host knows a directory; 0 where it has no say. */
using Scope = uint32_t;

enum class Reflink : uint8_t { automatic, always, never };

/** What the copy makes of a file: a copy, a hard link to the file of SRC, or a symlink to it. */
enum class Instead : uint8_t { copy, hard_link, symlink };

/** What name a replaced entry keeps: a number, or as `cp --backup=existing` chooses. */
enum class Backup : uint8_t { none, numbered, existing };

/**
 * What is preserved of an entry beside its content. Read by entry/metadata.cc and entry/attributes.cc, which set it
 * and compare it.
 */
struct Preserve {
  /** The mode. Else new entries get what umask leaves. */
  bool mode = true;
  /** The mtime; also asks for one more look at a source after its copy (copy_entry.cc). */
  bool timestamps = false;
  /** User and group. */
  bool ownership = false;
  /** Extended attributes, ACLs and capabilities. */
  bool xattrs = false;
  /** Hard links of one file stay hard links of one file (run/hard_links.h). */
  bool hard_links = false;
  /** Directories that DEST already has get all of this, too; else only new directories do. */
  bool existing_directories = false;
  /** Without `xattrs`: removes the attributes of entries that DEST already has. */
  bool remove_existing_attributes = false;
};

/** How the content of a file is copied. Read by entry/copy_content.cc and entry/copy_entry.cc. */
struct Content {
  /** Whether a file is cloned: where that pays, or always (else an error), or never. */
  Reflink reflink = Reflink::automatic;
  /** Blocks of zeros become holes. Excludes cloning and copy_file_range(). */
  bool find_holes = false;
  /** Each copy is read back and compared with its source before it gets its name. */
  bool verify = false;
  /** Each file is synchronized before it gets its name, each directory when it is finished. */
  bool fsync = false;
  /** What the copy makes of a file. */
  Instead instead = Instead::copy;
};

/** What happens to an entry of DEST, not a directory, whose name SRC has too. Read by entry/conflict.cc and entry/place.cc. */
struct Existing {
  /** The entry is replaced; else it stays. */
  bool force = true;
  /** Without `force`: an entry that stays is an error. */
  bool error_on_exist = false;
  /** With `force`: the entry is only replaced by one with a newer mtime, as by `cp -u`. */
  bool update = false;
  /** A replaced entry is kept under another name: back_up() in entry/conflict.h. */
  Backup backup = Backup::none;
};

/** What a repeated copy leaves alone, and what it deletes. */
struct Incremental {
  /** Unchanged entries are left alone (entry/unchanged.h), and directories of DEST are marked (entry/mark.h). */
  bool sync = false;
  /** With `sync`: only equal contents prove that a file is unchanged. Read by entry/unchanged.cc. */
  bool checksum = false;
  /** With `sync`: equal size and mtime are enough. Read by entry/unchanged.cc. */
  bool quick_check = false;
  /** With `sync`: deletes what only DEST has (tree/mirror.h). */
  bool mirror = false;
  /** With `mirror`: also deletes what the selection excludes. Read by tree/answers.cc. */
  bool delete_excluded = false;
};

/** Which entries of SRC are visited, and what a symlink among them stands for. Read by tree/ and by each look at SRC. */
struct Traversal {
  /** A symlink in SRC stands for its target. */
  bool dereference = false;
  /** Directories where another file system is mounted are skipped: tree/copy_directory.cc. */
  bool one_file_system = false;
  /** This copy's part of the tree, counted from 0, and the number of parts: tree/shard.h. */
  uint32_t shard = 0, shards = 1;

  /** For platform calls that look at an entry of SRC. */
  [[nodiscard]] platform::Follow follow() const {
    return dereference ? platform::Follow::yes : platform::Follow::no;
  }
};

/** Rules of Node's fs.cp that differ from ours. Set by fastcp/fs. */
struct Compatibility {
  /** FIFOs, sockets and some symlinks are errors: entry/copy_entry.cc, copy_other.cc, conflict.cc. */
  bool like_node = false;
  /** Relative symlinks become absolute: entry/copy_other.cc. */
  bool absolute_symlinks = false;
};

/** What the user is told, and which errors end the copy. Read by run/engine.cc alone. */
struct Reporting {
  /** The first error ends the copy. */
  bool stop_on_error = true;
  /** Metadata that cannot be preserved is an error, not a warning. */
  bool strict = false;
  /** Every entry is noted in the journal (base/report.h). */
  bool journal = false;
};

/** Everything that the user chose. A function takes the group that it needs. */
struct Options {
  Preserve preserve{};
  Content content{};
  Existing existing{};
  Incremental incremental{};
  Traversal traversal{};
  Compatibility compatibility{};
  Reporting reporting{};
  /** Nothing in DEST changes; counters and journal are those of a real copy. */
  bool dry_run = false;
  /** With `dry_run`: reports how two trees differ. Nothing is refused, and what cannot be read is an error. */
  bool compares = false;
};

/** What the user named: SRC -> DEST, both whole paths. */
struct Root {
  std::string src, dst;
  bool follow_src;  // SRC ends in a slash: a link there stands for what it points to
  Scope scope;      // of a directory of which the host decides what is copied
  bool remove;      // nothing is copied: the directory at DEST is removed
};

}  // namespace fastcp
