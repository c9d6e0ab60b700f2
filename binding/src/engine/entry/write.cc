#include "engine/entry/access.h"
#include "engine/entry/copy_entry.h"
#include "engine/entry/directory_end.h"
#include "engine/entry/hard_link.h"
#include "engine/entry/link_instead.h"
#include "engine/entry/settle.h"
#include "engine/entry/special.h"
#include "engine/entry/symlinks.h"
#include "engine/entry/trial.h"
#include "engine/entry/writers.h"

namespace fastcp {
namespace {

using platform::Kind;
using platform::Stat;

// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): nobody derives from it nor deletes it
class RealWriter final : public Writer {
 public:
  void copy(Worker& worker, const DirectoryUse& use, Names names, Kind kind,
            EntryTask& again) const override {
    switch (kind) {
      case Kind::file:
        return worker.engine.options.content.instead == Instead::copy
                   ? copy_file(worker, use, names, again)
                   : make_link_instead(worker, *use, names);
      case Kind::symlink: return copy_symlink(worker, use, names, again);
      default: return copy_special(worker, use, names, kind, again);
    }
  }

  bool link(Worker& worker, Directory& directory, Names names, Kind kind,
            const HardLinks::Place& copy, bool) const override {
    return link_to_copy(worker, directory, names, kind, copy);
  }

  bool can_create(Worker& worker, Directory& directory, Names names, Kind kind) const override {
    return fastcp::can_create(worker, directory, names, kind);
  }

  bool settle(Engine& engine, const Directory& directory, Names names, const Stat& src,
              const Stat& present) const override {
    return settle_present(engine, directory, names, src, present);
  }

  Trial try_metadata(Worker& worker, Directory& directory, Names names, const Stat& src,
                     const Stat& present) const override {
    return fastcp::try_metadata(worker, directory, names, src, present);
  }

  int make_directory(Engine& engine, Directory& parent, const char* name, uint32_t mode,
                     bool) const override {
    return with_access(engine, parent,
                       [&] { return platform::make_directory(parent.dst(), name, mode); });
  }

  void begin_directory(Engine& engine, Directory& directory) const override {
    fastcp::begin_directory(engine, directory);
    directory.due.end = end_of_copied_directory();
  }

  int open_up(const platform::Handle& directory, uint32_t mode) const override {
    return platform::set_directory_mode(directory, mode);
  }

  int remove_file(Engine& engine, Directory& directory, const char* name) const override {
    return with_access(engine, directory,
                       [&] { return platform::remove_file(directory.dst(), name); });
  }

  int remove_directory(Engine& engine, Directory& directory) const override {
    Directory& parent = directory.parent();
    return with_access(engine, parent, [&] {
      return platform::remove_directory(parent.dst(), directory.names().dst);
    });
  }
};

}  // namespace

const Writer& real_writer() {
  static constexpr RealWriter writer{};
  return writer;
}

}  // namespace fastcp
