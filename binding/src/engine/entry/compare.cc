#include "engine/entry/compare.h"

#include <algorithm>
#include <cstring>

namespace fastcp {
namespace {

/** Reads until the buffer is full or the file ends. */
int64_t read_fully(const platform::Handle& file, char* buffer, size_t size, uint64_t offset) {
  size_t filled = 0;
  while (filled < size) {
    const int64_t got = platform::read_at(file, buffer + filled, size - filled, offset + filled);
    if (got < 0) return got;
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  return static_cast<int64_t>(filled);
}

/** The data ranges of a file, asked for one at a time. */
class Data {
 public:
  /** `asks`: next() will be called. */
  Data(const platform::Handle& file, uint64_t size, bool asks)
      : file_(file), size_(size), is_known_(asks && platform::knows_holes(file)) {}

  /**
   * Returns the start of data at or after `offset`; `offset` itself if the file system cannot tell.
   */
  uint64_t next(uint64_t offset) {
    if (!is_known_) return offset;
    if (offset >= end_ && platform::next_data(file_, offset, size_, start_, end_) < 0)
      return offset;
    return std::max(offset, start_);
  }

 private:
  const platform::Handle& file_;
  const uint64_t size_;
  const bool is_known_;
  uint64_t start_ = 0, end_ = 0;
};

}  // namespace

Comparison compare_content(Worker& worker, const platform::Handle& a, const platform::Handle& b,
                           uint64_t size) {
  constexpr size_t kHalf = Worker::kContent / 2;
  char* const left = worker.content();
  char* const right = left + kHalf;
  const bool skips = size > kHalf;
  Data left_data(a, size, skips), right_data(b, size, skips);
  for (uint64_t offset = 0;;) {
    // A range that is a hole in both files is equal, and may be as large as a disk.
    if (skips && offset < size) {
      offset = std::max(offset, std::min(left_data.next(offset), right_data.next(offset)));
    }
    const int64_t one = read_fully(a, left, kHalf, offset);
    const int64_t other = one < 0 ? one : read_fully(b, right, kHalf, offset);
    if (other < 0) return {Comparison::failed, offset, static_cast<int>(other), "read"};
    const auto both = static_cast<size_t>(std::min(one, other));
    if (std::memcmp(left, right, both) != 0) {
      const auto at = static_cast<size_t>(std::mismatch(left, left + both, right).first - left);
      return {Comparison::differs, offset + at};
    }
    offset += both;
    if (one != other) return {Comparison::differs, offset};
    if (both < kHalf) return {offset < size ? Comparison::differs : Comparison::same, offset};
    worker.is_over();  // after this file
    if (worker.engine.stopped()) return {Comparison::stopped, offset};
  }
}

bool verify_file(Worker& worker, const OpenFile& file) {
  Directory& directory = *file.directory;
  // Otherwise memory would be compared with memory.
  platform::drop_cache(file.dst);
  const char* name = file.temporary.empty() ? file.names.dst : file.temporary.c_str();
  platform::Handle written;
  platform::Stat expected, opened;
  bool without_atime = true;
  const auto open = [&] {
    return worker.with_descriptor([&] {
      if (file.unnamed) return platform::open_unnamed(file.dst, written);
      return platform::open_source_file(directory.dst(), name, platform::Follow::no, without_atime,
                                        written);
    });
  };
  int error = open();
  // umask may deny it.
  constexpr uint32_t kOwnerReads = 0400;
  if (error == -EACCES && platform::stat_handle(file.dst, expected) == 0 &&
      (expected.mode & kOwnerReads) == 0 &&
      platform::set_mode(file.dst, expected.mode | kOwnerReads) == 0) {
    error = open();
    const int restored = platform::set_mode(file.dst, expected.mode);
    if (error == 0) error = restored;
  }
  if (error < 0) return worker.fail(directory, file.names, error, "open");
  error = platform::stat_handle(file.dst, expected);
  if (error == 0) error = platform::stat_handle(written, opened);
  if (error < 0) return worker.fail(directory, file.names, error, "fstat");
  if (expected.dev != opened.dev || expected.ino != opened.ino) {
    return worker.fail(directory, file.names, EBUSY, kReplaced);
  }
  const Comparison found = compare_content(worker, file.src, written, expected.size);
  if (found.outcome == Comparison::same) return true;
  if (found.outcome == Comparison::failed) {
    return worker.fail(directory, file.names, found.error, found.operation);
  }
  if (found.outcome == Comparison::differs) {
    worker.engine.fail({EIO, kVerify, directory.src_path(file.names.src),
                        directory.dst_path(file.names.dst), static_cast<int64_t>(found.offset)},
                       &directory);
  }
  return false;
}

}  // namespace fastcp
