#include "attributes.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

namespace fastcp {
namespace {

using platform::Handle;

/** What `read(buffer, size)` gives, whatever its size, or a negative errno. */
template <class Read>
int64_t read_all(std::string& out, Read read) {
  // As large as attributes can be; most entries have none, so it is seldom needed.
  constexpr size_t kMost = 64 << 10;  // bytes
  std::array<char, 256> small;
  int64_t size = read(small.data(), small.size());
  if (size >= 0) {
    out.assign(small.data(), static_cast<size_t>(size));
  } else if (size == -ERANGE) {
    out.resize(kMost);
    size = read(out.data(), out.size());
    out.resize(static_cast<size_t>(std::max<int64_t>(size, 0)));
  }
  return size;
}

bool is_list(std::string_view name) {
  return name == platform::kAccessList || name == platform::kDefaultList;
}

/** There is none, or there can be none. */
bool is_none(int64_t error) {
  return error == -ENODATA || error == -EOPNOTSUPP || error == -ENOSYS;
}

/** A security module may have given it already, and let nobody else do so. */
bool has_already(const Handle& dst, const Attribute& attribute) {
  std::string value;
  const auto read = [&](char* buffer, size_t size) {
    return platform::get_attribute(dst, attribute.name.c_str(), buffer, size);
  };
  return read_all(value, read) >= 0 && value == attribute.value;
}

}  // namespace

bool read_attributes(Engine& engine, const Folder& folder, Names names, const Handle& src,
                     Attributes& out) {
  std::string list;
  const int64_t size = read_all(list, [&](char* buffer, size_t room) {
    return platform::list_attributes(src, buffer, room);
  });
  if (is_none(size)) return true;
  if (size < 0)
    return engine.lose(folder, names, Loss::xattrs, static_cast<int>(size), "listxattr");
  for (size_t at = 0; at < list.size();) {
    Attribute attribute{list.c_str() + at, {}};
    at += attribute.name.size() + 1;
    if (attribute.name.starts_with(platform::kListAlias)) continue;
    const int64_t error = read_all(attribute.value, [&](char* buffer, size_t room) {
      return platform::get_attribute(src, attribute.name.c_str(), buffer, room);
    });
    if (error >= 0) {
      out.push_back(std::move(attribute));
    } else if (error != -ENODATA &&  // gone meanwhile
               !engine.lose(folder, names, Loss::xattrs, static_cast<int>(error), "getxattr")) {
      return false;
    }
  }
  return true;
}

bool give_attributes(Engine& engine, const Folder& folder, Names names,
                     const Attributes& attributes, const Handle& dst, Given& given) {
  for (const Attribute& attribute : attributes) {
    const bool access = attribute.name == platform::kAccessList;
    const int error = platform::set_attribute(dst, attribute.name.c_str(), attribute.value.data(),
                                              attribute.value.size());
    if (error == 0) {
      given.access_list |= access;
      continue;
    }
    if (has_already(dst, attribute)) continue;
    const Loss loss = is_list(attribute.name) ? Loss::acls : Loss::xattrs;
    if (!engine.lose(folder, names, loss, error, "setxattr")) return false;
    if (!access) continue;
    given.lost_list = true;
    given.group = platform::group_permissions(attribute.value.data(), attribute.value.size());
  }
  return true;
}

bool has_list(const Attributes& attributes) {
  return std::any_of(attributes.begin(), attributes.end(),
                     [](const Attribute& attribute) { return is_list(attribute.name); });
}

int disinherit(const Handle& dst, platform::Kind kind) {
  for (const char* name : {platform::kAccessList, platform::kDefaultList}) {
    if (kind != platform::Kind::folder && name == platform::kDefaultList) continue;
    const int error = platform::remove_attribute(dst, name);
    if (error < 0 && !is_none(error)) return error;
  }
  return 0;
}

bool has_default_list(const Handle& dst) {
  const int64_t size = platform::get_attribute(dst, platform::kDefaultList, nullptr, 0);
  return size > 0 || (size < 0 && !is_none(size));  // where that is in doubt it is taken away
}

}  // namespace fastcp
