#include "engine/tree/verdicts.h"

#include <string_view>
#include <unordered_map>
#include <utility>

#include "engine/entry/entry_task.h"
#include "engine/entry/existing.h"
#include "engine/tree/copy_directory.h"
#include "engine/tree/mirror.h"
#include "engine/tree/removal.h"

namespace fastcp {

using platform::Kind;
using platform::Listed;

namespace {

/** What becomes of an entry that only DEST has, or that has another kind there. */
struct ExtraFate {
  bool goes;
  Scope scope;
};

/** What becomes of an entry of SRC. */
enum class Fate : uint8_t {
  left,         // excluded
  entered,      // a directory: its task creates it, or waits until an entry in it is included
  only_in_src,  // a comparison excludes DEST's entry of that name
  replaces,     // a directory of DEST, which is removed first
  copied,
};

/** `removal`: of DEST's entry of that name, if it has another kind. */
Fate fate_of(Kind kind, Choice choice, const ExtraFate* removal, bool compares) {
  if (choice == Choice::leave) return Fate::left;
  if (kind == Kind::directory) return Fate::entered;
  if (removal == nullptr) return Fate::copied;
  if (removal->goes) return Fate::replaces;
  return compares ? Fate::only_in_src : Fate::copied;  // a copy reports the conflict as an error
}

/** Turns one answer into tasks. */
class Answer {
 public:
  Answer(Engine& engine, const Question& question, const uint8_t* choices, const Scope* scopes)
      : engine_(engine), question_(question), choices_(choices), scopes_(scopes) {}

  void push() {
    judge_extras();
    push_taken();
    push_removals();
  }

 private:
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

  /** Pushes the tasks of SRC's entries, and decides thereby which removals are left. */
  void push_taken() {
    constexpr size_t kPart =
        8 << 10;  // bytes; small enough that a wide directory keeps every worker busy
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
      const auto conflict = conflicts_.find(entry.name);
      ExtraFate* removal = conflict == conflicts_.end() ? nullptr : &removals_[conflict->second];
      switch (fate_of(kind(index), choice(index), removal, engine_.options.compares)) {
        case Fate::left: leave(entry.name, kind(index), removal != nullptr); break;
        case Fate::entered: enter(entry.name, choice(index), removal); break;
        case Fate::only_in_src: {
          engine_.count(Count::scanned);
          EntryTask only_in_src{directory.again(), entry.name, entry.name, kind(index)};
          only_in_src.vacated = true;
          engine_.tasks.push(make_task(std::move(only_in_src)));
          break;
        }
        case Fate::replaces:
          removal->goes = false;
          if (can_replace(kind(index))) {
            engine_.tasks.push(make_task(
                RemoveDirectoryTask{directory.again(), entry.name, removal->scope, kind(index)}));
            break;
          }
          [[fallthrough]];  // its own error or warning follows
        case Fate::copied:
          part.append(record, entry.size);
          if (part.size() >= kPart) push_part();
      }
    }
    push_part();
  }

  void leave(const char* name, Kind kind, bool is_conflict) {
    const Directory& directory = *question_.directory;
    if (directory.due.sync != nullptr && kind != Kind::directory)
      directory.due.sync->excluded.append(name).push_back('\0');
    if (engine_.options.incremental.delete_excluded && !is_conflict) remove(name);
  }

  void enter(const char* name, Choice choice, ExtraFate* removal) {
    const Scope scope = choices_ != nullptr && has_scope(Kind::directory, choice) ? *scopes_++ : 0;
    There there = There::unknown;
    if (removal != nullptr && std::exchange(removal->goes, false)) {
      there = There::replaced;
    } else if (removal != nullptr && engine_.options.compares) {
      there = There::vacated;
    }
    engine_.tasks.push(make_task(DirectoryTask{question_.directory.again(), name, name, scope,
                                               choice == Choice::look, there}));
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
    if (!is_mirrored(engine_, *question_.directory) && !question_.directory->due.doomed) return;
    names_.append(name).push_back('\0');
  }

  Engine& engine_;
  const Question& question_;
  const uint8_t* const choices_;
  const Scope* scopes_;
  std::vector<ExtraFate> removals_{};  // for each extra entry
  // extra entries whose name SRC also has
  std::unordered_map<std::string_view, size_t> conflicts_{};
  std::string names_{};  // to be removed
};

}  // namespace

size_t asked_extras(const Incremental& incremental, const Question& question) {
  return incremental.delete_excluded ? 0 : question.extras.size();
}

bool has_scope(Kind kind, Choice choice) {
  return kind == Kind::directory && (choice == Choice::look || choice == Choice::take);
}

void push_tasks(Engine& engine, const Question& question, const uint8_t* choices,
                const Scope* scopes) {
  Answer(engine, question, choices, scopes).push();
}

}  // namespace fastcp
