#include "host/job.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "engine/base/moments.h"
#include "engine/entry/writers.h"
#include "engine/tree/answers.h"
#include "engine/tree/copy_directory.h"

namespace fastcp {
namespace {

std::vector<std::string> destinations_of(const std::vector<Root>& roots) {
  std::vector<std::string> result;
  result.reserve(roots.size());
  for (const Root& root : roots) result.push_back(root.dst);
  return result;
}

}  // namespace

/** A thread of libuv's pool, on which a copy begins. */
class Job::Pooled : public Host {
 public:
  explicit Pooled(Job& job) : job_(job) {}
  ~Pooled() override {
    if (has_enlisted_) Threads::process().leave(job_);
  }
  Pooled(const Pooled&) = delete;
  Pooled& operator=(const Pooled&) = delete;

  void questions_wait() override {
    job_.untold_ = true;
    job_.ping();
    hands_over();  // the answer comes to a worker that may wait for it
  }
  bool hands_over() override {
    if (!has_enlisted_ && !job_.engine_.stopped())
      has_enlisted_ = Threads::process().enlist(job_.shared_from_this());
    return has_enlisted_;
  }
  bool is_over(Clock::time_point now) override {
    // If there can be no other threads, the copy goes on here when the host has had its turn.
    const bool is_late = now - since_ >= kMoment;
    if (is_late) hands_over();
    return is_late || has_enlisted_;
  }

 private:
  Job& job_;
  const Clock::time_point since_ = Clock::now();
  bool has_enlisted_ = false;
};

/** One of the process's own threads, where nothing may call libuv. */
class Job::Own : public Host {
 public:
  explicit Own(Job& job) : job_(job) {}

  [[nodiscard]] bool may_sleep() const override { return true; }
  void questions_wait() override {
    job_.untold_ = true;
    Threads::process().ping(job_);
  }

 private:
  Job& job_;
};

/** One piece of async work. */
struct Job::Work {
  explicit Work(std::shared_ptr<Job> job_) : job(std::move(job_)) {}

