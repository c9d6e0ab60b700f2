// Windows: names of entries, and their metadata.

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "platform/platform.h"
#include "platform/win32/nt.h"
#include "platform/win32/numbers.h"
#include "platform/win32/reparse.h"

namespace fastcp::platform {
namespace {

// Later than winternl.h.
constexpr auto kDispositionEx = std::bit_cast<FILE_INFORMATION_CLASS>(64);
constexpr auto kRenameEx = std::bit_cast<FILE_INFORMATION_CLASS>(65);

constexpr ULONG kModeAttributes =
    FILE_ATTRIBUTE_READONLY | FILE_ATTRIBUTE_HIDDEN | FILE_ATTRIBUTE_SYSTEM;

/**
 * Sets timestamps that are not zero, and attributes if they are not zero. Uses another handle if
 * this one lacks the right.
 */
int set_basic(const Handle& entry, FILE_BASIC_INFORMATION& wanted) {
  NTSTATUS status = set(entry, FileBasicInformation, wanted);
  if (status != STATUS_ACCESS_DENIED) return error_of(status);
  Handle own;
  const How how{FILE_WRITE_ATTRIBUTES | SYNCHRONIZE, FILE_OPEN_REPARSE_POINT};
  const int error = open_name(entry, ".", how, own);
  return error < 0 ? error : error_of(set(own, FileBasicInformation, wanted));
}

/** Replaces the attributes in `mask`. */
int set_attributes(const Handle& entry, ULONG mask, ULONG attributes) {
  FILE_BASIC_INFORMATION now;
  if (const NTSTATUS status = query(entry, FileBasicInformation, now); !NT_SUCCESS(status)) {
    return error_of(status);
  }
  FILE_BASIC_INFORMATION wanted{};
  // Zero would change nothing.
  wanted.FileAttributes = ((now.FileAttributes & ~mask) | attributes) | FILE_ATTRIBUTE_NORMAL;
  if (wanted.FileAttributes != FILE_ATTRIBUTE_NORMAL)
    wanted.FileAttributes &= ~static_cast<ULONG>(FILE_ATTRIBUTE_NORMAL);
  return set_basic(entry, wanted);
}

// --- creating and removing names -------------------------------------------------------------

constexpr ULONG kReplace = 1, kPosix = 2, kRenameReadOnly = 0x40;  // FILE_RENAME_…
constexpr ULONG kDelete = 1, kDeleteReadOnly = 0x10;               // FILE_DISPOSITION_…

/** Returns whether this Windows or file system does not know a newer call. */
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

/** FILE_RENAME_INFORMATION and FILE_LINK_INFORMATION have the same layout. */
struct NewName {
  ULONG flags;
  HANDLE root;
  ULONG length;  // bytes
  char16_t name[1];
};
static_assert(offsetof(NewName, root) == 8 && offsetof(NewName, length) == 16 &&
              offsetof(NewName, name) == 20 && sizeof(NewName) == sizeof(FILE_RENAME_INFORMATION));

/** Tells whether an entry gets a name in the directory that it is in. */
enum class Where : bool { same_directory, other_directory };

NTSTATUS give_name(const Handle& entry, FILE_INFORMATION_CLASS what, ULONG flags, const Name& name,
                   Where where) {
  const size_t length = name.text.size() * sizeof(char16_t);
  const size_t size = sizeof(NewName) + length;
  const auto buffer = std::make_unique<uint64_t[]>(size / sizeof(uint64_t) + 1);
  auto* const wanted = reinterpret_cast<NewName*>(buffer.get());
  wanted->flags = flags;
  wanted->length = static_cast<ULONG>(length);
  std::memcpy(wanted->name, name.text.data(), length);
  const auto give = [&](HANDLE root) {
    wanted->root = root;
    IO_STATUS_BLOCK io;
    return patiently([&] {
      return NtSetInformationFile(raw(entry), &io, wanted, static_cast<ULONG>(size), what);
    });
  };
  if (where == Where::other_directory) return give(name.root);
  // For a name in the same directory the kernel wants a null RootDirectory (FILE_RENAME_INFORMATION
  // and FILE_LINK_INFORMATION, ntifs.h); servers accept nothing else (MS-FSCC,
  // FileRenameInformation). wine wants the directory.
  const NTSTATUS status = give(nullptr);
  return status == STATUS_OBJECT_PATH_SYNTAX_BAD ? give(name.root) : status;
}

/**
 * Waits until other programs have closed entries of a directory that were deleted. Returns false if
 * an entry stays.
 */
bool await_deletions(const Handle& parent, const char* name) {
  Handle directory;
  if (open_source_directory(parent, name, Follow::no, directory) < 0) return false;
  std::array<char, 4096> records;
  for (;;) {
    const int64_t size = read_listing(directory, records.data(), records.size());
    if (size <= 0) return size == 0;
    for (const char* at = records.data(); at < records.data() + size;) {
      const Listed entry = parse_listing(at);
      at += entry.size;
      const std::string_view listed = entry.name;
      if (listed == "." || listed == "..") continue;
      Handle there;
      if (open_entry(directory, entry.name, Follow::no, there) != -ENOENT) return false;
    }
  }
}

/** Removes attributes that forbid to replace or remove an entry. Returns true if there were any. */
bool make_writable(const Handle& directory, const char* name) {
  Handle entry;
  const How how{kLook | FILE_WRITE_ATTRIBUTES, FILE_OPEN_REPARSE_POINT};
  FILE_BASIC_INFORMATION found;
  return open_name(directory, name, how, entry) == 0 &&
         NT_SUCCESS(query(entry, FileBasicInformation, found)) &&
         (found.FileAttributes & FILE_ATTRIBUTE_READONLY) != 0 &&
         set_attributes(entry, FILE_ATTRIBUTE_READONLY, 0) == 0;
}

int rename(const Handle& directory, const char* from, const char* to, bool replaces) {
  Handle entry;
  const How how{DELETE | SYNCHRONIZE, FILE_OPEN_REPARSE_POINT};
  Name name;
  int error = open_name(directory, from, how, entry);
  if (error == 0) error = name.set(directory, to);
  if (error < 0) return error;
  // The replaced file may be open or read-only, and disappears at once.
  const ULONG flags = kPosix | (replaces ? kReplace | kRenameReadOnly : 0);
  NTSTATUS status = give_name(entry, kRenameEx, flags, name, Where::same_directory);
  if (!is_unknown(status)) return error_of(status);
  const auto plain = [&] {
    return give_name(entry, FileRenameInformation, replaces ? kReplace : 0, name,
                     Where::same_directory);
  };
  status = plain();
  if (status == STATUS_ACCESS_DENIED && replaces && make_writable(directory, to)) status = plain();
  return error_of(status);
}

int remove(const Handle& directory, const char* name, bool is_directory) {
  Handle entry;
  const ULONG kind = is_directory ? FILE_DIRECTORY_FILE : 0;
  const How how{DELETE | kLook, FILE_OPEN_REPARSE_POINT | kind};
  if (const int error = open_name(directory, name, how, entry); error < 0) return error;
  FILE_ATTRIBUTE_TAG_INFORMATION found;
  if (!is_directory && NT_SUCCESS(tag_of(entry, found)) &&
      kind_of(found.FileAttributes, found.ReparseTag) == Kind::directory) {
    return -EISDIR;
  }
  const auto erase = [&] {
    ULONG flags = kDelete | kPosix | kDeleteReadOnly;
    NTSTATUS status = set(entry, kDispositionEx, flags);
    if (!is_unknown(status)) return status;
    FILE_DISPOSITION_INFORMATION gone{TRUE};
    status = set(entry, FileDispositionInformation, gone);
    if (status == STATUS_CANNOT_DELETE && make_writable(directory, name)) {
      status = set(entry, FileDispositionInformation, gone);
    }
    return status;
  };
  NTSTATUS status = erase();
  if (status == STATUS_DIRECTORY_NOT_EMPTY && await_deletions(directory, name)) status = erase();
  return error_of(status);
}

}  // namespace

ThreadPrivilege::ThreadPrivilege(ULONG privilege) {
  // A token of the thread belongs to a user whom the host impersonates, with that user's rights.
  HANDLE token = nullptr;
  const NTSTATUS status = NtOpenThreadToken(GetCurrentThread(), TOKEN_QUERY, TRUE, &token);
  if (NT_SUCCESS(status)) NtClose(token);
  if (status != STATUS_NO_TOKEN) return;
  impersonates_ = NT_SUCCESS(RtlImpersonateSelf(SecurityImpersonation));
  BOOLEAN before = FALSE;
  is_enabled_ = impersonates_ && NT_SUCCESS(RtlAdjustPrivilege(privilege, TRUE, TRUE, &before));
}

ThreadPrivilege::~ThreadPrivilege() {
  if (!impersonates_) return;
  HANDLE none = nullptr;
  NtSetInformationThread(GetCurrentThread(), ThreadImpersonationToken, &none, sizeof none);
}

// --- entries ---------------------------------------------------------------------------------

int64_t read_symlink(const Handle& directory, const char* name, char* target, size_t size,
                     LinkKind& kind) {
  Handle link;
  if (const int error = open_entry(directory, name, Follow::no, link); error < 0) return error;
  const auto data = std::make_unique<char[]>(kMostReparseData);
  size_t length = 0;
  NTSTATUS status =
      control(link, FSCTL_GET_REPARSE_POINT, nullptr, 0, data.get(), kMostReparseData, &length);
  FILE_ATTRIBUTE_TAG_INFORMATION found{};
  if (NT_SUCCESS(status)) status = tag_of(link, found);
  if (!NT_SUCCESS(status)) return error_of(status);
  std::string text;
  if (!link_target({data.get(), length}, text)) return -EINVAL;
  if (text.size() >= size) return -ENAMETOOLONG;
  const bool is_directory = (found.FileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
  kind = found.ReparseTag == kMountPointTag ? LinkKind::junction
         : is_directory                     ? LinkKind::directory
                                            : LinkKind::file;
  return static_cast<int64_t>(text.copy(target, size));
}

int make_symlink(const Handle& directory, const char* name, const char* target, LinkKind kind) {
  const std::string data = reparse_data(target, kind);
  if (data.empty()) return -EINVAL;
  const ULONG type = kind == LinkKind::file ? FILE_NON_DIRECTORY_FILE : FILE_DIRECTORY_FILE;
  const How how{FILE_WRITE_DATA | FILE_WRITE_ATTRIBUTES | DELETE | kLook,
                type | FILE_OPEN_REPARSE_POINT, FILE_CREATE};
  Handle made;
  if (const int error = open_name(directory, name, how, made); error < 0) return error;
  const auto make = [&] {
    return control(made, FSCTL_SET_REPARSE_POINT, data.data(), data.size());
  };
  NTSTATUS status = make();
  // Unlike CreateSymbolicLinkW() this call has no flag for Developer Mode: there the kernel alone
  // decides. An administrator has the privilege, and must enable it. If neither helps, the call
  // returns -EPERM.
  constexpr ULONG kMakeLinks = 35;  // SE_CREATE_SYMBOLIC_LINK_PRIVILEGE
  if (status == STATUS_PRIVILEGE_NOT_HELD) {
    const ThreadPrivilege privilege(kMakeLinks);
    if (privilege.is_enabled()) status = make();
  }
  if (NT_SUCCESS(status)) return 0;
  FILE_DISPOSITION_INFORMATION gone{TRUE};
  set(made, FileDispositionInformation, gone);
  return error_of(status);
}

int make_special(const Handle& /*directory*/, const char* /*name*/, const Stat& /*source*/,
                 uint32_t /*mode*/) {
  return -EOPNOTSUPP;
}

int make_hard_link(const Handle& from_directory, const char* from, Follow follow,
                   const Handle& directory, const char* name) {
  Handle entry;
  const ULONG itself = follow == Follow::yes ? 0 : FILE_OPEN_REPARSE_POINT;
  const How how{FILE_WRITE_ATTRIBUTES | SYNCHRONIZE, itself};
  Name given;
  int error = open_name(from_directory, from, how, entry);
  if (error == 0) error = given.set(directory, name);
  if (error < 0) return error;
  // A symlink that is followed may lead to another directory.
  const bool is_same = follow == Follow::no && from_directory.raw() == directory.raw();
  const Where where = is_same ? Where::same_directory : Where::other_directory;
  const NTSTATUS status = give_name(entry, FileLinkInformation, 0, given, where);
  // This file system takes no root directory (MS-FSCC, FileLinkInformation). Servers take none.
  return status == STATUS_INVALID_PARAMETER ? -EOPNOTSUPP : error_of(status);
}

int rename_over(const Handle& directory, const char* from, const char* to) {
  return rename(directory, from, to, true);
}

int rename_new(const Handle& directory, const char* from, const char* to) {
  return rename(directory, from, to, false);
}

int remove_file(const Handle& directory, const char* name) {
  return remove(directory, name, false);
}
int remove_directory(const Handle& directory, const char* name) {
  return remove(directory, name, true);
}

// --- metadata of an entry ----------------------------------------------------------------------

int set_mode(const Handle& entry, uint32_t mode) {
  FILE_STANDARD_INFORMATION found;
  const NTSTATUS status = query(entry, FileStandardInformation, found);
  if (!NT_SUCCESS(status)) return error_of(status);
  const bool is_directory = found.Directory != FALSE;
  // The read-only bit of a directory means that its icon is not the usual one.
  const ULONG mask = is_directory ? kModeAttributes & ~static_cast<ULONG>(FILE_ATTRIBUTE_READONLY)
                                  : kModeAttributes;
  return set_attributes(entry, mask, attributes_of(mode, is_directory));
}

int set_owner(const Handle& /*entry*/, uint32_t /*uid*/, uint32_t /*gid*/) { return -EOPNOTSUPP; }

uint32_t own_user() { return 0; }

uint32_t own_group() { return 0; }

uint32_t creation_mask() { return 07777; }

int set_times(const Handle& entry, Time accessed, Time modified) {
  FILE_BASIC_INFORMATION wanted{};
  // 0 stays 0: the source's file system does not record the time of access.
  wanted.LastAccessTime.QuadPart = ticks_of(accessed, 0);
  wanted.LastWriteTime.QuadPart = ticks_of(modified, 1);
  return set_basic(entry, wanted);
}

int touch(const Handle& entry) {
  FILE_BASIC_INFORMATION wanted{};
  NtQuerySystemTime(&wanted.LastWriteTime);
  wanted.LastAccessTime = wanted.LastWriteTime;
  return set_basic(entry, wanted);
}

// Windows' ACLs are inherited from directories. Its extended attributes are for old programs and
// WSL. Neither is copied, so the list is empty.
int64_t list_attributes(const Handle& /*entry*/, char* /*names*/, size_t /*size*/) {
  return -EOPNOTSUPP;
}
int64_t get_attribute(const Handle& /*entry*/, const char* /*name*/, char* /*value*/,
                      size_t /*size*/) {
  return -EOPNOTSUPP;
}
uint32_t attribute_view() { return 1; }
int set_attribute(const Handle& /*entry*/, const char* /*name*/, const char* /*value*/,
                  size_t /*size*/) {
  return -EOPNOTSUPP;
}
int remove_attribute(const Handle& /*entry*/, const char* /*name*/) { return -EOPNOTSUPP; }
uint32_t group_permissions(const char* /*list*/, size_t /*size*/) { return 7; }

// --- whole trees -----------------------------------------------------------------------------

int exchange(const Handle& /*directory*/, const char* /*one*/, const char* /*other*/) {
  return -ENOSYS;
}
int check_snapshot(const Handle& /*source*/, const Handle& /*directory*/) { return -EOPNOTSUPP; }
int take_snapshot(const Handle& /*source*/, const Handle& /*directory*/, const char* /*name*/) {
  return -EOPNOTSUPP;
}

}  // namespace fastcp::platform
