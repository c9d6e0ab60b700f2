// JavaScript's handle on one copy. It lends the engine threads of libuv's pool, reports progress to JavaScript, and
// stops the engine when the JavaScript environment ends. addon.cc creates it and calls it.
//
//   JavaScript's thread                              pool threads
//   start() ── take slots ── queue async work ────> Engine::work() ── every 20 ms ──┐
//   measure, notify(false) <── threadsafe function <────────────────────────────────┤
//   asked() <──────── threadsafe function <── questions wait ───────────────────────┘
//     └ answer() ── pushes tasks, queues workers
//   completed() <── the work ends, slot given on ──  Engine::work() returns
//     │ tasks left: take slots, queue again; no worker and no slot: wait in line for one
//     └ no tasks left, no worker: notify(true)
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
#include "host/slots.h"

namespace fastcp {

class Job : public Waiting, public std::enable_shared_from_this<Job> {
 public:
  Job(const Options& options, const std::vector<Root>& roots, unsigned concurrency);
  ~Job() override;
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
  void stop();
  /**
   * Works on this thread until only tasks that need an answer are left. For a job that is never
   * started. Takes no slot, because it uses no thread of the pool.
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

  // Any thread may call this:
  bool wake() override { return ping(); }

 private:
  struct Work;
  class Lease;

  void pump(napi_env env);
  bool queue(napi_env env, Slot slot);
  void completed(napi_env env);
  [[nodiscard]] uint64_t problems() const;
  void notify(napi_env env, bool ended);
  void call(napi_env env, napi_ref function, bool argument);
  void keep_loop_alive(napi_env env, bool keep);
  void forget_functions(napi_env env);
  void environment_ends();
  bool ping();
  static void on_ping(napi_env env, napi_value function, void* context, void* data) noexcept;

  const unsigned concurrency_;
  Engine engine_;

  // Only for JavaScript's thread:
  napi_env env_ = nullptr;
  napi_ref notify_ = nullptr;
  napi_ref asked_ = nullptr;
  std::chrono::milliseconds interval_{};
  Clock::time_point measured_{}, notified_{};
  uint64_t told_ = 0;  // errors and warnings at the last notify()
  bool keeps_loop_alive_ = true;
  bool ended_ = false;
  std::vector<Work*> works_{};  // queued or executing

  // For all threads:
  std::mutex pinger_mutex_;                    // guards pinger_
  napi_threadsafe_function pinger_ = nullptr;  // null when it may not be called any more
  std::atomic<unsigned> wanted_{1};            // workers, by the last measurement
  std::atomic<unsigned> active_{0};            // works that are executing
  std::atomic<int64_t> pinged_{0};             // Clock's ticks
  std::atomic<bool> untold_{false};            // questions wait, and JavaScript does not know yet
};

}  // namespace fastcp
