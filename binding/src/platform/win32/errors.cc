// Windows: converts the kernel's codes to errno. If Node (libuv) converts the Win32 error of the
// same code, the results are equal.

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "platform/win32/status.h"

// All that its constants need. windows.h would bind this file, and its test, to Windows.
using NTSTATUS = int32_t;
#include <ntstatus.h>

namespace fastcp::platform {
namespace {

// Later than ntstatus.h.
constexpr auto STATUS_BLOCK_TOO_MANY_REFERENCES = static_cast<NTSTATUS>(0xc000048c);

struct Translation {
  NTSTATUS status;
  int error;
};

constexpr Translation kTranslations[] = {
    {STATUS_OBJECT_NAME_NOT_FOUND, ENOENT},
    {STATUS_OBJECT_PATH_NOT_FOUND, ENOENT},
    {STATUS_NO_SUCH_FILE, ENOENT},
    {STATUS_NO_SUCH_DEVICE, ENOENT},
    {STATUS_BAD_NETWORK_PATH, ENOENT},
    {STATUS_BAD_NETWORK_NAME, ENOENT},
    {STATUS_OBJECT_PATH_INVALID, ENOENT},
    // Node reports ENOENT, but the name is impossible, as `a?b` is.
    {STATUS_OBJECT_NAME_INVALID, EINVAL},
    {STATUS_OBJECT_PATH_SYNTAX_BAD, EINVAL},
    {STATUS_NAME_TOO_LONG, ENAMETOOLONG},
    {STATUS_OBJECT_NAME_COLLISION, EEXIST},
    {STATUS_NOT_A_DIRECTORY, ENOTDIR},
    {STATUS_FILE_IS_A_DIRECTORY, EISDIR},
    {STATUS_DIRECTORY_NOT_EMPTY, ENOTEMPTY},
    {STATUS_ACCESS_DENIED, EPERM},
    {STATUS_CANNOT_DELETE, EPERM},
    {STATUS_PRIVILEGE_NOT_HELD, EPERM},
    {STATUS_NETWORK_ACCESS_DENIED, EPERM},
    {STATUS_FILE_DELETED, EPERM},
    // Node knows no error for these. A virus scanner refuses the file.
    {STATUS_VIRUS_INFECTED, EPERM},
    {STATUS_VIRUS_DELETED, EPERM},
    // No driver knows the reparse tag.
    {STATUS_IO_REPARSE_TAG_NOT_HANDLED, EACCES},
    {STATUS_SHARING_VIOLATION, EBUSY},
    {STATUS_FILE_LOCK_CONFLICT, EBUSY},
    {STATUS_DELETE_PENDING, EBUSY},
    {STATUS_USER_MAPPED_FILE, EBUSY},
    {STATUS_LOCK_NOT_GRANTED, EWOULDBLOCK},
    {STATUS_MEDIA_WRITE_PROTECTED, EROFS},
    {STATUS_DISK_FULL, ENOSPC},
    {STATUS_QUOTA_EXCEEDED, EDQUOT},
    {STATUS_FILE_TOO_LARGE, EFBIG},
    {STATUS_TOO_MANY_LINKS, EMLINK},
    // 8175 files share a block (Microsoft: "Block cloning on ReFS").
    {STATUS_BLOCK_TOO_MANY_REFERENCES, EMLINK},
    {STATUS_NOT_SAME_DEVICE, EXDEV},
    {STATUS_TOO_MANY_OPENED_FILES, EMFILE},
    {STATUS_INSUFFICIENT_RESOURCES, ENOMEM},
    {STATUS_NO_MEMORY, ENOMEM},
    {STATUS_COMMITMENT_LIMIT, ENOMEM},
    {STATUS_WORKING_SET_QUOTA, ENOMEM},
    {STATUS_NETWORK_NAME_DELETED, ECONNRESET},
    {STATUS_IO_TIMEOUT, ETIMEDOUT},
    {STATUS_NETWORK_UNREACHABLE, ENETUNREACH},
    {STATUS_HOST_UNREACHABLE, EHOSTUNREACH},
    {STATUS_INVALID_HANDLE, EBADF},
    {STATUS_STOPPED_ON_SYMLINK, ELOOP},
    {STATUS_NOT_A_REPARSE_POINT, EINVAL},
    {STATUS_INVALID_PARAMETER, EINVAL},
    {STATUS_INVALID_INFO_CLASS, EOPNOTSUPP},
    {STATUS_INVALID_DEVICE_REQUEST, EOPNOTSUPP},
    {STATUS_NOT_SUPPORTED, EOPNOTSUPP},
    {STATUS_NOT_IMPLEMENTED, EOPNOTSUPP},
};

}  // namespace

int error_of(int32_t status) {
  if (status >= 0) return 0;
  const auto* const found =
      std::find_if(std::begin(kTranslations), std::end(kTranslations),
                   [status](const Translation& one) { return one.status == status; });
  return found == std::end(kTranslations) ? -EIO : -found->error;
}

}  // namespace fastcp::platform
