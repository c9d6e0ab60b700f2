#include "engine/entry/copy_content.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string_view>

namespace fastcp {
namespace {

using platform::Attempt;

/** A worker takes this much of a large file at a time. Smaller parts would scatter its blocks. */
constexpr uint64_t kPart = 32 << 20;  // bytes
/** The most bytes that one call may copy: 100 ms at 80 MB/s. A copy stops only between calls. */
constexpr uint64_t kCall = 8 << 20;  // bytes

/** Returns whether `auto` tries to clone. */
bool should_clone(const Content& how, const platform::Stat& stat) {
  return stat.size > 0 && (how.reflink == Reflink::always || stat.size >= kSmall);
}

/**
 * Returns true if the content was cloned or cloning failed finally; false if the next method has to
 * be tried.
 */
bool clone(const Content& how, const OpenFile& file, CopiedContent& content) {
  if (file.cloned) {
    content.method = CopyMethod::clone;
    content.bytes = std::min(file.stat.size, file.stat.allocated);
    return true;
  }
  if (how.find_holes) return false;  // a clone would have the zeros also
  Route& route = *file.route;
  const bool must = how.reflink == Reflink::always && file.stat.size > 0;
  if (!must && (!route.clone || !should_clone(how, file.stat))) return false;
  const Attempt attempt = platform::clone_file(file.src, file.dst);
  if (attempt.outcome == Attempt::done) {
    content.method = CopyMethod::clone;
    content.bytes = std::min(file.stat.size, file.stat.allocated);
    return true;
  }
  if (attempt.outcome == Attempt::not_here && !must) {
    if (attempt.lasting) route.clone = false;
    return false;
  }
  content.operation = platform::clone_call;
  content.error = -attempt.error;
  return true;
}

/** Returns whether the copy was stopped. Then the content fails. */
bool stops(Worker& worker, CopiedContent& content) {
  if (worker.engine.stopped()) content.error = -ECANCELED;
  return content.error != 0;
}

/** Adds the bytes of one call. Returns false if the copy was stopped before the end. */
bool moved(Worker& worker, uint64_t bytes, uint64_t& offset, uint64_t& length,
           CopiedContent& content) {
  offset += bytes;
  length -= std::min(length, bytes);
  content.bytes += bytes;
  return length == 0 || !stops(worker, content);
}

/**
 * Returns how many bytes at the beginning of `data` are all zeros; with `zeros` false, how many
 * have no block of zeros.
 */
size_t run_length(std::string_view data, bool zeros) {
  constexpr size_t kBlock = 4096;  // block size of most file systems
  size_t length = 0;
  for (; length < data.size(); length += kBlock) {
    const std::string_view block = data.substr(length, kBlock);
    if ((block.find_first_not_of('\0') == std::string_view::npos) != zeros) return length;
  }
  return data.size();
}

/** Writes all bytes, except zeros that have to become holes. */
int write(const Content& how, const OpenFile& file, std::string_view data, uint64_t offset) {
  if (!how.find_holes) return platform::write_at(file.dst, data.data(), data.size(), offset);
  for (bool zeros = false; !data.empty(); zeros = !zeros) {
    const size_t length = run_length(data, zeros);
    if (!zeros && length > 0) {
      const int error = platform::write_at(file.dst, data.data(), length, offset);
      if (error < 0) return error;
    }
    data.remove_prefix(length);
    offset += length;
  }
  return 0;
}

/**
 * The last method: copies up to `length` bytes at `offset` of both files. Returns false on failure.
 */
bool read_and_write(Worker& worker, const OpenFile& file, uint64_t offset, uint64_t length,
                    CopiedContent& content) {
  while (length > 0) {
    char* buffer = worker.content();
    const int64_t got =
        platform::read_at(file.src, buffer, std::min<uint64_t>(length, Worker::kContent), offset);
    if (got == 0) {
      content.ended_early = true;
      return true;
    }
    content.operation = "read";
    content.error = static_cast<int>(std::min<int64_t>(got, 0));
    if (got > 0) {
      content.operation = "write";
      content.error =
          write(worker.engine.options.content, file, {buffer, static_cast<size_t>(got)}, offset);
    }
    if (content.error < 0) return false;
    content.method = CopyMethod::read_write;
    if (!moved(worker, static_cast<uint64_t>(got), offset, length, content)) return false;
  }
  return true;
}

/** Returns the bytes that copy_file_range copied. With 0 bytes and no error, reading is next. */
uint64_t copy_range(const OpenFile& file, std::optional<uint64_t> offset, uint64_t length,
                    CopiedContent& content) {
  const Attempt attempt = platform::copy_range(file.src, file.dst, offset, length);
  if (attempt.outcome == Attempt::done) return attempt.bytes;
  if (attempt.outcome == Attempt::failed) {
    content.operation = "copy_file_range";
    content.error = -attempt.error;
  } else if (attempt.lasting) {
    file.route->copy_range = false;
  }
  return 0;
}

/**
 * Copies `length` bytes at `offset`, or fewer if the source ends before. Returns false on failure.
 */
bool copy_extent(Worker& worker, const OpenFile& file, uint64_t offset, uint64_t length,
                 CopiedContent& content) {
  Route& route = *file.route;
  while (length > 0 && route.copy_range && !worker.engine.options.content.find_holes) {
    const uint64_t bytes = copy_range(file, offset, std::min(length, kCall), content);
    if (content.error < 0) return false;
    // the end, or a file with an unreliable size: only reading can tell
    if (bytes == 0) break;
    content.method = CopyMethod::copy_file_range;
    if (!moved(worker, bytes, offset, length, content)) return false;
  }
  return read_and_write(worker, file, offset, length, content);
}

/** Returns whether the holes of a file are skipped. Called once for each copy of its content. */
bool skips_holes(const OpenFile& file) {
  return may_have_holes(file.stat) && platform::knows_holes(file.src);
}

/** Does the same as copy_extent(), but skips holes if `skips` says so. */
bool copy_data(Worker& worker, const OpenFile& file, bool skips, uint64_t offset, uint64_t length,
               CopiedContent& content) {
  if (!skips) return copy_extent(worker, file, offset, length, content);
  const uint64_t begin = offset, limit = offset + length;
  while (offset < limit) {
    if (offset > begin && stops(worker, content)) return false;
    uint64_t start = 0, end = 0;
    content.error = platform::next_data(file.src, offset, file.stat.size, start, end);
    if (content.error < 0) {
      content.operation = "lseek";
      return false;
    }
    if (start >= limit) break;
    content.data_end = end;
    offset = std::min(end, limit);
    if (!copy_extent(worker, file, start, offset - start, content)) return false;
    if (end == file.stat.size) return true;
  }
  content.ends_in_hole |= limit == file.stat.size;
  return true;
}

/**
 * Copies a file of less than kCall by one call that asks for a byte more than the file should have, or copies
 * nothing of an empty one. Returns false if it has to be copied in another way, from the beginning.
 */
bool copy_at_once(const Content& how, const OpenFile& file, CopiedContent& content) {
  const Route& route = *file.route;
  const uint64_t size = file.stat.size;
  if (!route.real_sizes || how.find_holes || size >= kCall || may_have_holes(file.stat))
    return false;
  if (size > 0) {
    if (!route.copy_range) return false;
    // If both were just opened, the kernel need not read and write the offset.
    const auto offset = file.used ? std::optional<uint64_t>(0) : std::nullopt;
    const uint64_t bytes = copy_range(file, offset, size + 1, content);
    // Fewer bytes than the file should have: it became shorter, or the call ended early.
    if (content.error == 0 && bytes < size) return false;
    content.method = CopyMethod::copy_file_range;
    content.bytes = bytes;
  }
  content.at_once = true;
  return true;
}

/** Sets the size of a copy that ends in a hole. Writing alone would leave it too short. */
bool settle_size(const Content& how, const OpenFile& file, CopiedContent& content) {
  if ((!content.ends_in_hole && !how.find_holes) || content.method == CopyMethod::clone)
    return true;
  // sysfs and the like report a size, no blocks, and have fewer bytes. Such files have no holes to
  // preserve.
  if (content.ended_early) return true;
  content.operation = "ftruncate";
  content.error = platform::set_size(file.dst, file.stat.size);
  return content.error == 0;
}

}  // namespace

CopiedContent copy_content(Worker& worker, const OpenFile& file) {
  CopiedContent content;
  const Content& how = worker.engine.options.content;
  if (clone(how, file, content) || copy_at_once(how, file, content)) return content;
  if (file.stat.size == 0) {
    // Perhaps a file of procfs and the like, which report no size.
    read_and_write(worker, file, 0, UINT64_MAX, content);
  } else if (copy_data(worker, file, skips_holes(file), 0, file.stat.size, content)) {
    settle_size(how, file, content);
  }
  return content;
}

bool source_changed(const OpenFile& file, const CopiedContent& content) {
  if (content.method == CopyMethod::clone) return false;
  if (content.at_once && file.stat.size < kSmall) return content.bytes != file.stat.size;
  platform::Stat now;
  if (platform::stat_handle(file.src, now) < 0) return true;
  return now.size != file.stat.size || now.mtime != file.stat.mtime;
}

// --- large files -----------------------------------------------------------------------------

namespace {

/** A large file that its worker and helpers copy, part after part, until none is left. */
class Parts {
 public:
  Parts(Engine& engine, const OpenFile& file)
      : engine_(engine), file_(file), skips_holes_(skips_holes(file)) {}

