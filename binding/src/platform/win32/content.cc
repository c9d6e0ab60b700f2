// Windows: the content of files. All calls use handles. CopyFile2 takes paths, which another
// program may redirect meanwhile. It also copies a file's alternate streams, attributes and
// timestamps.

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

#include "platform/platform.h"
#include "platform/win32/nt.h"

namespace fastcp::platform {
namespace {

Attempt done(uint64_t bytes) { return {Attempt::done, false, 0, bytes}; }
Attempt not_here(bool lasting, int error) { return {Attempt::not_here, lasting, error, 0}; }
Attempt failed(int error) { return {Attempt::failed, false, error, 0}; }

bool shares_blocks(const Handle& file) {
  FILE_FS_ATTRIBUTE_INFORMATION found;
  return query_volume(file, FileFsAttributeInformation, found) &&
         (found.FileSystemAttributes & FILE_SUPPORTS_BLOCK_REFCOUNTING) != 0;
}

/** Returns whether two files are known to be on two volumes. */
bool are_on_two_volumes(const Handle& one, const Handle& other) {
  FILE_FS_VOLUME_INFORMATION first, second;
  return query_volume(one, FileFsVolumeInformation, first) &&
         query_volume(other, FileFsVolumeInformation, second) &&
         first.VolumeSerialNumber != second.VolumeSerialNumber;
}

/** FSCTL_GET_INTEGRITY_INFORMATION_BUFFER. Its first 8 bytes are what the call to set it takes. */
struct Integrity {
  uint16_t checksum, reserved;
  uint32_t flags, chunk, cluster;
};
constexpr size_t kSettable = offsetof(Integrity, chunk);
static_assert(kSettable == 8 && sizeof(Integrity) == 16);

bool read_integrity(const Handle& file, Integrity& out) {
  return NT_SUCCESS(control(file, FSCTL_GET_INTEGRITY_INFORMATION, nullptr, 0, &out, sizeof out));
}

/**
 * Prepares an empty file for a clone: both files must have checksums or neither, and a clone of a
 * sparse file must be sparse (Microsoft: "Block Cloning"). Checksums that DEST's directory asks for
 * stay. Then there is no clone.
 */
void make_alike(const Handle& src, const Handle& dst) {
  FILE_BASIC_INFORMATION basic;
  if (NT_SUCCESS(query(src, FileBasicInformation, basic)) &&
      (basic.FileAttributes & FILE_ATTRIBUTE_SPARSE_FILE) != 0) {
    allow_holes(dst);
  }
  Integrity wanted, present;
  if (!read_integrity(src, wanted) || wanted.checksum == 0 || !read_integrity(dst, present) ||
      present.checksum != 0) {
    return;
  }
  Handle own;  // the call takes the right to read as well
  const How how{FILE_READ_DATA | FILE_WRITE_DATA | SYNCHRONIZE, FILE_OPEN_REPARSE_POINT};
  if (open_name(dst, ".", how, own) == 0) {
    control(own, FSCTL_SET_INTEGRITY_INFORMATION, &wanted, kSettable);
  }
}

NTSTATUS share_blocks(const Handle& src, const Handle& dst, uint64_t size, uint64_t cluster) {
  constexpr uint64_t kMost = 1ULL << 30;  // bytes per call; less than 4 GiB is allowed
  for (uint64_t offset = 0; offset < size; offset += kMost) {
    DUPLICATE_EXTENTS_DATA range{};
    range.FileHandle = raw(src);
    range.SourceFileOffset.QuadPart = static_cast<LONGLONG>(offset);
    range.TargetFileOffset.QuadPart = static_cast<LONGLONG>(offset);
    // Whole clusters, also beyond the end.
    const uint64_t rest = (size - offset + cluster - 1) / cluster * cluster;
    range.ByteCount.QuadPart = static_cast<LONGLONG>(std::min(rest, kMost));
    const NTSTATUS status = control(dst, FSCTL_DUPLICATE_EXTENTS_TO_FILE, &range, sizeof range);
    if (!NT_SUCCESS(status)) return status;
  }
  return STATUS_SUCCESS;
}

}  // namespace

const char* const clone_call = "FSCTL_DUPLICATE_EXTENTS_TO_FILE";
const bool clones_are_created = false;
// NTFS fills the range before a new part with zeros (Microsoft: "SetFileValidData").
const bool writes_in_order = true;
const bool open_directories_stay = true;

int create_clone(const Handle& /*src*/, const Handle& /*directory*/, const char* /*name*/,
                 WithAttributes /*with_attributes*/, WithOwner /*with_owner*/, Handle& /*out*/) {
  return -EOPNOTSUPP;
}

Attempt clone_file(const Handle& src, const Handle& dst) {
  // ReFS has it, and so a Dev Drive.
  if (!shares_blocks(dst)) return not_here(true, EOPNOTSUPP);
  FILE_STANDARD_INFORMATION file;
  FILE_FS_SIZE_INFORMATION volume;
  const NTSTATUS status = query(src, FileStandardInformation, file);
  if (!NT_SUCCESS(status)) return failed(-error_of(status));
  if (!query_volume(dst, FileFsSizeInformation, volume)) return not_here(true, EOPNOTSUPP);
  const auto size = static_cast<uint64_t>(file.EndOfFile.QuadPart);
  const uint64_t cluster = uint64_t{volume.SectorsPerAllocationUnit} * volume.BytesPerSector;
  make_alike(src, dst);
  if (const int error = set_size(dst, size); error < 0) return failed(-error);
  const int error = error_of(share_blocks(src, dst, size, cluster));
  if (error == 0) return done(0);
  set_size(dst, 0);
  switch (-error) {
    case EXDEV: return not_here(true, EXDEV);
    case EINVAL:  // two volumes (MS-FSCC, FSCTL_DUPLICATE_EXTENTS_TO_FILE), or these two files
      return are_on_two_volumes(src, dst) ? not_here(true, EXDEV) : not_here(false, EINVAL);
    case EMLINK:      // too many files share the blocks
    case EOPNOTSUPP:  // the server, or only one file has checksums or is sparse
    case EPERM: return not_here(false, -error);
    default: return failed(-error);
  }
}

Attempt copy_range(const Handle& /*src*/, const Handle& /*dst*/, std::optional<uint64_t> /*offset*/,
                   uint64_t /*length*/) {
  return not_here(true, ENOSYS);
}

int64_t read_at(const Handle& file, char* buffer, size_t size, uint64_t offset) {
  IO_STATUS_BLOCK io{};
  LARGE_INTEGER at;
  at.QuadPart = static_cast<LONGLONG>(offset);
  const NTSTATUS status = NtReadFile(raw(file), nullptr, nullptr, nullptr, &io, buffer,
                                     static_cast<ULONG>(size), &at, nullptr);
  if (status == STATUS_END_OF_FILE) return 0;
  return NT_SUCCESS(status) ? static_cast<int64_t>(io.Information) : error_of(status);
}

int write_at(const Handle& file, const char* buffer, size_t size, uint64_t offset) {
  while (size > 0) {
    IO_STATUS_BLOCK io{};
    LARGE_INTEGER at;
    at.QuadPart = static_cast<LONGLONG>(offset);
    const NTSTATUS status =
        NtWriteFile(raw(file), nullptr, nullptr, nullptr, &io, const_cast<char*>(buffer),
                    static_cast<ULONG>(size), &at, nullptr);
    if (!NT_SUCCESS(status)) return error_of(status);
    if (io.Information == 0) return -EIO;
    buffer += io.Information;
    size -= io.Information;
    offset += io.Information;
  }
  return 0;
}

bool knows_holes(const Handle& /*file*/) { return true; }

int next_data(const Handle& file, uint64_t offset, uint64_t size, uint64_t& start, uint64_t& end) {
  FILE_ALLOCATED_RANGE_BUFFER asked{}, found{};
  asked.FileOffset.QuadPart = static_cast<LONGLONG>(offset);
  asked.Length.QuadPart = static_cast<LONGLONG>(size - offset);
  size_t got = 0;
  const NTSTATUS status =
      control(file, FSCTL_QUERY_ALLOCATED_RANGES, &asked, sizeof asked, &found, sizeof found, &got);
  start = offset;
  end = size;
  // Overflow: there are more, for the next call.
  if (!NT_SUCCESS(status) && status != STATUS_BUFFER_OVERFLOW) return 0;
  start = size;
  if (got < sizeof found) return 0;
  start = std::clamp(static_cast<uint64_t>(found.FileOffset.QuadPart), offset, size);
  end = std::min(start + static_cast<uint64_t>(found.Length.QuadPart), size);
  return 0;
}

int set_size(const Handle& file, uint64_t size) {
  FILE_END_OF_FILE_INFORMATION wanted;
  wanted.EndOfFile.QuadPart = static_cast<LONGLONG>(size);
  return error_of(set(file, FileEndOfFileInformation, wanted));
}

void allow_holes(const Handle& file) {
  // If holes are impossible, the ranges are filled with zeros, which is the same content.
  control(file, FSCTL_SET_SPARSE, nullptr, 0);
}

void drop_cache(const Handle& file) {
  // No call removes one file from memory.
  sync(file);
}

int sync(const Handle& file_or_directory) {
  IO_STATUS_BLOCK io;
  const NTSTATUS status = NtFlushBuffersFile(raw(file_or_directory), &io);
  FILE_STANDARD_INFORMATION found;
  const bool is_directory = NT_SUCCESS(query(file_or_directory, FileStandardInformation, found)) &&
                            found.Directory != FALSE;
  // Names are on disk when the journal is. Windows promises nothing else.
  return is_directory ? 0 : error_of(status);
}

int open_to_sync(const Handle& /*directory*/, const char* /*name*/, Handle& /*out*/) {
  return -EOPNOTSUPP;  // metadata is on disk when the journal is
}

}  // namespace fastcp::platform
