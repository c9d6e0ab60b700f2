// Extended attributes, access control lists and capabilities among them: read from an entry of SRC,
// given to its copy.
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

/** What an open entry of SRC has. False, and reported, where it cannot be known. */
bool read_attributes(Engine& engine, const Directory& directory, Names names,
                     const platform::Handle& src, Attributes& out);

/** What became of an entry by its attributes. */
struct Given {
  bool mode_changed = false;  // by an access list that it got or lost
  bool lost_list = false;     // SRC has one, and DEST does not
  uint32_t group = 0;         // then: what the list grants to the owning group
};

/** Gives them to a new copy. False where that failed, and was reported. */
bool give_attributes(Engine& engine, const Directory& directory, Names names,
                     const Attributes& attributes, const platform::Handle& dst, Given& given);

/** What an entry that DEST has must lose and get, so that it has exactly the wanted attributes. */
struct AttributeChanges {
  Attributes extra, lacking;

  [[nodiscard]] bool has_access_list() const;
};

/**
 * Compares an entry of DEST with the wanted attributes. Attributes that security modules and file systems give
 * by themselves are not extra. False if they cannot be read, which is reported.
 */
bool find_changes(Engine& engine, const Directory& directory, Names names,
                  const Attributes& attributes, const platform::Handle& dst, AttributeChanges& out);

/** Makes these changes. False where that failed, and was reported. */
bool make_changes(Engine& engine, const Directory& directory, Names names,
                  const AttributeChanges& changes, const platform::Handle& dst, Given& given);

/** Returns whether an existing entry of DEST has exactly the wanted attributes; false if they cannot be read. */
bool has_wanted_attributes(Engine& engine, const Directory& directory, Names names);

/** Whether entries that DEST has are to have certain attributes: SRC's, or none. */
inline bool wants_attributes(const Preserve& keep) {
  return keep.xattrs || keep.remove_existing_attributes;
}

/** Whether an access control list is among them. */
bool has_acl(const Attributes& attributes);

/** Takes away what DEST's default access list has given to a new entry. 0 or a negative errno. */
int remove_inherited_acls(const platform::Handle& dst, platform::Kind kind);

/** Whether what is made in this directory of DEST gets an access list. */
bool has_default_list(const platform::Handle& dst);

}  // namespace fastcp
