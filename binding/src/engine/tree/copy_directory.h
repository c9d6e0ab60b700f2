// The tasks that create, open and list directories, from the roots down. Pushed by host/job.cc and
// by each other, run by any worker. They wait for each other only in make_needed() of
// open_directory.h.
#pragma once

#include <string>
#include <vector>

#include "engine/run/engine.h"

namespace fastcp {

/** Pushes the first task. */
void start(Engine& engine, const std::vector<Root>& roots);

/** Registers every SRC, before DEST is changed, and pushes the tasks of the roots. */
struct RootsTask {
  DirectoryUse base;
  std::vector<Root> roots;

  void run(Worker& worker);
};

/** Copies an entry that the user named; its parent is the base. */
struct RootTask {
  DirectoryUse base;
  Root root;

  void run(Worker& worker);
};

/** What is known of DEST's entry of a directory's name before the directory is opened. */
enum class There : uint8_t {
  unknown,
  made,      // the directory, created while its parent was listed
  vacated,   // nothing that counts: see EntryTask
  replaced,  // it may be of another kind, and is removed first
};

/** Creates and lists the directory `name` in `parent`. In the base `dst_name` differs. */
struct DirectoryTask {
  DirectoryUse parent;
  std::string src_name, dst_name;
  Scope scope = 0;           // the host's number of the directory, or 0
  bool when_needed = false;  // created only when an entry in it is included
  There there = There::unknown;
  platform::Follow follow_dst = platform::Follow::no;  // a symlink that is DEST itself
  intptr_t src_held = -1, dst_held = -1;               // see Root

  void run(Worker& worker);
};

/** Copies a part of a directory's listing that was read already. */
struct PartTask {
  DirectoryUse directory;
  std::string records;

  void run(Worker& worker);
};

}  // namespace fastcp
