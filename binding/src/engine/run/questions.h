// Directories whose entries the host selects. Workers ask and continue with other tasks. The answer arrives on another
// thread and becomes a task of the worker that asked, which pushes the others.
//
//   ask() ──> waiting ── take() ──> asked ── answer() ──> AnswerTask ──> PartTasks and DirectoryTasks
//
// Workers add questions. On JavaScript's thread addon.cc takes them, and Job::answer() removes them. When the copy is stopped, the
// last worker or that thread drops those that are left.
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
#include "engine/run/task_lists.h"

namespace fastcp {

/** An entry of DEST that SRC does not have, or that is a directory on only one side. */
struct Extra {
  std::string name;
  platform::Kind kind;
  bool conflicts;  // SRC has that name also
};

struct Question {
  DirectoryUse directory;
  Scope scope;
  std::string records{};        // the whole listing without '.' and '..'
  std::string kinds{};          // of each record, never unknown
  std::vector<Extra> extras{};  // in a mirror, if DEST has the directory
  size_t posed = 0;             // bytes of `records` that take_entry() has posed
  size_t posed_kinds = 0;
  ListNumber asker = 0;  // the list of the worker that asks

  /** Returns the approximate size in memory, in bytes. */
  [[nodiscard]] size_t size() const;
};

/** The questions of one copy that have no answer yet. */
class Questions {
 public:
  explicit Questions(TaskLists& tasks) : tasks_(tasks) {}

  /** The bound is soft: workers leave while it is reached. So memory grows with neither tree. */
  static constexpr size_t kFull = 4 << 20;  // bytes

  /** Adds a question. Returns true if none waited before: the caller must tell the host. */
  bool add(Question question);

  bool full() const { return bytes_.load(std::memory_order_relaxed) >= kFull; }

  /** Returns whether questions wait to be taken. */
  bool any_waiting();

  /**
   * Takes questions until `limit` bytes are reached. The newest is first, so that the tree is
   * walked depth first.
   *
   * A question starts with four little-endian 32-bit numbers: id, scope, number of entries, bytes of names. Then follow
   * one byte for each entry's kind, and the names, each ended by a NUL. Extra entries of DEST come after those of SRC,
   * their kinds with kExtraBit. They are absent if `extras_go`: then they are deleted whatever the answer is.
   */
  std::string take(size_t limit, bool extras_go);
  static constexpr uint8_t kExtraBit = 0x80;

  /**
   * Takes the next entry of the newest question, as a question of its own: for a host that wants it
   * copied before it is asked again. Not for mirrors.
   */
  std::string take_entry();

  /**
   * Removes the question that was taken under this id. Returns false if it is not open any more. The
   * caller must have a TaskLists::Answering until it has pushed the tasks.
   */
  bool remove(uint32_t id, Question& out);

  /** Drops all questions. */
  void clear();

 private:
  /** Writes a question to `out`, and stores it until its answer comes. */
  void pose_locked(Question question, bool extras_go, std::string& out);

  TaskLists& tasks_;
  std::mutex mutex_;  // guards all below
  std::vector<Question> waiting_;
  std::unordered_map<uint32_t, Question> asked_;
  uint32_t last_id_ = 0;
  std::atomic<size_t> bytes_{0};  // of all questions, taken or not; read without the lock
};

}  // namespace fastcp
