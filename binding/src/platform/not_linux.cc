// macOS and Windows share these: features that only Linux has, and calls that need nothing special there.

#include <cerrno>

#include "platform/platform.h"

namespace fastcp::platform {

bool leave_shared_table() { return false; }

bool has_own_table() { return false; }

bool wants_directories_early(const Handle& /*directory*/) { return false; }

uint64_t file_system(const Handle& /*handle*/) { return 0; }

bool exchange_renews_ctime(const Handle& /*directory*/) { return false; }

int create_unnamed(const Handle& /*directory*/, const char* /*path*/, uint32_t /*mode*/,
                   Handle& /*out*/) {
  return -EOPNOTSUPP;
}

int name_file(const Handle& /*file*/, const Handle& /*directory*/, const char* /*name*/) {
  return -EOPNOTSUPP;
}

int open_unnamed(const Handle& /*file*/, Handle& /*out*/) { return -EOPNOTSUPP; }

int set_directory_mode(const Handle& directory, uint32_t mode) { return set_mode(directory, mode); }

unsigned allowed_processors() { return processor_count(); }  // quotas are not read

}  // namespace fastcp::platform
