#include "engine/entry/foreign_rules.h"

#include <cerrno>
#include <string>

#include "engine/base/link_target.h"
#include "engine/entry/symlinks.h"

namespace fastcp {
namespace {

using platform::Follow;
using platform::Kind;
using platform::LinkKind;
using platform::Stat;

/** Returns the operation in the error if an entry of that kind is not copied. */
const char* refused_kind(Kind kind) {
  switch (kind) {
    case Kind::fifo: return kFifo;
    case Kind::socket: return kSocket;
    case Kind::unknown: return kUnknown;
    default: return nullptr;
  }
}

/** Applies the rules to a symlink that would replace a symlink. */
bool refuses_symlink(Worker& worker, const Directory& directory, Names names) {
  const Compatibility& rules = worker.engine.options.compatibility;
  const auto fail = [&](int error, const char* operation) {
    return !worker.fail(directory, names, error, operation);
  };
  std::string made;
  std::string there;
  LinkKind kind{};
  if (read_link_target(directory.src(), names.src, made, kind) < 0 ||
      read_link_target(directory.dst(), names.dst, there, kind) < 0) {
    return false;
  }
  const bool is_same_text = made == there;
  const std::string& here = rules.working_directory;
  made =
      resolve(rules.absolute_symlinks ? directory_of(directory.src_path(names.src)) : here, made);
  there =
      resolve(rules.like == Like::node ? directory_of(directory.dst_path(names.dst)) : here, there);
  if (is_same_text || made == there) return false;
  if (rules.like == Like::node) {
    Stat target;
    const int error = platform::stat_entry(directory.src(), names.src, target, Follow::yes);
    if (error < 0) return fail(error, "stat");
    if (target.kind != Kind::directory) return false;
  }
  if (is_below(there, made)) return fail(EINVAL, kAboveOld);
  return is_below(made, there) && fail(EINVAL, kSubdirectory);
}

}  // namespace

bool refuse_by_foreign_rules(Worker& worker, const Directory& directory, Names names, Kind kind) {
  const Options& options = worker.engine.options;
  if (options.compatibility.like == Like::fastcp) return false;
  const auto fail = [&](int error, const char* operation) {
    return !worker.fail(directory, names, error, operation);
  };
  const char* const refusal = refused_kind(kind);
  const Follow follow = options.traversal.follow();
  Stat there;
  if (directory.filling.fresh ||
      platform::stat_entry(directory.dst(), names.dst, there, follow) < 0)
    return refusal != nullptr && fail(EINVAL, refusal);
  Stat src;
  if (platform::stat_entry(directory.src(), names.src, src, follow) == 0 &&
      is_same_entry(src, there)) {
    return fail(EINVAL, kSameEntry);
  }
  if (there.kind == Kind::directory) return fail(EISDIR, kRefused);
  if (refusal != nullptr) return fail(EINVAL, refusal);
  if (kind != Kind::symlink) return false;
  if (there.kind != Kind::symlink) return fail(EEXIST, "symlink");
  return options.existing.force && refuses_symlink(worker, directory, names);
}

bool refuses_directory(const Options& options) {
  return options.compatibility.like == Like::node && options.existing.error_on_exist &&
         !options.existing.force;
}

bool is_read_as_file(const Compatibility& compatibility, Kind kind) {
  return compatibility.like != Like::fastcp &&
         (kind == Kind::character_device || kind == Kind::block_device);
}

}  // namespace fastcp
