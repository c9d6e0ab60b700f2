// Copies FIFOs and devices. Called by any worker. No locks.
#pragma once

#include "engine/entry/entry_task.h"

namespace fastcp {

/** Copies a FIFO or device and its preserved metadata. */
void copy_special(Worker& worker, const DirectoryUse& directory, Names names, platform::Kind kind,
                  EntryTask& again);

}  // namespace fastcp
