// Everything that the engine asks of an operating system: one file beside this one implements it
// per platform, and CMake chooses that file. Neither napi nor a system header appears here.
//
// Unless a function says otherwise it returns 0 or a count, and a negative POSIX errno on failure;
// Windows' codes are translated. Names are bytes as the system lists them, never paths, except relative
// to Handle::working_directory(); paths have slashes everywhere.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fastcp::platform {

/** An open file or directory, closed by its owner's end. */
class Handle {
 public:
  Handle() = default;
  explicit Handle(intptr_t raw) : raw_(raw) {}
  Handle(Handle&& other) noexcept : raw_(other.raw_) { other.raw_ = kNone; }
  Handle& operator=(Handle&& other) noexcept;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { close(); }

  /** Stands for the process's working directory: names relative to it may be whole paths. */
  static Handle working_directory();

  [[nodiscard]] intptr_t raw() const { return raw_; }
  [[nodiscard]] bool is_open() const { return raw_ != kNone; }
  /** What could not be stored may be known only now; it is closed all the same. 0 or a negative errno. */
  int close();

 private:
  static constexpr intptr_t kNone = -1;
  intptr_t raw_ = kNone;
};

/** The order is known to lib/native.ts. */
enum class Kind : uint8_t {
  unknown,
  file,
  directory,
  symlink,
  fifo,
  character_device,
  block_device,
  socket,
};

struct Time {
  int64_t seconds;
  uint32_t nanoseconds;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the comparison with 0 for a pointer's.
  auto operator<=>(const Time&) const = default;
};

struct Stat {
  uint64_t dev, ino;
  uint64_t size;       // bytes
  uint64_t allocated;  // bytes; less than size where the file has holes (or is compressed)
  uint64_t rdev;
  uint64_t link_count;
  Time atime, mtime, ctime;
  uint32_t uid, gid;
  uint32_t mode;  // permission bits with setuid, setgid and sticky: 07777
  Kind kind;
};

/** Special mode bits, as POSIX has them. */
inline constexpr uint32_t kSetUid = 04000;
inline constexpr uint32_t kSetGid = 02000;
inline constexpr uint32_t kSticky = 01000;
inline constexpr uint32_t kPermissions = 0777;

// --- directories ---------------------------------------------------------------------------------

enum class Follow : bool { no, yes };

/** Opens a directory for listing. A link is -ENOTDIR or -ELOOP unless it may be followed. */
int open_source_directory(const Handle& parent, const char* name, Follow follow, Handle& out);

/** Opens a directory to make entries in; the handle may be good for nothing else. */
int open_target_directory(const Handle& parent, const char* name, Follow follow, Handle& out);

/** Opens the directory above an open one, by '..': the caller compares identities. */
int open_source_parent(const Handle& directory, Handle& out);
int open_target_parent(const Handle& directory, Handle& out);

/** Fills `buffer` with the next entries of a directory; 0 at the end. */
int64_t read_listing(const Handle& directory, char* buffer, size_t size);

struct Listed {
  const char* name;
  Kind kind;    // unknown where the file system does not say
  size_t size;  // of this record: the next one begins so many bytes further
};

/** Reads one record that read_listing() wrote. '.' and '..' are among them. */
Listed parse_listing(const char* record);

/** Whether something is mounted on a directory in `parent`. */
bool is_mount_point(const Handle& parent, const Handle& directory);

/** Whether nothing can be written where a directory is mounted. */
bool is_read_only(const Handle& directory);

/**
 * Whether this host's clock gives the ctimes in a directory, at every change and for good: not where a server
 * gives them, nor where the file system stores none.
 */
bool has_own_clock(const Handle& directory);

/** The granularity of mtimes in a directory, where that is known to be coarse; else 1 ns. */
uint64_t time_step(const Handle& directory);  // ns

/**
 * Whether new directories are better filled long after they were made: where inodes and names are in one tree,
 * sorted by number, what two threads make is then not in the same leaf.
 */
bool wants_directories_early(const Handle& directory);

/**
 * Whether entries can be made in the directory at `path`, relative to an open one, and neither renamed nor removed:
 * what is put there under a temporary name would stay for ever.
 */
bool is_append_only(const Handle& directory, const char* path);

/** Makes a directory; `mode` is subject to umask and default ACLs. */
int make_directory(const Handle& parent, const char* name, uint32_t mode);

/** Sets the mode of a directory opened by open_target_directory(), exactly. */
int set_directory_mode(const Handle& directory, uint32_t mode);

// --- entries ---------------------------------------------------------------------------------

int stat_handle(const Handle& handle, Stat& out);

