#include "engine/run/engine.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <string_view>
#include <thread>

#include "engine/base/link_target.h"
#include "engine/base/moments.h"

namespace fastcp {
namespace {

/**
 * The processors of this process. Without quotas at first: these are in files, whose reading takes as long as copying ten small ones.
 * The first worker that has worked for a while does that.
 */
std::atomic<unsigned> processors{platform::allowed_processors()};

/**
 * Returns whether an error means that permission is missing or that DEST cannot hold this metadata.
 */
bool is_loss(Loss loss, int error) {
  switch (error) {
    case EPERM:
    case EACCES:
    case EOPNOTSUPP:
    case ENOSYS:
    case ENOENT:  // a server that looks for a symlink's target (sshfs), or no /proc; a hard link's first name was moved
      return true;
    case EINVAL:  // owner: unknown in this user namespace; ACL: not supported by this file system
      return loss == Loss::ownership || loss == Loss::acls || loss == Loss::xattrs;
    // too many or too large for one entry; if the disk is full, a later call reports it
    case ENOSPC:
    case E2BIG:
    case ERANGE: return loss == Loss::acls || loss == Loss::xattrs;
    case EMLINK:
    case EXDEV:
    case ESTALE:
    case EBUSY: return loss == Loss::hard_links;
    default: return false;
  }
}

}  // namespace

// --- Worker ----------------------------------------------------------------------------------

Worker::Worker(Engine& engine_, Host& host)
    : engine(engine_),
      host_(host),
      listing_(new char[kListing]),
      open_(engine_),
      looked_(Clock::now()),
      usage_(platform::thread_usage()) {}

Worker::~Worker() {
  flush();
  if (spare_) engine.spare_--;
}

char* Worker::content() {
  if (!content_) content_.reset(new char[kContent]);
  return content_.get();
}

bool Worker::must_leave() {
  if (engine.tasks.lacks_workers() && engine.tasks.has_task()) host_.hands_over();
  return ++asked_ % 8 == 0 ? is_over() : leaving_ || engine.stopped();
}

bool Worker::is_over() {
  leaving_ = leaving_ || engine.journal.full() || engine.questions.full();
  if (leaving_ || engine.stopped()) return true;
  const auto now = Clock::now();
  if (now - looked_ < kLook) return false;
  flush();
  open_.help_others();
  // Copies have more workers than there are processors, and JavaScript's thread should not wait for these.
  std::this_thread::yield();
  if (static std::atomic_flag known; !known.test_and_set())
    processors = platform::processor_count();
  spare_ = engine.has_spare();
  return leaving_ = spare_ || host_.is_over(now);
}

bool Worker::take(TaskPtr& out) {
  if (is_over()) return false;
  if (engine.tasks.try_take(out)) return true;
  if (!host_.may_sleep()) return false;
  flush();
  const bool found = engine.tasks.take(out, [this] { open_.close_all(); });
  looked_ = Clock::now();  // sleep is no work
  return found;
}

bool Worker::hands_over() {
  const bool elsewhere = host_.hands_over();
  leaving_ = leaving_ || elsewhere;
  return elsewhere;
}

void Worker::ask(Question question) {
  question.asker = engine.tasks.own();
  if (engine.questions.add(std::move(question))) host_.questions_wait();
}

void Worker::flush() {
  const auto now = Clock::now();
  const auto usage = platform::thread_usage();
  const auto wall = std::chrono::nanoseconds(now - looked_).count();
  engine.wall_ns_ += static_cast<uint64_t>(wall);
  engine.cpu_ns_ += usage.cpu_ns - usage_.cpu_ns;
  engine.blocks_read_ += usage.blocks_read - usage_.blocks_read;
  looked_ = now;
  usage_ = usage;
  for (size_t i = 0; i < kCounts; i++) {
    if (counted_[i] != 0) engine.counters_[i].fetch_add(counted_[i], std::memory_order_relaxed);
  }
  counted_ = {};
}

bool Worker::fail(const Directory& directory, Names names, int error, const char* operation) {
  return engine.fail(directory, names, error, operation);
}

bool Worker::pin(DirectoryPin& pin, Directory& directory, Names names) {
  const int error = pin.pin(directory);
  return error == 0 || fail(directory, names, error, DirectoryPin::operation(error));
}

void Worker::note(const Directory& directory, Names names, Action action, platform::Kind kind) {
  engine.note(directory, names, action, kind);
}

// --- Engine ----------------------------------------------------------------------------------

Engine::Engine(const Options& options_, const Writer& writer_,
               std::vector<std::string> destinations)
    : options(options_),
      writer(writer_),
      attribute_view(options.preserve.xattrs ? platform::attribute_view() : 0),
      destinations_(std::move(destinations)),
      temporary_(options.first_temporary) {
  // A worker holds a directory (2 file descriptors), opens another (2), and copies a file (2). The
  // rest is for directories above these, and some room for the host.
  constexpr int64_t kPerWorker = 8;
  const int64_t free = platform::free_descriptors();
  const int64_t ours = free - std::max<int64_t>(16, free / 4);
  most_workers = static_cast<unsigned>(std::clamp<int64_t>(ours / 2 / kPerWorker, 1, 1024));
  most_directories = std::max<int64_t>(most_directories, ours / 4);
}

Engine::~Engine() { abandon(); }

void Engine::work(Host& host) {
  active_++;
  try {
    Worker worker(*this, host);
    const TaskLists::Own list(tasks);
    for (TaskPtr task; worker.take(task); tasks.done()) {
      try {
        task->run(worker);
      } catch (const std::bad_alloc&) {
        out_of_memory();
      }
      task.reset();  // before done(): releasing what the task held is part of the work
    }
  } catch (const std::bad_alloc&) {
    // There is not enough memory for a worker. Another worker would not get more.
    out_of_memory();
    stop();
  }
  if (--active_ > 0) return;
  if (stopped()) abandon();
  if (tasks.finished()) end();  // here, so that JavaScript's thread does not wait
}

void Engine::start_helper(std::function<void(Worker&)> help) {
  static std::atomic<unsigned> of_all{0};  // copies of the process
  struct Helper : Host {
    Helper(Engine& engine_, std::function<void(Worker&)> help_)
        : engine(engine_), help(std::move(help_)) {
      engine.active_++;
      engine.helpers_++;
      of_all++;
    }
    ~Helper() override {
      of_all--;
      engine.helpers_--;
      engine.active_--;  // before `help` tells the caller its end by being deleted
    }
    Helper(const Helper&) = delete;
    Helper& operator=(const Helper&) = delete;
    Engine& engine;
    std::function<void(Worker&)> help;
  };
  if (running() >= useful_ || of_all >= platform::allowed_processors()) return;
  const auto run = [](void* started) {
    const std::unique_ptr<Helper> helper(static_cast<Helper*>(started));
    try {
      Worker worker(helper->engine, *helper);
      helper->help(worker);
    } catch (const std::bad_alloc&) {
      helper->engine.out_of_memory();
      helper->engine.stop();
    }
  };
  auto helper = std::make_unique<Helper>(*this, std::move(help));
  // run() takes it over.
  if (platform::start_thread(run, helper.get()) == 0) static_cast<void>(helper.release());
}

/** Allocates nothing. */
void Engine::out_of_memory() { fail({ENOMEM, "malloc", {}, {}}, nullptr); }

void Engine::end() {
  hard_links.clear();  // they keep directories in memory
  if (!has_marked.exchange(false)) return;
  const platform::Time finished = platform::change_time_ceiling();
  constexpr int kMost = 50;  // ms, in case the clock is set back meanwhile
  for (int i = 0; i < kMost && !(finished < platform::change_time_floor()); i++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/** Returns whether one of the workers that have work is too many. Each counts itself, so that not all end. */
bool Engine::has_spare() {
  if (running() <= useful_) return false;
  if (running() >= useful_ + ++spare_) return true;
  spare_--;
  return false;
}

void Engine::stop() {
  stopped_ = true;
  tasks.stop();
}

void Engine::abandon() {
  const OpenDirectories open(*this);  // the ends of directories need them
  questions.clear();
  hard_links.clear();
  for (bool more = true; more;) {  // last, because the end of a directory may push tasks
    TaskPtr task;
    more = tasks.drop(task);
  }
}

/**
 * Returns whether an error in a directory of DEST means that nothing else can be written either.
 * Such an error ends even a copy that continues after errors. Otherwise every remaining entry would
 * fail. A file system that is mounted inside DEST may be full or read-only by itself.
 */
bool Engine::is_final(int error, const Directory* where) const {
  if (error != ENOSPC && error != EDQUOT && error != EROFS) return false;
  while (where != nullptr && !where->is_base() && !where->has_dst()) where = &where->parent();
  if (where == nullptr || where->is_base()) return true;
  const platform::Handle base = platform::Handle::working_directory();
  const auto open = [&](std::string_view path, platform::Handle& out) {
    return platform::open_target_directory(base, std::string(path).c_str(), platform::Follow::yes,
                                           out);
  };
  // A mount of the same device may be read-only alone. The directory's own handle may be closed,
  // because nobody pins it here.
  platform::Handle mounted;
  const bool locked =
      error == EROFS && open(where->dst_path(), mounted) == 0 && platform::is_read_only(mounted);
  return std::all_of(destinations_.begin(), destinations_.end(), [&](const std::string& dest) {
    platform::Handle root_directory;  // or its parent, if it does not exist yet
    platform::Stat stat;
    if ((open(dest, root_directory) < 0 && open(directory_of(dest), root_directory) < 0) ||
        platform::stat_handle(root_directory, stat) < 0) {
      return true;
    }
    return stat.dev == where->dst_stat.dev && (!locked || platform::is_read_only(root_directory));
  });
}

bool Engine::fail(Problem problem, const Directory* where) {
  const bool final = is_final(problem.error, where);
  // A mirror goes on deleting, so that its next run has room.
  const bool may_make_room = final && problem.error != EROFS && options.incremental.mirror;
  if (may_make_room) is_full = true;
  problem.ends = final && !options.reporting.stop_on_error;
  return add_error(std::move(problem), final && !may_make_room);
}

bool Engine::add_error(Problem problem, bool final) {
  errors.add(std::move(problem));
  if (options.reporting.stop_on_error || final) stop();
  return false;
}

bool Engine::lose(const Directory& directory, Names names, Loss loss, int error,
                  const char* operation) {
  error = error < 0 ? -error : error;
  Problem problem{error, operation, directory.src_path(names.src), directory.dst_path(names.dst)};
  if (directory.due.doomed) problem.path = std::exchange(problem.dest, {});  // only DEST has it
  if (!is_loss(loss, error)) return fail(std::move(problem), &directory);
  // ENOSPC: no room for an attribute does not mean that the disk is full.
  if (options.reporting.strict) return add_error(std::move(problem), false);
  if (loss == Loss::xattrs || loss == Loss::acls) has_lost_attributes = true;
  losses.add(loss, std::move(problem));
  return true;
}

void Engine::note(const Directory& directory, Names names, Action action, platform::Kind kind) {
  if (!options.reporting.journal) return;
  journal.add(action, kind, directory.src_path(names.src), directory.dst_path(names.dst));
}

bool Engine::finished() { return active_ == 0 && tasks.finished(); }

Counters Engine::counters() const {
  Counters result;
  for (size_t i = 0; i < kCounts; i++) result[i] = counters_[i].load(std::memory_order_relaxed);
  return result;
}

unsigned Engine::useful_workers(unsigned limit) {
  const auto since = [](std::atomic<uint64_t>& now, uint64_t& seen) {
    const uint64_t value = now.load(std::memory_order_relaxed);
    return value - std::exchange(seen, value);
  };
  const uint64_t wall = since(wall_ns_, seen_wall_ns_);
  const uint64_t cpu = since(cpu_ns_, seen_cpu_ns_);
  const uint64_t blocks = since(blocks_read_, seen_blocks_);

  // If data comes from a device, workers wait for it, and more workers keep the device busy. On 2
  // cores eight workers were best for a cold tree. If the source is cached, more workers than cores
  // only contend.
  constexpr uint64_t kReading = 64;  // blocks of 512 bytes
  const unsigned cores = processors;
  const bool waiting = blocks >= kReading && cpu < wall / 4 * 3;
  const unsigned useful =
      waiting ? std::min(platform::most_waiting_workers, std::max(8U, cores * 2)) : cores;
  useful_ = std::min({limit, most_workers, useful});
  tasks.wants_workers(useful_);
  return useful_;
}

Route& Engine::route(uint64_t src_dev, uint64_t dst_dev, const platform::Handle& src,
                     const platform::Handle& dst) {
  const auto find_locked = [&]() -> Route* {
    for (const auto& known : routes_) {
      if (known->src_dev == src_dev && known->dst_dev == dst_dev) return known.get();
    }
    return nullptr;
  };
  {
    const std::lock_guard lock(devices_mutex_);
    if (Route* known = find_locked(); known != nullptr) return *known;
  }
  auto added = std::make_unique<Route>();
  added->src_dev = src_dev;
  added->dst_dev = dst_dev;
  added->clone = options.content.reflink != Reflink::never;
  added->copy_range = options.content.reflink != Reflink::never;
  added->time_step = platform::time_step(dst);
  added->real_sizes = platform::has_own_clock(src);  // the file systems of this host
  // Only file systems of this computer are known to name a file at the end.
  if (!platform::has_own_clock(dst)) added->naming = Naming::renamed;
  added->directories_early = platform::wants_directories_early(dst);
  if (added->directories_early) tasks.set_oldest_first();
  for (const uint64_t device : options.incremental.distrusted)
    if (device == src_dev || device == dst_dev) added->ctimes = Ctimes::foreign;
  const std::lock_guard lock(devices_mutex_);
  if (Route* known = find_locked(); known != nullptr) return *known;
  routes_.push_back(std::move(added));
  return *routes_.back();
}

DirectorySet::~DirectorySet() {
  for (const Node* node = first_; node != nullptr;) delete std::exchange(node, node->next);
}

void DirectorySet::add(const platform::Stat& directory) {
  auto* added = new Node{directory.dev, directory.ino, first_};
  while (!first_.compare_exchange_weak(added->next, added)) {
  }
}

bool DirectorySet::has(const platform::Stat& directory) const {
  for (const Node* node = first_; node != nullptr; node = node->next) {
    if (node->dev == directory.dev && node->ino == directory.ino) return true;
  }
  return false;
}

void Engine::finish(Directory& directory) {
  if (directory.due.end != nullptr) directory.due.end->finish(*this, directory);
}

}  // namespace fastcp
