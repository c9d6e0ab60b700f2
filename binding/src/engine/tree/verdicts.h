// Turns verdicts about the entries of a directory into tasks: what is copied, entered or removed. No locks.
#pragma once

#include <cstdint>

#include "engine/run/engine.h"

namespace fastcp {

/** The host's decision about an entry. lib/selection/verdict.ts knows the order. */
enum class Choice : uint8_t {
  leave,
  look,      // a directory: asked about, and created only if an entry in it is included
  take,      // copied; a directory is created, and asked about
  take_all,  // a directory: copied with everything in it
};

/** Returns how many of the extra entries the host is asked about. */
size_t asked_extras(const Incremental& incremental, const Question& question);

/** Returns whether the host will be asked about the entries of a directory. */
bool has_scope(platform::Kind kind, Choice choice);

/** Pushes the tasks of an answer that fits. Without `choices` everything is included. */
void push_tasks(Engine& engine, const Question& question, const uint8_t* choices,
                const Scope* scopes);

}  // namespace fastcp
