#include "engine/entry/special.h"

#include <utility>

#include "engine/entry/access.h"
#include "engine/entry/create_at_once.h"
#include "engine/entry/foreign_rules.h"
#include "engine/entry/hard_link.h"
#include "engine/entry/metadata.h"

namespace fastcp {

using platform::Kind;
using platform::Stat;

void copy_special(Worker& worker, const DirectoryUse& use, Names names, Kind kind,
                  EntryTask& again) {
  Directory& directory = *use;
  const Options& options = worker.engine.options;
  Stat stat;
  if (!stat_source(worker, directory, names, stat)) return;
  HardLinks::Claim claim;
  if (!claim_or_link(worker, use, names, stat, claim, again)) return;
  if (is_read_as_file(options.compatibility, kind)) {
    stat.kind = kind = Kind::file;
    stat.rdev = 0;
  }
  const uint32_t mode = file_creation_mode(options.preserve, directory, stat, {},
                                           expects_owner(options.preserve, directory, stat));
  const bool made = create_at_once(
      worker, directory, names, kind, "mknod",
      [&](const char* name) {
        platform::Handle file;
        return kind == Kind::file ? platform::create_file(directory.dst(), name, mode, file)
                                  : platform::make_special(directory.dst(), name, stat, mode);
      },
      [&](const char* name) { return settle_other(worker.engine, directory, names, stat, name); });
  if (!made) return;
  worker.count(kind == Kind::file ? Count::files : Count::special);
  end_claim(worker, directory, names, std::move(claim));
}

}  // namespace fastcp
