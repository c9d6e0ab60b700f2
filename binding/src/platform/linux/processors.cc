#include "platform/linux/processors.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdio>
#include <memory>

#include "platform/platform.h"

namespace fastcp::platform {
namespace {

/** Returns the text of a small file; empty if there is none. */
std::string read_file(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  std::array<char, 4096> text;
  return file ? std::string(text.data(), std::fread(text.data(), 1, text.size(), file.get())) : "";
}

/** Returns the quota of one control group, in processors. */
double read_quota(const std::string& directory) {
  const std::string both = read_file(directory + "/cpu.max");  // version 2: `max` is no number
  const std::string text = both.empty() ? read_file(directory + "/cpu.cfs_quota_us") + " " +
                                              read_file(directory + "/cpu.cfs_period_us")
                                        : both;
  double quota = 0, period = 0;
  const bool known = std::sscanf(text.c_str(), "%lf %lf", &quota, &period) == 2;
  return known && quota > 0 && period > 0 ? quota / period : HUGE_VAL;
}

/** Returns the least quota of a group and those above it, up to the mount of the hierarchy. */
double least_quota(const std::string& mount, std::string path) {
  double least = read_quota(mount + path);
  while (!path.empty()) {
    path.resize(std::min(path.rfind('/'), path.size() - 1));
    least = std::min(least, read_quota(mount + path));
  }
  return least;
}

double group_quota(const std::string& root) {
  // Lines are `number:controllers:path`; version 2 has no controllers there. In a container the
  // path may be the host's. Then only the mount itself is found, which is the container's own
  // group.
  const std::string mounts = root + "/sys/fs/cgroup/";
  double least = HUGE_VAL;
  const std::string groups = read_file(root + "/proc/self/cgroup");
  for (size_t at = 0, end = 0; at < groups.size(); at = end + 1) {
    end = std::min(groups.find('\n', at), groups.size());
    const std::string line = groups.substr(at, end - at);
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    // Version 1 may mount it with others, as in `cpu,cpuacct`.
    std::string listed = ",";
    listed.append(controllers).push_back(',');
    const bool has_cpu = controllers.empty() || listed.find(",cpu,") != std::string::npos;
    if (!has_cpu) continue;
    least = std::min(least, least_quota(mounts + controllers, line.substr(second + 1)));
  }
  return least;
}

}  // namespace

unsigned allowed_processors() {
  // The kernel returns EINVAL if its own set has more bits than this one.
  constexpr int kMost = 1 << 20;
  for (int bits = 1024; bits <= kMost; bits *= 2) {
    const size_t size = CPU_ALLOC_SIZE(bits);
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
        CPU_ALLOC(bits), [](cpu_set_t* allocated) { CPU_FREE(allocated); });
    if (!set) break;
    if (sched_getaffinity(0, size, set.get()) == 0) {
      return static_cast<unsigned>(std::max(1, CPU_COUNT_S(size, set.get())));
    }
    if (errno != EINVAL) break;
  }
  return 1;
}

unsigned count_processors(const std::string& root) {
  const unsigned allowed = allowed_processors();
  // With a quota of one and a half the second worker uses a half.
  const double quota = std::ceil(group_quota(root));
  return quota < allowed ? static_cast<unsigned>(std::max(1.0, quota)) : allowed;
}

unsigned processor_count() { return count_processors(""); }

const unsigned most_waiting_workers = UINT_MAX;

}  // namespace fastcp::platform