  std::shared_ptr<Job> job;
  napi_async_work work = nullptr;
};

Job::Job(const Options& options, const std::vector<Root>& roots, unsigned concurrency)
    : concurrency_(concurrency), engine_(options, writer_for(options), destinations_of(roots)) {
  fastcp::start(engine_, roots);
}

// --- JavaScript's thread ---------------------------------------------------------------------

void Job::start(Napi::Env env, const Napi::Function& notify, const Napi::Function& asked,
                std::chrono::milliseconds interval) {
  env_ = env;
  interval_ = interval;
  const auto keep = [](const Napi::Function& function) -> napi_ref {
    Napi::Reference<Napi::Function> reference = Napi::Persistent(function);
    reference.SuppressDestruct();
    return reference;
  };
  notify_ = keep(notify);
  asked_ = keep(asked);

  // The context keeps the job alive until the function is finalized, which is after its last call.
  auto* context = new std::shared_ptr<Job>(shared_from_this());
  const auto finalize = [](napi_env where, void*, void* kept) noexcept {
    const std::unique_ptr<std::shared_ptr<Job>> job(static_cast<std::shared_ptr<Job>*>(kept));
    if ((*job)->ended_) return;
    (*job)->environment_ends();
    (*job)->forget_functions(where);
  };
  const napi_status status =
      napi_create_threadsafe_function(env, nullptr, nullptr, Napi::String::New(env, "fastcp"), 1, 1,
                                      nullptr, finalize, context, on_ping, &pinger_);
  if (status != napi_ok) {
    delete context;
    forget_functions(env);
    throw Napi::Error::New(env, "fastcp: no threadsafe function");
  }
  engine_.useful_workers(concurrency_);
  pump(env);
}

void Job::stop(bool waits) {
  engine_.stop();
  if (env_ == nullptr || ended_) return;
  if (waits) return Threads::process().end(*this);
  // Work that waits in the pool's queue behind the host's own work is no longer needed.
  if (work_ != nullptr) napi_cancel_async_work(env_, work_->work);
  pump(env_);  // if there is no worker, no other call would end it
}

void Job::work_here() {
  Host host;
  engine_.work(host);  // the caller looks for questions when nothing else is left
}

void Job::resume() {
  // The end comes by itself, and not while a caller reads what it has taken.
  if (env_ != nullptr && !ended_) pump(env_, false);
}

bool Job::answer(uint32_t id, std::span<const uint8_t> choices, std::span<const Scope> scopes) {
  {
    const OpenDirectories open(engine_);  // a directory may end here
    Question question;
    if (!engine_.questions.remove(id, question)) return true;
    const TaskLists::Answering answering(engine_.tasks);
    if (!fits(engine_, question, choices.data(), choices.size(), scopes.size())) return false;
    const ListNumber asker = question.asker;
    engine_.tasks.push(
        make_task(AnswerTask{
            std::move(question), {choices.begin(), choices.end()}, {scopes.begin(), scopes.end()}}),
        asker);
  }
  resume();
  return true;
}

/**
 * If only the user's filter is awaited, the filter alone keeps the process alive, as any promise
 * does. A filter that never answers must not keep it alive.
 */
void Job::keep_loop_alive(napi_env env, bool keep) {
  if (keep == keeps_loop_alive_) return;
  keeps_loop_alive_ = keep;
  const std::lock_guard lock(pinger_mutex_);
  if (pinger_ == nullptr) return;
  if (keep) {
    napi_ref_threadsafe_function(env, pinger_);
  } else {
    napi_unref_threadsafe_function(env, pinger_);
  }
}

/** Brings workers while there is work. Ends the job when nothing is left. */
void Job::pump(napi_env env, bool may_end) {
  if (ended_) return;
  Threads& threads = Threads::process();
  const bool has_workers = work_ != nullptr || threads.has_workers(*this);
  const bool is_over = engine_.stopped() || engine_.finished();
  if (is_over && may_end && work_ == nullptr && threads.dismiss(*this)) {
    if (engine_.stopped()) engine_.abandon();
    engine_.end();
    ended_ = true;
    {
      const std::lock_guard lock(pinger_mutex_);
      if (pinger_ != nullptr) napi_release_threadsafe_function(pinger_, napi_tsfn_release);
      pinger_ = nullptr;
    }
    notify(env, true);
    return forget_functions(env);
  }
  // JavaScript may leave questions that it was told of, until the filter has answered others. One look at tasks and questions
  // together: workers may come, finish them, and leave meanwhile. Then their last ping must find the loop alive.
  const bool waits = engine_.tasks.wait_for_answers() || (engine_.questions.full() && !has_workers);
  keep_loop_alive(env, is_over || !waits || untold_);
  if (!has_work() || work_ != nullptr || threads.wake(*this)) return;
  queue(env);
}

void Job::queue(napi_env env) {
  auto work = std::make_unique<Work>(shared_from_this());
  const auto execute = [](napi_env, void* data) noexcept {
    Job& job = *static_cast<Work*>(data)->job;
    Pooled host(job);
    job.engine_.work(host);
  };
  const auto complete = [](napi_env where, napi_status, void* data) noexcept {
    const std::unique_ptr<Work> ended(static_cast<Work*>(data));
    napi_delete_async_work(where, ended->work);
    ended->job->work_ = nullptr;
    ended->job->completed(where);
  };
  // Plain calls, because Napi:: functions throw while the environment is ending.
  napi_value name = nullptr;
  if (napi_create_string_utf8(env, "fastcp", NAPI_AUTO_LENGTH, &name) == napi_ok &&
      napi_create_async_work(env, nullptr, name, execute, complete, work.get(), &work->work) ==
          napi_ok &&
      napi_queue_async_work(env, work->work) == napi_ok) {
    work_ = work.release();  // complete() takes it over
    return;
  }
  if (work->work != nullptr) napi_delete_async_work(env, work->work);
  engine_.fail({ENOMEM, "napi_queue_async_work", {}, {}}, nullptr);
  engine_.stop();
  pump(env);
}

void Job::completed(napi_env env) {
  pump(env);
  // If all have ended, the completion of the last one follows at once, and tells everything.
  if (!ended_ && !engine_.finished()) notify(env, false);
}

uint64_t Job::problems() const { return engine_.errors.count() + engine_.warnings.count(); }

void Job::notify(napi_env env, bool ended) {
  notified_ = Clock::now();
  told_ = problems();
  call(env, notify_, ended);
}

void Job::call(napi_env env, napi_ref callback, bool argument) {
  napi_value function = nullptr, self = nullptr, value = nullptr;
  const bool called = napi_get_reference_value(env, callback, &function) == napi_ok &&
                      napi_get_undefined(env, &self) == napi_ok &&
                      napi_get_boolean(env, argument, &value) == napi_ok &&
                      napi_call_function(env, self, function, 1, &value, nullptr) == napi_ok;
  // Callers hold a handle scope, callbacks of Node-API included. The function catches all its
  // exceptions, so a failed call means that it did not run at all.
  if (!called) environment_ends();
}

void Job::forget_functions(napi_env env) {
  napi_delete_reference(env, std::exchange(notify_, nullptr));
  napi_delete_reference(env, std::exchange(asked_, nullptr));
}

void Job::environment_ends() {
  {
    const std::lock_guard lock(pinger_mutex_);
    pinger_ = nullptr;
  }
  engine_.stop();
  Threads::process().end(*this);
}

void Job::on_ping(napi_env env, napi_value, void* context, void*) noexcept {
  if (env == nullptr) return;  // closing: already finalized
  Job& job = **static_cast<std::shared_ptr<Job>*>(context);
  if (job.ended_) return;
  job.untold_ = false;
  if (job.engine_.questions.any_waiting()) job.call(env, job.asked_, false);
  if (job.ended_) return;
  job.pump(env);
  if (job.ended_) return;
  // Questions ping as often as they occur. The last worker perhaps left because the journal is full, and told nothing yet.
  const auto interval = job.problems() == job.told_ ? job.interval_ : kTick;
  const bool is_due = Clock::now() - job.notified_ >= interval - kTick / 4;
  const bool waits = !job.has_work() && !Threads::process().has_workers(job);
  if (is_due || waits) job.notify(env, false);
}

// --- any thread ------------------------------------------------------------------------------

void Job::work() {
  Own host(*this);
  engine_.work(host);
}

bool Job::has_work() const {
  return engine_.tasks.has_task() && !engine_.stopped() && !engine_.journal.full() &&
         !engine_.questions.full();
}

unsigned Job::tick() {
  const auto now = Clock::now();
  if (now - measured_ >= kTick) {
    measured_ = now;
    useful_ = engine_.useful_workers(concurrency_);
  }
  ping();
  const unsigned helpers = engine_.helpers();
  return useful_ > helpers ? useful_ - helpers : 1;
}

/** If JavaScript cannot be reached any more, the engine is stopped. */
void Job::ping() {
  {
    const std::lock_guard lock(pinger_mutex_);
    if (pinger_ == nullptr) return;
    const napi_status status =
        napi_call_threadsafe_function(pinger_, nullptr, napi_tsfn_nonblocking);
    // Full: the last ping is still waiting, which is enough.
    if (status == napi_ok || status == napi_queue_full) return;
    pinger_ = nullptr;  // closing: another call could find it deleted
  }
  engine_.stop();
}

}  // namespace fastcp
