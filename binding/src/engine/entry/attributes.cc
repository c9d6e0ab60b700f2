#include "engine/entry/attributes.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <string_view>
#include <utility>

namespace fastcp {
namespace {

using platform::Handle;
using platform::Stat;

/** Returns the whole result of `read(buffer, size)`, or a negative errno. */
template <class Read>
int64_t read_all(std::string& out, Read read) {
  // The maximum size of attributes. Most entries have none, so this buffer is rarely needed.
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

/** Returns whether the error means that there are no attributes, or that there cannot be any. */
bool is_none(int64_t error) {
  return error == -ENODATA || error == -EOPNOTSUPP || error == -ENOSYS;
}

bool has_list(const Handle& entry, const char* name) {
  const int64_t size = platform::get_attribute(entry, name, nullptr, 0);
  return size > 0 || (size < 0 && !is_none(size));  // in doubt: yes
}

/**
 * Returns whether the copy already has the attribute. A security module may have set it, and may
 * forbid others to set it.
 */
bool has_already(const Handle& dst, const Attribute& attribute) {
  std::string value;
  const auto read_value = [&](char* buffer, size_t size) {
    return platform::get_attribute(dst, attribute.name.c_str(), buffer, size);
  };
  return read_all(value, read_value) >= 0 && value == attribute.value;
}

/**
 * Reads the attributes of an entry; ACLs only if modes are preserved, because they also are the mode. `fail(error, operation)` returns
 * whether to continue without an unreadable one.
 */
template <class Fail>
bool read(const Preserve& keep, const Handle& entry, Attributes& out, Fail fail) {
  std::string list;
  const int64_t size = read_all(list, [&](char* buffer, size_t room) {
    return platform::list_attributes(entry, buffer, room);
  });
  if (is_none(size)) return true;
  if (size < 0) return fail(static_cast<int>(size), "listxattr");
  for (size_t at = 0; at < list.size();) {
    Attribute attribute{list.c_str() + at, {}};
    at += attribute.name.size() + 1;
    if (attribute.name.starts_with(platform::kListAlias) || attribute.name == platform::kMark ||
        (is_list(attribute.name) && !keep.mode)) {
      continue;
    }
    const int64_t error = read_all(attribute.value, [&](char* buffer, size_t room) {
      return platform::get_attribute(entry, attribute.name.c_str(), buffer, room);
    });
    if (error >= 0) {
      out.push_back(std::move(attribute));
    } else if (error != -ENODATA &&  // removed meanwhile
               !fail(static_cast<int>(error), "getxattr")) {
      return false;
    }
  }
  return true;
}

/**
 * Returns whether an attribute that SRC does not have is removed. Labels of security modules and
 * the like are not.
 */
bool is_removable(std::string_view name) {
  if (name.starts_with("security.")) return name == "security.capability";
  return is_list(name) || !name.starts_with("system.");
}

const Attribute* find(const Attributes& attributes, std::string_view name) {
  const auto at = std::find_if(attributes.begin(), attributes.end(),
                               [&](const Attribute& one) { return one.name == name; });
  return at == attributes.end() ? nullptr : &*at;
}

/** Returns the removable attributes of `found` that `wanted` does not have. */
Attributes superfluous(const Attributes& found, const Attributes& wanted) {
  Attributes result;
  std::copy_if(found.begin(), found.end(), std::back_inserter(result), [&](const Attribute& one) {
    return is_removable(one.name) && find(wanted, one.name) == nullptr;
  });
  return result;
}

/** Returns the attributes of `wanted` that `found` does not have with the same value. */
Attributes missing(const Attributes& found, const Attributes& wanted) {
  Attributes result;
  std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(result), [&](const Attribute& one) {
    const Attribute* has = find(found, one.name);
    return has == nullptr || has->value != one.value;
  });
  return result;
}

Loss loss_of(const Attribute& attribute) {
  return is_list(attribute.name) ? Loss::acls : Loss::xattrs;
}

uint32_t group_of(const Attribute& list) {
  return platform::group_permissions(list.value.data(), list.value.size());
}

/**
 * Returns whether changing an attribute needs write permission. Names on macOS have no namespace:
 * all do there. ACLs change the mode.
 */
bool needs_write_permission(std::string_view name) {
  return !is_list(name) && !name.starts_with("security.") && !name.starts_with("trusted.");
}

/**
 * Calls `change()` again if the mode of fastcp's own entry forbids to change an attribute. Restores
 * the mode afterwards.
 */
template <class Change>
int with_write_access(const Handle& entry, const Attribute& attribute, Change change) {
  constexpr uint32_t kOwnerWrites = 0200;
  const int error = change();
  Stat now;
  if (error != -EACCES || !needs_write_permission(attribute.name) ||
      platform::stat_handle(entry, now) < 0 || (now.mode & kOwnerWrites) != 0 ||
      platform::set_mode(entry, now.mode | kOwnerWrites) < 0) {
    return error;
  }
  const int changed = change();
  const int restored = platform::set_mode(entry, now.mode);
  return changed < 0 ? changed : restored;
}

/**
 * Removes an attribute. Before an ACL is removed, the mode is narrowed. The group's bits, which are
 * the mask of the ACL, become the permissions of the group. `operation` gets the call that failed.
 */
int remove(const Handle& entry, const Attribute& attribute, Given& given, const char*& operation) {
  const bool is_access_list = attribute.name == platform::kAccessList;
  Stat now;
  if (is_access_list) {
    constexpr uint32_t kGroup = 070;
    if (!has_access_list(entry)) return 0;
    if (const int error = platform::stat_handle(entry, now); error < 0) return error;
    const uint32_t narrow = (now.mode & ~kGroup) | (now.mode & group_of(attribute) << 3);
    given.mode_changed = true;
    operation = "fchmod";
    if (const int error = platform::set_mode(entry, narrow); error < 0) return error;
  }
  operation = "removexattr";
  const int error = platform::remove_attribute(entry, attribute.name.c_str());
  return error == -ENODATA ? 0 : error;
}

}  // namespace

bool read_attributes(Engine& engine, const Directory& directory, Names names, const Handle& src,
                     Attributes& out) {
  bool told = false;
  return read(engine.options.preserve, src, out, [&](int error, const char* operation) {
    return std::exchange(told, true) ||
           engine.lose(directory, names, Loss::xattrs, error, operation);
  });
}

namespace {

/** Counts an entry once for each kind of attribute that it loses. */
bool lose_once(Engine& engine, const Directory& directory, Names names, const Attribute& attribute,
               int error, const char* operation, Given& given) {
  const Loss loss = loss_of(attribute);
  bool& told = loss == Loss::acls ? given.told_acls : given.told_xattrs;
  return std::exchange(told, true) || engine.lose(directory, names, loss, error, operation);
}

/** Reports that an attribute could not be set, unless the copy has it. Returns false if the copy of the entry has failed. */
bool lose_missing(Engine& engine, const Directory& directory, Names names,
                  const Attribute& attribute, const Handle& dst, int error, Given& given) {
  if (has_already(dst, attribute)) return true;
  if (!lose_once(engine, directory, names, attribute, error, "setxattr", given)) return false;
  if (attribute.name == platform::kAccessList) {
    given.lost_list = true;
    given.kept_list = has_access_list(dst);
    given.group = group_of(attribute);
  }
  return true;
}

/** An ACL that was set before may deny it to the owner. */
int set(const Handle& dst, const Attribute& attribute) {
  return with_write_access(dst, attribute, [&] {
    return platform::set_attribute(dst, attribute.name.c_str(), attribute.value.data(),
                                   attribute.value.size());
  });
}

/**
 * Removes the mark of a directory, because ext4 has room for 4 kB of attributes, and a mark must not take it from the user's.
 * Also removes these: beside a mark, ext4 stores them in the inode or the block otherwise than without. Returns false if there is none.
 */
bool make_room(const Handle& dst, const Attributes& attributes) {
  if (platform::remove_attribute(dst, platform::kMark) < 0) return false;
  for (const Attribute& attribute : attributes) {
    if (!is_list(attribute.name)) platform::remove_attribute(dst, attribute.name.c_str());
  }
  return true;
}

/**
 * Sets `some` of an entry's attributes. If there is no room beside a mark, removes it and sets `all` again. Then it does not stop at
 * a failure, because the others must come back. Returns false on failure, which is reported.
 */
bool give(Engine& engine, const Directory& directory, Names names, const Attributes& some,
          const Attributes& all, const Handle& dst, Given& given, bool again = false) {
  bool succeeded = true;
  for (const Attribute& attribute : some) {
    const int error = set(dst, attribute);
    if (error == -ENOSPC && !again && make_room(dst, all))
      return give(engine, directory, names, all, all, dst, given, true);
    if (error < 0 && !lose_missing(engine, directory, names, attribute, dst, error, given)) {
      if (!again) return false;
      succeeded = false;
      given.told_acls = given.told_xattrs = true;  // one error for one entry
    }
    if (error < 0 || attribute.name != platform::kAccessList) continue;
    given.mode_changed = given.list_set = true;
    given.kept_list = given.lost_list = false;
  }
  return succeeded;
}

}  // namespace

bool give_attributes(Engine& engine, const Directory& directory, Names names,
                     const Attributes& attributes, const Handle& dst, Given& given) {
  return give(engine, directory, names, attributes, attributes, dst, given);
}

bool AttributeChanges::has_access_list() const {
  const auto is_it = [](const Attribute& one) { return one.name == platform::kAccessList; };
  return std::any_of(extra.begin(), extra.end(), is_it) ||
         std::any_of(lacking.begin(), lacking.end(), is_it);
}

bool find_changes(Engine& engine, const Directory& directory, Names names,
                  const Attributes& attributes, const Handle& dst, AttributeChanges& out) {
  Attributes found;
  if (!read_attributes(engine, directory, names, dst, found)) return false;
  out = {superfluous(found, attributes), missing(found, attributes)};
  return true;
}

bool make_changes(Engine& engine, const Directory& directory, Names names,
                  const AttributeChanges& changes, const Attributes& attributes, const Handle& dst,
                  Given& given) {
  for (const Attribute& attribute : changes.extra) {
    const char* operation = "removexattr";
    const int error =
        with_write_access(dst, attribute, [&] { return remove(dst, attribute, given, operation); });
    if (error < 0 && !lose_once(engine, directory, names, attribute, error, operation, given)) {
      return false;
    }
    if (error < 0 && attribute.name == platform::kAccessList) given.kept_list = true;
  }
  return give(engine, directory, names, changes.lacking, attributes, dst, given);
}

bool has_wanted_attributes(Engine& engine, const Directory& directory, Names names,
                           const Handle& src, const Handle& dst) {
  const auto fail = [&](int error, const char* operation) {
    // In a comparison an unreadable attribute is an error, not a difference.
    if (engine.options.compares) engine.fail(directory, names, error, operation);
    return false;
  };
  const Preserve& keep = engine.options.preserve;
  Attributes wanted, found;
  return (!keep.xattrs || read(keep, src, wanted, fail)) && read(keep, dst, found, fail) &&
         superfluous(found, wanted).empty() && missing(found, wanted).empty();
}

bool has_wanted_attributes(Engine& engine, const Directory& directory, Names names) {
  return has_wanted_attributes(engine, directory, names, directory.dst(), names.dst);
}

bool has_wanted_attributes(Engine& engine, const Directory& directory, Names names,
                           const Handle& parent, const char* name) {
  const platform::Follow follow = engine.options.traversal.follow();
  Handle src, dst;
  Stat stat;
  if (platform::wakes_writers &&
      platform::stat_entry(directory.src(), names.src, stat, follow) == 0 && !may_open(stat.kind)) {
    return true;
  }
  return platform::open_entry(directory.src(), names.src, follow, src) == 0 &&
         platform::open_entry(parent, name, platform::Follow::no, dst) == 0 &&
         has_wanted_attributes(engine, directory, names, src, dst);
}

bool has_acl(const Attributes& attributes) {
  return std::any_of(attributes.begin(), attributes.end(),
                     [](const Attribute& attribute) { return is_list(attribute.name); });
}

int remove_inherited_acls(const Handle& dst, platform::Kind kind) {
  for (const char* name : {platform::kAccessList, platform::kDefaultList}) {
    if (kind != platform::Kind::directory && name == platform::kDefaultList) continue;
    const int error = platform::remove_attribute(dst, name);
    if (error == 0 || is_none(error)) continue;
    // A file system may refuse before it looks whether there is one.
    if (!is_none(static_cast<int>(platform::get_attribute(dst, name, nullptr, 0)))) return error;
  }
  return 0;
}

bool has_default_list(const Handle& dst) { return has_list(dst, platform::kDefaultList); }

bool has_access_list(const Handle& dst) { return has_list(dst, platform::kAccessList); }

}  // namespace fastcp
