#include "engine/tree/shard.h"

namespace fastcp {
namespace {

constexpr uint64_t kBasis = 0xcbf29ce484222325;

/** FNV-1a */
uint64_t add(uint64_t hash, const char* text) {
  for (; *text != 0; text++) hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3;
  return hash;
}

/** The last step of MurmurHash3, because the low bits of FNV-1a alone are not random enough. */
uint64_t mix(uint64_t hash) {
  hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccd;
  hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53;
  return hash ^ hash >> 33;
}

}  // namespace

uint64_t path_hash(const Directory& directory, const char* name) {
  return directory.is_base() ? kBasis : add(add(directory.filling.path_hash, "/"), name);
}

bool is_mine(const Traversal& traversal, const Directory& directory, const char* name) {
  if (traversal.shards <= 1) return true;
  // Divides by directory, so that few shards create the same one. The widest directories are
  // divided, because one could outweigh a whole shard.
  constexpr uint64_t kSlices = 16;
  const uint64_t own = mix(add(kBasis, name));
  const uint64_t slice = directory.is_base() ? own : own % kSlices;
  const uint64_t hash = mix(directory.filling.path_hash + slice * 0x9e3779b97f4a7c15);
  return hash % traversal.shards == traversal.shard;
}

}  // namespace fastcp
