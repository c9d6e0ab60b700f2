// Windows. Every path is one name relative to an open folder's handle, and no link is followed but where the
// caller says so, as on Linux: nobody can lead a copy astray by a link, and no path is too long. A junction
// is a link, too, whatever it leads to.
//
// Modes are what Windows keeps of them: whether a file is read-only, and whether an entry is hidden or one of
// the system's.

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "platform.h"
#include "win32_nt.h"
#include "win32_reparse.h"
#include "win32_text.h"

namespace fastcp::platform {
namespace {

/** Stands for the working folder; Windows has small negative numbers of its own. */
constexpr intptr_t kWorkingFolder = -100;

/** Others may do to it what they like, as elsewhere. */
constexpr ULONG kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
constexpr ULONG kOptions = FILE_SYNCHRONOUS_IO_NONALERT | FILE_OPEN_FOR_BACKUP_INTENT;
constexpr ACCESS_MASK kLook = FILE_READ_ATTRIBUTES | SYNCHRONIZE;

// Later than winternl.h.
constexpr auto kIdInformation = std::bit_cast<FILE_INFORMATION_CLASS>(59);
constexpr auto kDispositionEx = std::bit_cast<FILE_INFORMATION_CLASS>(64);
constexpr auto kRenameEx = std::bit_cast<FILE_INFORMATION_CLASS>(65);
struct IdInformation {
  uint64_t volume;
  uint64_t id[2];
};

/** A name as the kernel takes it: relative to `root`, which is null where it is a whole path. */
struct Name {
  std::u16string text;
  HANDLE root = nullptr;

  /** 0 or a negative errno. */
  int set(const Handle& folder, const char* name) {
    if (folder.raw() == kWorkingFolder) {
      if (!to_path(name, text)) return -EILSEQ;
    } else {
      root = raw(folder);
      if (std::strcmp(name, ".") == 0) return 0;  // the folder once more
      if (!to_name(name, text)) return -EINVAL;
    }
    constexpr size_t kMost = 0x7fff;  // UNICODE_STRING counts bytes in 16 bits
    return text.size() < kMost ? 0 : -ENAMETOOLONG;
  }

