// Windows: opens names, and converts between modes and attributes.

#include <cerrno>
#include <cstring>

#include "platform/platform.h"
#include "platform/win32/nt.h"
#include "platform/win32/reparse.h"
#include "platform/win32/text.h"

namespace fastcp::platform {
namespace {

/** Other programs may do everything with the file, as on other systems. */
constexpr ULONG kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
constexpr ULONG kOptions = FILE_SYNCHRONOUS_IO_NONALERT | FILE_OPEN_FOR_BACKUP_INTENT;

// Bits of a mode beyond the permissions.
constexpr uint32_t kHidden = 010000, kSystem = 020000;
constexpr uint32_t kWritable = 0222;

}  // namespace

int Name::set(const Handle& directory, const char* name) {
  if (directory.raw() == kWorkingDirectory) {
    if (!to_path(name, text)) return -EILSEQ;
  } else {
    root = raw(directory);
    if (std::strcmp(name, ".") == 0) return 0;  // the directory itself, opened once more
    if (!to_name(name, text)) return -EINVAL;
  }
  constexpr size_t kMost = 0x7fff;  // UNICODE_STRING counts bytes in 16 bits
  return text.size() < kMost ? 0 : -ENAMETOOLONG;
}

int open_name(const Handle& directory, const char* name, const How& how, Handle& out) {
  Name found;
  if (const int error = found.set(directory, name); error < 0) return error;
  UNICODE_STRING text = found.string();
  OBJECT_ATTRIBUTES object;
  InitializeObjectAttributes(&object, &text, OBJ_CASE_INSENSITIVE, found.root, nullptr);
  HANDLE opened = nullptr;
  IO_STATUS_BLOCK io;
  const NTSTATUS status = patiently([&] {
    return NtCreateFile(&opened, how.access, &object, &io, nullptr, how.attributes, kShareAll,
                        how.disposition, how.options | kOptions, nullptr, 0);
  });
  if (!NT_SUCCESS(status)) return error_of(status);
  out = Handle(reinterpret_cast<intptr_t>(opened));
  return 0;
}

NTSTATUS tag_of(const Handle& handle, FILE_ATTRIBUTE_TAG_INFORMATION& out) {
  return query(handle, FileAttributeTagInformation, out);
}

uint32_t mode_of(ULONG attributes, Kind kind) {
  uint32_t mode = 0;
  if ((attributes & FILE_ATTRIBUTE_HIDDEN) != 0) mode |= kHidden;
  if ((attributes & FILE_ATTRIBUTE_SYSTEM) != 0) mode |= kSystem;
  if (kind == Kind::directory)
    return mode | kPermissions;  // for directories "read-only" means nothing
  return mode | ((attributes & FILE_ATTRIBUTE_READONLY) != 0 ? 0444 : 0666);
}

ULONG attributes_of(uint32_t mode, bool is_directory) {
  ULONG attributes = 0;
  if ((mode & kHidden) != 0) attributes |= FILE_ATTRIBUTE_HIDDEN;
  if ((mode & kSystem) != 0) attributes |= FILE_ATTRIBUTE_SYSTEM;
  if (!is_directory && (mode & kWritable) == 0) attributes |= FILE_ATTRIBUTE_READONLY;
  return attributes;
}

NTSTATUS control(const Handle& handle, ULONG code, const void* in, size_t in_size, void* out,
                 size_t out_size, size_t* got) {
  IO_STATUS_BLOCK io{};
  const NTSTATUS status =
      NtFsControlFile(raw(handle), nullptr, nullptr, nullptr, &io, code, const_cast<void*>(in),
                      static_cast<ULONG>(in_size), out, static_cast<ULONG>(out_size));
  if (got != nullptr) *got = io.Information;
  return status;
}

}  // namespace fastcp::platform
