// Reads extended attributes from an entry of SRC and sets them on its copy. ACLs and capabilities
// are extended attributes. Called by entry/ alone. Stateless: no locks.
#pragma once

#include <string>
#include <vector>

#include "engine/run/engine.h"
#include "platform/platform.h"

namespace fastcp {

struct Attribute {
  std::string name, value;
};
using Attributes = std::vector<Attribute>;

/** Reads the attributes of an open entry of SRC. Returns false if that fails, which is reported. */
bool read_attributes(Engine& engine, const Directory& directory, Names names,
                     const platform::Handle& src, Attributes& out);

/** The effects of attributes on an entry of DEST. */
struct Given {
  bool list_set = false;      // SRC's ACL was set
  bool mode_changed = false;  // by an ACL that was set or removed, or before that
  bool lost_list = false;     // SRC has an ACL that DEST does not
  bool kept_list = false;     // DEST's own ACL stays, because it cannot be removed or replaced
  uint32_t group = 0;         // with lost_list: the rights of the owning group in that ACL
  bool told_acls = false, told_xattrs = false;  // the entry was counted among those that lost some
};

/** Sets attributes on a new copy. Returns false on failure, which is reported. */
bool give_attributes(Engine& engine, const Directory& directory, Names names,
                     const Attributes& attributes, const platform::Handle& dst, Given& given);

/**
 * The attributes to remove from an existing entry of DEST, and to set on it, so that it has exactly
 * the wanted ones.
 */
struct AttributeChanges {
  Attributes extra, lacking;

  [[nodiscard]] bool has_access_list() const;
};

/**
 * Compares an entry of DEST with the wanted attributes. Attributes that security modules and file
 * systems set by themselves are not extra. Returns false if the attributes cannot be read, which is
 * reported.
 */
bool find_changes(Engine& engine, const Directory& directory, Names names,
                  const Attributes& attributes, const platform::Handle& dst, AttributeChanges& out);

/** Makes these changes, so that the entry has `attributes`. Returns false on failure, which is reported. */
bool make_changes(Engine& engine, const Directory& directory, Names names,
                  const AttributeChanges& changes, const Attributes& attributes,
                  const platform::Handle& dst, Given& given);

/** Returns whether DEST's entry has exactly the wanted attributes, those of SRC's; false if they cannot be read. */
bool has_wanted_attributes(Engine& engine, const Directory& directory, Names names);
/** The same for another place of the copy. */
bool has_wanted_attributes(Engine& engine, const Directory& directory, Names names,
                           const platform::Handle& parent, const char* name);
bool has_wanted_attributes(Engine& engine, const Directory& directory, Names names,
                           const platform::Handle& src, const platform::Handle& dst);

/** Returns whether entries of that kind may be opened for their attributes: a program may wait for a reader of a FIFO. */
inline bool may_open(platform::Kind kind) {
  return !platform::wakes_writers || kind != platform::Kind::fifo;
}

/** Returns whether an ACL is among the attributes. */
bool has_acl(const Attributes& attributes);

/**
 * Removes the ACL that a new entry inherited from DEST's default ACL. Returns 0 or a negative
 * errno.
 */
int remove_inherited_acls(const platform::Handle& dst, platform::Kind kind);

/** Returns whether new entries in this directory of DEST get an ACL. */
bool has_default_list(const platform::Handle& dst);

/** Returns whether an entry of DEST has an access ACL. */
bool has_access_list(const platform::Handle& dst);

}  // namespace fastcp
