// The interface to JavaScript: only this file converts JavaScript values to C++ types.
// lib/bridge/native.ts calls it, and has checked all values. All functions run on JavaScript's
// thread, unless they say otherwise.

#include <napi.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/entry/mark.h"
#include "host/count_ahead.h"
#include "host/job.h"

namespace fastcp {
namespace {

std::string bytes_of(const Napi::Value& value) {
  const auto buffer = value.As<Napi::Buffer<char>>();
  return {buffer.Data(), buffer.Length()};
}

Napi::Value buffer_of(Napi::Env env, const std::string& bytes) {
  // Copied, because not every host allows buffers over the addon's memory.
  return Napi::Buffer<char>::Copy(env, bytes.data(), bytes.size());
}

bool is_array_of(const Napi::Value& value, napi_typedarray_type type) {
  return value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == type;
}

bool flag(const Napi::Object& object, const char* name) {
  return object.Get(name).As<Napi::Boolean>().Value();
}

/** Returns which of the words an option is, as the enum counts them; the first one if it is not set. */
template <class Enum>
Enum choice(const Napi::Object& from, const char* name, std::initializer_list<const char*> words) {
  const Napi::Value value = from.Get(name);
  const std::string given = value.IsString() ? value.As<Napi::String>().Utf8Value() : "";
  const auto* const at = std::find(words.begin(), words.end(), given);
  return static_cast<Enum>(at == words.end() ? 0 : at - words.begin());
}

/** Converts a Request of lib/request/request.ts: options have the same names there. */
Options options_of(const Napi::Object& from) {
  const auto on = [&](const char* name) { return flag(from, name); };
  const auto number = [&](const char* name) {
    return from.Get(name).As<Napi::Number>().Uint32Value();
  };
  const auto is = [&](const char* name, const char* value) {
    return choice<int>(from, name, {"", value}) == 1;
  };
  const auto kinds = from.Get("preserve").As<Napi::Array>();
  const auto preserves = [&](const char* kind) {
    for (uint32_t i = 0; i < kinds.Length(); i++)
      if (kinds.Get(i).As<Napi::String>().Utf8Value() == kind) return true;
    return false;
  };
  Options options;
  options.compatibility = {.like = choice<Like>(from, "like", {"fastcp", "node", "fs-extra"}),
                           .absolute_symlinks = on("absoluteSymlinks"),
                           .working_directory = bytes_of(from.Get("workingDirectory"))};
  const Like like = options.compatibility.like;
  options.preserve = {.mode = preserves("mode"),
                      .timestamps = preserves("timestamps"),
                      .ownership = preserves("ownership"),
                      .as_node = like != Like::fastcp,
                      .xattrs = preserves("xattrs"),
                      .hard_links = preserves("hardLinks"),
                      .existing_directories = on("existingDirectories"),
                      .existing_directory_times = preserves("timestamps") && like == Like::node};
  options.content = {.reflink = choice<Reflink>(from, "reflink", {"auto", "always", "never"}),
                     .find_holes = is("sparse", "always"),
                     .verify = on("verify"),
                     .fsync = on("fsync"),
                     .instead = on("hardLink")  ? Instead::hard_link
                                : on("symlink") ? Instead::symlink
                                                : Instead::copy};
  options.existing = {.force = on("force"),
                      .error_on_exist = on("errorOnExist"),
                      .update = on("update"),
                      .backup = choice<Backup>(from, "backup", {"", "numbered", "existing"})};
  options.incremental = {.sync = on("sync"),
                         .checksum = on("checksum"),
                         .quick_check = on("quickCheck"),
                         .mirror = on("mirror"),
                         .delete_excluded = on("deleteExcluded")};
  options.traversal = {.dereference = on("dereference"),
                       .one_file_system = on("oneFileSystem"),
                       .shard = number("shard"),
                       .shards = number("shards")};
  options.reporting = {
      .stop_on_error = is("onError", "stop"), .strict = on("strict"), .journal = on("entries")};
  if (from.Get("replaces").IsBuffer()) options.replaces = bytes_of(from.Get("replaces"));
  options.dry_run = on("dryRun");
  options.compares = on("compares");
  return options;
}

/** `distrusted`, `first_temporary`: see Options. */
Options options_of(const Napi::Object& request, const Napi::Array& distrusted,
                   double first_temporary) {
  Options options = options_of(request);
  for (uint32_t i = 0; i < distrusted.Length(); i++)
    options.incremental.distrusted.push_back(
        static_cast<uint64_t>(distrusted.Get(i).As<Napi::Number>().Int64Value()));
  options.first_temporary = static_cast<uint64_t>(first_temporary);
  return options;
}

intptr_t held(const Napi::Object& root, const char* name) {
  const Napi::Value descriptor = root.Get(name);
  return descriptor.IsNumber() ? descriptor.As<Napi::Number>().Int32Value() : -1;
}

std::vector<Root> roots_of(const Napi::Array& from) {
  std::vector<Root> roots;
  for (uint32_t i = 0; i < from.Length(); i++) {
    const auto root = from.Get(i).As<Napi::Object>();
    roots.push_back({bytes_of(root.Get("src")), bytes_of(root.Get("dest")), flag(root, "followSrc"),
                     root.Get("scope").As<Napi::Number>().Uint32Value(), flag(root, "remove"),
                     flag(root, "followDest"), root.Get("made").ToBoolean(), held(root, "srcHeld"),
                     held(root, "destHeld")});
  }
  return roots;
}

class JobHandle : public Napi::ObjectWrap<JobHandle> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(env, "Job",
                       {
                           InstanceMethod<&JobHandle::start>("start"),
                           InstanceMethod<&JobHandle::work>("work"),
                           InstanceMethod<&JobHandle::stop>("stop"),
                           InstanceMethod<&JobHandle::counters>("counters"),
                           InstanceMethod<&JobHandle::errors>("errors"),
                           InstanceMethod<&JobHandle::warnings>("warnings"),
                           InstanceMethod<&JobHandle::losses>("losses"),
                           InstanceMethod<&JobHandle::take_entries>("takeEntries"),
                           InstanceMethod<&JobHandle::take_questions>("takeQuestions"),
                           InstanceMethod<&JobHandle::take_entry>("takeEntry"),
                           InstanceMethod<&JobHandle::answer>("answer"),
                       });
  }

