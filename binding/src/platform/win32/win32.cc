// Windows. Every path is one name relative to an open directory's handle. Symlinks are followed only if the caller says
// so, as on Linux. So nobody can lead a copy astray by a symlink, and no path is too long. A junction counts as a
// symlink, whatever its target is.
//
// Modes are the part that Windows stores: whether a file is read-only, and whether an entry is hidden or a system file.

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "platform/platform.h"
#include "platform/win32/nt.h"
#include "platform/win32/numbers.h"
#include "platform/win32/reparse.h"
#include "platform/win32/text.h"

namespace fastcp::platform {
namespace {

// Later than winternl.h.
constexpr auto kIdInformation = std::bit_cast<FILE_INFORMATION_CLASS>(59);
struct IdInformation {
  uint64_t volume;
  FileId id;
};

bool is_same_entry(const Handle& one, const Handle& other) {
  Stat first, second;
  return stat_handle(one, first) == 0 && stat_handle(other, second) == 0 &&
         first.dev == second.dev && first.ino == second.ino;
}

/** Opens an entry for its content. Returns -ELOOP for a symlink, unless it may be followed. */
int open_content(const Handle& directory, const char* name, Follow follow, const How& how,
                 Handle& out) {
  if (follow == Follow::yes) return open_name(directory, name, how, out);
  How itself = how;
  itself.options |= FILE_OPEN_REPARSE_POINT;
  if (const int error = open_name(directory, name, itself, out); error < 0) return error;
  FILE_ATTRIBUTE_TAG_INFORMATION found;
  if (!NT_SUCCESS(tag_of(out, found))) return 0;  // a file system without reparse points
  if ((found.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) == 0) return 0;
  const Kind kind = kind_of(found.FileAttributes, found.ReparseTag);
  if (kind != Kind::directory && kind != Kind::file) return -ELOOP;
  // A driver provides the content. Nobody may have put a symlink there meanwhile.
  const Handle looked = std::move(out);
  if (const int error = open_name(directory, name, how, out); error < 0) return error;
  return is_same_entry(looked, out) ? 0 : -ELOOP;
}

// --- listings: the kernel's records have too much, and are not in UTF-8 ------------------------

/** u16 size, u8 kind, the name and a zero. */
constexpr size_t kRecordHead = 3;

void append_record(std::string& to, std::u16string_view name, Kind kind) {
  const size_t at = to.size();
  to.append(kRecordHead, static_cast<char>(kind));
  append_utf8(to, name);
  to += '\0';
  const auto size = static_cast<uint16_t>(to.size() - at);
  std::memcpy(to.data() + at, &size, sizeof size);
}

/** Appends the records that the kernel has written. */
void append_records(std::string& to, const char* found) {
  for (;;) {
    const auto* entry = reinterpret_cast<const FILE_FULL_DIR_INFORMATION*>(found);
    const bool reparse = (entry->FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0;
    // EaSize is the tag then (MS-FSCC 2.4.14). If it is not set, the engine has to look at the
    // entry.
    const Kind kind = reparse && entry->EaSize == 0 ? Kind::unknown
                                                    : kind_of(entry->FileAttributes, entry->EaSize);
    const auto* name = reinterpret_cast<const char16_t*>(entry->FileName);
    append_record(to, {name, entry->FileNameLength / sizeof(char16_t)}, kind);
    if (entry->NextEntryOffset == 0) return;
    found += entry->NextEntryOffset;
  }
}

}  // namespace

// --- Handle ----------------------------------------------------------------------------------

Handle& Handle::operator=(Handle&& other) noexcept {
  if (this != &other) {
    close();
    raw_ = std::exchange(other.raw_, kNone);
  }
  return *this;
}

Handle Handle::working_directory() { return Handle(kWorkingDirectory); }

int Handle::close() {
  const intptr_t handle = std::exchange(raw_, kNone);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): it is one
  return handle > 0 ? error_of(NtClose(reinterpret_cast<HANDLE>(handle))) : 0;
}

// --- directories ---------------------------------------------------------------------------------

int open_source_directory(const Handle& parent, const char* name, Follow follow, Handle& out) {
  return open_content(parent, name, follow, {FILE_LIST_DIRECTORY | kLook, FILE_DIRECTORY_FILE},
                      out);
}

int open_target_directory(const Handle& parent, const char* name, Follow follow, Handle& out) {
  How how{kLook | FILE_WRITE_ATTRIBUTES, FILE_DIRECTORY_FILE};
  const int error = open_content(parent, name, follow, how, out);
  if (error != -EPERM) return error;
  how.access = kLook;  // another user's directory, which may allow new entries
  return open_content(parent, name, follow, how, out);
}

// Windows' kernel knows no '..'. The caller finds the directory from above.
int open_source_parent(const Handle& /*directory*/, Handle& /*out*/) { return -EOPNOTSUPP; }
int open_again(intptr_t /*descriptor*/, Handle& /*out*/) { return -EOPNOTSUPP; }
bool is_locked(const Handle& /*entry*/) { return false; }
bool has_inode(intptr_t /*descriptor*/, uint32_t /*inode*/) { return false; }
int open_target_parent(const Handle& /*directory*/, Handle& /*out*/) { return -EOPNOTSUPP; }

int64_t read_listing(const Handle& directory, char* buffer, size_t size) {
  alignas(uint64_t) std::array<char, 16 << 10> found;
  // The engine's record is less than half as long again as the kernel's. That holds for the longest
  // of names with three bytes for each character.
  const auto room = [](size_t bytes) { return std::min(sizeof found, bytes / 3 * 2); };
  constexpr size_t kLongest = sizeof(FILE_FULL_DIR_INFORMATION) + 255 * sizeof(char16_t);
  std::string records;
  // Mostly the engine's records are much shorter. By the part of the buffer that is filled, the
  // engine sees whether a directory is large, so the kernel is asked until that part is full.
  for (size_t got = sizeof found; got + kLongest > sizeof found;) {
    const size_t asked = room(size - records.size());
    if (!records.empty() && asked < sizeof found) break;
    IO_STATUS_BLOCK io{};
    const NTSTATUS status = NtQueryDirectoryFile(
        raw(directory), nullptr, nullptr, nullptr, &io, found.data(), static_cast<ULONG>(asked),
        FileFullDirectoryInformation, FALSE, nullptr, FALSE);
    if (status == STATUS_NO_MORE_FILES || status == STATUS_NO_SUCH_FILE) break;
    if (!NT_SUCCESS(status)) {
      if (records.empty()) return error_of(status);
      break;  // the next call reports it
    }
    append_records(records, found.data());
    got = io.Information;
  }
  if (records.size() > size) return -EOVERFLOW;
  return static_cast<int64_t>(records.copy(buffer, size));
}

Listed parse_listing(const char* record) {
  uint16_t size = 0;
  std::memcpy(&size, record, sizeof size);
  return {record + kRecordHead, static_cast<Kind>(record[sizeof size]), size};
}

// A volume is mounted on a directory by a junction, which is not followed.
bool is_mount_point(const Handle& /*parent*/, const Handle& /*directory*/) { return false; }

// Only a whole volume is read-only, and it has a device number of its own.
bool is_read_only(const Handle& /*directory*/) { return false; }

bool is_append_only(const Handle& /*directory*/, const char* /*path*/) { return false; }

bool has_own_clock(const Handle& directory) {
  constexpr ULONG kRemote = 0x10;  // FILE_REMOTE_DEVICE
  FILE_FS_DEVICE_INFORMATION found;
  return query_volume(directory, FileFsDeviceInformation, found) &&
         (found.Characteristics & kRemote) == 0;
}

uint64_t time_step(const Handle& directory) {
  constexpr uint64_t kSecond = 1'000'000'000;  // ns
  struct {
    FILE_FS_ATTRIBUTE_INFORMATION found;
    WCHAR more[32];
  } information{};
  if (!query_volume(directory, FileFsAttributeInformation, information)) return 1;
  const std::wstring_view name(information.found.FileSystemName,
                               information.found.FileSystemNameLength / sizeof(WCHAR));
  if (name == L"FAT" || name == L"FAT32") return 2 * kSecond;
  return name == L"exFAT" ? kSecond / 100 : kForeignStep;
}

int make_directory(const Handle& parent, const char* name, uint32_t /*mode*/) {
  Handle made;
  const How how{kLook, FILE_DIRECTORY_FILE | FILE_OPEN_REPARSE_POINT, FILE_CREATE};
  return open_name(parent, name, how, made);
}

// --- entries ---------------------------------------------------------------------------------

int stat_handle(const Handle& handle, Stat& out) {
  FILE_ALL_INFORMATION all;
  const NTSTATUS status = query(handle, FileAllInformation, all);
  // The name has no room here.
  if (!NT_SUCCESS(status) && status != STATUS_BUFFER_OVERFLOW) return error_of(status);
  const FILE_BASIC_INFORMATION& basic = all.BasicInformation;
  FILE_ATTRIBUTE_TAG_INFORMATION tag{};
  if ((basic.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0) tag_of(handle, tag);
  const auto short_id = static_cast<uint64_t>(all.InternalInformation.IndexNumber.QuadPart);
  IdInformation id;
  if (NT_SUCCESS(query(handle, kIdInformation, id))) {
    out.dev = id.volume;
    out.ino = number_of(id.id, short_id);
  } else {
    FILE_FS_VOLUME_INFORMATION volume{};
    query_volume(handle, FileFsVolumeInformation, volume);
    out.dev = volume.VolumeSerialNumber;
    out.ino = short_id;
  }
  out.kind = kind_of(basic.FileAttributes, tag.ReparseTag);
  out.size = static_cast<uint64_t>(all.StandardInformation.EndOfFile.QuadPart);
  out.allocated = static_cast<uint64_t>(all.StandardInformation.AllocationSize.QuadPart);
  out.rdev = 0;
  out.link_count = all.StandardInformation.NumberOfLinks;
  out.atime = time_of(basic.LastAccessTime.QuadPart);
  out.mtime = time_of(basic.LastWriteTime.QuadPart);
  out.ctime = time_of(basic.ChangeTime.QuadPart);
  out.uid = out.gid = 0;  // owners on Windows are not numbers, and cannot be set freely
  out.mode = mode_of(basic.FileAttributes, out.kind);
  return 0;
}

int identify(const Handle& handle, Identity& out) {
  Stat found;
  if (const int error = stat_handle(handle, found); error < 0) return error;
  FILE_BASIC_INFORMATION basic{};
  query(handle, FileBasicInformation, basic);
  out = {out.file_system, found.dev, found.ino, time_of(basic.CreationTime.QuadPart)};
  return 0;
}

int stat_entry(const Handle& directory, const char* name, Stat& out, Follow follow) {
  Handle entry;
  const int error = open_entry(directory, name, follow, entry);
  return error < 0 ? error : stat_handle(entry, out);
}

int open_source_file(const Handle& directory, const char* name, Follow follow, bool& without_atime,
                     Handle& out) {
  without_atime = false;  // Windows records access times only if configured
  const How how{FILE_READ_DATA | kLook, FILE_NON_DIRECTORY_FILE | FILE_SEQUENTIAL_ONLY};
  return open_content(directory, name, follow, how, out);
}

const bool wakes_writers = false;

int open_entry(const Handle& directory, const char* name, Follow follow, Handle& out) {
  const ULONG itself = follow == Follow::yes ? 0 : FILE_OPEN_REPARSE_POINT;
  return open_name(directory, name, {kLook, itself}, out);
}

int create_file(const Handle& directory, const char* name, uint32_t mode, Handle& out) {
  // Read-only from the beginning. That applies only to others, who open it later.
  const How how{FILE_WRITE_DATA | FILE_WRITE_ATTRIBUTES | kLook,
                FILE_NON_DIRECTORY_FILE | FILE_OPEN_REPARSE_POINT, FILE_CREATE,
                attributes_of(mode, false) | FILE_ATTRIBUTE_ARCHIVE};
  return open_name(directory, name, how, out);
}

// --- the process -----------------------------------------------------------------------------

int start_thread(void (*run)(void*), void* argument) {
  try {
    std::thread(run, argument).detach();
  } catch (const std::system_error&) {
    return -EAGAIN;
  }
  return 0;
}

ThreadUsage thread_usage() {
  FILETIME began, ended, kernel, user;
  if (GetThreadTimes(GetCurrentThread(), &began, &ended, &kernel, &user) == 0) return {};
  const auto ns = [](FILETIME time) {
    return (static_cast<uint64_t>(time.dwHighDateTime) << 32 | time.dwLowDateTime) * 100;
  };
  return {ns(kernel) + ns(user), 0};  // Windows does not report the waits of a thread
}

namespace {

Time to_time(FILETIME time) {
  LARGE_INTEGER both;
  both.LowPart = time.dwLowDateTime;
  both.HighPart = static_cast<LONG>(time.dwHighDateTime);
  return time_of(both.QuadPart);
}

}  // namespace

Time change_time_floor() {
  FILETIME now;
  GetSystemTimeAsFileTime(&now);  // of the last tick
  return to_time(now);
}

Time change_time_ceiling() {
  FILETIME now;
  GetSystemTimePreciseAsFileTime(&now);
  return to_time(now);
}

int64_t free_descriptors() {
  return 8192;
}  // of 16 million handles; directories need not all be open

unsigned processor_count() {
  DWORD_PTR process = 0, system = 0;
  if (GetProcessAffinityMask(GetCurrentProcess(), &process, &system) == 0) return 1;
  // There is no mask: more than 64 processors.
  if (process == 0) return GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
  return std::max(1U, static_cast<unsigned>(std::popcount(uint64_t{process})));
}

const unsigned most_waiting_workers = UINT_MAX;

std::string environment(const char* name) {
  // Not getenv(): the C library's copy is older than the changes that JavaScript has made.
  std::array<char, 256> value;
  const DWORD length = GetEnvironmentVariableA(name, value.data(), value.size());
  return length < value.size() ? std::string(value.data(), length) : "";
}

}  // namespace fastcp::platform
