// The operations that change DEST. Two stateless implementations exist: entry/write.cc changes
// DEST; entry/dry_run.cc counts and reports what write.cc would do. Engine::writer is one of them,
// so no other unit knows whether this is a dry run.
//
// The parts of one entry's creation (temporary name, metadata, backup) are below this interface. They never run in a
// dry run. Callers are entry/ and tree/. There are no locks here.
#pragma once

#include <cstdint>

#include "engine/run/directory.h"
#include "engine/run/hard_links.h"
#include "platform/platform.h"

namespace fastcp {

class Worker;
struct EntryTask;

/** Result of comparing a new copy's metadata with DEST's entry. `failed`: an error was reported. */
enum class Trial : uint8_t { same, differs, failed };

/** Any worker may call any function at any time. */
class Writer {
 public:
  /**
   * Result of make_directory(): a real run would create the directory. There is nothing to open.
   */
  static constexpr int kPlanned = 1;

  /**
   * Copies an entry that is not a directory, or replaces the entry that DEST has. Counts and
   * reports it. entry/copy_entry.cc calls it for each try of an entry that has to be copied. `again`
   * holds the results of earlier tries.
   */
  virtual void copy(Worker& worker, const DirectoryUse& directory, Names names, platform::Kind kind,
                    EntryTask& again) const = 0;

  /**
   * Creates the entry as a hard link to `copy`, the copy of the same file. Counts and reports it.
   * Returns false if that is impossible, and the entry has to be copied by itself. `vacated`: see
   * EntryTask.
   */
  virtual bool link(Worker& worker, Directory& directory, Names names, platform::Kind kind,
                    const HardLinks::Place& copy, bool vacated) const = 0;

  /**
   * Returns whether an entry can be created that is a symlink, special, or a hard link to a file;
   * reports the error if not. A real run tries it under a temporary name.
   */
  virtual bool can_create(Worker& worker, Directory& directory, Names names,
                          platform::Kind kind) const = 0;

  /**
   * Sets the metadata of `src` on an entry of DEST whose content is unchanged. `present` is the state of that entry
   * when the caller looked at it. Returns false on failure, which is reported.
   */
  virtual bool settle(Engine& engine, const Directory& directory, Names names,
                      const platform::Stat& src, const platform::Stat& present) const = 0;

  /**
   * Returns whether a new copy would get the metadata that DEST's entry has now. Called for entries
   * with several hard links. A dry run cannot try that, and returns `differs`.
   */
  virtual Trial try_metadata(Worker& worker, Directory& directory, Names names,
                             const platform::Stat& src, const platform::Stat& present) const = 0;

  /**
   * Creates a directory. `vacated`: see EntryTask. Returns 0, kPlanned or a negative errno; -EEXIST: DEST has the name.
   */
  virtual int make_directory(Engine& engine, Directory& parent, const char* name, uint32_t mode,
                             bool vacated) const = 0;

  /**
   * Prepares an open directory of DEST, before another worker sees it. Removes a mark that would
   * become wrong, and sets Directory::end.
   */
  virtual void begin_directory(Engine& engine, Directory& directory) const = 0;

  /**
   * Changes the mode of an existing directory that denies access to its owner. Returns 0 or a
   * negative errno.
   */
  virtual int open_up(const platform::Handle& directory, uint32_t mode) const = 0;

  /** Removes an entry that is not a directory. Returns 0 or a negative errno. */
  virtual int remove_file(Engine& engine, Directory& directory, const char* name) const = 0;

  /**
   * Removes a doomed directory. Returns 0 or a negative errno; -ENOTEMPTY: something in it stays.
   */
  virtual int remove_directory(Engine& engine, Directory& directory) const = 0;

 protected:
  ~Writer() = default;  // nobody owns a writer
};

}  // namespace fastcp