  /** new Job(roots, request, distrusted, firstTemporary) */
  explicit JobHandle(const Napi::CallbackInfo& info)
      : Napi::ObjectWrap<JobHandle>(info),
        job_(std::make_shared<Job>(
            options_of(info[1].As<Napi::Object>(), info[2].As<Napi::Array>(),
                       info[3].As<Napi::Number>().DoubleValue()),
            roots_of(info[0].As<Napi::Array>()),
            info[1].As<Napi::Object>().Get("concurrency").As<Napi::Number>().Uint32Value())) {}

 private:
  void start(const Napi::CallbackInfo& info) {
    job_->start(info.Env(), info[0].As<Napi::Function>(), info[1].As<Napi::Function>(),
                std::chrono::milliseconds(info[2].As<Napi::Number>().Uint32Value()));
  }

  /** Works on this thread, for a job that is never started: see Job::work_here(). */
  void work(const Napi::CallbackInfo&) { job_->work_here(); }

  void stop(const Napi::CallbackInfo& info) { job_->stop(info[0].ToBoolean()); }

  /** Returns a Float64Array in the order of Count. */
  Napi::Value counters(const Napi::CallbackInfo& info) {
    const Counters counters = job_->engine().counters();
    auto result = Napi::Float64Array::New(info.Env(), kCounts);
    std::copy(counters.begin(), counters.end(), result.Data());
    return result;
  }

  /** errors(from): { count, problems }. `problems` are those stored from number `from` on. */
  Napi::Value errors(const Napi::CallbackInfo& info) {
    return problems(info, job_->engine().errors);
  }
  Napi::Value warnings(const Napi::CallbackInfo& info) {
    return problems(info, job_->engine().warnings);
  }

