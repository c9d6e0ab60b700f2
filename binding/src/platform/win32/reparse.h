// Windows: the data of symlinks and junctions on disk (MS-FSCC 2.1.2, reparse data buffers).
// Includes no system header, so that tests run on any system. Stateless: no locks.
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
/** Entries without content: an alias of an installed app, a symlink or device of an NFS server. */
inline constexpr uint32_t kAppTag = 0x8000001b;
inline constexpr uint32_t kNfsTag = 0x80000014;
/** Set in tags of entries that stand for another entry. */
inline constexpr uint32_t kSurrogateBit = 0x20000000;

/** FILE_ATTRIBUTE_… */
inline constexpr uint32_t kDirectoryAttribute = 0x10;
inline constexpr uint32_t kReparseAttribute = 0x400;

/** Returns the kind that a reparse tag gives to an entry listed as a file or directory. */
Kind kind_of(uint32_t attributes, uint32_t tag);

/** The most bytes that the kernel accepts. */
inline constexpr size_t kMostReparseData = 16 << 10;  // bytes

/** Returns the reparse data of a symlink with this target; empty if there cannot be one. */
std::string reparse_data(std::string_view text, LinkKind kind);

/** Finds the target of a symlink. Returns false if the data is of another kind or damaged. */
bool link_target(std::string_view data, std::string& text);

}  // namespace fastcp::platform
