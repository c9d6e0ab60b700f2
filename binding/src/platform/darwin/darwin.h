// What the files for macOS share. Stateless: no locks.
#pragma once

#include <sys/mount.h>

#include "platform/posix/posix.h"

namespace fastcp::platform {

/** Describes the volume of an entry. Returns false on failure. */
bool volume_of(const Handle& entry, struct statfs& out);

/** Returns whether the volume of a directory has clones. */
bool has_clones(const Handle& directory);

/**
 * Removes the attributes that the copy of a file would not have if it were no clone. Returns 0 or a
 * negative errno.
 */
int remove_attributes_of_clone(const Handle& clone, WithAttributes keeps);

}  // namespace fastcp::platform
