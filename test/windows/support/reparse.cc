// Makes what a link of Windows holds, and reads it, on any system: one command a line on standard input,
// one answer a line. Data and UTF-16 are in hexadecimal.
//
//   make KIND TEXT    the data of a link: 0 to a file, 1 to a directory, 2 a junction
//   read DATA         its text
//   path TEXT         as the kernel takes it
//   name TEXT         the same of a name in a directory

#include <cstdio>
#include <iostream>
#include <string>

#include "platform/win32/reparse.h"
#include "platform/win32/text.h"

using namespace fastcp::platform;

namespace {

std::string from_hex(const std::string& text) {
  std::string bytes;
  for (size_t at = 0; at + 1 < text.size(); at += 2) {
    bytes += static_cast<char>(std::stoi(text.substr(at, 2), nullptr, 16));
  }
  return bytes;
}

void print_hex(const std::string& bytes) {
  for (const unsigned char byte : bytes) std::printf("%02x", byte);
  std::printf("\n");
}

/** As UTF-16 and as it comes back. */
void print(bool valid, const std::u16string& text) {
  std::string back;
  append_utf8(back, text);
  std::printf("%s ", valid ? "valid" : "refused");
  print_hex(back);
}

}  // namespace

int main() {
  std::string command, text;
  while (std::cin >> command) {
    LinkKind kind{};
    if (command == "make") {
      int number = 0;
      std::cin >> number;
      kind = static_cast<LinkKind>(number);
    }
    std::cin >> text;
    text = from_hex(text);
    std::u16string wide;
    std::string link;
    if (command == "make") print_hex(reparse_data(text, kind));
    if (command == "read") print_hex(link_target(text, link) ? link : "");
    if (command == "path") print(to_path(text, wide), wide);
    if (command == "name") print(to_name(text, wide), wide);
  }
}