  static Napi::Value problems(const Napi::CallbackInfo& info, Problems& from) {
    const Napi::Env env = info.Env();
    std::vector<Problem> found;
    const uint64_t count = from.read(info[0].As<Napi::Number>().Uint32Value(), found);
    auto list = Napi::Array::New(env, found.size());
    for (uint32_t i = 0; i < found.size(); i++) {
      list[i] = object_of(env, found[i]);
    }
    auto result = Napi::Object::New(env);
    result["count"] = Napi::Number::New(env, static_cast<double>(count));
    result["problems"] = list;
    return result;
  }

  static Napi::Object object_of(Napi::Env env, const Problem& from) {
    auto problem = Napi::Object::New(env);
    problem["errno"] = Napi::Number::New(env, -from.error);
    problem["operation"] = Napi::String::New(env, from.operation);
    problem["path"] = buffer_of(env, from.path);
    problem["dest"] = buffer_of(env, from.dest);
    if (from.offset >= 0) {
      problem["offset"] = Napi::Number::New(env, static_cast<double>(from.offset));
    }
    if (from.ends) problem["ends"] = true;
    return problem;
  }

  /** Returns { count, first } for each Loss. `first` exists only if count is not 0. */
  Napi::Value losses(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    const auto losses = job_->engine().losses.read();
    auto list = Napi::Array::New(env, kLosses);
    for (uint32_t i = 0; i < kLosses; i++) {
      auto loss = Napi::Object::New(env);
      loss["count"] = Napi::Number::New(env, static_cast<double>(losses[i].count));
      if (losses[i].count > 0) loss["first"] = object_of(env, losses[i].first);
      list[i] = loss;
    }
    return list;
  }

  /** Takes the journal's records since the last call, and restarts workers that waited for that. */
  Napi::Value take_entries(const Napi::CallbackInfo& info) {
    const Napi::Value records = buffer_of(info.Env(), job_->engine().journal.take());
    job_->resume();
    return records;
  }

  /** takeQuestions(limit): see Questions::take(). */
  Napi::Value take_questions(const Napi::CallbackInfo& info) {
    const auto limit = info[0].As<Napi::Number>().Uint32Value();
    const bool extras_go = job_->engine().options.incremental.delete_excluded;
    return buffer_of(info.Env(), job_->engine().questions.take(limit, extras_go));
  }

  /** takeEntry(): see Questions::take_entry(). */
  Napi::Value take_entry(const Napi::CallbackInfo& info) {
    return buffer_of(info.Env(), job_->engine().questions.take_entry());
  }

  /**
   * answer(id, choices: Uint8Array, scopes: Uint32Array). Does nothing if the question is no longer
   * open, because the copy was stopped.
   */
  void answer(const Napi::CallbackInfo& info) {
    if (!is_array_of(info[1], napi_uint8_array) || !is_array_of(info[2], napi_uint32_array)) {
      throw Napi::TypeError::New(info.Env(), "fastcp: an answer of another type");
    }
    const auto choices = info[1].As<Napi::Uint8Array>();
    const auto scopes = info[2].As<Napi::Uint32Array>();
    if (!job_->answer(info[0].As<Napi::Number>().Uint32Value(),
                      {choices.Data(), choices.ElementLength()},
                      {scopes.Data(), scopes.ElementLength()})) {
      throw Napi::TypeError::New(info.Env(), "fastcp: an answer that does not fit its question");
    }
  }

  std::shared_ptr<Job> job_;
};

/**
 * Counts ahead. Its end, by garbage collection or with the environment, ends the thread that
 * counts.
 */
