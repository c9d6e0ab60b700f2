#include "link_text.h"

namespace fastcp {

std::string resolve(std::string_view folder, std::string_view target) {
  std::string result;
  const auto append = [&result](std::string_view path) {
    while (!path.empty()) {
      const size_t slash = path.find('/');
      const std::string_view name = path.substr(0, slash);
      path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
      if (name == "..") {
        result.resize(result.empty() ? 0 : result.rfind('/'));
      } else if (!name.empty() && name != ".") {
        result.append("/").append(name);
      }
    }
  };
  if (target.empty() || target.front() != '/') append(folder);
  append(target);
  return result.empty() ? "/" : result;
}

std::string_view folder_of(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool is_below(std::string_view path, std::string_view folder) {
  if (folder == "/") return path.size() > 1;
  return path.size() > folder.size() && path[folder.size()] == '/' && path.starts_with(folder);
}

}  // namespace fastcp
