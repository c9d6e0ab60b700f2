// Listings and mounts.

#include <sys/statfs.h>
#include <sys/syscall.h>

#include <fstream>
#include <sstream>

#include "linux.h"

namespace fastcp::platform {

using namespace model;

namespace {

/** The kernel's record of a listing. */
struct Record {
  uint64_t ino;
  int64_t next;  // position of the next one
  uint16_t size;
  uint8_t type;
  char name[1];
};

/** `enum vtype` of xnu: bsd/sys/vnode.h. */
fsobj_type_t type_of(uint8_t type) {
  switch (type) {
    case DT_REG: return 1;
    case DT_DIR: return 2;
    case DT_BLK: return 3;
    case DT_CHR: return 4;
    case DT_LNK: return 5;
    case DT_SOCK: return 6;
    case DT_FIFO: return 7;
    default: return 0;
  }
}

template <class Field>
void put(std::string& group, const Field& field) {
  group.append(reinterpret_cast<const char*>(&field), sizeof field);
}

/**
 * One group of attributes, in the order of getattrlist(2). The page lets an error of 0 be there or
 * not, so every second one has it.
 */
std::string group_of(const Record& record) {
  const bool has_error = record.ino % 2 == 0;
  const attrgroup_t returned =
      ATTR_CMN_RETURNED_ATTRS | ATTR_CMN_NAME | ATTR_CMN_OBJTYPE | (has_error ? ATTR_CMN_ERROR : 0);
  std::string group(4, '\0');
  put(group, attribute_set_t{returned, 0, 0, 0, 0});
  if (has_error) put(group, uint32_t{0});
  const auto length = static_cast<uint32_t>(std::strlen(record.name) + 1);
  put(group, attrreference_t{sizeof(attrreference_t) + sizeof(fsobj_type_t), length});
  put(group, type_of(record.type));
  group.append(record.name, length);
  group.resize((group.size() + 7) / 8 * 8);
  const auto size = static_cast<uint32_t>(group.size());
  std::memcpy(group.data(), &size, sizeof size);
  return group;
}

}  // namespace

// getattrlistbulk(2): without `.` and `..`; ERANGE if not even one entry fits.
int getattrlistbulk(int directory, const attrlist* wanted, void* buffer, size_t size,
                    uint64_t /*options*/) {
  if (wanted->bitmapcount != ATTR_BIT_MAP_COUNT || wanted->volattr != 0 ||
      (wanted->commonattr & ATTR_CMN_NAME) == 0 ||
      (wanted->commonattr & ATTR_CMN_RETURNED_ATTRS) == 0) {
    return fail(EINVAL);
  }
  alignas(8) char records[32 << 10];
  auto* out = static_cast<char*>(buffer);
  for (;;) {
    // Not more than fits as groups, which are larger: otherwise the position has to be set back.
    const long length = syscall(SYS_getdents64, directory, records, std::min(size, sizeof records));
    if (length <= 0) return static_cast<int>(length);
    int count = 0;
    int64_t position = 0;
    for (const char* at = records; at < records + length;) {
      const auto& record = *reinterpret_cast<const Record*>(at);
      at += record.size;
      const std::string_view name(record.name);
      if (name != "." && name != "..") {
        const std::string group = group_of(record);
        if (group.size() > size) {
          if (count == 0) return fail(ERANGE);
          return ::lseek(directory, position, SEEK_SET) < 0 ? -1 : count;
        }
        out = std::copy(group.begin(), group.end(), out);
        size -= group.size();
        count++;
      }
      position = record.next;
    }
    if (count > 0) return count;
  }
}

namespace {

struct Mount {
  int id;
  std::string where, type, options;
};

std::vector<Mount> mounts() {
  std::vector<Mount> result;
  std::ifstream table("/proc/self/mountinfo");
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    Mount mount;
    std::string skipped;
    words >> mount.id >> skipped >> skipped >> skipped >> mount.where >> mount.options;
    while (words >> skipped && skipped != "-") {
    }
    words >> mount.type;
    result.push_back(mount);
  }
  return result;
}

/** Local file systems of Linux take the place of APFS. */
void describe(const Mount& mount, struct statfs* out) {
  constexpr std::string_view kLocal = " tmpfs ext4 xfs btrfs overlay ramfs fuse.apfs ";
  const bool local = kLocal.find(' ' + mount.type + ' ') != kLocal.npos;
  const std::string type = local                     ? "apfs"
                           : mount.type == "vfat"    ? "msdos"
                           : mount.type == "fuseblk" ? "ntfs"
                                                     : mount.type;
  *out = {};
  out->f_flags = (local ? MNT_LOCAL : 0U) | (mount.options.rfind("ro", 0) == 0 ? MNT_RDONLY : 0U);
  type.copy(out->f_fstypename, sizeof out->f_fstypename - 1);
  mount.where.copy(out->f_mntonname, sizeof out->f_mntonname - 1);
}

}  // namespace

int fstatfs(int file, struct statfs* out) {
  struct statx found;
  if (::statx(file, "", AT_EMPTY_PATH, STATX_MNT_ID, &found) != 0) return -1;
  for (const Mount& mount : mounts()) {
    if (mount.id != static_cast<int>(found.stx_mnt_id)) continue;
    describe(mount, out);
    return 0;
  }
  return fail(EIO);
}

int getfsstat(struct statfs* out, int size, int /*flags*/) {
  const std::vector<Mount> all = mounts();
  if (out == nullptr) return static_cast<int>(all.size());
  const auto count = std::min(all.size(), static_cast<size_t>(size) / sizeof *out);
  for (size_t i = 0; i < count; i++) describe(all[i], out + i);
  return static_cast<int>(count);
}

// libproc.h: bytes that the process has read from devices.
int proc_pid_rusage(int process, int flavor, rusage_info_t* out) {
  if (process != ::getpid() || flavor != RUSAGE_INFO_V2) return fail(EINVAL);
  auto* usage = reinterpret_cast<rusage_info_v2*>(out);
  std::ifstream counters("/proc/self/io");
  for (std::string name; counters >> name >> usage->ri_diskio_bytesread;) {
    if (name == "read_bytes:") return 0;
  }
  return fail(EPERM);
}

}  // namespace fastcp::platform
