// Linux: the number of processors that a process may keep busy. Called by linux.cc and tests.
// Stateless: no locks.
#pragma once

#include <string>

namespace fastcp::platform {

/**
 * Returns the processors that the process may run on, or fewer if its control groups give it less
 * time. Looks for /proc and /sys below `root`, which is empty except in tests.
 */
unsigned count_processors(const std::string& root);

}  // namespace fastcp::platform
