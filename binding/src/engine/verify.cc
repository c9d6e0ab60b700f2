#include "verify.h"

#include <cerrno>

#include "compare.h"

namespace fastcp {

bool verify_file(Worker& worker, const OpenFile& file) {
  Folder& folder = *file.folder;
  // Else memory would be compared with memory.
  platform::drop_cache(file.dst);
  const char* name = file.temporary.empty() ? file.names.dst : file.temporary.c_str();
  platform::Handle written;
  platform::Stat expected, opened;
  bool without_atime = true;
  int error = worker.with_descriptor([&] {
    return platform::open_source_file(folder.dst(), name, platform::Follow::no, without_atime,
                                      written);
  });
  if (error < 0) return worker.fail(folder, file.names, error, "open");
  error = platform::stat_handle(file.dst, expected);
  if (error == 0) error = platform::stat_handle(written, opened);
  if (error < 0) return worker.fail(folder, file.names, error, "fstat");
  if (expected.dev != opened.dev || expected.ino != opened.ino) {
    return worker.fail(folder, file.names, EBUSY, kRefused);  // somebody put another one there
  }
  const Comparison found = compare_content(worker, file.src, written, 0, expected.size, false);
  if (found.outcome == Comparison::same) return true;
  if (found.outcome == Comparison::failed) {
    return worker.fail(folder, file.names, found.error, found.operation);
  }
  if (found.outcome == Comparison::differs) {
    worker.engine.fail({EIO, kVerify, folder.src_path(file.names.src),
                        folder.dst_path(file.names.dst), static_cast<int64_t>(found.offset)},
                       &folder);
  }
  return false;
}

}  // namespace fastcp
