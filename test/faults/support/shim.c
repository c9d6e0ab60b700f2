/*
 * Preloaded into a process that copies: lets system calls of the engine fail.
 *
 * FAULT_ROOT   only calls for what lies below this directory are touched, and only where the addon makes them
 * FAULT_LOG    gets a line `call path` for each such call that a fault was done to; for every one, with
 * FAULT_TRACE  where this is set
 * FAULTS       `call:what:first:count`, separated by spaces. `what` is an errno, or `short` (half of it is
 *              done), `zero` (the call says 0), `wait` (it takes 4 s, like one to a network), `run` (FAULT_RUN
 *              is run first) or `unknown` (getdents64 tells no kinds). It is done to the `first` such call of
 *              the process and to `count` in all; a last word after a colon narrows it to paths that contain it.
 * FAULT_PAUSE  a number N: before one of N locks of the addon, after it, and before each renaming, the thread waits
 *              for up to 2 ms, so that others come in between
 * FAULT_RUN    a script for sh, which gets the call's path as $1: what somebody else does meanwhile
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <linux/fs.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

enum how { NOTHING, FAIL, SHORTEN, ZERO, WAIT, UNKNOWN };

struct fault {
  char call[24], what[24], part[64];
  long first, count;
  atomic_long seen;
};

static struct fault faults[8];
static int fault_count;
static const char *root;
static const char *log_path;
static int tracing;
static unsigned pause_one_in;

__attribute__((constructor)) static void begin(void) {
  root = getenv("FAULT_ROOT");
  log_path = getenv("FAULT_LOG");
  if (root == NULL || log_path == NULL) return;
  tracing = getenv("FAULT_TRACE") != NULL;
  const char *pauses = getenv("FAULT_PAUSE");
  pause_one_in = pauses != NULL ? (unsigned)atoi(pauses) : 0;
  close(open(log_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  const char *words = getenv("FAULTS");
  for (int used; words != NULL && fault_count < 8; words += used, fault_count++) {
    struct fault *fault = &faults[fault_count];
    used = 0;
    int read = sscanf(words, " %23[^:]:%23[^:]:%ld:%ld%n", fault->call, fault->what, &fault->first,
                      &fault->count, &used);
    if (read != 4) break;
    int more = 0;
    if (sscanf(words + used, ":%63[^ ]%n", fault->part, &more) == 1) used += more;
  }
}

/* Where the addon lies in memory, once it is loaded. */
static _Atomic(uintptr_t) addon_begin, addon_end;

static int find_addon(struct dl_phdr_info *info, size_t size, void *unused) {
  (void)size, (void)unused;
  if (strstr(info->dlpi_name, "fastcp.node") == NULL) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0) continue;
    addon_end = info->dlpi_addr + part->p_vaddr + part->p_memsz;
    addon_begin = info->dlpi_addr + part->p_vaddr;
  }
  return 1;
}

static int is_ours(const void *caller) {
  if (root == NULL || log_path == NULL) return 0;
  if (addon_begin == 0) dl_iterate_phdr(find_addon, NULL);
  const uintptr_t at = (uintptr_t)caller;
  return addon_begin != 0 && at >= addon_begin && at < addon_end;
}

/* The path of a descriptor, or of a name relative to it; what /proc calls a descriptor is its file. */
static void resolve(int fd, const char *name, char *out) {
  char proc[64];
  ssize_t length = 0;
  if (name != NULL && (strncmp(name, "/proc/self/fd/", 14) == 0 || strncmp(name, "/proc/thread-self/fd/", 21) == 0)) {
    length = readlink(name, out, PATH_MAX);
    out[length > 0 ? length : 0] = 0;
    return;
  }
  if (name == NULL || name[0] != '/') {
    snprintf(proc, sizeof proc, "/proc/thread-self/fd/%d", fd);
    length = readlink(fd == AT_FDCWD ? "/proc/self/cwd" : proc, out, PATH_MAX);
    if (length < 0) length = 0;
  }
  out[length] = 0;
  if (name != NULL && name[0] != 0) snprintf(out + length, PATH_MAX, length > 0 ? "/%s" : "%s", name);
}

/* Returns when somebody else has done something to the tree. */
static void run_script(char *path) {
  char *script = getenv("FAULT_RUN");
  char *words[] = {"sh", "-ec", script, "sh", path, NULL};
  pid_t child;
  int status = -1;
  if (script == NULL || posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ) != 0) abort();
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (status != 0) {
    fputs("FAULT_RUN failed\n", stderr);
    abort();
  }
}

/* One time in `one_in`; a different time in each thread. */
static void pause_sometimes(unsigned one_in) {
  static atomic_uint threads = 1;
  static __thread unsigned state;
  if (one_in == 0) return;
  if (state == 0) state = (unsigned)getpid() * 2654435761U + atomic_fetch_add(&threads, 1);
  state = state * 1664525U + 1013904223U;
  if ((state >> 8) % one_in == 0) usleep((state >> 16) % 2000);
}

