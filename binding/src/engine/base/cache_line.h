// The unit in which processors pass memory between cores.
#pragma once

#include <cstddef>

namespace fastcp {

/**
 * Bytes, on most processors. Members that some threads read all the time and others write are kept in
 * different lines.
 */
inline constexpr size_t kCacheLine = 64;

}  // namespace fastcp
