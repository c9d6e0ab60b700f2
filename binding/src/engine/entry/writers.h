// The two implementations of run/writer.h. host/job.cc chooses one for each copy.
#pragma once

#include "engine/base/request.h"
#include "engine/run/writer.h"

namespace fastcp {

/** Writes: entry/write.cc. */
const Writer& real_writer();

/** Writes nothing: entry/dry_run.cc. */
const Writer& dry_run_writer();

/** The only place that asks whether this is a dry run. */
inline const Writer& writer_for(const Options& options) {
  return options.dry_run ? dry_run_writer() : real_writer();
}

}  // namespace fastcp
