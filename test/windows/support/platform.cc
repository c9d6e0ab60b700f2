// Calls the platform for Windows in a process of Windows: platform.exe COMMAND [ARGUMENT…]. Prints what came of it.
//
// The platform's sources are compiled with fake_NtCreateFile for NtCreateFile and so on. So a test sees what they ask of
// the kernel, and lets it answer as Windows does where wine differs.

#include "platform/platform.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "platform/win32/nt.h"

using namespace fastcp::platform;

namespace {

using Arguments = char**;
using Answer = std::optional<NTSTATUS>;  // none: the kernel's own

std::function<Answer(std::u16string_view name)> on_create;
std::function<Answer(int what, const void* in, size_t size)> on_set;
std::function<Answer(ULONG code, const void* in, void* out)> on_control;
std::function<void(int what, HANDLE file, void*out)> after_query, after_volume_query;

template <class Function>
Function* kernel(const char* name) {
  return reinterpret_cast<Function*>(
      reinterpret_cast<void*>(GetProcAddress(GetModuleHandleW(L"ntdll.dll"), name)));
}

Handle open_directory(const char* path) {
  Handle directory;
  const Handle base = Handle::working_directory();
  const int error = open_source_directory(base, path, Follow::no, directory);
  if (error < 0) std::printf("open %s: %d\n", path, error);
  return directory;
}

/** Returns the attributes of a privilege in a token, or -1 without one. */
int state_of(HANDLE token, DWORD privilege) {
  alignas(TOKEN_PRIVILEGES) std::array<char, 4096> room;
  DWORD size = 0;
  if (GetTokenInformation(token, TokenPrivileges, room.data(), room.size(), &size) == 0) return -1;
  const auto& found = *reinterpret_cast<const TOKEN_PRIVILEGES*>(room.data());
  for (DWORD i = 0; i < found.PrivilegeCount; i++) {
    const LUID_AND_ATTRIBUTES& one = found.Privileges[i];
    if (one.Luid.LowPart == privilege) return (one.Attributes & SE_PRIVILEGE_ENABLED) != 0 ? 1 : 0;
  }
  return -1;
}

int of_process(DWORD privilege) {
  HANDLE token = nullptr;
  OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token);
  const int state = state_of(token, privilege);
  NtClose(token);
  return state;
}

/** -2: the thread has no token of its own. */
int of_thread(DWORD privilege) {
  HANDLE token = nullptr;
  if (NtOpenThreadToken(GetCurrentThread(), TOKEN_QUERY, TRUE, &token) < 0) return -2;
  const int state = state_of(token, privilege);
  NtClose(token);
  return state;
}

/** Of a privilege that the process has and does not use, then of one that it does not have. */
void try_privilege(Arguments) {
  DWORD number = 2;
  while (number < 36 && of_process(number) != 0) number++;
  {
    const ThreadPrivilege enabled(number);
    std::printf("%d %d %d\n", enabled.is_enabled(), of_thread(number), of_process(number));
  }
  std::printf("%d %d\n", of_thread(number), of_process(number));
  {
    const ThreadPrivilege impersonated(number);
    const ThreadPrivilege inner(number);
    std::printf("%d %d\n", inner.is_enabled(), of_thread(number));
  }
  const ThreadPrivilege missing(1);
  std::printf("%d\n", missing.is_enabled());
}

/** rename DIRECTORY FROM TO: over an existing entry, then without replacing. */
void try_rename(Arguments at) {
  const Handle directory = open_directory(at[0]);
  std::printf("%d\n", rename_new(directory, at[1], at[2]));
  std::printf("%d\n", rename_over(directory, at[1], at[2]));
}

/** link DIRECTORY FROM DIRECTORY TO */
void try_link(Arguments at) {
  const Handle from = open_directory(at[0]);
  const bool is_same = std::string_view(at[0]) == at[2];
  const Handle other = is_same ? Handle() : open_directory(at[2]);
  std::printf("%d\n", make_hard_link(from, at[1], Follow::no, is_same ? from : other, at[3]));
}

/** list DIRECTORY SIZE: bytes of each reading into so large a buffer, and the number of entries. */
void try_list(Arguments at) {
  const Handle directory = open_directory(at[0]);
  std::string buffer(std::strtoul(at[1], nullptr, 10), '\0');
  size_t entries = 0;
  int64_t size = 0;
  while ((size = read_listing(directory, buffer.data(), buffer.size())) > 0) {
    std::printf("%lld ", static_cast<long long>(size));
    for (const char* record = buffer.data(); record < buffer.data() + size; entries++) {
      record += parse_listing(record).size;
    }
  }
  std::printf("%lld %zu\n", static_cast<long long>(size), entries);
}

