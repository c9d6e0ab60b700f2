// What is left to do: last in, first out, so that a tree is walked depth first and few folders are
// open. Folders that were made early are for later: while not many wait, the oldest is next. One for
// all workers of a copy.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <variant>

#include "folder.h"
#include "questions.h"

namespace fastcp {

class LargeFile;

/** Make and list the folder `name`, in `parent`. In the base `dst_name` differs. */
struct FolderTask {
  FolderUse parent;
  std::string src_name, dst_name;
  Scope scope = 0;         // of the host, who decides about what is in it
  bool for_taken = false;  // made only for something taken in it
  bool replaces = false;   // what DEST has in its place, a folder apart, is removed
  bool made = false;       // while its parent was listed: make_early()
};

/** Remove a folder of DEST that SRC does not have, or what of it the host lets go. */
struct RemoveFolderTask {
  FolderUse parent;
  std::string name;
  Scope scope = 0;
  platform::Kind then = platform::Kind::unknown;  // copied when its place is free
};

/** Remove entries of a folder of DEST. */
struct RemoveTask {
  FolderUse folder;
  std::string names;  // each ended by a NUL
};

/** An entry named by the user, of the base. */
struct RootTask {
  FolderUse base;
  size_t root;
};

/** Read the next part of a folder's listing and copy what it names. Keeps the folder open. */
struct ListingTask {
  FolderUse folder;
  FolderPin pin;
};

/** Copy a part of a folder's listing that was read already. */
struct PartTask {
  FolderUse folder;
  std::string records;
};

/** How far a content was found to be the same, and of which states of both files. */
struct Compared {
  uint64_t offset = 0;
  platform::Time src_ctime{}, dst_ctime{};
};

/** Copy one entry of a folder that was listed already. */
struct EntryTask {
  FolderUse folder;
  std::string src_name, dst_name;
  platform::Kind kind;
  uint8_t tries = 0;  // that ended with a source that had changed
  Compared compared{};
  bool vacated = false;  // in a dry run: what DEST has there would be gone
  std::chrono::steady_clock::time_point leased_since{};  // when somebody's lease first kept us out
};

/** Copy parts of a large file, if any are left when the task's turn comes. */
struct LargeFileTask {
  std::shared_ptr<LargeFile> file;
  bool counted;  // holds one of the file's users, so the file waits for this task
};

using Task = std::variant<FolderTask, RootTask, ListingTask, PartTask, EntryTask, LargeFileTask,
                          RemoveFolderTask, RemoveTask>;

class TaskStack {
 public:
  /** How many folders that were made early wait until the newest is next. */
  void set_most_early(size_t count) { most_early_ = count; }

  void push(Task task);

  /**
   * Takes the next task; waits for other workers' pushes, at most `kPatience`. False where there is none, or
   * after stop(): then the worker gives its thread back.
   */
  bool take(Task& out);

  /**
   * True once after a worker left for want of a task while others went on, and now tasks wait: the host is to
   * be told, because it alone can bring the worker back.
   */
  bool calls_back();

  /** Every task that was taken is reported here, after what it pushed. */
  void done();

  /** Hands out nothing any more, and wakes those who wait. */
  void stop();

  /** Removes one task that nobody will run. */
  bool drop(Task& out);

  /** Something waits to be taken. */
  bool has_task();

  /** A worker waits, or has left, and there is nothing for it: whoever has much left should share it. */
  bool is_starved();

  /** Nothing waits, and nothing is being run. */
  bool finished();

 private:
  // Nodes are moved under the lock, and made and ended outside.
  using Tasks = std::list<Task>;
  void pop_locked(Tasks& out);
  bool any_locked() const { return !tasks_.empty() || !early_.empty(); }

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  Tasks tasks_, early_;  // the newest at the end
  size_t most_early_ = 0;
  uint64_t unfinished_ = 0;            // pushed and not done
  std::atomic<unsigned> waiting_ = 0;  // changed under the lock
  std::atomic<bool> left_ = false;     // a worker, for want of a task; changed under the lock
  bool stopped_ = false;
};

}  // namespace fastcp
