// Content: holes and clones.

#include <ftw.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "linux.h"

namespace fastcp::platform {

using namespace model;

// lseek(2): the page lets a file system report holes as it likes, and does not name compressed
// files. APFS reports wrong holes while content is only in memory (actions/runner-images issue 2619).
off_t lseek(int file, off_t offset, int whence) {
  const std::string path = path_of(file);
  if ((whence == SEEK_DATA || whence == SEEK_HOLE) &&
      ((flags_of(path) & UF_COMPRESSED) != 0 || get(path, kUnflushed))) {
    return whence == SEEK_HOLE ? offset : fail(ENXIO);
  }
  return ::lseek(file, offset, whence);
}

int fsync(int file) {
  if (::fsync(file) != 0) return -1;
  ::removexattr(path_of(file).c_str(), kUnflushed);
  return 0;
}

namespace {

int copy_bytes(int from, int to, off_t at, off_t end) {
  std::vector<char> buffer(1 << 16);
  while (at < end) {
    const auto most = std::min(buffer.size(), static_cast<size_t>(end - at));
    const ssize_t got = ::pread(from, buffer.data(), most, at);
    if (got <= 0) return static_cast<int>(got);
    if (::pwrite(to, buffer.data(), static_cast<size_t>(got), at) != got) return -1;
    at += got;
  }
  return 0;
}

/** Shares all blocks if the file system can, or copies the data and leaves the holes. */
int copy_content(int from, int to, off_t size) {
  if (::ioctl(to, FICLONE, from) == 0) return 0;
  off_t at = 0;
  while (at < size) {
    const off_t data = ::lseek(from, at, SEEK_DATA);
    if (data < 0) break;
    const off_t hole = ::lseek(from, data, SEEK_HOLE);
    if (copy_bytes(from, to, data, hole) != 0) return -1;
    at = hole;
  }
  return ::ftruncate(to, size);
}

/** All attributes, but for the ACL and what belongs to one file of a test. */
int copy_attributes(int from, int to, bool with_acl) {
  std::vector<char> names(64 << 10), value(64 << 10);
  const std::string source = path_of(from), target = path_of(to);
  const ssize_t length = ::listxattr(source.c_str(), names.data(), names.size());
  if (length < 0) return errno == EOPNOTSUPP ? 0 : -1;
  for (const char* name = names.data(); name < names.data() + length;
       name += std::strlen(name) + 1) {
    const std::string_view known(name);
    if (known.substr(0, 7) == "system." || known.substr(0, 9) == "security.") continue;
    if (known == kUnflushed || (known == kAcl && !with_acl)) continue;
    const ssize_t size = ::getxattr(source.c_str(), name, value.data(), value.size());
    if (size < 0) return -1;
    if (::setxattr(target.c_str(), name, value.data(), static_cast<size_t>(size), 0) != 0)
      return -1;
  }
  return 0;
}

bool has_clones() {
  const char* set = std::getenv("FASTCP_MODEL_CLONES");
  return set == nullptr || std::strcmp(set, "0") != 0;
}

/** Closes a file descriptor of the model. */
struct File {
  int raw;
  ~File() {
    if (raw >= 0) ::close(raw);
  }
};

int clone_file(int source, const struct ::stat& found, int directory, const char* name,
               uint32_t flags) {
  const mode_t mode = 0600 | (found.st_mode & 0100);
  const File copy{openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode)};
  if (copy.raw < 0) return -1;
  const timespec times[2] = {found.st_atim, found.st_mtim};
  if (copy_content(source, copy.raw, found.st_size) != 0 ||
      copy_attributes(source, copy.raw, (flags & CLONE_ACL) != 0) != 0 ||
      ((flags & CLONE_NOOWNERCOPY) == 0 && geteuid() == 0 &&
       fchown(copy.raw, found.st_uid, found.st_gid) != 0) ||
      ::fchmod(copy.raw, found.st_mode & 01777) != 0 || ::futimens(copy.raw, times) != 0) {
    return -1;
  }
  return 0;
}

int clone_entry(int source, int directory, const char* name, uint32_t flags);

/** clonefile(2): "the directory hierarchy is cloned as if each item was cloned individually". */
int clone_directory(int source, const struct ::stat& found, int directory, const char* name,
                    uint32_t flags) {
  if (mkdirat(directory, name, 0700) != 0) return -1;
  const File copy{::openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(
      fdopendir(::openat(source, ".", O_RDONLY | O_CLOEXEC)), closedir);
  if (copy.raw < 0 || !listing) return -1;
  while (const dirent* entry = readdir(listing.get())) {
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    if (entry->d_type == DT_LNK) {
      char target[PATH_MAX]{};
      if (::readlinkat(source, entry->d_name, target, sizeof target - 1) < 0 ||
          ::symlinkat(target, copy.raw, entry->d_name) != 0) {
        return -1;
      }
      continue;
    }
    const File item{
        ::openat(source, entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
    if (item.raw < 0 && errno == ENXIO) return fail(ENOTSUP);  // a socket
    if (item.raw < 0 || clone_entry(item.raw, copy.raw, entry->d_name, flags) != 0) return -1;
  }
  const timespec times[2] = {found.st_atim, found.st_mtim};
  if (copy_attributes(source, copy.raw, (flags & CLONE_ACL) != 0) != 0) return -1;
  return ::fchmod(copy.raw, found.st_mode & 07777) == 0 ? ::futimens(copy.raw, times) : -1;
}

int clone_entry(int source, int directory, const char* name, uint32_t flags) {
  struct ::stat found;
  if (::fstat(source, &found) != 0) return -1;
  if (S_ISREG(found.st_mode)) return clone_file(source, found, directory, name, flags);
  if (S_ISDIR(found.st_mode)) return clone_directory(source, found, directory, name, flags);
  return fail(ENOTSUP);
}

int remove_entry(const char* path, const struct ::stat*, int, struct FTW*) {
  return ::remove(path);
}

}  // namespace

// clonefile(2): the clone has the source's attributes and flags, without setuid and setgid; without
// CLONE_ACL only inherited ACLs; and its owner, unless CLONE_NOOWNERCOPY or no right to give it.
int fclonefileat(int source, int directory, const char* name, uint32_t flags) {
  if ((flags & ~uint32_t{CLONE_NOOWNERCOPY | CLONE_ACL}) != 0) return fail(EINVAL);
  struct ::stat from, to;
  if (::fstat(source, &from) != 0 || ::stat(parent_of(directory, name).c_str(), &to) != 0) {
    return -1;
  }
  if (!has_clones() || get(path_of(source), kNoClone)) return fail(ENOTSUP);
  if (from.st_dev != to.st_dev) return fail(EXDEV);
  if (::faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) return fail(EEXIST);
  if (clone_entry(source, directory, name, flags) == 0) return 0;
  // "the system call will result all new objects being created successfully or no new objects"
  const int error = errno;
  // Another program created it after the look. In a new directory, the model leaves a part then.
  if (error == EEXIST) return fail(error);
  ::nftw(path_of(directory, name).c_str(), remove_entry, 16, FTW_DEPTH | FTW_PHYS);
  return fail(error);
}

// getattrlist(2) of a volume: only of its mount point.
int getattrlist(const char* path, const attrlist* wanted, void* buffer, size_t size,
                unsigned /*options*/) {
  struct ::stat found, above;
  const std::string parent = std::string(path) + "/..";
  if (::stat(path, &found) != 0 || ::stat(parent.c_str(), &above) != 0) return -1;
  const bool is_root = found.st_dev != above.st_dev || found.st_ino == above.st_ino;
  struct __attribute__((packed)) {
    uint32_t size;
    vol_capabilities_attr_t capabilities;
  } answer{sizeof answer, {}};
  if (!is_root || wanted->volattr != (ATTR_VOL_INFO | ATTR_VOL_CAPABILITIES) ||
      wanted->commonattr != 0 || wanted->bitmapcount != ATTR_BIT_MAP_COUNT) {
    return fail(EINVAL);
  }
  answer.capabilities.valid[VOL_CAPABILITIES_INTERFACES] = VOL_CAP_INT_CLONE;
  answer.capabilities.capabilities[VOL_CAPABILITIES_INTERFACES] =
      has_clones() ? VOL_CAP_INT_CLONE : 0;
  std::memcpy(buffer, &answer, std::min(size, sizeof answer));
  return 0;
}

}  // namespace fastcp::platform
