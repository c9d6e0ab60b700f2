// The two implementations of run/writer.h. host/job.cc chooses one for each copy. Stateless: no
// locks.
#pragma once

#include "engine/base/request.h"
#include "engine/run/writer.h"

namespace fastcp {

/** Returns the writer that changes DEST: entry/write.cc. */
const Writer& real_writer();

/** Returns the writer that changes nothing: entry/dry_run.cc. */
const Writer& dry_run_writer();

/** Chooses the writer. Only here the engine asks whether this is a dry run. */
inline const Writer& writer_for(const Options& options) {
  return options.dry_run ? dry_run_writer() : real_writer();
}

}  // namespace fastcp
