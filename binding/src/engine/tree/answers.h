// Asks the host what is copied of a directory, and turns its answer into tasks. questions.h has the drawing.
#pragma once

#include <cstdint>

#include "engine/run/engine.h"

namespace fastcp {

/** What becomes of an entry. The order is known to lib/selection/verdict.ts. */
enum class Choice : uint8_t {
  leave,
  look,      // a directory: asked about, and made only for something taken
  take,      // copied; a directory is made, and asked about
  take_all,  // a directory: copied with all that is in it
};

/** Lists a directory for the host to judge; without a scope all of it is taken. */
void ask(Worker& worker, DirectoryUse directory, Scope scope);

/**
 * Whether an answer has a choice for each entry that its kind can have, and a scope for each directory
 * that is to be asked about.
 */
bool fits(const Engine& engine, const Question& question, const uint8_t* choices, size_t count,
          size_t scopes);

/** Pushes the tasks of an answer that fits; without choices all is taken. */
void answer(Engine& engine, const Question& question, const uint8_t* choices, const Scope* scopes);

}  // namespace fastcp
