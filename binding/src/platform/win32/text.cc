#include "platform/win32/text.h"

#include <algorithm>
#include <cstdint>

namespace fastcp::platform {
namespace {

constexpr std::u16string_view kLocal = u"\\??\\", kServer = u"\\??\\UNC\\";

bool is_high(uint32_t unit) { return unit >= 0xd800 && unit < 0xdc00; }
bool is_low(uint32_t unit) { return unit >= 0xdc00 && unit < 0xe000; }

/**
 * Returns the length in bytes of a character that begins with this byte; 0 if no character does.
 */
size_t length_of(uint8_t first) {
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;
  if (first < 0xe0) return 2;
  if (first < 0xf0) return 3;
  return first < 0xf5 ? 4 : 0;
}

/** Decodes one character at the beginning of `text` and returns its length; 0 if it is invalid. */
size_t decode(std::string_view text, uint32_t& code) {
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(text[at]); };
  const size_t length = length_of(byte(0));
  if (length == 0 || length > text.size()) return 0;
  constexpr uint32_t kBits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
  code = byte(0) & kBits[length];
  for (size_t at = 1; at < length; at++) {
    if ((byte(at) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(at) & 0x3f);
  }
  // Longer than necessary for its value, or too large.
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  return code < kLeast[length] || code > 0x10ffff ? 0 : length;
}

bool is_drive(std::string_view path) {
  const auto letter = path.empty() ? '\0' : static_cast<char>(path[0] | 0x20);
  return path.size() >= 2 && letter >= 'a' && letter <= 'z' && path[1] == ':';
}

void turn_slashes(std::u16string& text) { std::replace(text.begin(), text.end(), u'/', u'\\'); }

}  // namespace

void append_utf8(std::string& to, std::u16string_view text) {
  const auto append = [&to](uint32_t bits) { to += static_cast<char>(bits); };
  const auto rest = [&](uint32_t code, int shift) { append(0x80 | (code >> shift & 0x3f)); };
  for (size_t at = 0; at < text.size(); at++) {
    uint32_t code = text[at];
    if (is_high(code) && at + 1 < text.size() && is_low(text[at + 1])) {
      code = 0x10000 + ((code - 0xd800) << 10) + (text[++at] - 0xdc00U);
    }
    if (code < 0x80) {
      append(code);
    } else if (code < 0x800) {
      append(0xc0 | code >> 6);
      rest(code, 0);
    } else if (code < 0x10000) {
      append(0xe0 | code >> 12);
      rest(code, 6);
      rest(code, 0);
    } else {
      append(0xf0 | code >> 18);
      rest(code, 12);
      rest(code, 6);
      rest(code, 0);
    }
  }
}

bool to_utf16(std::string_view text, std::u16string& out) {
  while (!text.empty()) {
    uint32_t code = 0;
    const size_t length = decode(text, code);
    if (length == 0) return false;
    text.remove_prefix(length);
    if (code < 0x10000) {
      out += static_cast<char16_t>(code);
    } else {
      out += static_cast<char16_t>(0xd800 + ((code - 0x10000) >> 10));
      out += static_cast<char16_t>(0xdc00 + ((code - 0x10000) & 0x3ff));
    }
  }
  return true;
}

bool to_name(std::string_view name, std::u16string& out) {
  return name.find_first_of("/\\:") == std::string_view::npos && to_utf16(name, out);
}

bool to_path(std::string_view path, std::u16string& out) {
  if (path.starts_with("//?/") || path.starts_with("//./")) {
    out = kLocal;
    path.remove_prefix(4);
  } else if (path.starts_with("//")) {
    out = kServer;
    path.remove_prefix(2);
  } else {
    out = kLocal;
  }
  // The slash is part of a drive's root. Without it the path names the device.
  while (path.size() > 3 && path.back() == '/') path.remove_suffix(1);
  if (!to_utf16(path, out)) return false;
  turn_slashes(out);
  return true;
}

std::string from_path(std::u16string_view path) {
  std::string result;
  if (path.starts_with(kServer)) {
    result = "//";
    path.remove_prefix(kServer.size());
  } else if (path.starts_with(kLocal)) {
    path.remove_prefix(kLocal.size());
    const bool drive = path.size() >= 2 && path[1] == u':';
    if (!drive) result = "//?/";  // for example a volume given by its number
  }
  append_utf8(result, path);
  std::replace(result.begin(), result.end(), '\\', '/');
  return result;
}

size_t root_length(std::string_view path) {
  if (is_drive(path)) return path.size() >= 3 && path[2] == '/' ? 3 : 0;
  if (!path.starts_with("//")) return path.starts_with('/') ? 1 : 0;
  // `//server/share/`, and `//?/C:/`
  size_t end = path.find('/', 2);
  end = end == std::string_view::npos ? end : path.find('/', end + 1);
  return end == std::string_view::npos ? path.size() : end + 1;
}

}  // namespace fastcp::platform
