// Sets the metadata of copies in this order: owner, attributes, mode, timestamps.
//
// A change of the owner clears setuid, setgid and capabilities. An ACL changes the mode. A mode without write permission
// forbids to set attributes. All steps but the last change timestamps. Called by entry/ and tree/, by any worker. One
// worker has an entry at a time, so no locks are needed.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/entry/attributes.h"
#include "engine/run/engine.h"

namespace fastcp {

class OpenFile;
struct Replaced;

/**
 * Sets the metadata of the source on a new file. If only the mode is preserved, a system call is
 * needed only in two cases: umask or a default ACL may have changed the mode, or the mode has
 * special bits. Returns false on failure, which is reported.
 */
bool settle_file(Engine& engine, OpenFile& file);

/** `replaced`: another entry has the name now. Every result but `yes` was reported. */
enum class Settled : uint8_t { yes, no, replaced };

/** Sets metadata on a symlink, FIFO or device that was created under the name `made`. */
Settled settle_other(Engine& engine, const Directory& directory, Names names,
                     const platform::Stat& src, const char* made);

/**
 * Does the same for an existing entry of DEST of any kind. Changes nothing if the entry is no
 * longer `present`.
 */
bool settle_present(Engine& engine, const Directory& directory, Names names,
                    const platform::Stat& src, const platform::Stat& present);

/** Sets the metadata of one entry. */
struct Settling {
  Engine& engine;
  const Directory& directory;
  Names names;
  const platform::Stat& src;
  const Attributes& attributes;
  const platform::Handle& dst;
  platform::Stat now;       // the copy's present state
  bool is_present = false;  // DEST had it before
  bool has_times = false;
  bool changes_attributes = false;     // only if is_present
  Given given{};                       // the effects of its attributes
  const Replaced* replaced = nullptr;  // see OpenFile
  bool has_lost_mode = false;
  bool is_beginning = false;             // a new directory, which is still to be filled
  std::optional<uint32_t> later_mode{};  // that it gets when it is full
  const uint32_t mode_before = now.mode;

  [[nodiscard]] bool lose(Loss loss, int error, const char* operation) const;

  bool lose_mode(int error);

  /**
   * Narrows the mode before the owner or ACL of an existing entry changes. Otherwise the entry
   * would meanwhile give access to users who have it neither before nor afterwards. If a later step fails, it stays narrow.
   */
  bool narrow();

  /** Sets everything in this order. Returns false on failure, which is reported. */
  bool settle();
  bool settle_access();

  /** Sets a user and SRC's group, and looks at them: some file systems report success and set nothing. */
  int set_owner(uint32_t uid);

  /**
   * Also sets the group alone: the user may set the group even if setting the owner is forbidden.
   */
  bool settle_owner();

  bool settle_attributes();

  bool settle_mode();

  /** Returns the permissions of the file that the copy replaces. With another group or ACL, the group gets no more than everybody. */
  [[nodiscard]] uint32_t mode_of_replaced() const;

  bool settle_times();
};

}  // namespace fastcp
