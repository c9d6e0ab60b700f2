#include "questions.h"

#include <cstring>

#include "bytes.h"
#include "engine.h"

namespace fastcp {

using platform::Kind;
using platform::Listed;
using platform::Stat;

// --- Questions -------------------------------------------------------------------------------

bool Questions::add(Question question) {
  const std::lock_guard lock(mutex_);
  waiting_bytes_ += question.records.size();
  waiting_.push_back(std::move(question));
  return waiting_.size() == 1;
}

bool Questions::any_waiting() {
  const std::lock_guard lock(mutex_);
  return !waiting_.empty();
}

bool Questions::any() {
  const std::lock_guard lock(mutex_);
  return !waiting_.empty() || !asked_.empty();
}

std::string Questions::take(size_t limit) {
  std::string result;
  const std::lock_guard lock(mutex_);
  while (!waiting_.empty() && result.size() < limit) {
    Question question = std::move(waiting_.back());
    waiting_.pop_back();
    waiting_bytes_ -= question.records.size();
    std::string names;
    for (size_t at = 0; at < question.records.size();) {
      const Listed entry = platform::parse_listing(question.records.data() + at);
      at += entry.size;
      names.append(entry.name, std::strlen(entry.name) + 1);
    }
    append_number(result, ++last_id_);
    append_number(result, question.scope);
    append_number(result, static_cast<uint32_t>(question.kinds.size()));
    append_number(result, static_cast<uint32_t>(names.size()));
    result += question.kinds;
    result += names;
    asked_.emplace(last_id_, std::move(question));
  }
  return result;
}

bool Questions::remove(uint32_t id, Question& out) {
  const std::lock_guard lock(mutex_);
  const auto found = asked_.find(id);
  if (found == asked_.end()) return false;
  out = std::move(found->second);
  asked_.erase(found);
  return true;
}

void Questions::clear() {
  // Destroyed after the lock is gone: the end of a folder's last use takes locks of its own.
  std::vector<Question> waiting;
  std::unordered_map<uint32_t, Question> asked;
  const std::lock_guard lock(mutex_);
  waiting.swap(waiting_);
  asked.swap(asked_);
  waiting_bytes_ = 0;
}

// --- asking and answering --------------------------------------------------------------------

namespace {

/** Reads all of a folder's listing. Reports what goes wrong: then nothing of it is copied. */
bool list(Worker& worker, const Folder& folder, Question& question) {
  for (;;) {
    const int64_t size = platform::read_listing(folder.src(), worker.listing(), Worker::kListing);
    if (size < 0) {
      return worker.fail(static_cast<int>(size), "getdents64", folder.src_path(),
                         folder.dst_path());
    }
    if (size == 0) return true;
    for (size_t at = 0; at < static_cast<size_t>(size);) {
      const char* record = worker.listing() + at;
      const Listed entry = platform::parse_listing(record);
      at += entry.size;
      if (std::strcmp(entry.name, ".") == 0 || std::strcmp(entry.name, "..") == 0) continue;
      Kind kind = entry.kind;
      if (kind == Kind::unknown) {
        Stat stat;
        if (const int error = platform::stat_entry(folder.src(), entry.name, stat); error < 0) {
          worker.fail(folder, {entry.name, entry.name}, error, "lstat");
          continue;
        }
        kind = stat.kind;
      }
      if (kind == Kind::link && worker.engine.options.dereference) {
        // One that leads nowhere is reported if it is taken.
        Stat stat;
        if (platform::stat_entry(folder.src(), entry.name, stat, platform::Follow::yes) == 0) {
          kind = stat.kind;
        }
      }
      question.records.append(record, entry.size);
      question.kinds += static_cast<char>(kind);
    }
  }
}

}  // namespace

void ask(Worker& worker, FolderUse folder, Scope scope) {
  Question question{std::move(folder), scope, {}, {}};
  FolderPin pin;
  if (const int error = pin.pin(*question.folder); error < 0) {
    worker.fail(error, "open", question.folder->src_path(), question.folder->dst_path());
    return;
  }
  if (!list(worker, *question.folder, question) || question.records.empty()) return;
  pin.release();
  if (worker.engine.questions.add(std::move(question))) worker.tell_host();
}

bool fits(const Question& question, const uint8_t* choices, size_t count, size_t scopes) {
  if (question.kinds.size() != count) return false;
  size_t asked = 0;
  for (size_t i = 0; i < count; i++) {
    const auto choice = static_cast<Choice>(choices[i]);
    if (choice == Choice::leave) continue;
    if (choice > Choice::take_all) return false;
    if (static_cast<Kind>(question.kinds[i]) != Kind::folder) {
      if (choice != Choice::take) return false;
    } else if (choice != Choice::take_all) {
      asked++;
    }
  }
  return asked == scopes;
}

void answer(Engine& engine, const Question& question, const uint8_t* choices, const Scope* scopes) {
  // Small enough that a wide folder keeps every worker busy.
  constexpr size_t kPart = 8 << 10;  // bytes
  std::string part;
  const auto push_part = [&] {
    if (!part.empty())
      engine.stack.push(PartTask{question.folder.again(), std::exchange(part, {})});
  };
  for (size_t at = 0, index = 0; at < question.records.size(); index++) {
    const char* record = question.records.data() + at;
    const Listed entry = platform::parse_listing(record);
    at += entry.size;
    const auto choice = static_cast<Choice>(choices[index]);
    if (choice == Choice::leave) continue;
    if (static_cast<Kind>(question.kinds[index]) == Kind::folder) {
      const Scope scope = choice == Choice::take_all ? 0 : *scopes++;
      engine.stack.push(FolderTask{question.folder.again(), entry.name, entry.name, scope,
                                   choice == Choice::look});
    } else {
      part.append(record, entry.size);
      if (part.size() >= kPart) push_part();
    }
  }
  push_part();
}

}  // namespace fastcp
