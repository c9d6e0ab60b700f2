// Declarations that the files for Windows share: calls of its kernel. Unlike Win32 calls, they open
// a name relative to a directory's handle, accept paths of any length, and return an NTSTATUS.
// Called by win32/ alone. Stateless: no locks.
#pragma once

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
// After windows.h, whose types they need.
#include <ntstatus.h>
#include <winioctl.h>
#include <winternl.h>

#include <string>
#include <utility>

#include "platform/platform.h"
#include "platform/win32/status.h"

// Not in winternl.h.
extern "C" {
NTSTATUS NTAPI NtReadFile(HANDLE, HANDLE, PIO_APC_ROUTINE, PVOID, PIO_STATUS_BLOCK, PVOID, ULONG,
                          PLARGE_INTEGER, PULONG);
NTSTATUS NTAPI NtWriteFile(HANDLE, HANDLE, PIO_APC_ROUTINE, PVOID, PIO_STATUS_BLOCK, PVOID, ULONG,
                           PLARGE_INTEGER, PULONG);
NTSTATUS NTAPI NtFlushBuffersFile(HANDLE, PIO_STATUS_BLOCK);
NTSTATUS NTAPI NtQueryDirectoryFile(HANDLE, HANDLE, PIO_APC_ROUTINE, PVOID, PIO_STATUS_BLOCK, PVOID,
                                    ULONG, FILE_INFORMATION_CLASS, BOOLEAN, PUNICODE_STRING,
                                    BOOLEAN);
NTSTATUS NTAPI NtOpenThreadToken(HANDLE, ACCESS_MASK, BOOLEAN, PHANDLE);
NTSTATUS NTAPI RtlImpersonateSelf(SECURITY_IMPERSONATION_LEVEL);
NTSTATUS NTAPI RtlAdjustPrivilege(ULONG, BOOLEAN, BOOLEAN, PBOOLEAN);
}

namespace fastcp::platform {

// NOLINTNEXTLINE(performance-no-int-to-ptr): it is one
inline HANDLE raw(const Handle& handle) { return reinterpret_cast<HANDLE>(handle.raw()); }

/** Reads information about a handle's entry, as a struct of winternl.h. */
template <class Information>
NTSTATUS query(const Handle& handle, FILE_INFORMATION_CLASS what, Information& out) {
  IO_STATUS_BLOCK io;
  return NtQueryInformationFile(raw(handle), &io, &out, sizeof out, what);
}

template <class Information>
NTSTATUS set(const Handle& handle, FILE_INFORMATION_CLASS what, Information& information) {
  IO_STATUS_BLOCK io;
  return NtSetInformationFile(raw(handle), &io, &information, sizeof information, what);
}

/** Reads information about the volume of a handle's entry. Returns false on failure. */
template <class Information>
bool query_volume(const Handle& handle, FS_INFORMATION_CLASS what, Information& out) {
  IO_STATUS_BLOCK io;
  const NTSTATUS status = NtQueryVolumeInformationFile(raw(handle), &io, &out, sizeof out, what);
  return NT_SUCCESS(status) || status == STATUS_BUFFER_OVERFLOW;  // the name has no room
}

/** Stands for the working directory. Windows uses small negative numbers itself. */
inline constexpr intptr_t kWorkingDirectory = -100;

/** A name in the form of the kernel: relative to `root`, or a whole path if `root` is null. */
struct Name {
  std::u16string text;
  HANDLE root = nullptr;

  /** Returns 0 or a negative errno. */
  int set(const Handle& directory, const char* name);

  [[nodiscard]] UNICODE_STRING string() {
    const auto bytes = static_cast<USHORT>(text.size() * sizeof(char16_t));
    return {bytes, bytes, reinterpret_cast<wchar_t*>(text.data())};
  }
};

/**
 * Repeats a call for some time if other programs hold an entry for a moment, as virus scanners do
 * with new files. Such programs also keep a deleted entry until they close it.
 */
template <class Call>
NTSTATUS patiently(Call call) {
  const auto is_passing = [](NTSTATUS status) {
    return status == STATUS_SHARING_VIOLATION || status == STATUS_DELETE_PENDING;
  };
  NTSTATUS status = call();
  for (DWORD wait = 1; is_passing(status) && wait < 64; wait *= 2) {
    Sleep(wait);
    status = call();
  }
  return status;
}

/** The access needed to read metadata. */
inline constexpr ACCESS_MASK kLook = FILE_READ_ATTRIBUTES | SYNCHRONIZE;

/** How an entry is opened or created. */
struct How {
  ACCESS_MASK access;
  ULONG options = 0;
  ULONG disposition = FILE_OPEN;
  ULONG attributes = 0;
};

int open_name(const Handle& directory, const char* name, const How& how, Handle& out);

NTSTATUS tag_of(const Handle& handle, FILE_ATTRIBUTE_TAG_INFORMATION& out);

/**
 * Returns a mode: whether a file is read-only, and in separate bits whether it is hidden or a
 * system file.
 */
uint32_t mode_of(ULONG attributes, Kind kind);
ULONG attributes_of(uint32_t mode, bool is_directory);

/** Calls the file system by a code. `got`: the number of bytes returned. */
NTSTATUS control(const Handle& handle, ULONG code, const void* in, size_t in_size,
                 void* out = nullptr, size_t out_size = 0, size_t* got = nullptr);

/**
 * Enables a privilege for the calling thread, and disables it again at its end. The process's
 * token, which all threads of the host share, stays as it is.
 */
class ThreadPrivilege {
 public:
  explicit ThreadPrivilege(ULONG privilege);
  ThreadPrivilege(const ThreadPrivilege&) = delete;
  ThreadPrivilege& operator=(const ThreadPrivilege&) = delete;
  ~ThreadPrivilege();

  [[nodiscard]] bool is_enabled() const { return is_enabled_; }

 private:
  bool impersonates_ = false, is_enabled_ = false;
};

}  // namespace fastcp::platform