/** Tells an entry from every other that was or is on its file system. */
struct Identity {
  uint64_t file_system;  // file_system()
  uint64_t dev, ino;
  Time
      birth;  // zeros where the file system records none: then inodes that are used again look the same
  bool operator==(const Identity&) const = default;
};

/** Sets all of `out` but the file system, which is the same for all entries of a device. */
int identify(const Handle& handle, Identity& out);

/**
 * The file system's own number, which a subvolume has as well; 0 where there is none. On overlayfs the mount's: its
 * layers may be others after the next mount, and no entry shows that.
 */
uint64_t file_system(const Handle& handle);

/** Whether files whose names are exchanged (RENAME_EXCHANGE) get a new ctime, as renamed files do. */
bool exchange_renews_ctime(const Handle& directory);

/** Never follows a link, unless `follow` says so. */
int stat_entry(const Handle& directory, const char* name, Stat& out, Follow follow = Follow::no);

/**
 * Opens a file for reading without touching its access time where that is permitted; clears
 * `without_atime` where it is not, so that the caller need not ask again. Never waits for the other
 * end of a FIFO. -EAGAIN: another process holds a lease on the file, and was asked now to give it up.
 */
int open_source_file(const Handle& directory, const char* name, Follow follow, bool& without_atime,
                     Handle& out);

/** Opens any entry, a link too, for what is known about it: nothing can be read or written. */
int open_entry(const Handle& directory, const char* name, Follow follow, Handle& out);

/** Creates a file that must not exist, for writing; `mode` is subject to umask and default ACLs. */
int create_file(const Handle& directory, const char* name, uint32_t mode, Handle& out);

/**
 * Creates a file without a name in the directory that `path` leads to: it is gone when it is closed, unless
 * name_file() has given it one. -EOPNOTSUPP where there are no such files.
 */
int create_unnamed(const Handle& directory, const char* path, uint32_t mode, Handle& out);
int name_file(const Handle& file, const Handle& directory, const char* name);

/** Opens a file that create_unnamed() has created once more, for reading. */
int open_unnamed(const Handle& file, Handle& out);

/** Windows knows by the link what it leads to, and has a second kind of links to directories. */
enum class LinkKind : uint8_t { file, directory, junction };

/**
 * Returns the length of the target, not terminated; -ENAMETOOLONG where `size` is too small. `kind` is set
 * where the system knows kinds.
 */
int64_t read_symlink(const Handle& directory, const char* name, char* target, size_t size,
                     LinkKind& kind);
int make_symlink(const Handle& directory, const char* name, const char* target, LinkKind kind);

/** Makes a FIFO or device node like `source`; `mode` is subject to umask and default ACLs. */
int make_special(const Handle& directory, const char* name, const Stat& source, uint32_t mode);

/** Gives an entry, a link itself unless it is followed, one more name, which must be free. */
int make_hard_link(const Handle& from_directory, const char* from, Follow follow,
                   const Handle& directory, const char* name);

/** Replaces `to`, which must not be a directory, by `from`, both in `directory`. */
int rename_over(const Handle& directory, const char* from, const char* to);
/** The same, but -EEXIST where there is a `to`. */
int rename_new(const Handle& directory, const char* from, const char* to);
int remove_file(const Handle& directory, const char* name);
int remove_directory(const Handle& directory, const char* name);

// --- what an entry has beside its content -----------------------------------------------------
//
// All take the handle of an entry of any kind, opened in whatever way.

int set_mode(const Handle& entry, uint32_t mode);

/** Clears setuid and setgid of files. */
int set_owner(const Handle& entry, uint32_t uid, uint32_t gid);
/** For `uid` or `gid`: leave it. */
inline constexpr uint32_t kSameId = UINT32_MAX;

int set_times(const Handle& entry, Time accessed, Time modified);
/** Makes it look changed just now. */
int touch(const Handle& entry);

/** Extended attributes: names, one after the other, each with a null byte. -ERANGE: too small. */
int64_t list_attributes(const Handle& entry, char* names, size_t size);
int64_t get_attribute(const Handle& entry, const char* name, char* value, size_t size);
/** Never 0, and the same for processes that see the same attributes: some are hidden from ordinary users. */
uint32_t attribute_view();
int set_attribute(const Handle& entry, const char* name, const char* value, size_t size);
int remove_attribute(const Handle& entry, const char* name);

/** The attributes that are access control lists: an entry's own, and what is made in a directory gets. */
inline constexpr const char* kAccessList = "system.posix_acl_access";
inline constexpr const char* kDefaultList = "system.posix_acl_default";

