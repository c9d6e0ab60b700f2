// Sets the metadata of copies in this order: owner, attributes, mode, timestamps.
//
// A change of the owner clears setuid, setgid and capabilities. An ACL changes the mode. A mode without write
// permission forbids to set attributes. All steps but the last change timestamps. Called by entry/ and tree/, by any
// worker. One worker has an entry at a time, and the last use ends only once, so no locks are needed.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/entry/attributes.h"
#include "engine/run/engine.h"

namespace fastcp {

class OpenFile;

/**
 * Returns the mode of the copy of `src`. It is the same mode, but setuid needs the same owner and
 * setgid the same group. Otherwise the copy would grant privileges. With Preserve::as_node a
 * directory keeps both: they grant none there. Without as_node DEST's directory keeps its setgid,
 * which gives new entries their group, except where owners are preserved and the groups are equal:
 * there SRC's mode decides.
 */
uint32_t final_mode(const Preserve& keep, const platform::Stat& src, const platform::Stat& dst);

/**
 * Sets a mode and looks at it. Some file systems report success and set nothing; and systems leave out setgid if the caller is
 * neither privileged nor in the group. Returns 0 or a negative errno.
 */
int give_mode(const platform::Handle& entry, platform::Kind kind, uint32_t mode);

/**
 * Returns whether `dst` has all metadata of `keep` that a stat shows. Attributes are not included:
 * only code that sets them reads them.
 */
bool is_settled(const Preserve& keep, const platform::Stat& src, const platform::Stat& dst,
                uint64_t time_step);

/** The permissions that the owner of a directory needs to fill it. */
inline constexpr uint32_t kOwner = 0700;

/** Returns whether the copy is to have the owner of its source. */
bool keeps_owner(const Preserve& keep, platform::Kind kind);

/** Returns whether a new file in the directory probably has, from its creation, the owner that it has to get. */
bool expects_owner(const Preserve& keep, const Directory& directory, const platform::Stat& src);

/**
 * Returns whether new entries of a directory may get a default ACL. In doubt it returns true. The
 * directory must be open in the first call. For a new directory, the parent's answer must be known.
 */
bool inherits(const Preserve& keep, const Directory& directory);

/**
 * Return the modes to create entries with. Nobody but the owner gets more permissions than in the
 * end, even before the copy has its owner and ACL. `owned`: expects_owner(). A
 * directory is accessible to its owner while fastcp fills it.
 */
uint32_t file_creation_mode(const Preserve& keep, const Directory& directory,
                            const platform::Stat& src, const Attributes& attributes, bool owned);
uint32_t directory_creation_mode(const Preserve& keep, const platform::Stat& src);

/**
 * Called after a directory was created or found in DEST. Notes the metadata to set when its content
 * is complete, and facts about entries that will be created in it. Returns 0 or a negative errno.
 */
int begin_directory(const Engine& engine, Directory& directory);

/** In a dry run: reports an existing directory whose metadata would be set at its end. */
void plan_directory(Engine& engine, Directory& directory);

/**
 * Returns the end of a copied directory: it writes the mark, and sets everything that
 * begin_directory() noted.
 */
std::unique_ptr<DirectoryEnd> end_of_copied_directory();

/**
 * Sets the metadata of the source on a new file. If only the mode is preserved, a system call is
 * needed only in two cases: umask or a default ACL may have changed the mode, or the mode has
 * special bits. Returns false on failure, which is reported.
 */
bool settle_file(Engine& engine, OpenFile& file);

/** `replaced`: another entry has the name now. Every result but `yes` was reported. */
enum class Settled : uint8_t { yes, no, replaced };

/** Sets metadata on a symlink, FIFO or device that was created under the name `made`. */
Settled settle_other(Engine& engine, const Directory& directory, Names names,
                     const platform::Stat& src, const char* made);

/**
 * Does the same for an existing entry of DEST of any kind. Changes nothing if the entry is no
 * longer `present`.
 */
bool settle_present(Engine& engine, const Directory& directory, Names names,
                    const platform::Stat& src, const platform::Stat& present);

/**
 * Return platform::time_step() of a directory of DEST; in the base, of the file system that has the
 * entry, which is open as `dst` or exists as `name`.
 */
uint64_t time_step(const Directory& directory, const platform::Handle& dst);
uint64_t time_step(const Directory& directory, const char* name);

/**
 * Returns whether the mtime of DEST's entry equals SRC's in the granularity of DEST. `step`: see
 * platform::time_step().
 */
bool is_same_time(platform::Time src, const platform::Stat& present, uint64_t step);

}  // namespace fastcp
