// Asks the tables and conversions for Windows, on any system: one command a line on standard input, one answer a line.
//
//   status NUMBER             the errno's name for an NTSTATUS
//   kind ATTRIBUTES TAG       the kind of a listed entry
//   time TICKS                a timestamp of the kernel in seconds and nanoseconds
//   ticks SECONDS NS LEAST    back
//   number HIGH LOW SHORT     the number of a file with this id

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

#include "platform/win32/numbers.h"
#include "platform/win32/reparse.h"
#include "platform/win32/status.h"

using namespace fastcp::platform;

int main() {
  std::string command;
  while (std::cin >> command) {
    int64_t one = 0, two = 0, three = 0;
    std::cin >> one >> two >> three;
    if (command == "status") {
      const int error = error_of(static_cast<int32_t>(one));
      std::puts(error == 0 ? "0" : strerrorname_np(-error));
    } else if (command == "kind") {
      constexpr const char* kNames[] = {"unknown", "file",      "directory", "symlink",
                                        "fifo",    "character", "block",     "socket"};
      const Kind kind = kind_of(static_cast<uint32_t>(one), static_cast<uint32_t>(two));
      std::puts(kNames[static_cast<size_t>(kind)]);
    } else if (command == "time") {
      const Time time = time_of(one);
      std::printf("%" PRId64 " %" PRIu32 "\n", time.seconds, time.nanoseconds);
    } else if (command == "ticks") {
      std::printf("%" PRId64 "\n", ticks_of({one, static_cast<uint32_t>(two)}, three));
    } else if (command == "number") {
      const FileId id{static_cast<uint64_t>(two), static_cast<uint64_t>(one)};
      std::printf("%" PRIu64 "\n", number_of(id, static_cast<uint64_t>(three)));
    }
  }
}
