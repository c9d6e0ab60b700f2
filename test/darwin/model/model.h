// The calls of macOS that binding/src/platform/darwin and posix use, for a build on Linux: see
// attributes.cc, content.cc, entries.cc and volumes.cc. Included before every file of the platform.
// Declarations in fastcp::platform hide those of the C library, so the code under test is compiled
// as it is.
//
// Numbers of constants are Apple's if nothing on Linux has the same number.
#pragma once

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// Two errors that Linux does not tell apart, and one that it lacks: Apple's numbers plus 1000.
#undef ENOTSUP
#define ENOTSUP 1045
#define ENOATTR 1093

// Flags of open(2), with free bits of Linux.
#define O_SYMLINK 0x10000000
#define O_SEARCH 0x20000000

// <fcntl.h>
#define F_GETPATH 1050
#define F_GETPATH_NOFIRMLINK 1102
#define _FILESEC_REMOVE_ACL (reinterpret_cast<void*>(1))

// chflags(2)
#define UF_IMMUTABLE 0x00000002
#define UF_APPEND 0x00000004
#define UF_COMPRESSED 0x00000020
#define UF_TRACKED 0x00000040
#define SF_IMMUTABLE 0x00020000
#define SF_APPEND 0x00040000
#define SF_NOUNLINK 0x00100000

// clonefile(2), rename(2), statfs(2)
#define CLONE_NOOWNERCOPY 0x0002
#define CLONE_ACL 0x0004
#define RENAME_SWAP 0x00000002
#define RENAME_EXCL 0x00000004
#define MNT_RDONLY 0x00000001
#define MNT_LOCAL 0x00001000
#define MNT_NOWAIT 2

// getattrlist(2)
#define ATTR_BIT_MAP_COUNT 5
#define ATTR_CMN_NAME 0x00000001U
#define ATTR_CMN_OBJTYPE 0x00000008U
#define ATTR_CMN_ERROR 0x20000000U
#define ATTR_CMN_RETURNED_ATTRS 0x80000000U
#define ATTR_VOL_CAPABILITIES 0x00020000U
#define ATTR_VOL_INFO 0x80000000U
#define VOL_CAPABILITIES_INTERFACES 1
#define VOL_CAP_INT_CLONE 0x00010000U

namespace fastcp::platform {

struct stat {
  dev_t st_dev;
  ino_t st_ino;
  mode_t st_mode;
  nlink_t st_nlink;
  uid_t st_uid;
  gid_t st_gid;
  dev_t st_rdev;
  off_t st_size;
  blkcnt_t st_blocks;
  uint32_t st_flags;
  timespec st_atimespec, st_mtimespec, st_ctimespec, st_birthtimespec;
};
int fstat(int file, struct stat* out);
int fstatat(int directory, const char* name, struct stat* out, int flags);

int openat(int directory, const char* name, int flags, mode_t mode = 0);
int mkdirat(int directory, const char* name, mode_t mode);
int unlinkat(int directory, const char* name, int flags);
int linkat(int from_directory, const char* from, int directory, const char* name, int flags);
int renameat(int from_directory, const char* from, int directory, const char* to);
int renameatx_np(int from_directory, const char* from, int directory, const char* to,
                 unsigned flags);
int fchmod(int file, mode_t mode);
int fchown(int file, uid_t uid, gid_t gid);
int model_futimens(int file, const timespec* times);
int fsync(int file);
int fcntl(int file, int command, char* path);
off_t lseek(int file, off_t offset, int whence);
int model_clock_gettime(clockid_t clock, timespec* out);

ssize_t fgetxattr(int file, const char* name, void* value, size_t size, uint32_t position,
                  int options);
int fsetxattr(int file, const char* name, const void* value, size_t size, uint32_t position,
              int options);
ssize_t flistxattr(int file, char* names, size_t size, int options);
int fremovexattr(int file, const char* name, int options);
int xattr_preserve_for_intent(const char* name, unsigned intent);

struct _acl;
using acl_t = _acl*;
enum acl_type_t { ACL_TYPE_EXTENDED = 0x100 };
acl_t acl_get_fd_np(int file, acl_type_t type);
int acl_set_fd_np(int file, acl_t list, acl_type_t type);
ssize_t acl_size(acl_t list);
ssize_t acl_copy_ext(void* out, acl_t list, ssize_t size);
acl_t acl_copy_int(const void* external);
int acl_free(void* list);

struct _filesec;
using filesec_t = _filesec*;
enum filesec_property_t { FILESEC_ACL = 5 };
filesec_t filesec_init();
int filesec_set_property(filesec_t security, filesec_property_t property, const void* value);
int fchmodx_np(int file, filesec_t security);
void filesec_free(filesec_t security);

int fclonefileat(int source, int directory, const char* name, uint32_t flags);

using attrgroup_t = uint32_t;
using fsobj_type_t = uint32_t;
struct attrlist {
  uint16_t bitmapcount, reserved;
  attrgroup_t commonattr, volattr, dirattr, fileattr, forkattr;
};
struct attribute_set_t {
  attrgroup_t commonattr, volattr, dirattr, fileattr, forkattr;
};
struct attrreference_t {
  int32_t attr_dataoffset;
  uint32_t attr_length;
};
struct vol_capabilities_attr_t {
  uint32_t capabilities[4], valid[4];
};
int getattrlistbulk(int directory, const attrlist* wanted, void* buffer, size_t size,
                    uint64_t options);
int getattrlist(const char* path, const attrlist* wanted, void* buffer, size_t size,
                unsigned options);

#define RUSAGE_INFO_V2 2
using rusage_info_t = void*;
struct rusage_info_v2 {
  uint64_t ri_diskio_bytesread;
};
int proc_pid_rusage(int process, int flavor, rusage_info_t* out);

struct statfs {
  uint32_t f_flags;
  char f_fstypename[16];
  char f_mntonname[MAXPATHLEN];
};
int fstatfs(int file, struct statfs* out);
int getfsstat(struct statfs* out, int size, int flags);

}  // namespace fastcp::platform

#ifndef FASTCP_MODEL
// Their arguments are of a type of the C library, whose functions would be found as well.
#define futimens model_futimens
#define clock_gettime model_clock_gettime
#endif
