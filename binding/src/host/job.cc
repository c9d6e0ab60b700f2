#include "host/job.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "engine/entry/writers.h"
#include "engine/tree/answers.h"
#include "engine/tree/copy_directory.h"

namespace fastcp {
namespace {

constexpr auto kPing = std::chrono::milliseconds(20);
/** The time that a worker keeps a thread that other copies wait for. */
constexpr auto kSlice = std::chrono::milliseconds(10);

std::vector<std::string> destinations_of(const std::vector<Root>& roots) {
  std::vector<std::string> result;
  result.reserve(roots.size());
  for (const Root& root : roots) result.push_back(root.dst);
  return result;
}

}  // namespace

/** A pool thread that is lent to the engine. */
class Job::Lease : public Host {
 public:
  explicit Lease(Job& job) : job_(job) { job_.active_++; }
  ~Lease() override {
    if (!let_go_) job_.active_--;
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  void questions_wait() override {
    job_.untold_ = true;
    job_.ping();
  }
  void tasks_wait() override { job_.ping(); }

  bool wants_thread_back(Clock::time_point now) override {
    int64_t last = job_.pinged_;
    const int64_t ticks = now.time_since_epoch().count();
    if (ticks - last >= Clock::duration(kPing).count() &&
        job_.pinged_.compare_exchange_strong(last, ticks)) {
      job_.ping();
    }
    Slots& slots = Slots::process();
    if (now - since_ >= kSlice && (slots.scarce() || slots.anyone_waiting())) return true;
    // There are more workers than useful, so this one leaves. The others see the new number, so not
    // all of them leave.
    unsigned active = job_.active_;
    while (active > std::max(1U, job_.wanted_.load())) {
      if (job_.active_.compare_exchange_weak(active, active - 1)) return let_go_ = true;
    }
    return false;
  }

 private:
  Job& job_;
  const Clock::time_point since_ = Clock::now();
  bool let_go_ = false;
};

/** One piece of async work. */
struct Job::Work {
  Work(std::shared_ptr<Job> job_, Slot slot_) : job(std::move(job_)), slot(std::move(slot_)) {}
  void execute();

