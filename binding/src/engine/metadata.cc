#include "metadata.h"

namespace fastcp {

using platform::kPermissions;
using platform::kSetGid;
using platform::kSetUid;

uint32_t final_mode(const platform::Stat& src, const platform::Stat& dst) {
  uint32_t mode = src.mode;
  if (src.uid != dst.uid) mode &= ~kSetUid;
  if (src.gid != dst.gid) mode &= ~kSetGid;
  return mode;
}

uint32_t folder_creation_mode(const platform::Stat& src) {
  return (src.mode & (kPermissions | platform::kSticky)) | kOwner;
}

void settle_folder_mode(Folder& folder, uint32_t passing_bits) {
  const uint32_t mode = final_mode(folder.src_stat, folder.dst_stat);
  if (folder.dst_stat.mode != mode) folder.owed_mode = mode;
  folder.passing_bits = passing_bits & kPermissions;
}

int settle_file_mode(Folder& folder, const platform::Stat& src, const platform::Handle& dst,
                     const char*& operation) {
  const uint32_t passing = folder.passing_bits.load(std::memory_order_relaxed);
  if ((src.mode & ~passing) == 0) return 0;

  platform::Stat made;
  operation = "fstat";
  if (const int error = platform::stat_handle(dst, made); error < 0) return error;
  // The base stands for several folders, so nothing is learned there.
  if (!folder.is_base()) {
    folder.passing_bits.fetch_or(made.mode & src.mode & kPermissions, std::memory_order_relaxed);
  }
  const uint32_t mode = final_mode(src, made);
  operation = "fchmod";
  return made.mode == mode ? 0 : platform::set_file_mode(dst, mode);
}

}  // namespace fastcp
