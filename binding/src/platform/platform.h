// The interface to the operating system. One implementation per platform is beside this file, and CMake chooses it.
// Neither Node-API nor a system header appears here. Called by all layers of the engine, on any thread.
//
// Unless its comment says otherwise, a function returns 0 or a count, and a negative POSIX errno on failure. Codes of
// Windows are translated. Names are bytes as the system lists them, never paths. Only relative to
// Handle::working_directory() they may be paths, with slashes on all systems. There are no locks here.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fastcp::platform {

/** An open file or directory. Its destructor closes it. */
class Handle {
 public:
  Handle() = default;
  explicit Handle(intptr_t raw) : raw_(raw) {}
  Handle(Handle&& other) noexcept : raw_(other.raw_) { other.raw_ = kNone; }
  Handle& operator=(Handle&& other) noexcept;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { close(); }

  /**
   * Returns a handle for the process's working directory. Names relative to it may be whole paths.
   */
  static Handle working_directory();

  [[nodiscard]] intptr_t raw() const { return raw_; }
  [[nodiscard]] bool is_open() const { return raw_ != kNone; }
  /**
   * Closes the handle. Returns 0 or a negative errno: only now a file system may report that it
   * could not store data. The handle is closed even then.
   */
  int close();

 private:
  static constexpr intptr_t kNone = -1;
  intptr_t raw_ = kNone;
};

/** lib/bridge/native.ts knows the order. */
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
  uint64_t allocated;  // bytes; less than size if the file has holes or is compressed
  uint64_t rdev;
  uint64_t link_count;
  Time atime, mtime, ctime;
  uint32_t uid, gid;
  uint32_t mode;  // permission bits with setuid, setgid and sticky: 07777
  Kind kind;
};

/** Returns whether two looks met the same entry. */
inline bool is_same_entry(const Stat& a, const Stat& b) { return a.dev == b.dev && a.ino == b.ino; }

/** Returns whether an error says that a path leads to no entry. */
inline bool leads_nowhere(int error) {
  return error == -ENOENT || error == -ENOTDIR || error == -ELOOP;
}

/** Special mode bits, with POSIX values. */
inline constexpr uint32_t kSetUid = 04000;
inline constexpr uint32_t kSetGid = 02000;
inline constexpr uint32_t kSticky = 01000;
inline constexpr uint32_t kPermissions = 0777;

// --- directories ---------------------------------------------------------------------------------

enum class Follow : bool { no, yes };

/**
 * Opens a directory for listing. Returns -ENOTDIR or -ELOOP for a symlink, unless `follow` allows
 * it.
 */
int open_source_directory(const Handle& parent, const char* name, Follow follow, Handle& out);

/** Opens a directory to create entries in it. The handle may be useless for other purposes. */
int open_target_directory(const Handle& parent, const char* name, Follow follow, Handle& out);

/** Open the parent of an open directory by '..'. The caller must compare identities. */
int open_source_parent(const Handle& directory, Handle& out);
int open_target_parent(const Handle& directory, Handle& out);

/** Fills `buffer` with the next entries of a directory. Returns 0 at the end. */
int64_t read_listing(const Handle& directory, char* buffer, size_t size);

struct Listed {
  const char* name;
  Kind kind;    // unknown if the file system does not provide it
  size_t size;  // of this record: offset of the next record
};

/** Reads one record that read_listing() wrote. '.' and '..' may be included. */
Listed parse_listing(const char* record);

/** Returns whether a file system is mounted on a directory in `parent`. */
bool is_mount_point(const Handle& parent, const Handle& directory);

/** Returns whether the file system of a directory is mounted read-only. */
bool is_read_only(const Handle& directory);

/**
 * Returns whether this host's clock sets the ctimes in a directory, at every change and
 * permanently. False if a server sets them, or the file system stores none.
 */
bool has_own_clock(const Handle& directory);

/**
 * time_step() of NTFS, SMB and FUSE, in ns. Some servers and FUSE programs store only whole seconds,
 * also in ctimes.
 */
inline constexpr uint64_t kForeignStep = 100;

/** Returns the granularity of mtimes in a directory if it is known to be coarse; otherwise 1 ns. */
uint64_t time_step(const Handle& directory);  // ns

/**
 * Returns whether subdirectories should be created while their parent is listed, long before they
 * are filled. This is so if inodes and names are in one tree, sorted by number. Then new entries of
 * two threads are not in the same leaf.
 */
bool wants_directories_early(const Handle& directory);