/** Ours: see engine/mark.h. Never copied. */
inline constexpr const char* kMark = "user.fastcp.mark";

/** Names by which XFS lists them a second time, to root. */
inline constexpr const char* kListAlias = "trusted.SGI_ACL_";

/** What an access list, as the attribute holds it, grants to the owning group: 0 to 7. */
uint32_t group_permissions(const char* list, size_t size);

/** Waits until a file, or the names in a directory, are on disk. */
int sync(const Handle& file_or_directory);

// --- content ---------------------------------------------------------------------------------

/** What came of one way to copy. Only the ladder (copy_content.cc) decides what is tried next. */
struct Attempt {
  enum Outcome : uint8_t {
    done,
    not_here,  // this way cannot serve these files; another may
    failed,    // trying another way could hide damage or cannot help
  };
  Outcome outcome;
  bool lasting;    // not_here: true for every file between these two file systems
  int error;       // positive errno where not done
  uint64_t bytes;  // done: how many; copy_range() says 0 where reading must tell whether it ended
};

/** Shares all of `src`'s blocks with `dst`, which is empty. */
Attempt clone_file(const Handle& src, const Handle& dst);

/** What clone_file() and create_clone() are called in errors. */
extern const char* const clone_call;

/** Which of the two does anything: whether clones are made as new files, and not in open ones. */
extern const bool clones_are_created;

/**
 * Makes `name`, which must be free, a clone of all of `src` with its mode, which looks changed just now,
 * and opens it for what it is still to be given.
 * -EXDEV: no file can be cloned there; -EOPNOTSUPP: this one.
 */
int create_clone(const Handle& src, const Handle& directory, const char* name, Handle& out);

/** Lets the system copy up to `length` bytes at `offset`, in both. May share blocks too. */
Attempt copy_range(const Handle& src, const Handle& dst, uint64_t offset, uint64_t length);

int64_t read_at(const Handle& file, char* buffer, size_t size, uint64_t offset);

/** Writes all of it, or fails. */
int write_at(const Handle& file, const char* buffer, size_t size, uint64_t offset);

/**
 * The next range of data at or after `offset`: `start` and `end`, both `size` where only a hole is
 * left. Where the file system cannot tell, all is data.
 */
int next_data(const Handle& file, uint64_t offset, uint64_t size, uint64_t& start, uint64_t& end);

int set_size(const Handle& file, uint64_t size);

/** What is not written to a new file is to be a hole: before anything is. */
void allow_holes(const Handle& file);

/** Has the content of a file that was written go to its device, and where it may, out of memory. */
void drop_cache(const Handle& file);

// --- whole trees -----------------------------------------------------------------------------

/** Exchanges two entries in one step, so that neither is ever missing. -EINVAL, -ENOSYS: not here. */
int exchange(const Handle& directory, const char* one, const char* other);

/**
 * Locks the directory, or on Windows the file, of an open descriptor, which its holder's end unlocks.
 * -EWOULDBLOCK: it is locked by another descriptor.
 */
int try_lock(intptr_t descriptor);

/**
 * Whether take_snapshot() could copy `source` into `directory`. -EOPNOTSUPP: the file system has no
 * snapshots; -EINVAL: it has, of other directories; -ENOTEMPTY: what is nested in the directory would be left
 * out; -EXDEV: they are on two file systems.
 */
int check_snapshot(const Handle& source, const Handle& directory);

/** Copies the tree of a directory in one call, as `name`, which must be free. May wait for the disk. */
int take_snapshot(const Handle& source, const Handle& directory, const char* name);

/** Makes a directory of which there can be snapshots; -EOPNOTSUPP where there cannot. */
int make_snapshot_source(const Handle& directory, const char* name);

// --- the process -----------------------------------------------------------------------------

struct ThreadUsage {
  uint64_t cpu_ns;
  uint64_t blocks_read;  // from a device: the source was not cached
};
ThreadUsage thread_usage();

/**
 * The clock of ctimes, which the kernel may read in steps of some milliseconds: no change from now on gets a
 * ctime before the floor, and none until now has one after the ceiling.
 */
Time change_time_floor();
Time change_time_ceiling();

/** How many descriptors the process may still open. */
int64_t free_descriptors();

/** Processors that workers keep busy when all is cached, by affinity and by quotas. May read files. */
unsigned processor_count();

/** A variable of the environment as it is now; empty where there is none. */
std::string environment(const char* name);

// --- paths -----------------------------------------------------------------------------------

/** How much of a path names its root, as in `/` or `C:/`; 0 where it is relative. */
size_t root_length(std::string_view path);

}  // namespace fastcp::platform
