// What a copy's mode is, and how it comes about.
#pragma once

#include <cstdint>

#include "../platform/platform.h"
#include "folder.h"

namespace fastcp {

/**
 * The mode that the copy of `src` gets: the same, but setuid only where the owner is the same, and
 * setgid only where the group is. Anything else would hand out privileges.
 */
uint32_t final_mode(const platform::Stat& src, const platform::Stat& dst);

/** What the owner of a folder needs to fill it. */
inline constexpr uint32_t kOwner = 0700;

/** The mode to create a folder with: never wider for others, and open to us while we fill it. */
uint32_t folder_creation_mode(const platform::Stat& src);

/** After creation of `folder`: notes which bits passed there, and what its mode must become. */
void settle_folder_mode(Folder& folder, uint32_t passing_bits);

/**
 * Sets the final mode of a new file in `folder` where creating it did not. Costs a call only where
 * umask or a default ACL may have acted, or the mode has special bits. 0 or a negative errno;
 * `operation` names the call.
 */
int settle_file_mode(Folder& folder, const platform::Stat& src, const platform::Handle& dst,
                     const char*& operation);

}  // namespace fastcp
