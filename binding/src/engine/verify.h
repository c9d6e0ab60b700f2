// What was written is read back from where it lies, and compared with the source.
#pragma once

#include "copy_entry.h"

namespace fastcp {

/** Of a file whose content is complete. False where it differs or cannot be read; that is reported. */
bool verify_file(Worker& worker, const OpenFile& file);

}  // namespace fastcp