class CountAheadHandle : public Napi::ObjectWrap<CountAheadHandle> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(env, "CountAhead",
                       {
                           InstanceMethod<&CountAheadHandle::stop>("stop"),
                           InstanceMethod<&CountAheadHandle::total>("total"),
                       });
  }

  /** new CountAhead(directories, oneFileSystem) */
  explicit CountAheadHandle(const Napi::CallbackInfo& info)
      : Napi::ObjectWrap<CountAheadHandle>(info),
        count_(paths_of(info[0].As<Napi::Array>()), info[1].As<Napi::Boolean>().Value()) {}

 private:
  static std::vector<std::string> paths_of(const Napi::Array& from) {
    std::vector<std::string> paths;
    for (uint32_t i = 0; i < from.Length(); i++) paths.push_back(bytes_of(from.Get(i)));
    return paths;
  }

  void stop(const Napi::CallbackInfo&) { count_.stop(); }

  /** Returns -1 while the number is unknown. */
  Napi::Value total(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(count_.total()));
  }

  CountAhead count_;
};

// --- whole trees: each returns 0 or a negative errno; directories and files are paths
// ---------------

/** exchange(one, other) */
Napi::Value exchange(const Napi::CallbackInfo& info) {
  const std::string one = bytes_of(info[0]), other = bytes_of(info[1]);
  const auto here = platform::Handle::working_directory();
  return Napi::Number::New(info.Env(), platform::exchange(here, one.c_str(), other.c_str()));
}

/** renameNew(from, to) */
Napi::Value rename_new(const Napi::CallbackInfo& info) {
  const std::string from = bytes_of(info[0]), to = bytes_of(info[1]);
  const auto here = platform::Handle::working_directory();
  return Napi::Number::New(info.Env(), platform::rename_new(here, from.c_str(), to.c_str()));
}

/** tryLock(descriptor, exclusive, inode): undefined if it is not to be compared */
Napi::Value try_lock(const Napi::CallbackInfo& info) {
  const int descriptor = info[0].As<Napi::Number>().Int32Value();
  // A mock of fs makes up descriptors, which may be those of something else.
  const bool is_other = info[2].IsNumber() &&
                        !platform::has_inode(descriptor, info[2].As<Napi::Number>().Uint32Value());
  const int error =
      is_other ? -EBADF : platform::try_lock(descriptor, info[1].As<Napi::Boolean>().Value());
  return Napi::Number::New(info.Env(), error);
}

int open_directory(const std::string& path, platform::Handle& out) {
  const auto here = platform::Handle::working_directory();
  return platform::open_source_directory(here, path.c_str(), platform::Follow::yes, out);
}

/** isAppendOnly(directory) */
Napi::Value is_append_only(const Napi::CallbackInfo& info) {
  const auto here = platform::Handle::working_directory();
  return Napi::Boolean::New(info.Env(), platform::is_append_only(here, bytes_of(info[0]).c_str()));
}

/** checkSnapshot(source, directory) */
Napi::Value check_snapshot(const Napi::CallbackInfo& info) {
  platform::Handle source, directory;
  int error = open_directory(bytes_of(info[0]), source);
  if (error == 0) error = open_directory(bytes_of(info[1]), directory);
  if (error == 0) error = platform::check_snapshot(source, directory);
  return Napi::Number::New(info.Env(), error);
}

/**
 * takeSnapshot(source, directory, name): a promise. Runs on a thread of the pool, because the
 * source's dirty data is written first.
 */
class Snapshot : public Napi::AsyncWorker {
 public:
  static Napi::Value take(const Napi::CallbackInfo& info) {
    auto* snapshot =
        new Snapshot(info.Env(), bytes_of(info[0]), bytes_of(info[1]), bytes_of(info[2]));
    const Napi::Promise promise = snapshot->deferred_.Promise();
    snapshot->Queue();
    return promise;
  }

 private:
  Snapshot(Napi::Env env, std::string source, std::string directory, std::string name)
      : Napi::AsyncWorker(env, "fastcp"),
        deferred_(env),
        source_(std::move(source)),
        directory_(std::move(directory)),
        name_(std::move(name)) {}

  void Execute() override {
    platform::Handle source, directory;
    error_ = open_directory(source_, source);
    if (error_ == 0) error_ = open_directory(directory_, directory);
    if (error_ == 0) error_ = platform::take_snapshot(source, directory, name_.c_str());
  }

