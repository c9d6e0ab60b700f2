// Says which metadata a copy gets, and with which mode it is created. settle.h sets it. Called by entry/ and tree/, by any
// worker. No locks.
#pragma once

#include <cstdint>

#include "engine/entry/attributes.h"
#include "engine/run/engine.h"

namespace fastcp {

inline Owner owner_of(const platform::Stat& stat) { return {stat.uid, stat.gid}; }

/**
 * Returns the mode of the copy of `src`. It is the same mode, but setuid needs the same owner and
 * setgid the same group. Otherwise the copy would grant privileges. With Preserve::as_node a
 * directory keeps both: they grant none there. Without as_node DEST's directory keeps its setgid,
 * which gives new entries their group, except where owners are preserved and the groups are equal:
 * there SRC's mode decides.
 */
uint32_t final_mode(const Preserve& keep, const platform::Stat& src, const platform::Stat& dst);

/** Sets the mode of an entry that is no symlink. Returns 0 or a negative errno. */
int set_mode(const platform::Handle& entry, platform::Kind kind, uint32_t mode);

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
