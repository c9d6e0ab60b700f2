// Windows: finds the functions of Node-API in the program that has loaded the addon. Its file may have any name:
// node.exe, electron.exe, a name of the user's. An import library would bind the addon to one name. The headers declare
// every function as imported, so the compiler calls each through a pointer called __imp_NAME. Here these are
// variables of the addon, set before any other code of the addon runs.
//
// CMake creates host_functions.inc from node-api-headers' list.

#include <cerrno>

#include "platform/platform.h"
#include "platform/win32/nt.h"

extern "C" {
#define FUNCTION(name) void* __imp_##name = nullptr;  // NOLINT(bugprone-reserved-identifier)
#include "host_functions.inc"
#undef FUNCTION
}

namespace {

bool find_functions() {
  HMODULE host = GetModuleHandleW(nullptr);
  constexpr const char* kAny = "napi_create_function";
  if (GetProcAddress(host, kAny) == nullptr) host = GetModuleHandleW(L"libnode.dll");
  if (host == nullptr || GetProcAddress(host, kAny) == nullptr) return false;
    // Functions that this host lacks are not in NAPI_VERSION, and nothing calls them.
#define FUNCTION(name) __imp_##name = reinterpret_cast<void*>(GetProcAddress(host, #name));
#include "host_functions.inc"
#undef FUNCTION
  return true;
}

}  // namespace

namespace fastcp::platform {

int try_lock(intptr_t descriptor, bool exclusive) {
  // File descriptors are numbers of the host's C library. libuv, which is part of the host,
  // translates them.
  using HandleOf = HANDLE (*)(int);
  const auto handle_of = reinterpret_cast<HandleOf>(
      reinterpret_cast<void*>(GetProcAddress(GetModuleHandleW(nullptr), "uv_get_osfhandle")));
  if (handle_of == nullptr) return -EOPNOTSUPP;
  OVERLAPPED from_the_start{};
  const DWORD flags = LOCKFILE_FAIL_IMMEDIATELY | (exclusive ? LOCKFILE_EXCLUSIVE_LOCK : 0);
  const HANDLE file = handle_of(static_cast<int>(descriptor));
  if (LockFileEx(file, flags, 0, 1, 0, &from_the_start) != 0) return 0;
  return GetLastError() == ERROR_LOCK_VIOLATION ? -EWOULDBLOCK : -EBADF;
}

}  // namespace fastcp::platform

// NOLINTNEXTLINE(misc-use-internal-linkage): the loader's
extern "C" BOOL WINAPI DllMain(HINSTANCE module, DWORD reason, void* /*reserved*/) {
  if (reason != DLL_PROCESS_ATTACH) return TRUE;
  // The addon stays loaded when the worker thread that loaded it ends, because other threads may
  // still use it.
  constexpr DWORD kFlags = GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS;
  HMODULE pinned = nullptr;
  GetModuleHandleExW(kFlags, reinterpret_cast<LPCWSTR>(module), &pinned);
  // False: the loading program is no host of Node-API, and gets an error.
  return find_functions() ? TRUE : FALSE;
}