  void OnOK() override { deferred_.Resolve(Napi::Number::New(Env(), error_)); }

  Napi::Promise::Deferred deferred_;
  const std::string source_, directory_, name_;
  int error_ = 0;
};

/** setAttribute(path, name, value): sets an extended attribute. */
Napi::Value set_attribute(const Napi::CallbackInfo& info) {
  const std::string path = bytes_of(info[0]), name = bytes_of(info[1]), value = bytes_of(info[2]);
  platform::Handle entry;
  int error = platform::open_entry(platform::Handle::working_directory(), path.c_str(),
                                   platform::Follow::no, entry);
  if (error == 0) {
    error = platform::set_attribute(entry, name.c_str(), value.data(), value.size());
  }
  return Napi::Number::New(info.Env(), error);
}

/** checkMarks(directory): 0 if the engine can mark it, see engine/entry/mark.h. */
Napi::Value check_marks(const Napi::CallbackInfo& info) {
  platform::Handle directory;
  int error = open_directory(bytes_of(info[0]), directory);
  if (error == 0) error = can_mark(directory);
  return Napi::Number::New(info.Env(), error);
}

/** hasOwnTables(): see platform::leave_shared_table(). */
Napi::Value has_own_tables(const Napi::CallbackInfo& info) {
  using Answer = std::promise<bool>;
  auto answer = std::make_unique<Answer>();
  std::future<bool> has = answer->get_future();
  const auto run = [](void* taken) {
    std::unique_ptr<Answer>(static_cast<Answer*>(taken))->set_value(platform::leave_shared_table());
  };
  const bool begins = platform::start_thread(run, answer.get()) == 0;
  if (begins) static_cast<void>(answer.release());  // the thread takes it over
  return Napi::Boolean::New(info.Env(), begins && has.get());
}

/** threads(): how many the addon has, besides libuv's. For tests. */
Napi::Value threads(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), Threads::process().count());
}

/**
 * In a worker, Engine::run() turns an exception into an error of the copy. Elsewhere an exception
 * reaches a noexcept function or Node-API, and so this handler. The handler says why the process
 * ends. Without an exception there was no memory even for one.
 */
std::terminate_handler handle_before = nullptr;
[[noreturn]] void end_out_of_memory() {
  bool out_of_memory = true;
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
  } catch (...) {
    out_of_memory = false;
  }
  if (out_of_memory) {
    // Several threads may find no memory. The first one ends the process.
    static std::atomic_flag said;
    while (said.test_and_set()) std::this_thread::yield();
    std::fputs("fastcp: out of memory\n", stderr);
  } else if (handle_before != nullptr) {
    handle_before();
  }
  std::abort();
}

void handle_out_of_memory() {
  static std::once_flag done;
  std::call_once(done, [] { handle_before = std::set_terminate(end_out_of_memory); });
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  handle_out_of_memory();
  exports["Job"] = JobHandle::define(env);
  exports["CountAhead"] = CountAheadHandle::define(env);
  exports["exchange"] = Napi::Function::New<exchange>(env, "exchange");
  exports["renameNew"] = Napi::Function::New<rename_new>(env, "renameNew");
  exports["tryLock"] = Napi::Function::New<try_lock>(env, "tryLock");
  exports["isAppendOnly"] = Napi::Function::New<is_append_only>(env, "isAppendOnly");
  exports["checkSnapshot"] = Napi::Function::New<check_snapshot>(env, "checkSnapshot");
  exports["takeSnapshot"] = Napi::Function::New<Snapshot::take>(env, "takeSnapshot");
  exports["setAttribute"] = Napi::Function::New<set_attribute>(env, "setAttribute");
  exports["checkMarks"] = Napi::Function::New<check_marks>(env, "checkMarks");
  exports["hasOwnTables"] = Napi::Function::New<has_own_tables>(env, "hasOwnTables");
  exports["threads"] = Napi::Function::New<threads>(env, "threads");
  return exports;
}

NODE_API_MODULE(fastcp, init)

}  // namespace
}  // namespace fastcp