  [[nodiscard]] UNICODE_STRING string() {
    const auto bytes = static_cast<USHORT>(text.size() * sizeof(char16_t));
    return {bytes, bytes, reinterpret_cast<wchar_t*>(text.data())};
  }
};

/** What others hold for a moment, as virus scanners do with what is new, is tried again for some time. */
template <class Call>
NTSTATUS patiently(Call call) {
  NTSTATUS status = call();
  for (DWORD wait = 1; status == STATUS_SHARING_VIOLATION && wait < 64; wait *= 2) {
    Sleep(wait);
    status = call();
  }
  return status;
}

/** How something is opened or made. */
struct How {
  ACCESS_MASK access;
  ULONG options = 0;
  ULONG disposition = FILE_OPEN;
  ULONG attributes = 0;
};

int open_name(const Handle& folder, const char* name, const How& how, Handle& out) {
  Name found;
  if (const int error = found.set(folder, name); error < 0) return error;
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

/** What a reparse tag makes of an entry that Windows lists as a file or folder. */
Kind kind_of(ULONG attributes, ULONG tag) {
  const Kind plain = (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0 ? Kind::folder : Kind::file;
  if ((attributes & FILE_ATTRIBUTE_REPARSE_POINT) == 0) return plain;
  switch (tag) {
    case kSymlinkTag:
    case kMountPointTag: return Kind::link;
    case kSocketTag: return Kind::socket;
    case kFifoTag: return Kind::fifo;
    case kCharacterDeviceTag: return Kind::character_device;
    case kBlockDeviceTag: return Kind::block_device;
    // What a server keeps for later, compresses or has once for many looks like what it is.
    default: return (tag & kSurrogateBit) != 0 ? Kind::unknown : plain;
  }
}

NTSTATUS tag_of(const Handle& handle, FILE_ATTRIBUTE_TAG_INFORMATION& out) {
  return query(handle, FileAttributeTagInformation, out);
}

bool is_same_entry(const Handle& one, const Handle& other) {
  Stat first, second;
  return stat_handle(one, first) == 0 && stat_handle(other, second) == 0 &&
         first.dev == second.dev && first.ino == second.ino;
}

/** Opens something for its content. A link is -ELOOP unless it may be followed. */
int open_content(const Handle& folder, const char* name, Follow follow, const How& how,
                 Handle& out) {
  if (follow == Follow::yes) return open_name(folder, name, how, out);
  How itself = how;
  itself.options |= FILE_OPEN_REPARSE_POINT;
  if (const int error = open_name(folder, name, itself, out); error < 0) return error;
  FILE_ATTRIBUTE_TAG_INFORMATION found;
  if (!NT_SUCCESS(tag_of(out, found))) return 0;  // a file system that has no such thing
  if ((found.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) == 0) return 0;
  const Kind kind = kind_of(found.FileAttributes, found.ReparseTag);
  if (kind != Kind::folder && kind != Kind::file) return -ELOOP;
  // Its content is what a driver makes of it. Nobody may have put a link there meanwhile.
  const Handle looked = std::move(out);
  if (const int error = open_name(folder, name, how, out); error < 0) return error;
  return is_same_entry(looked, out) ? 0 : -ELOOP;
}

Time time_of(LARGE_INTEGER time) {
  constexpr int64_t kPerSecond = 10'000'000, kEpoch = 11'644'473'600;  // since 1601, by 100 ns
  const int64_t ticks = time.QuadPart;
  const int64_t seconds = ticks / kPerSecond - (ticks % kPerSecond < 0 ? 1 : 0);
  return {seconds - kEpoch, static_cast<uint32_t>((ticks - seconds * kPerSecond) * 100)};
}

LARGE_INTEGER ticks_of(Time time) {
  LARGE_INTEGER ticks;
  ticks.QuadPart = (time.seconds + 11'644'473'600) * 10'000'000 + time.nanoseconds / 100;
  return ticks;
}

// --- modes: bits beyond the permissions stand for what else Windows keeps --------------------

constexpr uint32_t kHidden = 010000, kSystem = 020000;
constexpr uint32_t kWritable = 0222;
constexpr ULONG kModeAttributes =
    FILE_ATTRIBUTE_READONLY | FILE_ATTRIBUTE_HIDDEN | FILE_ATTRIBUTE_SYSTEM;

uint32_t mode_of(ULONG attributes, Kind kind) {
  uint32_t mode = 0;
  if ((attributes & FILE_ATTRIBUTE_HIDDEN) != 0) mode |= kHidden;
  if ((attributes & FILE_ATTRIBUTE_SYSTEM) != 0) mode |= kSystem;
  if (kind == Kind::folder) return mode | kPermissions;  // of folders "read-only" means nothing
  return mode | ((attributes & FILE_ATTRIBUTE_READONLY) != 0 ? 0444 : 0666);
}

ULONG attributes_of(uint32_t mode, bool is_folder) {
  ULONG attributes = 0;
  if ((mode & kHidden) != 0) attributes |= FILE_ATTRIBUTE_HIDDEN;
  if ((mode & kSystem) != 0) attributes |= FILE_ATTRIBUTE_SYSTEM;
  if (!is_folder && (mode & kWritable) == 0) attributes |= FILE_ATTRIBUTE_READONLY;
  return attributes;
}

/** Sets times that are not zero, and attributes unless they are; by another handle if this one may not. */
int set_basic(const Handle& entry, FILE_BASIC_INFORMATION& wanted) {
  NTSTATUS status = set(entry, FileBasicInformation, wanted);
  if (status != STATUS_ACCESS_DENIED) return error_of(status);
  Handle own;
  const How how{FILE_WRITE_ATTRIBUTES | SYNCHRONIZE, FILE_OPEN_REPARSE_POINT};
  const int error = open_name(entry, ".", how, own);
  return error < 0 ? error : error_of(set(own, FileBasicInformation, wanted));
}

/** Replaces those attributes that are in `mask`. */
int set_attributes(const Handle& entry, ULONG mask, ULONG attributes) {
  FILE_BASIC_INFORMATION now;
  if (const NTSTATUS status = query(entry, FileBasicInformation, now); !NT_SUCCESS(status)) {
    return error_of(status);
  }
  FILE_BASIC_INFORMATION wanted{};
  // Zero would leave all of them.
  wanted.FileAttributes = ((now.FileAttributes & ~mask) | attributes) | FILE_ATTRIBUTE_NORMAL;
  if (wanted.FileAttributes != FILE_ATTRIBUTE_NORMAL)
    wanted.FileAttributes &= ~static_cast<ULONG>(FILE_ATTRIBUTE_NORMAL);
  return set_basic(entry, wanted);
}

// --- names that come and go ------------------------------------------------------------------

constexpr ULONG kReplace = 1, kPosix = 2, kRenameReadOnly = 0x40;  // FILE_RENAME_…
constexpr ULONG kDelete = 1, kDeleteReadOnly = 0x10;               // FILE_DISPOSITION_…

/** This Windows or file system does not know a newer way. */
bool is_unknown(NTSTATUS status) {
  switch (status) {
    case STATUS_INVALID_INFO_CLASS:
    case STATUS_INVALID_PARAMETER:
    case STATUS_INVALID_DEVICE_REQUEST:
    case STATUS_NOT_SUPPORTED:
    case STATUS_NOT_IMPLEMENTED: return true;
    default: return false;
  }
}

/** FILE_RENAME_INFORMATION and FILE_LINK_INFORMATION: they are one. */
NTSTATUS give_name(const Handle& entry, FILE_INFORMATION_CLASS what, ULONG flags,
                   const Name& name) {
  struct Head {
    ULONG flags;
    HANDLE root;
    ULONG length;
  };
  constexpr size_t kName = offsetof(Head, length) + sizeof(ULONG);
  const size_t length = name.text.size() * sizeof(char16_t);
  // At least the size of what winternl.h declares.
  const size_t size = std::max(sizeof(FILE_RENAME_INFORMATION), kName + length);
  const auto buffer = std::make_unique<uint64_t[]>(size / sizeof(uint64_t) + 1);
  auto* head = reinterpret_cast<Head*>(buffer.get());
  *head = {flags, name.root, static_cast<ULONG>(length)};
  std::memcpy(reinterpret_cast<char*>(head) + kName, name.text.data(), length);
  IO_STATUS_BLOCK io;
  return patiently(
      [&] { return NtSetInformationFile(raw(entry), &io, head, static_cast<ULONG>(size), what); });
}

/** Takes away what keeps an entry from being replaced or removed; true if it was that. */
bool make_writable(const Handle& folder, const char* name) {
  Handle entry;
  const How how{kLook | FILE_WRITE_ATTRIBUTES, FILE_OPEN_REPARSE_POINT};
  FILE_BASIC_INFORMATION found;
  return open_name(folder, name, how, entry) == 0 &&
         NT_SUCCESS(query(entry, FileBasicInformation, found)) &&
         (found.FileAttributes & FILE_ATTRIBUTE_READONLY) != 0 &&
         set_attributes(entry, FILE_ATTRIBUTE_READONLY, 0) == 0;
}

int rename(const Handle& folder, const char* from, const char* to, bool replaces) {
  Handle entry;
  const How how{DELETE | SYNCHRONIZE, FILE_OPEN_REPARSE_POINT};
  Name name;
  int error = open_name(folder, from, how, entry);
  if (error == 0) error = name.set(folder, to);
  if (error < 0) return error;
  // What is replaced may be open, be read-only, and is gone at once.
  const ULONG flags = kPosix | (replaces ? kReplace | kRenameReadOnly : 0);
  NTSTATUS status = give_name(entry, kRenameEx, flags, name);
  if (!is_unknown(status)) return error_of(status);
  const auto plain = [&] {
    return give_name(entry, FileRenameInformation, replaces ? kReplace : 0, name);
  };
  status = plain();
  if (status == STATUS_ACCESS_DENIED && replaces && make_writable(folder, to)) status = plain();
  return error_of(status);
}

int remove(const Handle& folder, const char* name, bool is_folder) {
  Handle entry;
  const ULONG kind = is_folder ? FILE_DIRECTORY_FILE : 0;
  const How how{DELETE | kLook, FILE_OPEN_REPARSE_POINT | kind};
  if (const int error = open_name(folder, name, how, entry); error < 0) return error;
  FILE_ATTRIBUTE_TAG_INFORMATION found;
  if (!is_folder && NT_SUCCESS(tag_of(entry, found)) &&
      kind_of(found.FileAttributes, found.ReparseTag) == Kind::folder) {
    return -EISDIR;
  }
  ULONG flags = kDelete | kPosix | kDeleteReadOnly;
  NTSTATUS status = set(entry, kDispositionEx, flags);
  if (!is_unknown(status)) return error_of(status);
  FILE_DISPOSITION_INFORMATION gone{TRUE};
  status = set(entry, FileDispositionInformation, gone);
  if (status == STATUS_CANNOT_DELETE && make_writable(folder, name)) {
    status = set(entry, FileDispositionInformation, gone);
  }
  return error_of(status);
}

// --- listings: the kernel's records say too much, and not in UTF-8 ----------------------------

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

}  // namespace

NTSTATUS control(const Handle& handle, ULONG code, const void* in, size_t in_size, void* out,
                 size_t out_size, size_t* got) {
  IO_STATUS_BLOCK io{};
  const NTSTATUS status =
      NtFsControlFile(raw(handle), nullptr, nullptr, nullptr, &io, code, const_cast<void*>(in),
                      static_cast<ULONG>(in_size), out, static_cast<ULONG>(out_size));
  if (got != nullptr) *got = io.Information;
  return status;
}

// --- Handle ----------------------------------------------------------------------------------

Handle& Handle::operator=(Handle&& other) noexcept {
  if (this != &other) {
    close();
    raw_ = std::exchange(other.raw_, kNone);
  }
  return *this;
}

Handle Handle::working_folder() { return Handle(kWorkingFolder); }

int Handle::close() {
  const intptr_t handle = std::exchange(raw_, kNone);
  return handle > 0 ? error_of(NtClose(reinterpret_cast<HANDLE>(handle))) : 0;
}

// --- folders ---------------------------------------------------------------------------------

int open_source_folder(const Handle& parent, const char* name, Follow follow, Handle& out) {
  return open_content(parent, name, follow, {FILE_LIST_DIRECTORY | kLook, FILE_DIRECTORY_FILE},
                      out);
}

int open_target_folder(const Handle& parent, const char* name, Follow follow, Handle& out) {
  How how{kLook | FILE_WRITE_ATTRIBUTES, FILE_DIRECTORY_FILE};
  const int error = open_content(parent, name, follow, how, out);
  if (error != -EPERM) return error;
  how.access = kLook;  // of somebody else's folder, in which something may be made all the same
  return open_content(parent, name, follow, how, out);
}

// Windows' kernel knows no '..'; the caller finds the folder from above.
int open_source_parent(const Handle& /*folder*/, Handle& /*out*/) { return -EOPNOTSUPP; }
int open_target_parent(const Handle& /*folder*/, Handle& /*out*/) { return -EOPNOTSUPP; }

int64_t read_listing(const Handle& folder, char* buffer, size_t size) {
  // A record of ours is less than half as long again as one of the kernel's, with the longest of names and
  // three bytes for each character of it.
  alignas(uint64_t) std::array<char, 16 << 10> found;
  const auto room = static_cast<ULONG>(std::min(found.size(), size / 3 * 2));
  IO_STATUS_BLOCK io{};
  const NTSTATUS status =
      NtQueryDirectoryFile(raw(folder), nullptr, nullptr, nullptr, &io, found.data(), room,
                           FileFullDirectoryInformation, FALSE, nullptr, FALSE);
  if (status == STATUS_NO_MORE_FILES || status == STATUS_NO_SUCH_FILE) return 0;
  if (!NT_SUCCESS(status)) return error_of(status);
  std::string records;
  for (size_t at = 0;;) {
    const auto* entry = reinterpret_cast<const FILE_FULL_DIR_INFORMATION*>(found.data() + at);
    const bool reparse = (entry->FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0;
    // There EaSize is the tag (MS-FSCC 2.4.14); where it is not set the entry is to be looked at.
    const Kind kind = reparse && entry->EaSize == 0 ? Kind::unknown
                                                    : kind_of(entry->FileAttributes, entry->EaSize);
    const auto* name = reinterpret_cast<const char16_t*>(entry->FileName);
    append_record(records, {name, entry->FileNameLength / sizeof(char16_t)}, kind);
    if (entry->NextEntryOffset == 0) break;
    at += entry->NextEntryOffset;
  }
  if (records.size() > size) return -EOVERFLOW;
  std::memcpy(buffer, records.data(), records.size());
  return static_cast<int64_t>(records.size());
}

Listed parse_listing(const char* record) {
  uint16_t size = 0;
  std::memcpy(&size, record, sizeof size);
  return {record + kRecordHead, static_cast<Kind>(record[sizeof size]), size};
}

// A volume is mounted on a folder by a junction, which is not followed.
bool is_mount_point(const Handle& /*parent*/, const Handle& /*folder*/) { return false; }

bool has_own_clock(const Handle& folder) {
  constexpr ULONG kRemote = 0x10;  // FILE_REMOTE_DEVICE
  FILE_FS_DEVICE_INFORMATION found;
  IO_STATUS_BLOCK io;
  const NTSTATUS status =
      NtQueryVolumeInformationFile(raw(folder), &io, &found, sizeof found, FileFsDeviceInformation);
  return NT_SUCCESS(status) && (found.Characteristics & kRemote) == 0;
}

int make_folder(const Handle& parent, const char* name, uint32_t /*mode*/) {
  Handle made;
  const How how{kLook, FILE_DIRECTORY_FILE | FILE_OPEN_REPARSE_POINT, FILE_CREATE};
  return open_name(parent, name, how, made);
}

int set_folder_mode(const Handle& folder, uint32_t mode) { return set_mode(folder, mode); }

// --- entries ---------------------------------------------------------------------------------

int stat_handle(const Handle& handle, Stat& out) {
  FILE_ALL_INFORMATION all;
  const NTSTATUS status = query(handle, FileAllInformation, all);
  // Its name has no room here.
  if (!NT_SUCCESS(status) && status != STATUS_BUFFER_OVERFLOW) return error_of(status);
  const FILE_BASIC_INFORMATION& basic = all.BasicInformation;
  FILE_ATTRIBUTE_TAG_INFORMATION tag{};
  if ((basic.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0) tag_of(handle, tag);
  IdInformation id;
  if (NT_SUCCESS(query(handle, kIdInformation, id))) {
    out.dev = id.volume;
    out.ino = id.id[0] ^ id.id[1];  // the second is 0 but on ReFS
  } else {
    FILE_FS_VOLUME_INFORMATION volume{};
    IO_STATUS_BLOCK io;
    NtQueryVolumeInformationFile(raw(handle), &io, &volume, sizeof volume, FileFsVolumeInformation);
    out.dev = volume.VolumeSerialNumber;
    out.ino = static_cast<uint64_t>(all.InternalInformation.IndexNumber.QuadPart);
  }
  out.kind = kind_of(basic.FileAttributes, tag.ReparseTag);
  out.size = static_cast<uint64_t>(all.StandardInformation.EndOfFile.QuadPart);
  out.allocated = static_cast<uint64_t>(all.StandardInformation.AllocationSize.QuadPart);
  out.rdev = 0;
  out.links = all.StandardInformation.NumberOfLinks;
  out.atime = time_of(basic.LastAccessTime);
  out.mtime = time_of(basic.LastWriteTime);
  out.ctime = time_of(basic.ChangeTime);
  out.uid = out.gid = 0;  // Windows' owners are no numbers, and nobody's to give
  out.mode = mode_of(basic.FileAttributes, out.kind);
  return 0;
}

int stat_entry(const Handle& folder, const char* name, Stat& out, Follow follow) {
  Handle entry;
  const int error = open_entry(folder, name, follow, entry);
  return error < 0 ? error : stat_handle(entry, out);
}

int open_source_file(const Handle& folder, const char* name, Follow follow, bool& without_atime,
                     Handle& out) {
  without_atime = false;  // Windows keeps them only where it was told to
  const How how{FILE_READ_DATA | kLook, FILE_NON_DIRECTORY_FILE | FILE_SEQUENTIAL_ONLY};
  return open_content(folder, name, follow, how, out);
}

int open_entry(const Handle& folder, const char* name, Follow follow, Handle& out) {
  const ULONG itself = follow == Follow::yes ? 0 : FILE_OPEN_REPARSE_POINT;
  return open_name(folder, name, {kLook, itself}, out);
}

int create_file(const Handle& folder, const char* name, uint32_t mode, Handle& out) {
  // Read-only from the beginning: that is for others, who open it later.
  const How how{FILE_WRITE_DATA | FILE_WRITE_ATTRIBUTES | kLook,
                FILE_NON_DIRECTORY_FILE | FILE_OPEN_REPARSE_POINT, FILE_CREATE,
                attributes_of(mode, false) | FILE_ATTRIBUTE_ARCHIVE};
  return open_name(folder, name, how, out);
}

int64_t read_link(const Handle& folder, const char* name, char* target, size_t size,
                  LinkKind& kind) {
  Handle link;
  if (const int error = open_entry(folder, name, Follow::no, link); error < 0) return error;
  const auto data = std::make_unique<char[]>(kMostReparseData);
  size_t length = 0;
  NTSTATUS status =
      control(link, FSCTL_GET_REPARSE_POINT, nullptr, 0, data.get(), kMostReparseData, &length);
  FILE_ATTRIBUTE_TAG_INFORMATION found{};
  if (NT_SUCCESS(status)) status = tag_of(link, found);
  if (!NT_SUCCESS(status)) return error_of(status);
  std::string text;
  if (!link_text({data.get(), length}, text)) return -EINVAL;
  if (text.size() >= size) return -ENAMETOOLONG;
  const bool is_folder = (found.FileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
  kind = found.ReparseTag == kMountPointTag ? LinkKind::junction
         : is_folder                        ? LinkKind::folder
                                            : LinkKind::file;
  std::memcpy(target, text.data(), text.size());
  return static_cast<int64_t>(text.size());
}

int make_link(const Handle& folder, const char* name, const char* target, LinkKind kind) {
  const std::string data = reparse_data(target, kind);
  if (data.empty()) return -EINVAL;
  const ULONG type = kind == LinkKind::file ? FILE_NON_DIRECTORY_FILE : FILE_DIRECTORY_FILE;
  const How how{FILE_WRITE_DATA | FILE_WRITE_ATTRIBUTES | DELETE | kLook,
                type | FILE_OPEN_REPARSE_POINT, FILE_CREATE};
  Handle made;
  if (const int error = open_name(folder, name, how, made); error < 0) return error;
  // Without Developer Mode or the right to make links this is -EPERM.
  const NTSTATUS status = control(made, FSCTL_SET_REPARSE_POINT, data.data(), data.size());
  if (NT_SUCCESS(status)) return 0;
  FILE_DISPOSITION_INFORMATION gone{TRUE};
  set(made, FileDispositionInformation, gone);
  return error_of(status);
}

int make_special(const Handle& /*folder*/, const char* /*name*/, const Stat& /*source*/,
                 uint32_t /*mode*/) {
  return -EOPNOTSUPP;
}

int make_hard_link(const Handle& from_folder, const char* from, Follow follow, const Handle& folder,
                   const char* name) {
  Handle entry;
  const ULONG itself = follow == Follow::yes ? 0 : FILE_OPEN_REPARSE_POINT;
  const How how{FILE_WRITE_ATTRIBUTES | SYNCHRONIZE, itself};
  Name given;
  int error = open_name(from_folder, from, how, entry);
  if (error == 0) error = given.set(folder, name);
  return error < 0 ? error : error_of(give_name(entry, FileLinkInformation, 0, given));
}

int rename_over(const Handle& folder, const char* from, const char* to) {
  return rename(folder, from, to, true);
}

int rename_new(const Handle& folder, const char* from, const char* to) {
  return rename(folder, from, to, false);
}

int remove_file(const Handle& folder, const char* name) { return remove(folder, name, false); }
int remove_folder(const Handle& folder, const char* name) { return remove(folder, name, true); }

// --- what an entry has beside its content -----------------------------------------------------

int set_mode(const Handle& entry, uint32_t mode) {
  FILE_STANDARD_INFORMATION found;
  const NTSTATUS status = query(entry, FileStandardInformation, found);
  if (!NT_SUCCESS(status)) return error_of(status);
  const bool is_folder = found.Directory != FALSE;
  // A folder's "read-only" says that its icon is not the usual one.
  const ULONG mask =
      is_folder ? kModeAttributes & ~static_cast<ULONG>(FILE_ATTRIBUTE_READONLY) : kModeAttributes;
  return set_attributes(entry, mask, attributes_of(mode, is_folder));
}

int set_owner(const Handle& /*entry*/, uint32_t /*uid*/, uint32_t /*gid*/) { return -EOPNOTSUPP; }

int set_times(const Handle& entry, Time accessed, Time modified) {
  FILE_BASIC_INFORMATION wanted{};
  wanted.LastAccessTime = ticks_of(accessed);
  wanted.LastWriteTime = ticks_of(modified);
  return set_basic(entry, wanted);
}

int touch(const Handle& entry) {
  FILE_BASIC_INFORMATION wanted{};
  NtQuerySystemTime(&wanted.LastWriteTime);
  wanted.LastAccessTime = wanted.LastWriteTime;
  return set_basic(entry, wanted);
}

// Windows' access lists are a folder's to hand down, and its extended attributes are for old programs and WSL:
// neither is copied, and of what is listed there is nothing.
int64_t list_attributes(const Handle& /*entry*/, char* /*names*/, size_t /*size*/) {
  return -EOPNOTSUPP;
}
int64_t get_attribute(const Handle& /*entry*/, const char* /*name*/, char* /*value*/,
                      size_t /*size*/) {
  return -EOPNOTSUPP;
}
int set_attribute(const Handle& /*entry*/, const char* /*name*/, const char* /*value*/,
                  size_t /*size*/) {
  return -EOPNOTSUPP;
}
int remove_attribute(const Handle& /*entry*/, const char* /*name*/) { return -EOPNOTSUPP; }
uint32_t group_permissions(const char* /*list*/, size_t /*size*/) { return 7; }

// --- whole trees -----------------------------------------------------------------------------

int exchange(const Handle& /*folder*/, const char* /*one*/, const char* /*other*/) {
  return -ENOSYS;
}
int check_snapshot(const Handle& /*source*/, const Handle& /*folder*/) { return -EOPNOTSUPP; }
int take_snapshot(const Handle& /*source*/, const Handle& /*folder*/, const char* /*name*/) {
  return -EOPNOTSUPP;
}
int make_snapshot_source(const Handle& /*folder*/, const char* /*name*/) { return -EOPNOTSUPP; }

// --- the process -----------------------------------------------------------------------------

ThreadUsage thread_usage() {
  FILETIME began, ended, kernel, user;
  if (GetThreadTimes(GetCurrentThread(), &began, &ended, &kernel, &user) == 0) return {};
  const auto ns = [](FILETIME time) {
    return (static_cast<uint64_t>(time.dwHighDateTime) << 32 | time.dwLowDateTime) * 100;
  };
  return {ns(kernel) + ns(user), 0};  // Windows does not tell what a thread had to wait for
}

int64_t free_descriptors() { return 8192; }  // of 16 million handles; folders need not all be kept

unsigned processor_count() {
  DWORD_PTR process = 0, system = 0;
  if (GetProcessAffinityMask(GetCurrentProcess(), &process, &system) == 0) return 1;
  return std::max(1U, static_cast<unsigned>(std::popcount(uint64_t{process})));
}

std::string environment(const char* name) {
  // Not getenv(): the C library's copy is older than what JavaScript has set.
  std::array<char, 256> value;
  const DWORD length = GetEnvironmentVariableA(name, value.data(), value.size());
  return length < value.size() ? std::string(value.data(), length) : "";
}

}  // namespace fastcp::platform
