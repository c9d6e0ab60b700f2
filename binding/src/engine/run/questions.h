// Directories of which the host decides what is copied. Workers ask and go on with something else; they
// never wait for an answer, which comes on another thread and brings the tasks.
//
//   ask() ──> waiting ── take() ──> asked ── answer() ──> PartTasks and DirectoryTasks
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/request.h"
#include "engine/run/directory.h"

namespace fastcp {

/** An entry of DEST that SRC does not have, or only one of them is a directory. */
struct Extra {
  std::string name;
  platform::Kind kind;
  bool conflicts;  // SRC has that name, too
};

struct Question {
  DirectoryUse directory;
  Scope scope;
  std::string records{};        // the whole listing, without '.' and '..'
  std::string kinds{};          // of each record, never unknown
  std::vector<Extra> extras{};  // in a mirror, where DEST has the directory

  /** What it takes in memory, about. */
  [[nodiscard]] size_t size() const;
};

/** The questions of one copy that have no answer yet. */
class Questions {
 public:
  /** Bounded softly: workers leave while it is full, so that memory grows with neither tree. */
  static constexpr size_t kFull = 4 << 20;  // bytes

  /** True where nothing waited before: the host has to be told. */
  bool add(Question question);

  bool full() const { return bytes_.load(std::memory_order_relaxed) >= kFull; }

  /** Some wait to be taken. */
  bool any_waiting();

  /** Some have no answer, whether or not they were taken. */
  bool any();

  /**
   * Takes questions, the newest first so that the tree is walked depth first, until `limit` bytes
   * are reached. Each is four little-endian 32-bit numbers: its id, the scope, how many entries,
   * how many bytes of names; then a byte for each entry's kind, and the names, each ended by a NUL.
   * Unless `extras_go` in any case they come after SRC's entries, their kinds with kExtraBit.
   */
  std::string take(size_t limit, bool extras_go);
  static constexpr uint8_t kExtraBit = 0x80;

  /** The question that was taken under this id. False where it is not asked any more. */
  bool remove(uint32_t id, Question& out);

  /** Lets go of all. */
  void clear();

 private:
  std::mutex mutex_;  // guards all below
  std::vector<Question> waiting_;
  std::unordered_map<uint32_t, Question> asked_;
  uint32_t last_id_ = 0;
  std::atomic<size_t> bytes_{0};  // of all, whether or not they were taken
};

}  // namespace fastcp