/**
 * Returns whether entries can be created in the directory at `path`, but neither renamed nor
 * removed. A temporary name there would stay for ever. `path` is relative to `directory`.
 */
bool is_append_only(const Handle& directory, const char* path);

/** Creates a directory. `mode` is subject to umask and default ACLs. */
int make_directory(const Handle& parent, const char* name, uint32_t mode);

/** Does the same as set_mode() with a directory opened by open_target_directory(). */
int set_directory_mode(const Handle& directory, uint32_t mode);

// --- entries ---------------------------------------------------------------------------------

int stat_handle(const Handle& handle, Stat& out);

/** Distinguishes an entry from every other that exists or existed on its file system. */
struct Identity {
  uint64_t file_system;  // file_system()
  uint64_t dev, ino;
  Time birth;  // zeros if the file system records none: then reused inodes look the same
  bool operator==(const Identity&) const = default;
};

/** Sets all of `out` except file_system, which is the same for all entries of a device. */
int identify(const Handle& handle, Identity& out);

/**
 * Returns the file system's own number, which a subvolume has as well; 0 if there is none. On
 * overlayfs it is the mount's number: after the next mount the layers may be others, and no entry
 * shows that.
 */
uint64_t file_system(const Handle& handle);

/**
 * Returns whether an exchange of two files' names (RENAME_EXCHANGE) renews their ctimes, as a
 * rename does.
 */
bool exchange_renews_ctime(const Handle& directory);

/** Looks at an entry. Follows a symlink only if `follow` says so. */
int stat_entry(const Handle& directory, const char* name, Stat& out, Follow follow = Follow::no);

/**
 * Opens a file for reading, and does not change its access time if that is permitted. Otherwise
 * clears `without_atime`, so that the caller need not try again. Never waits for the other end of a
 * FIFO. Returns -EAGAIN if another process holds a lease on the file; the system has now asked that
 * process to end the lease.
 */
int open_source_file(const Handle& directory, const char* name, Follow follow, bool& without_atime,
                     Handle& out);

/**
 * Tells whether opening a FIFO by open_entry() wakes a process that waits to write into it. Such a
 * FIFO of SRC is not opened.
 */
extern const bool wakes_writers;

/**
 * Opens any entry, also a symlink, to read its metadata. Content can be neither read nor written.
 */
int open_entry(const Handle& directory, const char* name, Follow follow, Handle& out);

/** Creates a file that must not exist, for writing. `mode` is subject to umask and default ACLs. */
int create_file(const Handle& directory, const char* name, uint32_t mode, Handle& out);

/**
 * Creates a file without a name in the directory at `path`. The file disappears when it is closed,
 * unless name_file() has given it a name. Returns -EOPNOTSUPP if the file system has no such files.
 */
int create_unnamed(const Handle& directory, const char* path, uint32_t mode, Handle& out);
int name_file(const Handle& file, const Handle& directory, const char* name);

/** Opens a file from create_unnamed() once more, for reading. */
int open_unnamed(const Handle& file, Handle& out);

/**
 * The kinds of symlinks on Windows. A symlink there knows its target's kind, and a junction is a
 * second kind of symlink to a directory.
 */
enum class LinkKind : uint8_t { file, directory, junction };

/**
 * Returns the length of the symlink target, which is not terminated; -ENAMETOOLONG if `size` is too
 * small. Sets `kind` on systems that have kinds.
 */
int64_t read_symlink(const Handle& directory, const char* name, char* target, size_t size,
                     LinkKind& kind);
int make_symlink(const Handle& directory, const char* name, const char* target, LinkKind kind);

/** Creates a FIFO or device node like `source`. `mode` is subject to umask and default ACLs. */
int make_special(const Handle& directory, const char* name, const Stat& source, uint32_t mode);

/**
 * Creates a hard link to an entry. `name` must be free. A symlink itself gets the hard link unless
 * `follow` says otherwise.
 */
int make_hard_link(const Handle& from_directory, const char* from, Follow follow,
                   const Handle& directory, const char* name);

/**
 * Renames `from` to `to` and replaces it. `to` must not be a directory. Both are in `directory`.
 */
int rename_over(const Handle& directory, const char* from, const char* to);
/** Does the same, but returns -EEXIST if `to` exists. */
int rename_new(const Handle& directory, const char* from, const char* to);
int remove_file(const Handle& directory, const char* name);
int remove_directory(const Handle& directory, const char* name);

// --- what new entries get --------------------------------------------------------------------------

