#include "engine/tree/answers.h"

#include <utility>

#include "engine/base/listing.h"
#include "engine/tree/mirror.h"

namespace fastcp {

using platform::Kind;
using platform::Listed;
using platform::Stat;

namespace {

/**
 * Reads a directory's whole listing. Reports errors; after an error nothing of the directory is
 * copied.
 */
bool list(Worker& worker, const Directory& directory, Question& question) {
  bool whole = true;
  const auto add = [&](const char* record, const Listed& entry) {
    const Names names{entry.name, entry.name};
    Kind kind = entry.kind;
    Stat stat;
    if (kind == Kind::unknown) {
      if (const int error = platform::stat_entry(directory.src(), entry.name, stat); error < 0) {
        whole = worker.fail(directory, names, error, "lstat");
        return true;
      }
      kind = stat.kind;
    }
    // A symlink without a target is reported only if it is included.
    if (kind == Kind::symlink && worker.engine.options.traversal.dereference &&
        platform::stat_entry(directory.src(), entry.name, stat, platform::Follow::yes) == 0) {
      kind = stat.kind;
    }
    question.records.append(record, entry.size);
    question.kinds += static_cast<char>(kind);
    return true;
  };
  const int error = list_entries(directory.src(), worker.listing(), Worker::kListing, add);
  if (error < 0) {
    return worker.fail(directory, {}, error, "getdents64");
  }
  // An entry whose stat failed may be one that DEST has.
  return !whole || !is_mirrored(worker.engine, directory) ||
         list_extra(worker, directory, question.records, question.kinds, question.extras);
}

}  // namespace

void ask(Worker& worker, DirectoryUse directory, Scope scope) {
  Question question{std::move(directory), scope};
  DirectoryPin pin;
  if (!worker.pin(pin, *question.directory)) return;
  if (!list(worker, *question.directory, question)) return;
  pin.release();
  if (question.records.empty() && question.extras.empty()) return;
  const size_t asked =
      question.kinds.size() + asked_extras(worker.engine.options.incremental, question);
  if (scope == 0 || asked == 0) return push_tasks(worker.engine, question, nullptr, nullptr);
  worker.ask(std::move(question));
}

bool fits(const Engine& engine, const Question& question, const uint8_t* choices, size_t count,
          size_t scopes) {
  const size_t entries = question.kinds.size();
  if (count != entries + asked_extras(engine.options.incremental, question)) return false;
  size_t asked = 0;
  for (size_t i = 0; i < count; i++) {
    const auto choice = static_cast<Choice>(choices[i]);
    const Kind kind =
        i < entries ? static_cast<Kind>(question.kinds[i]) : question.extras[i - entries].kind;
    if (choice > Choice::take_all) return false;
    if (kind != Kind::directory && choice != Choice::leave && choice != Choice::take) return false;
    if (has_scope(kind, choice)) asked++;
  }
  return asked == scopes;
}

void AnswerTask::run(Worker& worker) {
  push_tasks(worker.engine, question, choices.data(), scopes.data());
}

}  // namespace fastcp