  /** Copies the next part. Returns false if none is left, or after an error. */
  bool copy_next(Worker& worker) {
    // Read before the part is taken: the data that was found then began in an earlier part, so a part that ends before
    // `data_end` has no holes.
    const uint64_t data_end = data_end_;
    const uint64_t offset = next_.fetch_add(kPart);
    if (offset >= file_.stat.size || error_ != 0) return false;
    const uint64_t length = std::min(kPart, file_.stat.size - offset);
    CopiedContent content;
    const bool skips = skips_holes_ && offset + length > data_end;
    if (!stops(worker, content)) copy_data(worker, file_, skips, offset, length, content);
    if (skips) data_end_ = content.data_end;
    // In the engine's counter, not in a worker's. If a worker subtracted bytes that another worker had counted, its counter
    // would be negative for a moment.
    engine_.count(Count::bytes, content.bytes);
    counted_ += content.bytes;
    if (content.ended_early) ended_early_ = true;
    if (content.ends_in_hole) ends_in_hole_ = true;
    if (content.method != CopyMethod::read_write) method_ = content.method;
    int none = 0;
    if (content.error < 0 && error_.compare_exchange_strong(none, content.error))
      operation_ = content.operation;
    return true;
  }

  [[nodiscard]] bool has_next() const { return next_ + kPart < file_.stat.size && error_ == 0; }

