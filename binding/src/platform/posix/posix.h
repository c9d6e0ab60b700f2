// Declarations below platform.h that POSIX systems share. Included by posix.cc, linux/ and darwin/.
// Stateless: no locks.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <ctime>

#include "platform/platform.h"

namespace fastcp::platform {

inline int fd(const Handle& handle) { return static_cast<int>(handle.raw()); }

inline int nofollow(Follow follow) { return follow == Follow::yes ? 0 : O_NOFOLLOW; }

/**
 * Returns the error of the last call. Linux has one number for ENOTSUP and EOPNOTSUPP, macOS two.
 */
inline int failure() { return errno == ENOTSUP ? -EOPNOTSUPP : -errno; }

/**
 * Calls again if a signal interrupted the call. Returns the call's result or a negative errno.
 * Network and FUSE file systems let signals interrupt any call, so every call goes through this.
 * Exceptions are close() and calls that continue in another way.
 */
template <class Call>
auto retry(Call call) -> decltype(call()) {
  for (;;) {
    auto result = call();
    if (result >= 0) return result;
    if (errno != EINTR) return failure();
  }
}

/** Does the same for calls that return 0. Returns 0 or a negative errno. */
template <class Call>
int check(Call call) {
  return static_cast<int>(retry(call));
}

/**
 * openat(2) and close(2). Linux makes the calls itself: libc's are cancellation points, which take a sixth of the time that a copy
 * of small files spends outside the kernel.
 */
int call_openat(int directory, const char* name, int flags, mode_t mode);
int call_close(int descriptor);

/** The flag of open(2) for the content of new files. */
extern const int write_access;

/** Converts the members of `struct stat` that only one of Linux and macOS has, or that have other names there. */
void convert_own(const struct stat& from, Stat& to);

int open_at(const Handle& directory, const char* name, int flags, mode_t mode, Handle& out);

Kind kind_of_mode(mode_t mode);

inline Time to_time(const timespec& time) {
  return {time.tv_sec, static_cast<uint32_t>(time.tv_nsec)};
}

inline Time time_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return to_time(now);
}

inline timespec to_timespec(Time time) {
  return {static_cast<time_t>(time.seconds), static_cast<long>(time.nanoseconds)};
}

}  // namespace fastcp::platform
