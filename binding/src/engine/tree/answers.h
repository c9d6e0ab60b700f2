// Asks the host which entries of a directory are copied. verdicts.h turns its answer into tasks.
// questions.h has the drawing. Workers call ask(), JavaScript's thread pushes an AnswerTask. The mutex of
// Questions guards open questions.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/tree/verdicts.h"

namespace fastcp {

/** Lists a directory and asks the host about it. Without a scope everything is included. */
void ask(Worker& worker, DirectoryUse directory, Scope scope);

/**
 * Returns whether an answer fits its question. It needs a choice for each entry that the entry's
 * kind allows, and a scope for each directory that will be asked about.
 */
bool fits(const Engine& engine, const Question& question, const uint8_t* choices, size_t count,
          size_t scopes);

/** Pushes the tasks of an answer that fits. */
struct AnswerTask {
  Question question;
  std::vector<uint8_t> choices;
  std::vector<Scope> scopes;

  void run(Worker& worker);
  [[nodiscard]] bool is_deep() const { return question.directory->is_deep(); }
};

}  // namespace fastcp