/** The user and group of this process. Windows: 0. */
uint32_t own_user();
uint32_t own_group();
/** The permissions that umask takes away from new entries. All if nothing tells, since asking umask(2) would change it. */
uint32_t creation_mask();

// --- metadata of an entry ----------------------------------------------------------------------
//
// All functions take a handle of an entry of any kind, opened by any function.

/** Sets this mode; without setgid if the caller is neither privileged nor in the entry's group. */
int set_mode(const Handle& entry, uint32_t mode);

/** Sets owner and group. Clears setuid and setgid of files. */
int set_owner(const Handle& entry, uint32_t uid, uint32_t gid);
/** As `uid` or `gid`: does not change it. */
inline constexpr uint32_t kSameId = UINT32_MAX;

int set_times(const Handle& entry, Time accessed, Time modified);
/** Sets the timestamps of an entry to the present time. */
int touch(const Handle& entry);

/**
 * Lists the names of extended attributes, each ended by a NUL. Returns -ERANGE if `size` is too
 * small.
 */
int64_t list_attributes(const Handle& entry, char* names, size_t size);
int64_t get_attribute(const Handle& entry, const char* name, char* value, size_t size);
/**
 * Returns a number that is the same for all processes that see the same attributes, and never 0.
 * Some attributes are hidden from ordinary users.
 */
uint32_t attribute_view();
int set_attribute(const Handle& entry, const char* name, const char* value, size_t size);
int remove_attribute(const Handle& entry, const char* name);

/** The attributes that are ACLs: an entry's own, and the default of new entries in a directory. */
inline constexpr const char* kAccessList = "system.posix_acl_access";
inline constexpr const char* kDefaultList = "system.posix_acl_default";

/** fastcp's own attribute: see engine/entry/mark.h. Never copied. */
inline constexpr const char* kMark = "user.fastcp.mark";

/** Names under which XFS lists ACLs a second time, to root. */
inline constexpr const char* kListAlias = "trusted.SGI_ACL_";

/** Returns the rights of the owning group, 0 to 7, in an ACL in the form of the attribute. */
uint32_t group_permissions(const char* list, size_t size);

/** Waits until a file, or the names in a directory, are on disk. */
int sync(const Handle& file_or_directory);

/**
 * Opens a file for sync(), so that its metadata can be flushed after it was set. Returns -EOPNOTSUPP
 * if the system cannot flush metadata.
 */
int open_to_sync(const Handle& directory, const char* name, Handle& out);

// --- content ---------------------------------------------------------------------------------

/** The result of one copy method. Only copy_content.cc decides which method is tried next. */
struct Attempt {
  enum Outcome : uint8_t {
    done,
    not_here,  // this method cannot work for these files; another may
    failed,    // another method could hide damage or cannot help
  };
  Outcome outcome;
  bool lasting;  // with not_here: true for every file between these two file systems
  int error;     // positive errno unless done
  // with done: bytes copied; copy_range() gives 0 if reading must show whether the file ended
  uint64_t bytes;
};

/** Lets `dst`, which is empty, share all blocks of `src`. */
Attempt clone_file(const Handle& src, const Handle& dst);

/** The name of clone_file() and create_clone() in errors. */
extern const char* const clone_call;

/**
 * Tells which of the two works: true if clones are created as new files, false if they are created
 * in open files.
 */
extern const bool clones_are_created;

/** Whether a clone keeps the attributes of its source that other copy methods can preserve. */
enum class WithAttributes : bool { no, yes };

/** Whether the copy gets the owner of its source. */
enum class WithOwner : bool { no, yes };

/**
 * Tells whether the parts of a new file should be written in their order. True if file systems
 * fill the range before a part with zeros, which would be written twice.
 */
extern const bool writes_in_order;

/** Whether a removed directory may keep its name until nobody has it open: on FAT and servers, on Windows. */
extern const bool open_directories_stay;

/**
 * Creates `name`, which must be free, as a clone of all of `src`, and opens it to set metadata. The
 * clone has the mode of `src` and the present time as mtime. Returns -EXDEV if no file can be
 * cloned there, -EOPNOTSUPP if this file cannot: also if its mode would give access to users whom
 * the owner that it gets later excludes.
 */
int create_clone(const Handle& src, const Handle& directory, const char* name,
                 WithAttributes with_attributes, WithOwner with_owner, Handle& out);

/**
 * Makes the system copy up to `length` bytes at `offset` of both files; without it, at their
 * beginning, for files that were just opened. The files may share blocks afterwards.
 */