/* What is to be done to a call; sets errno where it is to fail. */
static enum how meet(const void *caller, const char *call, int fd, const char *name) {
  if (!is_ours(caller)) return NOTHING;
  const int before = errno;
  if (strncmp(call, "renameat", 8) == 0) pause_sometimes(pause_one_in != 0);
  char path[2 * PATH_MAX + 2], line[2 * PATH_MAX + 64];
  resolve(fd, name, path);
  enum how how = NOTHING;
  int error = before, run = 0;
  if (strncmp(path, root, strlen(root)) == 0) {
    for (int i = 0; i < fault_count; i++) {
      struct fault *fault = &faults[i];
      if (strcmp(fault->call, call) != 0 || strstr(path, fault->part) == NULL) continue;
      const long number = atomic_fetch_add(&fault->seen, 1) + 1;
      if (number < fault->first || number - fault->first >= fault->count) continue;
      if (strcmp(fault->what, "run") == 0) {
        run = 1;
        continue;
      }
      how = strcmp(fault->what, "short") == 0 ? SHORTEN : strcmp(fault->what, "zero") == 0 ? ZERO
            : strcmp(fault->what, "wait") == 0 ? WAIT
            : strcmp(fault->what, "unknown") == 0 ? UNKNOWN : FAIL;
      if (how == FAIL) error = atoi(fault->what);
    }
    if (tracing || run || how != NOTHING) {
      const int length = snprintf(line, sizeof line, "%s %s\n", call, path);
      /* Opened each time: a number would be another file in a thread with a table of its own. */
      const int log = open(log_path, O_WRONLY | O_APPEND | O_CLOEXEC);
      if (log >= 0 && write(log, line, (size_t)length) != length) abort();
      if (log >= 0) close(log);
    }
  }
  if (run) run_script(path);
  if (how == WAIT) sleep(4);
  errno = error;
  return how;
}

