// Windows: what a link and a junction hold on disk (MS-FSCC 2.1.2, reparse data buffers). Knows no system
// header, so that it can be tried anywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "platform/platform.h"

namespace fastcp::platform {

inline constexpr uint32_t kMountPointTag = 0xa0000003;  // a junction
inline constexpr uint32_t kSymlinkTag = 0xa000000c;
inline constexpr uint32_t kSocketTag = 0x80000023;
inline constexpr uint32_t kFifoTag = 0x80000024;
inline constexpr uint32_t kCharacterDeviceTag = 0x80000025;
inline constexpr uint32_t kBlockDeviceTag = 0x80000026;
/** Such a tag is of what stands for something else. */
inline constexpr uint32_t kSurrogateBit = 0x20000000;

/** The most that the kernel takes. */
inline constexpr size_t kMostReparseData = 16 << 10;  // bytes

/** What a link with this text holds; empty where there can be none. */
std::string reparse_data(std::string_view text, LinkKind kind);

/** The text of a link. False where it is none, or damaged. */
bool link_target(std::string_view data, std::string& text);

}  // namespace fastcp::platform
