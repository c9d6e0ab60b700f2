// Numbers as JavaScript reads them from a buffer.
#pragma once

#include <cstdint>
#include <string>

namespace fastcp {

/** Appends a little-endian 32-bit number. */
inline void append_number(std::string& to, uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8) to += static_cast<char>(number >> shift);
}

}  // namespace fastcp