  std::shared_ptr<Job> job;
  Slot slot;  // given back on the pool's thread, or here if the work never began
  napi_async_work work = nullptr;
};

Job::Job(const Options& options, const std::vector<Root>& roots, unsigned concurrency)
    : concurrency_(concurrency), engine_(options, writer_for(options), destinations_of(roots)) {
  fastcp::start(engine_, roots);
}

Job::~Job() { Slots::process().leave(*this); }

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
  wanted_ = engine_.useful_workers(concurrency_);
  pump(env);
}

void Job::stop() {
  engine_.stop();
  if (env_ == nullptr || ended_) return;
  // Work that waits in the pool's queue behind the host's own work is no longer needed.
  for (const Work* work : works_) napi_cancel_async_work(env_, work->work);
  if (works_.empty()) pump(env_);  // no other call would end it
}

void Job::work_here() {
  struct Here : Host {
    bool wants_thread_back(Clock::time_point) override { return false; }
    void questions_wait() override {}  // the caller looks for questions when nothing else is left
    void tasks_wait() override {}      // there is only this worker
  };
  Here host;
  engine_.work(host);
}

void Job::resume() {
  if (env_ != nullptr && !ended_) pump(env_);
}

bool Job::answer(uint32_t id, std::span<const uint8_t> choices, std::span<const Scope> scopes) {
  {
    const OpenDirectories open(engine_);  // a directory may end here
    Question question;
    if (!engine_.questions.remove(id, question)) return true;
    const TaskLists::Answering answering(engine_.tasks);
    if (!fits(engine_, question, choices.data(), choices.size(), scopes.size())) return false;
    engine_.tasks.push(make_task(AnswerTask{
        std::move(question), {choices.begin(), choices.end()}, {scopes.begin(), scopes.end()}}));
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

/** Queues workers while more are useful and slots are free. Ends the job when nothing is left. */
void Job::pump(napi_env env) {
  if (ended_) return;
  if (works_.empty() && engine_.stopped()) engine_.abandon();
  Slots& slots = Slots::process();
  if (works_.empty() && engine_.finished()) {
    engine_.end();
    ended_ = true;
    slots.leave(*this);
    {
      const std::lock_guard lock(pinger_mutex_);
      if (pinger_ != nullptr) napi_release_threadsafe_function(pinger_, napi_tsfn_release);
      pinger_ = nullptr;
    }
    notify(env, true);
    return forget_functions(env);
  }
  const bool has_task = engine_.tasks.has_task();
  // JavaScript may leave questions that it was told of, until the filter has answered others.
  const bool can_work = has_task && !engine_.questions.full();
  keep_loop_alive(env, can_work || !works_.empty() || untold_);
  if (engine_.stopped() || engine_.journal.full() || engine_.questions.full() || !has_task) {
    return slots.leave(*this);
  }

  const unsigned wanted = wanted_;
  while (works_.size() < wanted) {
    // Only a copy without any worker makes other copies give up theirs.
    Slot slot = works_.empty() ? slots.take_or_wait(shared_from_this()) : slots.take(*this);
    if (!slot) return;
    if (!queue(env, std::move(slot))) return;
  }
}

/** Returns false if there can be no more workers: the copy fails, and its last worker ends it. */
bool Job::queue(napi_env env, Slot slot) {
  auto work = std::make_unique<Work>(shared_from_this(), std::move(slot));
  works_.push_back(work.get());
  const auto execute = [](napi_env, void* data) noexcept { static_cast<Work*>(data)->execute(); };
  const auto complete = [](napi_env where, napi_status, void* data) noexcept {
    std::unique_ptr<Work> ended(static_cast<Work*>(data));
    napi_delete_async_work(where, ended->work);
    const std::shared_ptr<Job> job = ended->job;
    std::erase(job->works_, ended.get());
    ended.reset();  // the slot of one that never began is free before more are asked for
    job->completed(where);
  };
  // Plain calls, because Napi:: functions throw while the environment is ending.
  napi_value name = nullptr;
  if (napi_create_string_utf8(env, "fastcp", NAPI_AUTO_LENGTH, &name) == napi_ok &&
      napi_create_async_work(env, nullptr, name, execute, complete, work.get(), &work->work) ==
          napi_ok &&
      napi_queue_async_work(env, work->work) == napi_ok) {
    static_cast<void>(work.release());  // complete() takes it over
    return true;
  }
  works_.pop_back();
  if (work->work != nullptr) napi_delete_async_work(env, work->work);
  work.reset();
  engine_.fail({ENOMEM, "napi_queue_async_work", {}, {}}, nullptr);
  engine_.stop();
  if (works_.empty()) pump(env);  // no other call would end it
  return false;
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
  Slots::process().leave(*this);
}

void Job::on_ping(napi_env env, napi_value, void* context, void*) noexcept {
  if (env == nullptr) return;  // closing: already finalized
  Job& job = **static_cast<std::shared_ptr<Job>*>(context);
  if (job.ended_) return;
  job.untold_ = false;
  if (job.engine_.questions.any_waiting()) job.call(env, job.asked_, false);
  if (job.ended_) return;
  // Questions and granted slots ping as often as they occur.
  const auto now = Clock::now();
  const auto is_due = [now](Clock::time_point last, std::chrono::milliseconds interval) {
    return now - last >= interval - kPing / 4;
  };
  if (is_due(job.measured_, kPing)) {
    job.measured_ = now;
    job.wanted_ = job.engine_.useful_workers(job.concurrency_);
  }
  job.pump(env);
  const auto interval = job.problems() == job.told_ ? job.interval_ : kPing;
  if (!job.ended_ && is_due(job.notified_, interval)) job.notify(env, false);
}

// --- any thread ------------------------------------------------------------------------------

void Job::Work::execute() {
  {
    Lease lease(*job);
    job->engine_.work(lease);
  }
  slot = Slot();
}

/** Returns false if JavaScript cannot be reached any more. Then the engine is stopped. */
bool Job::ping() {
  {
    const std::lock_guard lock(pinger_mutex_);
    if (pinger_ == nullptr) return false;
    const napi_status status =
        napi_call_threadsafe_function(pinger_, nullptr, napi_tsfn_nonblocking);
    // Full: the last ping is still waiting, which is enough.
    if (status == napi_ok || status == napi_queue_full) return true;
    pinger_ = nullptr;  // closing: another call could find it deleted
  }
  engine_.stop();
  return false;
}

}  // namespace fastcp
