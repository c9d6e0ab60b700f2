#include "platform/win32/reparse.h"

#include <cstring>

#include "platform/win32/text.h"

namespace fastcp::platform {
namespace {

//                  junction                          symlink
//   u32 tag, u16 length of the rest, u16 0
//   u16 offset and length of the name in use, u16 offset and length of the name to show
//                                                    u32 1 if it is relative
//   names
constexpr size_t kHead = 8, kOffsets = 8, kFlags = 4;
constexpr uint32_t kRelative = 1;

void append_16(std::string& to, size_t number) {
  to += static_cast<char>(number);
  to += static_cast<char>(number >> 8);
}

void append_32(std::string& to, uint32_t number) {
  append_16(to, number & 0xffff);
  append_16(to, number >> 16);
}

void append_text(std::string& to, std::u16string_view text) {
  for (const char16_t unit : text) append_16(to, unit);
}

size_t number_16(std::string_view data, size_t at) {
  return static_cast<uint8_t>(data[at]) | static_cast<size_t>(static_cast<uint8_t>(data[at + 1]))
                                              << 8;
}

uint32_t number_32(std::string_view data, size_t at) {
  return static_cast<uint32_t>(number_16(data, at) | number_16(data, at + 2) << 16);
}

}  // namespace

Kind kind_of(uint32_t attributes, uint32_t tag) {
  const Kind plain = (attributes & kDirectoryAttribute) != 0 ? Kind::directory : Kind::file;
  if ((attributes & kReparseAttribute) == 0) return plain;
  switch (tag) {
    case kSymlinkTag:
    case kMountPointTag: return Kind::symlink;
    case kSocketTag: return Kind::socket;
    case kFifoTag: return Kind::fifo;
    case kCharacterDeviceTag: return Kind::character_device;
    case kBlockDeviceTag: return Kind::block_device;
    case kAppTag:
    case kNfsTag: return Kind::unknown;
    // An entry that a server stores, or that is compressed or deduplicated, keeps the kind that it
    // shows.
    default: return (tag & kSurrogateBit) != 0 ? Kind::unknown : plain;
  }
}

std::string reparse_data(std::string_view text, LinkKind kind) {
  const bool junction = kind == LinkKind::junction;
  const bool relative = root_length(text) < 2;  // `/directory` is on the drive of the symlink
  std::u16string used, shown;
  if (text.empty() || (junction && relative)) return {};
  if (relative) {
    if (!to_utf16(text, used)) return {};
    for (char16_t& unit : used) unit = unit == u'/' ? u'\\' : unit;
    shown = used;
  } else {
    if (!to_path(text, used)) return {};
    // Without the kernel's prefix.
    shown = used.starts_with(u"\\??\\UNC\\") ? u"\\" + used.substr(7) : used.substr(4);
    // A volume given by its number has no other name, and needs its slash.
    if (text.ends_with('/') && !used.ends_with(u'\\')) used += u'\\';
  }
  // A junction's names end in a zero that is not counted.
  const size_t zero = junction ? 2 : 0;
  const size_t used_size = used.size() * 2, shown_size = shown.size() * 2;
  const size_t size = kOffsets + (junction ? 0 : kFlags) + used_size + zero + shown_size + zero;
  if (kHead + size > kMostReparseData) return {};
  std::string data;
  append_32(data, junction ? kMountPointTag : kSymlinkTag);
  append_16(data, size);
  append_16(data, 0);
  append_16(data, 0);
  append_16(data, used_size);
  append_16(data, used_size + zero);
  append_16(data, shown_size);
  if (!junction) append_32(data, relative ? kRelative : 0);
  append_text(data, used);
  data.append(zero, '\0');
  append_text(data, shown);
  data.append(zero, '\0');
  return data;
}

bool link_target(std::string_view data, std::string& text) {
  if (data.size() < kHead + kOffsets + kFlags) return false;
  const uint32_t tag = number_32(data, 0);
  if (tag != kMountPointTag && tag != kSymlinkTag) return false;
  const size_t names = kHead + kOffsets + (tag == kSymlinkTag ? kFlags : 0);
  const size_t offset = names + number_16(data, kHead), size = number_16(data, kHead + 2);
  if (size % 2 != 0 || size > data.size() || offset > data.size() - size) return false;
  std::u16string used;
  for (size_t at = offset; at < offset + size; at += 2) {
    used += static_cast<char16_t>(number_16(data, at));
  }
  text = from_path(used);
  return true;
}

}  // namespace fastcp::platform
