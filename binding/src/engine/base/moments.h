// The times that decide how a copy runs.
#pragma once

#include <chrono>

namespace fastcp {

/** How long a copy may have a thread of libuv's pool, and how long a thread stays that has nothing to do. */
constexpr auto kMoment = std::chrono::milliseconds(10);
/** How often a worker looks at the clock, adds up what it has counted, and closes directories for others. */
constexpr auto kLook = std::chrono::milliseconds(2);
/** How often the workers of a copy are measured, and JavaScript is told of news at most. */
constexpr auto kTick = std::chrono::milliseconds(20);

}  // namespace fastcp
