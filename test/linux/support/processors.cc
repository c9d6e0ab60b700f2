// Says how many processors there are below a root, on a machine that has as many as the second argument says.

#include <sched.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "platform/linux/processors.h"

static int processors = 1;

/** As the kernel does: a set must have room for all that there are. */
extern "C" int sched_getaffinity(pid_t, size_t size, cpu_set_t* set) noexcept {
  if (size * 8 < static_cast<size_t>(processors)) {
    errno = EINVAL;
    return -1;
  }
  CPU_ZERO_S(size, set);
  for (int i = 0; i < processors; i++) CPU_SET_S(i, size, set);
  return 0;
}

int main(int, char** arguments) {
  processors = std::atoi(arguments[2]);
  std::printf("%u", fastcp::platform::count_processors(arguments[1]));
}
