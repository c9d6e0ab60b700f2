#include "engine/tree/answers.h"

#include <cstring>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "engine/base/listing.h"
#include "engine/entry/entry_task.h"
#include "engine/entry/existing.h"
#include "engine/entry/mark.h"
#include "engine/entry/place.h"
#include "engine/run/engine.h"
#include "engine/tree/copy_directory.h"
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

/** Returns how many of the extra entries the host is asked about. */
size_t asked_extras(const Incremental& incremental, const Question& question) {
  return incremental.delete_excluded ? 0 : question.extras.size();
}

bool has_scope(Kind kind, Choice choice) {
  return kind == Kind::directory && (choice == Choice::look || choice == Choice::take);
}

/** Turns one answer into tasks. */
class Answer {
 public:
  Answer(Engine& engine, const Question& question, const uint8_t* choices, const Scope* scopes)
      : engine_(engine), question_(question), choices_(choices), scopes_(scopes) {}

  void push() {
    judge_extras();
    push_taken();  // decides which removals are left
    push_removals();
  }

 private:
  struct Removal {
    bool goes;
    Scope scope;
  };

  [[nodiscard]] Choice choice(size_t index) const {
    return choices_ == nullptr ? Choice::take_all : static_cast<Choice>(choices_[index]);
  }

  [[nodiscard]] Kind kind(size_t index) const { return static_cast<Kind>(question_.kinds[index]); }

  /** Decides which entries of DEST are removed: each that the selection does not exclude. */
  void judge_extras() {
    const size_t entries = question_.kinds.size();
    const bool asked =
        choices_ != nullptr && asked_extras(engine_.options.incremental, question_) > 0;
    const Scope* scope = scopes_;
    if (asked) {
      for (size_t i = 0; i < entries; i++) scope += has_scope(kind(i), choice(i)) ? 1 : 0;
    }
    for (size_t i = 0; i < question_.extras.size(); i++) {
      const Extra& extra = question_.extras[i];
      const Choice word = asked ? choice(entries + i) : Choice::take_all;
      const bool scoped = asked && has_scope(extra.kind, word);
      removals_.push_back({word != Choice::leave, scoped ? *scope++ : 0});
      if (extra.conflicts) conflicts_.emplace(extra.name, i);
    }
  }

  void push_taken() {
    // bytes; small enough that a wide directory keeps every worker busy
    constexpr size_t kPart = 8 << 10;  // bytes
    const DirectoryUse& directory = question_.directory;
    std::string part;
    const auto push_part = [&] {
      if (!part.empty())
        engine_.tasks.push(make_task(PartTask{directory.again(), std::exchange(part, {})}));
    };
    for (size_t at = 0, index = 0; at < question_.records.size(); index++) {
      const char* record = question_.records.data() + at;
      const Listed entry = platform::parse_listing(record);
      at += entry.size;
      const Choice word = choice(index);
      const auto conflict = conflicts_.find(entry.name);
      Removal* removal = conflict == conflicts_.end() ? nullptr : &removals_[conflict->second];
      const bool is_hidden = removal != nullptr && hides(*removal);
      if (word == Choice::leave) {
        if (directory->sync != nullptr && kind(index) != Kind::directory) {
          directory->sync->excluded.append(entry.name).push_back('\0');
        }
        if (engine_.options.incremental.delete_excluded && removal == nullptr) remove(entry.name);
      } else if (kind(index) == Kind::directory) {
        const Scope scope =
            choices_ != nullptr && has_scope(Kind::directory, word) ? *scopes_++ : 0;
        const bool replaces = removal != nullptr && std::exchange(removal->goes, false);
        engine_.tasks.push(make_task(DirectoryTask{directory.again(), entry.name, entry.name, scope,
                                                   word == Choice::look, replaces, is_hidden}));
      } else if (is_hidden) {
        engine_.count(Count::scanned);
        EntryTask only_in_src{directory.again(), entry.name, entry.name, kind(index)};
        only_in_src.vacated = true;
        engine_.tasks.push(make_task(std::move(only_in_src)));
      } else if (removal != nullptr && removal->goes) {
        removal->goes = false;
        if (!can_replace(kind(index))) {  // its own error or warning follows
          part.append(record, entry.size);
          continue;
        }
        engine_.tasks.push(make_task(
            RemoveDirectoryTask{directory.again(), entry.name, removal->scope, kind(index)}));
      } else {
        part.append(record, entry.size);
        if (part.size() >= kPart) push_part();
      }
    }
    push_part();
  }

  /** Returns whether a comparison excludes DEST's entry, whose kind conflicts with SRC's. A copy reports it as an error. */
  [[nodiscard]] bool hides(const Removal& removal) const {
    return !removal.goes && engine_.options.compares;
  }

  /** Returns whether an entry that is not a directory would be copied to the place of a directory. */
  [[nodiscard]] bool can_replace(Kind kind) const {
    const bool leads_nowhere = kind == Kind::symlink && engine_.options.traversal.dereference;
    const bool is_taken = has_copies(kind) || (kind == Kind::socket && engine_.options.compares);
    return is_taken && !leads_nowhere;
  }

  /** Taken first: removals free names and space. */
  void push_removals() {
    for (size_t i = 0; i < removals_.size(); i++) {
      const Extra& extra = question_.extras[i];
      if (!removals_[i].goes) {
        question_.directory->due.kept = true;
      } else if (removals_[i].scope != 0) {
        engine_.tasks.push_first(make_task(
            RemoveDirectoryTask{question_.directory.again(), extra.name, removals_[i].scope}));
      } else {
        remove(extra.name);
      }
    }
    if (!names_.empty()) {
      engine_.tasks.push_first(make_task(RemoveTask{question_.directory.again(), names_}));
    }
  }

  void remove(std::string_view name) {
    if (!is_mirrored(engine_, *question_.directory) && !question_.directory->doomed) return;
    names_.append(name).push_back('\0');
  }

  Engine& engine_;
  const Question& question_;
  const uint8_t* const choices_;
  const Scope* scopes_;
  std::vector<Removal> removals_{};  // for each extra entry
  // extra entries whose name SRC also has
  std::unordered_map<std::string_view, size_t> conflicts_{};
  std::string names_{};  // to be removed
};

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
  if (scope == 0 || asked == 0) return Answer(worker.engine, question, nullptr, nullptr).push();
  if (worker.engine.questions.add(std::move(question))) worker.tell_host();
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
  Answer(worker.engine, question, choices.data(), scopes.data()).push();
}

}  // namespace fastcp
