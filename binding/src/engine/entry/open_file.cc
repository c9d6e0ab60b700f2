#include "engine/entry/open_file.h"

#include <cerrno>
#include <thread>
#include <utility>

#include "engine/entry/access.h"

namespace fastcp {

using platform::Stat;

OpenFile::~OpenFile() { discard(); }

void OpenFile::discard() {
  if (!std::exchange(created, false) || unnamed) return;
  // Only the file that fastcp created, because another program may have replaced it. After closing,
  // nobody can tell.
  const char* name = temporary.empty() ? names.dst : temporary.c_str();
  Stat made, found;
  int error = 0;
  if (dst.is_open()) {
    error = platform::stat_handle(dst, made);
    if (error == 0) error = stat_with_access(engine, *directory, name, found);
    if (error == 0 && !is_same_entry(made, found)) return;
  }
  if (error == 0 || !temporary.empty()) {
    fastcp::discard(engine, *directory, name);  // nobody else chooses a temporary name
  } else if (error != -ENOENT) {
    fail_in_dest(engine, *directory, name, error, "lstat");
  }
}

int open_to_read(Worker& worker, const platform::Handle& directory, const char* name,
                 platform::Follow follow, bool& without_atime, platform::Handle& out) {
  // Linux takes a lease away after 45 s. A longer series of EAGAIN has another reason.
  constexpr auto kLongest = std::chrono::minutes(5);
  constexpr auto kPause = std::chrono::milliseconds(5);
  for (const Clock::time_point began = Clock::now();;) {
    // The first attempt asks the holder to give up its lease.
    const int error = worker.with_descriptor(
        [&] { return platform::open_source_file(directory, name, follow, without_atime, out); });
    if (error != -EAGAIN || Clock::now() - began > kLongest) return error;
    if (worker.is_over()) return -ECANCELED;
    std::this_thread::sleep_for(kPause);
  }
}

void put_off(Worker& worker, const DirectoryUse& directory, Names names, const EntryTask& again) {
  if (worker.engine.stopped()) return;
  worker.engine.tasks.push(
      make_task(EntryTask{directory.again(), names.src, names.dst, platform::Kind::file,
                          again.tries, again.vacated, again.separate, again.naming}));
}

}  // namespace fastcp
