// JavaScript's handle on one copy. It gives the engine a thread of libuv's pool at first, then threads of the process's own,
// reports progress to JavaScript, and stops the engine when the JavaScript environment ends. addon.cc creates it and calls it.
//
//   JavaScript's thread                              other threads
//   start() ── queue async work ───────────────────> Engine::work(), on the pool for about 10 ms
//   completed() <── the work ends ───────────────────┘  └─ takes longer: Threads::enlist()
//                                                               └─> Engine::work(), on any number of threads
//   measure, notify(false) <── threadsafe function <── tick(), every 20 ms, on the pinger
//   asked() <─────────────────────────────────────────── questions wait
//     └ answer() ── pushes tasks, brings back workers
//   no task left, no worker: notify(true)
//
// Cleanup hooks run only after async work has ended, so they cannot end it. The threadsafe function can: if it is
// called without an environment, or calling JavaScript fails, it stops the engine.
//
// Members belong to JavaScript's thread, except those marked otherwise. pinger_mutex_ guards the threadsafe function.
#pragma once

#include <napi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/run/engine.h"
#include "host/threads.h"

namespace fastcp {

class Job : public Crew, public std::enable_shared_from_this<Job> {
 public:
  Job(const Options& options, const std::vector<Root>& roots, unsigned concurrency);
  ~Job() override = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Call these on JavaScript's thread:
  /**
   * Starts the copy. `notify(ended)` is called about every `interval`, which is at least 20 ms,
   * earlier after an error or a warning, and once with true. `asked()` is called when questions wait
   * to be taken. Both must catch their exceptions.
   */
  void start(Napi::Env env, const Napi::Function& notify, const Napi::Function& asked,
             std::chrono::milliseconds interval);
  /** `waits`: until the workers have left, but not for a call of the system that does not return. For the end of the process. */
  void stop(bool waits);
  /**
   * Works on this thread until only tasks that need an answer are left. For a job that is never
   * started.
   */
  void work_here();
  /** Continues after workers left because the journal was full. */
  void resume();
  /**
   * Passes on an answer. Returns false if it does not fit(), see engine/tree/answers.h. An answer to
   * a question that is no longer open is ignored: the copy was stopped meanwhile.
   */
  bool answer(uint32_t id, std::span<const uint8_t> choices, std::span<const Scope> scopes);

  Engine& engine() { return engine_; }

  // Threads calls these:
  void work() override;
  [[nodiscard]] bool has_work() const override;
  [[nodiscard]] unsigned sleeping() const override { return engine_.tasks.sleeping(); }
  unsigned tick() override;

 private:
  struct Work;
  class Pooled;
  class Own;

  void pump(napi_env env, bool may_end = true);
  void queue(napi_env env);
  void completed(napi_env env);
  [[nodiscard]] uint64_t problems() const;
  void notify(napi_env env, bool ended);
  void call(napi_env env, napi_ref function, bool argument);
  void keep_loop_alive(napi_env env, bool keep);
  void forget_functions(napi_env env);
  void environment_ends();
  void ping();
  static void on_ping(napi_env env, napi_value function, void* context, void* data) noexcept;

  const unsigned concurrency_;
  Engine engine_;

  // Only for JavaScript's thread:
  napi_env env_ = nullptr;
  napi_ref notify_ = nullptr;
  napi_ref asked_ = nullptr;
  std::chrono::milliseconds interval_{};
  Clock::time_point notified_{};
  uint64_t told_ = 0;  // errors and warnings at the last notify()
  bool keeps_loop_alive_ = true;
  bool ended_ = false;
  Work* work_ = nullptr;  // queued or executing

  // For all threads:
  std::mutex pinger_mutex_;                    // guards pinger_
  napi_threadsafe_function pinger_ = nullptr;  // null when it may not be called any more
  std::atomic<bool> untold_{false};            // questions wait, and JavaScript does not know yet

  // Only for the pinger:
  Clock::time_point measured_{};  // by tick()
  unsigned useful_ = 1;
};

}  // namespace fastcp