/** Reads a structure that was passed to the kernel. */
template <class Value>
Value at(const void* in, size_t offset) {
  Value value{};
  std::memcpy(&value, static_cast<const char*>(in) + offset, sizeof value);
  return value;
}

const char* name_of(int error) {
  switch (-error) {
    case 0: return "done";
    case EOPNOTSUPP: return "EOPNOTSUPP";
    case ENOTEMPTY: return "ENOTEMPTY";
    case EPERM: return "EPERM";
    case EINVAL: return "EINVAL";
    case EXDEV: return "EXDEV";
    case EMLINK: return "EMLINK";
    default: return "another error";
  }
}

/** names DIRECTORY DIRECTORY: the calls that give names, as Windows gets them. */
void try_names(Arguments arguments) {
  const Handle directory = open_directory(arguments[0]), other = open_directory(arguments[1]);
  NTSTATUS answer = STATUS_SUCCESS;
  on_set = [&](int what, const void* in, size_t size) -> Answer {
    const auto length = at<ULONG>(in, 16);
    std::string name;
    for (size_t i = 0; i < length; i += 2) name += at<char>(in, 20 + i);
    const char* root = at<HANDLE>(in, 8) == nullptr ? "no root" : "root";
    std::printf("%d: flags %lx, %s, %s, %zu bytes more\n", what, at<ULONG>(in, 0), root,
                name.c_str(), size - length);
    return answer;
  };
  rename_over(directory, "file", "new name");
  rename_new(directory, "file", "new name");
  make_hard_link(directory, "file", Follow::no, directory, "link");
  make_hard_link(directory, "file", Follow::yes, directory, "link");
  make_hard_link(directory, "file", Follow::no, other, "link");
  answer = STATUS_INVALID_PARAMETER;
  std::printf("%s\n", name_of(make_hard_link(directory, "file", Follow::no, other, "link")));
}

/**
 * pending DIRECTORY NAME FILE TRIES: removes a directory where FILE is being deleted. It is gone
 * after so many tries to open it.
 */
void try_pending(Arguments arguments) {
  const Handle parent = open_directory(arguments[0]);
  const std::string file = std::string(arguments[0]) + "/" + arguments[1] + "/" + arguments[2];
  int tries = std::atoi(arguments[3]);
  on_create = [&](std::u16string_view name) -> Answer {
    if (name != u"file") return {};
    if (tries-- > 0) return STATUS_DELETE_PENDING;
    DeleteFileA(file.c_str());
    return {};
  };
  std::printf("%s\n", name_of(remove_directory(parent, arguments[1])));
}

/** symlink DIRECTORY: without the privilege. */
void try_symlink(Arguments arguments) {
  const Handle directory = open_directory(arguments[0]);
  on_control = [](ULONG code, const void*, void*) -> Answer {
    if (code != FSCTL_SET_REPARSE_POINT) return {};
    return STATUS_PRIVILEGE_NOT_HELD;
  };
  std::printf("%s %d\n", name_of(make_symlink(directory, "symlink", "target", LinkKind::file)),
              of_thread(35));
}

/**
 * clone DIRECTORY SRC DST STATUS SPARSE CHECKSUM CHECKSUM VOLUME: on a file system that clones with
 * this status. The checksums of SRC and DST, and the number of DST's volume; SRC's is 1.
 */
void try_clone(Arguments arguments) {
  const Handle directory = open_directory(arguments[0]);
  const auto number = [&](int i) { return std::strtoul(arguments[i], nullptr, 0); };
  bool without_atime = true;
  Handle src, dst;
  open_source_file(directory, arguments[1], Follow::no, without_atime, src);
  create_file(directory, arguments[2], 0666, dst);
  after_volume_query = [&](int what, HANDLE file, void* out) {
    if (what == FileFsAttributeInformation)
      *static_cast<ULONG*>(out) |= FILE_SUPPORTS_BLOCK_REFCOUNTING;
    const ULONG serial = file == raw(src) ? 1 : number(7);
    if (what == FileFsVolumeInformation)
      std::memcpy(static_cast<char*>(out) + 8, &serial, sizeof serial);
  };
  int asked = 0;
  on_control = [&](ULONG code, const void* in, void* out) -> Answer {
    if (code == FSCTL_GET_INTEGRITY_INFORMATION) {
      const uint16_t checksum = number(asked++ == 0 ? 5 : 6);
      std::memset(out, 0, 16);
      std::memcpy(out, &checksum, sizeof checksum);
    } else if (code == FSCTL_SET_INTEGRITY_INFORMATION) {
      std::printf("checksum %x\n", at<uint16_t>(in, 0));
    } else if (code == FSCTL_SET_SPARSE) {
      std::printf("sparse\n");
    } else if (code == FSCTL_DUPLICATE_EXTENTS_TO_FILE) {
      const bool is_src = at<HANDLE>(in, 0) == raw(src);
      std::printf("%s %lld -> %lld, %lld\n", is_src ? "SRC" : "?", at<long long>(in, 8),
                  at<long long>(in, 16), at<long long>(in, 24));
      return static_cast<NTSTATUS>(number(3));
    } else {
      return {};
    }
    return STATUS_SUCCESS;
  };
  after_query = [&](int what, HANDLE file, void* out) {
    if (what != FileBasicInformation || file != raw(src) || number(4) == 0) return;
    static_cast<FILE_BASIC_INFORMATION*>(out)->FileAttributes |= FILE_ATTRIBUTE_SPARSE_FILE;
  };
  const Attempt attempt = clone_file(src, dst);
  Stat stat;
  stat_handle(dst, stat);
  std::printf("outcome %d, lasting %d, %s, %llu bytes\n", attempt.outcome, attempt.lasting,
              name_of(-attempt.error), static_cast<unsigned long long>(stat.size));
}

