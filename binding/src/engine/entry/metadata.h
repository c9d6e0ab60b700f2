// What an entry has beside its content, and how its copy comes by it: owner, attributes, mode and
// times, in this order. A change of the owner clears setuid, setgid and capabilities; an access list
// changes the mode; a mode without the right to write keeps attributes away; all but the last change
// times.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/entry/attributes.h"
#include "engine/run/engine.h"

namespace fastcp {

class OpenFile;

/**
 * The mode that the copy of `src` gets: the same, but setuid only where the owner is the same, and
 * setgid only where the group is. Anything else would hand out privileges.
 */
uint32_t final_mode(const platform::Stat& src, const platform::Stat& dst);

/**
 * Whether `dst` has all of `keep` that is known of an entry without a look at its attributes, which are
 * looked at only by who writes them.
 */
bool is_settled(const Preserve& keep, const platform::Stat& src, const platform::Stat& dst,
                uint64_t time_step);

/** What the owner of a directory needs to fill it. */
inline constexpr uint32_t kOwner = 0700;

/**
 * The modes to create with: for nobody but the owner wider than in the end, also while the copy does
 * not have its owner and its access list yet. A directory is open to us while we fill it.
 */
uint32_t file_creation_mode(const Preserve& keep, const Directory& directory,
                            const platform::Stat& src, const Attributes& attributes);
uint32_t directory_creation_mode(const Preserve& keep, const platform::Stat& src);

/**
 * After a directory was made or found in DEST: notes what it is owed when its content is there, and what is
 * known of entries that will be made in it; `passing_bits` are those of its creation mode that it has got.
 * 0 or a negative errno.
 */
int begin_directory(const Preserve& keep, const Content& content, Directory& directory,
                    uint32_t passing_bits);

/** In a dry run: reports an existing directory whose metadata would be set at its end. */
void plan_directory(Engine& engine, Directory& directory);

/** For a directory that is copied: its mark, and all that begin_directory() noted. */
std::unique_ptr<DirectoryEnd> end_of_copied_directory();

/**
 * Gives a new file what its source has. In a copy that keeps modes only it costs a call only where
 * umask or a default ACL may have acted, or the mode has special bits. False where it failed, and was
 * reported.
 */
bool settle_file(Engine& engine, OpenFile& file);

/** Replaced: the name is somebody else's entry now. Unless it says yes, why was reported. */
enum class Settled : uint8_t { yes, no, replaced };

/** What links, FIFOs and devices have to be given after they were made under the name `made`. */
Settled settle_other(Engine& engine, const Directory& directory, Names names,
                     const platform::Stat& src, const char* made);

/** The same for an entry of any kind that DEST has: nothing is given to what is not `present` any more. */
bool settle_present(Engine& engine, const Directory& directory, Names names,
                    const platform::Stat& src, const platform::Stat& present);

/** platform::time_step() of a directory of DEST, or of the one that an entry of the base is in. */
uint64_t time_step(const Directory& directory, const platform::Handle& dst);

/**
 * Whether DEST's mtime is SRC's as DEST's file system can hold it: `step` is that of platform::time_step().
 */
bool is_same_time(platform::Time src, platform::Time dst, uint64_t step);

}  // namespace fastcp