  [[nodiscard]] CopiedContent result() const {
    const uint64_t bytes = counted_;
    return {error_, operation_, method_, bytes, bytes, ended_early_, ends_in_hole_};
  }

 private:
  Engine& engine_;
  const OpenFile& file_;
  const bool skips_holes_;
  std::atomic<uint64_t> next_{0};  // offset of the next part that no worker has taken
  // Where the data ends that a part found. Kept, because tmpfs looks at each page up to there to tell it.
  std::atomic<uint64_t> data_end_{0};
  std::atomic<int> error_{0};  // the first error
  std::atomic<const char*> operation_{""};
  std::atomic<CopyMethod> method_{CopyMethod::read_write};
  std::atomic<bool> ended_early_{false}, ends_in_hole_{false};
  std::atomic<uint64_t> counted_{0};  // bytes that Count::bytes shows
};

/** Counts helpers, and waits for their end. */
class Helpers {
 public:
  Helpers() = default;
  ~Helpers() { wait(); }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  void begin() {
    const std::lock_guard lock(mutex_);
    count_++;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    count_--;
    ended_.notify_one();  // while locked: after that this may be gone
  }
  void wait() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;  // guards count_
  std::condition_variable ended_;
  int count_ = 0;
};

}  // namespace

CopiedContent copy_large_content(Worker& worker, const OpenFile& file) {
  const Content& how = worker.engine.options.content;
  CopiedContent content;
  if (clone(how, file, content)) return content;
  Parts parts(worker.engine, file);
  Helpers helpers;
  const auto start_helper = [&] {
    helpers.begin();
    const std::shared_ptr<Helpers> one(&helpers, [](Helpers* counted) { counted->end(); });
    worker.engine.start_helper([&parts, one](Worker& helper) {
      while (parts.copy_next(helper)) helper.is_over();  // which measures
    });
  };
  do {
    if (parts.has_next() && !platform::writes_in_order) start_helper();
    worker.is_over();
  } while (parts.copy_next(worker));
  helpers.wait();
  content = parts.result();
  if (content.error == 0) settle_size(how, file, content);
  return content;
}

}  // namespace fastcp
