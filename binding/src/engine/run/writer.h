// What changes DEST. There are two implementations, both stateless: entry/write.cc changes DEST, and
// entry/dry_run.cc counts and reports what the first would do. Engine::writer is one of them, so that no other unit
// has to know a dry run. What belongs to the making of one entry (its temporary name, its metadata, its backup) is
// below this interface and never runs in a dry run.
#pragma once

#include <cstdint>

#include "engine/run/directory.h"
#include "engine/run/hard_links.h"
#include "platform/platform.h"

namespace fastcp {

class Worker;
struct EntryTask;

/** Any worker may call any function at any time. */
class Writer {
 public:
  /** make_directory() would create the directory. There is nothing to open. */
  static constexpr int kPlanned = 1;

  /**
   * Copies an entry that is not a directory, or replaces the entry that DEST has. Counts and reports it.
   * Called by entry/copy_entry.cc once for each entry that is not unchanged; `again`: what earlier tries know.
   */
  virtual void copy(Worker& worker, const DirectoryUse& directory, Names names, platform::Kind kind,
                    const EntryTask& again) const = 0;

  /**
   * Makes the entry a hard link to `copy`, the copy of another name of the same file. Counts and reports it. Returns
   * false if that is impossible and the entry has to be copied by itself. `vacated`: this copy removed what had the
   * name.
   */
  virtual bool link(Worker& worker, Directory& directory, Names names, platform::Kind kind,
                    const HardLinks::Place& copy, bool vacated) const = 0;

  /**
   * Gives an unchanged entry of DEST, `present` when it was looked at, the metadata of `src`. Returns false if that
   * failed, which is reported.
   */
  virtual bool settle(Engine& engine, const Directory& directory, Names names,
                      const platform::Stat& src, const platform::Stat& present) const = 0;

  /**
   * Creates a directory. `vacated`: this copy removed what had the name. Returns 0, kPlanned or a negative errno:
   * -EEXIST if DEST has the name.
   */
  virtual int make_directory(Engine& engine, Directory& parent, const char* name, uint32_t mode,
                             bool vacated) const = 0;

  /**
   * Called when a directory's end in DEST is open, before another worker sees it: removes a mark that is not true any
   * more, and notes what the directory is owed at its end. `passing_bits`: see begin_directory().
   */
  virtual void begin_directory(Engine& engine, Directory& directory,
                               uint32_t passing_bits) const = 0;

  /** Changes the mode of an existing directory that keeps its owner out. Returns 0 or a negative errno. */
  virtual int open_up(const platform::Handle& directory, uint32_t mode) const = 0;

  /** Removes an entry that is not a directory. Returns 0 or a negative errno. */
  virtual int remove_file(Engine& engine, Directory& directory, const char* name) const = 0;

  /** Removes a doomed directory. Returns 0 or a negative errno: -ENOTEMPTY if something in it stays. */
  virtual int remove_directory(Engine& engine, Directory& directory) const = 0;

 protected:
  ~Writer() = default;  // nobody owns one
};

}  // namespace fastcp
