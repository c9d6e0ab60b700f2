// Linux: how many processors a process may keep busy.
#pragma once

#include <string>

namespace fastcp::platform {

/**
 * The processors that the process may run on, or fewer where its control groups leave it less time than those
 * have. /proc and /sys are looked for below `root`, which is empty but in tests.
 */
unsigned count_processors(const std::string& root);

}  // namespace fastcp::platform