#define REAL(name)                                  \
  static __typeof__(&name) real;                    \
  if (real == NULL) real = dlsym(RTLD_NEXT, #name); \
  const void *caller = __builtin_return_address(0)

/* A call that does all or nothing. */
#define WHOLE(result, name, fd, path, parameters, arguments)               \
  result name parameters {                                                 \
    REAL(name);                                                            \
    return meet(caller, #name, fd, path) == FAIL ? -1 : real arguments;    \
  }

#define PIECE(name, fd, parameters, arguments)                  \
  ssize_t name parameters {                                     \
    REAL(name);                                                 \
    switch (meet(caller, #name, fd, NULL)) {                    \
      case FAIL: return -1;                                     \
      case ZERO: return 0;                                      \
      case SHORTEN: size = size > 1 ? size / 2 : size; break;   \
      default: break;                                           \
    }                                                           \
    return real arguments;                                      \
  }

PIECE(pread64, fd, (int fd, void *to, size_t size, off64_t at), (fd, to, size, at))
PIECE(pwrite64, fd, (int fd, const void *from, size_t size, off64_t at), (fd, from, size, at))

WHOLE(int, fstat64, fd, NULL, (int fd, struct stat64 *out), (fd, out))
WHOLE(int, fstatat64, fd, name, (int fd, const char *restrict name, struct stat64 *restrict out, int flags),
      (fd, name, out, flags))
/* Their names before glibc 2.33, which the binaries of the package call. */
int __fxstat64(int version, int fd, struct stat64 *out) {
  (void)version;
  return fstat64(fd, out);
}
int __fxstatat64(int version, int fd, const char *name, struct stat64 *out, int flags) {
  (void)version;
  return fstatat64(fd, name, out, flags);
}
WHOLE(int, statx, fd, name,
      (int fd, const char *restrict name, int flags, unsigned mask, struct statx *restrict out),
      (fd, name, flags, mask, out))
WHOLE(int, fstatfs64, fd, NULL, (int fd, struct statfs64 *out), (fd, out))
WHOLE(int, mkdirat, fd, name, (int fd, const char *name, mode_t mode), (fd, name, mode))
WHOLE(int, unlinkat, fd, name, (int fd, const char *name, int flags), (fd, name, flags))
WHOLE(int, renameat, fd, name, (int fd, const char *name, int to, const char *as), (fd, name, to, as))
WHOLE(int, linkat, to, as, (int fd, const char *name, int to, const char *as, int flags),
      (fd, name, to, as, flags))
WHOLE(int, symlinkat, fd, name, (const char *text, int fd, const char *name), (text, fd, name))
WHOLE(ssize_t, readlinkat, fd, name, (int fd, const char *restrict name, char *restrict to, size_t size),
      (fd, name, to, size))
WHOLE(int, mknodat, fd, name, (int fd, const char *name, mode_t mode, dev_t dev), (fd, name, mode, dev))
WHOLE(int, fchmod, fd, NULL, (int fd, mode_t mode), (fd, mode))
WHOLE(int, chmod, AT_FDCWD, name, (const char *name, mode_t mode), (name, mode))
WHOLE(int, fchownat, fd, name, (int fd, const char *name, uid_t uid, gid_t gid, int flags),
      (fd, name, uid, gid, flags))
WHOLE(int, futimens, fd, NULL, (int fd, const struct timespec times[2]), (fd, times))
WHOLE(int, utimensat, fd, name, (int fd, const char *name, const struct timespec times[2], int flags),
      (fd, name, times, flags))
WHOLE(ssize_t, flistxattr, fd, NULL, (int fd, char *to, size_t size), (fd, to, size))
WHOLE(ssize_t, fgetxattr, fd, NULL, (int fd, const char *name, void *to, size_t size), (fd, name, to, size))
WHOLE(int, fsetxattr, fd, NULL, (int fd, const char *name, const void *value, size_t size, int flags),
      (fd, name, value, size, flags))
WHOLE(int, fremovexattr, fd, NULL, (int fd, const char *name), (fd, name))
WHOLE(ssize_t, listxattr, AT_FDCWD, path, (const char *path, char *to, size_t size), (path, to, size))
WHOLE(ssize_t, getxattr, AT_FDCWD, path, (const char *path, const char *name, void *to, size_t size),
      (path, name, to, size))
WHOLE(int, setxattr, AT_FDCWD, path,
      (const char *path, const char *name, const void *value, size_t size, int flags),
      (path, name, value, size, flags))
WHOLE(int, removexattr, AT_FDCWD, path, (const char *path, const char *name), (path, name))
WHOLE(int, fsync, fd, NULL, (int fd), (fd))
WHOLE(int, flock, fd, NULL, (int fd, int how), (fd, how))
WHOLE(int, ftruncate64, fd, NULL, (int fd, off64_t size), (fd, size))
WHOLE(off64_t, lseek64, fd, NULL, (int fd, off64_t at, int whence), (fd, at, whence))
WHOLE(int, sync_file_range, fd, NULL, (int fd, off64_t at, off64_t size, unsigned flags),
      (fd, at, size, flags))

/* It says its error itself. */
int posix_fadvise64(int fd, off64_t at, off64_t size, int advice) {
  REAL(posix_fadvise64);
  return meet(caller, "posix_fadvise64", fd, NULL) == FAIL ? errno : real(fd, at, size, advice);
}

static const char *opening(int flags) {
  if ((flags & O_TMPFILE) == O_TMPFILE) return "openat(O_TMPFILE)"; /* includes O_DIRECTORY */
  return flags & O_CREAT ? "openat(O_CREAT)" : flags & O_DIRECTORY ? "openat(O_DIRECTORY)" : "openat";
}

int ioctl(int fd, unsigned long request, ...) {
  REAL(ioctl);
  va_list more;
  va_start(more, request);
  void *argument = va_arg(more, void *);
  va_end(more);
  if (request == FICLONE && meet(caller, "ioctl(FICLONE)", fd, NULL) == FAIL) return -1;
  return real(fd, request, argument);
}

/* The calls that the addon makes without libc's functions. */
long syscall(long number, ...) {
  REAL(syscall);
  long a[6];
  va_list more;
  va_start(more, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(more, long);
  va_end(more);
  enum how how = NOTHING;
  if (number == SYS_getdents64) how = meet(caller, "getdents64", (int)a[0], NULL);
  if (number == SYS_renameat2) how = meet(caller, "renameat2", (int)a[2], (const char *)a[3]);
  if (number == SYS_openat) how = meet(caller, opening((int)a[2]), (int)a[0], (const char *)a[1]);
  if (number == SYS_copy_file_range) how = meet(caller, "copy_file_range", (int)a[2], NULL);
  if (number == SYS_close) how = meet(caller, "close", (int)a[0], NULL);
  if (how == FAIL) {
    const int error = errno;
    if (number == SYS_close) real(number, a[0]); /* Linux lets go of the descriptor whatever it says. */
    errno = error;
    return -1;
  }
  if (how == ZERO) return 0;
  if (how == SHORTEN && number == SYS_getdents64) a[2] = 512; /* room for the longest name */
  if (how == SHORTEN && number == SYS_copy_file_range && a[4] > 1) a[4] /= 2;
  const long result = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  for (long at = 0; how == UNKNOWN && at < result;) {
    struct dirent64 *const record = (struct dirent64 *)((char *)a[1] + at);
    record->d_type = DT_UNKNOWN;
    at += record->d_reclen;
  }
  return result;
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
  REAL(pthread_mutex_lock);
  if (pause_one_in != 0 && is_ours(caller)) pause_sometimes(pause_one_in);
  return real(mutex);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
  REAL(pthread_mutex_unlock);
  const int error = real(mutex);
  if (pause_one_in != 0 && is_ours(caller)) pause_sometimes(pause_one_in);
  return error;
}