/** rmdir DIRECTORY NAME: the error, and how long it took. */
void try_rmdir(Arguments at) {
  const Handle parent = open_directory(at[0]);
  const ULONGLONG began = GetTickCount64();
  const int error = remove_directory(parent, at[1]);
  std::printf("%d %llu\n", error, GetTickCount64() - began);
}

}  // namespace

// NOLINTBEGIN(misc-use-internal-linkage): the platform's sources call them
NTSTATUS NTAPI fake_NtCreateFile(PHANDLE handle, ACCESS_MASK access, POBJECT_ATTRIBUTES object,
                                 PIO_STATUS_BLOCK io, PLARGE_INTEGER allocation, ULONG attributes,
                                 ULONG share, ULONG disposition, ULONG options, PVOID buffer,
                                 ULONG length) {
  const auto& name = *object->ObjectName;
  const auto* const text = reinterpret_cast<const char16_t*>(name.Buffer);
  if (on_create) {
    if (const Answer answer = on_create({text, name.Length / sizeof(char16_t)})) return *answer;
  }
  return kernel<decltype(fake_NtCreateFile)>("NtCreateFile")(handle, access, object, io, allocation,
                                                             attributes, share, disposition,
                                                             options, buffer, length);
}

NTSTATUS NTAPI fake_NtSetInformationFile(HANDLE file, PIO_STATUS_BLOCK io, PVOID in, ULONG size,
                                         FILE_INFORMATION_CLASS what) {
  if (on_set) {
    if (const Answer answer = on_set(what, in, size)) return *answer;
  }
  return kernel<decltype(fake_NtSetInformationFile)>("NtSetInformationFile")(file, io, in, size,
                                                                             what);
}

NTSTATUS NTAPI fake_NtFsControlFile(HANDLE file, HANDLE event, PIO_APC_ROUTINE routine,
                                    PVOID context, PIO_STATUS_BLOCK io, ULONG code, PVOID in,
                                    ULONG in_size, PVOID out, ULONG out_size) {
  if (on_control) {
    if (const Answer answer = on_control(code, in, out)) return *answer;
  }
  return kernel<decltype(fake_NtFsControlFile)>("NtFsControlFile")(
      file, event, routine, context, io, code, in, in_size, out, out_size);
}

NTSTATUS NTAPI fake_NtQueryInformationFile(HANDLE file, PIO_STATUS_BLOCK io, PVOID out, ULONG size,
                                           FILE_INFORMATION_CLASS what) {
  const NTSTATUS status = kernel<decltype(fake_NtQueryInformationFile)>("NtQueryInformationFile")(
      file, io, out, size, what);
  if (after_query) after_query(what, file, out);
  return status;
}

NTSTATUS NTAPI fake_NtQueryVolumeInformationFile(HANDLE file, PIO_STATUS_BLOCK io, PVOID out,
                                                 ULONG size, FS_INFORMATION_CLASS what) {
  const NTSTATUS status = kernel<decltype(fake_NtQueryVolumeInformationFile)>(
      "NtQueryVolumeInformationFile")(file, io, out, size, what);
  if (!after_volume_query) return status;
  after_volume_query(what, file, out);
  return STATUS_SUCCESS;
}
// NOLINTEND(misc-use-internal-linkage)

int main(int count, char** arguments) {
  const std::map<std::string_view, void (*)(Arguments)> commands{
      {"privilege", try_privilege}, {"rename", try_rename},   {"link", try_link},
      {"list", try_list},           {"names", try_names},     {"rmdir", try_rmdir},
      {"pending", try_pending},     {"symlink", try_symlink}, {"clone", try_clone}};
  if (count > 1) commands.at(arguments[1])(arguments + 2);
}
