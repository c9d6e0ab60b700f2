#include "host/count_ahead.h"

#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

#include "engine/base/listing.h"
#include "platform/platform.h"

namespace fastcp {
namespace {

using platform::Follow;
using platform::Handle;
using platform::Kind;
using platform::Listed;
using platform::Stat;

constexpr size_t kListing = 32 << 10;

struct Waiting {
  std::string path;
  uint64_t above;  // the device of the directory that it is in
  Follow follow;
};

bool is_directory(const Handle& parent, const Listed& entry) {
  if (entry.kind != Kind::unknown) return entry.kind == Kind::directory;
  Stat stat;
  return platform::stat_entry(parent, entry.name, stat) == 0 && stat.kind == Kind::directory;
}

/** Returns -1 after a stop, or if the number would be wrong: also where paths are longer than the system's calls take. */
int64_t count_below(const std::vector<std::string>& directories, bool one_file_system,
                    const std::atomic<bool>& stopped) {
  const Handle here = Handle::working_directory();
  std::vector<uint64_t> buffer(kListing / sizeof(uint64_t));  // numbers, for their alignment
  std::vector<Waiting> waiting;
  waiting.reserve(directories.size());
  for (const std::string& path : directories) waiting.push_back({path, 0, Follow::yes});
  int64_t entries = 0;
  while (!waiting.empty()) {
    const Waiting at = std::move(waiting.back());
    waiting.pop_back();
    Handle directory;
    Stat stat{};
    int error = platform::open_source_directory(here, at.path.c_str(), at.follow, directory);
    if (error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -ENAMETOOLONG)
      return -1;
    if (error == 0 && one_file_system) error = platform::stat_handle(directory, stat);
    // The copy cannot list it either, and reports that.
    if (error < 0 || (at.follow == Follow::no && stat.dev != at.above)) continue;
    const auto count = [&](const char*, const Listed& entry) {
      entries++;
      if (is_directory(directory, entry))
        waiting.push_back({at.path + '/' + entry.name, stat.dev, Follow::no});
      return !stopped;
    };
    list_entries(directory, reinterpret_cast<char*>(buffer.data()), kListing, count);
    if (stopped) return -1;
  }
  return entries;
}

}  // namespace

CountAhead::CountAhead(std::vector<std::string> directories, bool one_file_system) {
  try {
    thread_ = std::thread([this, directories = std::move(directories), one_file_system] {
      try {
        total_ = count_below(directories, one_file_system, stopped_);
      } catch (const std::bad_alloc&) {
        // It stays unknown. The copy may still have enough memory.
      }
    });
  } catch (const std::system_error&) {
    // No thread is available: the total stays unknown.
  }
}

CountAhead::~CountAhead() {
  stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace fastcp