Attempt copy_range(const Handle& src, const Handle& dst, std::optional<uint64_t> offset,
                   uint64_t length);

int64_t read_at(const Handle& file, char* buffer, size_t size, uint64_t offset);

/** Writes all bytes, or fails. */
int write_at(const Handle& file, const char* buffer, size_t size, uint64_t offset);

/**
 * Returns whether next_data() may be called for a file; false if everything has to be read. Waits for
 * the disk on some systems, so it is called once before a file is copied or compared.
 */
bool knows_holes(const Handle& file);

/**
 * Finds the next range of data at or after `offset`. `start` and `end` are both `size` if only a
 * hole is left. If the file system cannot tell, everything is data. No other range is empty.
 */
int next_data(const Handle& file, uint64_t offset, uint64_t size, uint64_t& start, uint64_t& end);

int set_size(const Handle& file, uint64_t size);

/** Makes unwritten ranges of a new file holes. Call it before anything is written. */
void allow_holes(const Handle& file);

/** Starts writing a file's content to its device, and frees its memory if possible. */
void drop_cache(const Handle& file);

// --- whole trees -----------------------------------------------------------------------------

/**
 * Exchanges two entries in one step, so that neither is missing at any moment. Returns -EINVAL or
 * -ENOSYS if that is impossible there.
 */
int exchange(const Handle& directory, const char* one, const char* other);

/**
 * Locks an open directory, or on Windows a file. The lock ends when the file descriptor is closed.
 * Returns -EWOULDBLOCK if another file descriptor holds the lock: any lock if this one is to be
 * exclusive, or an exclusive one.
 */
int try_lock(intptr_t descriptor, bool exclusive);

/** Returns whether a file descriptor is that of an inode, by its lowest 32 bits. Never called on Windows. */
bool has_inode(intptr_t descriptor, uint32_t inode);

/** Locks an open directory or file exclusively. Returns whether somebody else has it. False on Windows. */
bool is_locked(const Handle& entry);

/** Opens the directory of a file descriptor once more. Never called on Windows. */
int open_again(intptr_t descriptor, Handle& out);

/**
 * Returns 0 if take_snapshot() could copy `source` into `directory`. Otherwise -EOPNOTSUPP: the
 * file system has no snapshots; -EINVAL: it has, but not of this directory; -ENOTEMPTY: the
 * snapshot would lack what is nested in the directory; -EXDEV: they are on two file systems.
 */
int check_snapshot(const Handle& source, const Handle& directory);

/** Copies a directory tree in one call, as `name`, which must be free. May wait for the disk. */
int take_snapshot(const Handle& source, const Handle& directory, const char* name);

// --- the process -----------------------------------------------------------------------------

/**
 * Starts a thread that nobody waits for. No signal handler runs on it: those of libuv write to numbers of descriptors, which
 * may be those of other files there. Returns 0 or a negative errno.
 */
int start_thread(void (*run)(void*), void* argument);

/**
 * Gives the calling thread a table of descriptors of its own, in which only standard error is open, and /dev/null as standard
 * input and output, so that it does not wait for the locks of another's. Threads that it starts share that table, and may only use
 * handles that it has opened. Returns false if the system cannot do that, or where FASTCP_SHARED_TABLE is set.
 */
bool leave_shared_table();
bool has_own_table();

struct ThreadUsage {
  uint64_t cpu_ns;
  // From a device: the source was not cached. macOS knows it only for the whole process.
  uint64_t blocks_read;
};
ThreadUsage thread_usage();

/**
 * Bounds of the clock of ctimes, which the kernel may read in steps of some milliseconds. No later
 * change gets a ctime before the floor. No earlier change has a ctime after the ceiling.
 */
Time change_time_floor();
Time change_time_ceiling();

/** Returns the number of file descriptors that the process may still open. */
int64_t free_descriptors();

/**
 * Returns the number of processors that workers can keep busy if everything is cached, by affinity
 * and quotas. May read files.
 */
unsigned processor_count();

/** Returns the same without quotas, and reads no file. */
unsigned allowed_processors();

/** The most workers that help while they wait for a device; a large number if none is known. */
extern const unsigned most_waiting_workers;

/** Returns an environment variable as it is now; empty if it is not set. */
std::string environment(const char* name);

// --- paths -----------------------------------------------------------------------------------

/** Returns the length of a path's root, such as `/` or `C:/`; 0 if the path is relative. */
size_t root_length(std::string_view path);

}  // namespace fastcp::platform
