// Windows: the one table from the kernel's codes to errno. Includes no system header, so that tests run on any system.
// Stateless: no locks.
#pragma once

#include <cstdint>

namespace fastcp::platform {

/** Returns 0, or a negative errno for an NTSTATUS that is an error. */
int error_of(int32_t status);

}  // namespace fastcp::platform
