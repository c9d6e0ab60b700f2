// What the user asked for, as lib/native.ts hands it over. It does not change while the copy runs.
#pragma once

#include <cstdint>
#include <string>

#include "platform/platform.h"

namespace fastcp {

/** By which the host knows a directory; 0 where it has no say. */
using Scope = uint32_t;

enum class Reflink : uint8_t { automatic, always, never };

/** What is made of a file: a copy, or one more name or a link for the one in SRC. */
enum class Instead : uint8_t { copy, hard_link, symlink };

/** What is kept of an entry beside its content. */
struct Preserve {
  bool mode = true;
  bool timestamps = false;
  bool ownership = false;
  bool xattrs = false;
  bool hard_links = false;            // names of one file stay names of one file
  bool existing_directories = false;  // directories that DEST has get what SRC's have, too
  bool bare = false;                  // without `xattrs`: entries that DEST has lose theirs
};

struct Options {
  Preserve preserve{};
  bool dereference = false;        // links in SRC stand for what they point to
  bool absolute_symlinks = false;  // relative links are made absolute, as Node's fs.cp does
  bool like_node = false;          // FIFOs, sockets and some links are errors, as in Node's fs.cp
  bool find_holes = false;         // zeros become holes
  bool backup = false;             // what is replaced gets a name with a number
  bool fsync = false;
  bool strict = false;             // what cannot be preserved is an error
  bool sync = false;               // what is unchanged is left alone
  bool checksum = false;           // and only contents prove that
  bool quick_check = false;        // or else size and mtime do
  bool mirror = false;             // what SRC does not have is removed
  bool delete_excluded = false;    // so is what is not selected
  bool verify = false;             // what was written is read back
  uint32_t shard = 0, shards = 1;  // this copy's part of the tree, and of how many
  Instead instead = Instead::copy;
  bool force = true;
  bool error_on_exist = false;
  bool dry_run = false;
  bool compares = false;  // a dry run that tells how two trees differ, and refuses nothing for it
  bool one_file_system = false;
  bool stop_on_error = true;
  bool journal = false;
  Reflink reflink = Reflink::automatic;

  /** For entries in SRC: what a link there stands for. */
  [[nodiscard]] platform::Follow follow() const {
    return dereference ? platform::Follow::yes : platform::Follow::no;
  }
};

/** What the user named: SRC -> DEST, both whole paths. */
struct Root {
  std::string src, dst;
  bool follow_src;  // SRC ends in a slash: a link there stands for what it points to
  Scope scope;      // of a directory of which the host decides what is copied
  bool remove;      // nothing is copied: the directory at DEST is removed
};

}  // namespace fastcp
