#include "engine/base/link_target.h"

#include <algorithm>

#include "platform/platform.h"

namespace fastcp {

std::string resolve(std::string_view directory, std::string_view target) {
  const bool absolute = platform::root_length(target) > 0;
  // Without the slash at its end, because a slash is put before each name.
  std::string result(target.substr(0, platform::root_length(target)));
  if (!absolute) result = directory.substr(0, platform::root_length(directory));
  if (result.ends_with('/')) result.pop_back();
  const size_t root = result.size();
  const auto append = [&result, root](std::string_view path) {
    while (!path.empty()) {
      const size_t slash = path.find('/');
      const std::string_view name = path.substr(0, slash);
      path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
      if (name == "..") {
        result.resize(result.size() == root ? root : result.rfind('/'));
      } else if (!name.empty() && name != ".") {
        result.append("/").append(name);
      }
    }
  };
  if (!absolute) append(directory.substr(platform::root_length(directory)));
  append(target.substr(platform::root_length(target)));
  if (result.size() == root) result += '/';
  return result;
}

std::string_view directory_of(std::string_view path) {
  const size_t root = platform::root_length(path);
  while (path.size() > root && path.back() == '/') path.remove_suffix(1);
  return path.substr(0, std::max(root, path.rfind('/')));
}

bool is_below(std::string_view path, std::string_view directory) {
  if (directory.size() == platform::root_length(directory)) {
    return path.size() > directory.size() && path.starts_with(directory);
  }
  return path.size() > directory.size() && path[directory.size()] == '/' &&
         path.starts_with(directory);
}

}  // namespace fastcp
