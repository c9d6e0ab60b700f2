// Windows: checks at compile time that structures of its kernel, as the compiler lays them out, have the sizes and
// offsets that MS-FSCC and the headers of Microsoft's SDK give them. No code.

#include <cstddef>

#include "platform/win32/nt.h"
#include "platform/win32/reparse.h"

namespace fastcp::platform {
namespace {

// FileBasicInformation; FileStandardInformation; FileAttributeTagInformation
static_assert(offsetof(FILE_BASIC_INFORMATION, LastAccessTime) == 8);
static_assert(offsetof(FILE_BASIC_INFORMATION, LastWriteTime) == 16);
static_assert(offsetof(FILE_BASIC_INFORMATION, ChangeTime) == 24);
static_assert(offsetof(FILE_BASIC_INFORMATION, FileAttributes) == 32);
static_assert(sizeof(FILE_BASIC_INFORMATION) == 40);
static_assert(offsetof(FILE_STANDARD_INFORMATION, EndOfFile) == 8);
static_assert(offsetof(FILE_STANDARD_INFORMATION, NumberOfLinks) == 16);
static_assert(offsetof(FILE_STANDARD_INFORMATION, Directory) == 21);
static_assert(sizeof(FILE_STANDARD_INFORMATION) == 24);
static_assert(offsetof(FILE_ATTRIBUTE_TAG_INFORMATION, ReparseTag) == 4);
static_assert(sizeof(FILE_ATTRIBUTE_TAG_INFORMATION) == 8);
static_assert(sizeof(FILE_DISPOSITION_INFORMATION) == 1);
static_assert(sizeof(FILE_END_OF_FILE_INFORMATION) == 8);

// FileAllInformation
static_assert(offsetof(FILE_ALL_INFORMATION, StandardInformation) == 40);
static_assert(offsetof(FILE_ALL_INFORMATION, InternalInformation) == 64);

// FileFullDirectoryInformation
static_assert(offsetof(FILE_FULL_DIR_INFORMATION, FileAttributes) == 56);
static_assert(offsetof(FILE_FULL_DIR_INFORMATION, FileNameLength) == 60);
static_assert(offsetof(FILE_FULL_DIR_INFORMATION, EaSize) == 64);
static_assert(offsetof(FILE_FULL_DIR_INFORMATION, FileName) == 68);

// FileFsAttributeInformation; FileFsSizeInformation; FileFsVolumeInformation
static_assert(offsetof(FILE_FS_ATTRIBUTE_INFORMATION, FileSystemNameLength) == 8);
static_assert(offsetof(FILE_FS_ATTRIBUTE_INFORMATION, FileSystemName) == 12);
static_assert(offsetof(FILE_FS_SIZE_INFORMATION, SectorsPerAllocationUnit) == 16);
static_assert(offsetof(FILE_FS_SIZE_INFORMATION, BytesPerSector) == 20);
static_assert(offsetof(FILE_FS_VOLUME_INFORMATION, VolumeSerialNumber) == 8);
static_assert(offsetof(FILE_FS_DEVICE_INFORMATION, Characteristics) == 4);

// DUPLICATE_EXTENTS_DATA; FSCTL_QUERY_ALLOCATED_RANGES
static_assert(offsetof(DUPLICATE_EXTENTS_DATA, SourceFileOffset) == 8);
static_assert(offsetof(DUPLICATE_EXTENTS_DATA, TargetFileOffset) == 16);
static_assert(offsetof(DUPLICATE_EXTENTS_DATA, ByteCount) == 24);
static_assert(sizeof(DUPLICATE_EXTENTS_DATA) == 32);
static_assert(sizeof(FILE_ALLOCATED_RANGE_BUFFER) == 16);

// Their own names for constants, where no system header is included.
static_assert(kDirectoryAttribute == FILE_ATTRIBUTE_DIRECTORY);
static_assert(kReparseAttribute == FILE_ATTRIBUTE_REPARSE_POINT);
static_assert(kMountPointTag == static_cast<uint32_t>(IO_REPARSE_TAG_MOUNT_POINT));
static_assert(kSymlinkTag == static_cast<uint32_t>(IO_REPARSE_TAG_SYMLINK));
static_assert(kSocketTag == static_cast<uint32_t>(IO_REPARSE_TAG_AF_UNIX));
static_assert(kAppTag == static_cast<uint32_t>(IO_REPARSE_TAG_APPEXECLINK));
static_assert(kNfsTag == static_cast<uint32_t>(IO_REPARSE_TAG_NFS));

}  // namespace
}  // namespace fastcp::platform
