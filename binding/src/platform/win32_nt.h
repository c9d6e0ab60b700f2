// What the files for Windows share: the calls of its kernel. Beneath Win32's they open a name relative to a
// folder's handle, take paths of any length, and say in NTSTATUS what happened.
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

#include "platform.h"

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
}

namespace fastcp::platform {

/** 0, or what a status says as a negative errno. */
int error_of(NTSTATUS status);

inline HANDLE raw(const Handle& handle) { return reinterpret_cast<HANDLE>(handle.raw()); }

/** Information on what a handle stands for, as a struct of winternl.h. */
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

/** A call to the file system by its code. `got`: how many bytes it gave. */
NTSTATUS control(const Handle& handle, ULONG code, const void* in, size_t in_size,
                 void* out = nullptr, size_t out_size = 0, size_t* got = nullptr);

}  // namespace fastcp::platform
