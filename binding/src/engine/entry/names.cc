#include "engine/entry/names.h"

#include <cerrno>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "engine/base/listing.h"

namespace fastcp {

using platform::Stat;

namespace {

/** Returns whether the listing of DEST's directory lacks exactly that name. */
bool lacks(const Directory& directory, const char* name) {
  bool found = false;
  const bool listed = list_names(directory.dst(), ".", [&](const char* entry) {
    found = std::strcmp(entry, name) == 0;
    return !found;
  });
  return listed && !found;
}

/** Returns a name with the case of its ASCII letters turned. */
std::string turned(std::string_view name) {
  std::string result(name);
  for (char& letter : result) {
    const int small = letter | 0x20;
    if (small >= 'a' && small <= 'z') letter = static_cast<char>(letter ^ 0x20);
  }
  return result;
}

/**
 * Counts the names of SRC's directory in small letters. `name` exists in DEST: if it does not with
 * the case turned, DEST tells the two apart, and nothing has to be counted.
 */
std::unordered_map<std::string, uint64_t> count_spellings(const Directory& directory,
                                                          const char* name) {
  std::unordered_map<std::string, uint64_t> counts;
  Stat stat;
  if (platform::stat_entry(directory.dst(), turned(name).c_str(), stat) == -ENOENT) return counts;
  list_names(directory.src(), ".", [&](std::string_view entry) {
    counts[in_small_letters(entry)]++;
    return true;
  });
  return counts;
}

/** Returns whether SRC has names that are equal to `name` but for the case of ASCII letters. */
bool has_twin(Directory& directory, const char* name) {
  DestFacts& dest = directory.dest();
  std::call_once(dest.spellings_counted,
                 [&] { dest.spellings = count_spellings(directory, name); });
  if (dest.spellings.empty()) return false;
  const auto found = dest.spellings.find(in_small_letters(name));
  return found != dest.spellings.end() && found->second > 1;
}

}  // namespace

std::string in_small_letters(std::string_view name) {
  std::string result(name);
  for (char& letter : result) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter | 0x20);
  }
  return result;
}

bool is_collision(Directory& directory, const char* name) {
  // An entry with another spelling may be older than the copy, unless SRC has both spellings.
  const bool may_be_others = !directory.filling.fresh || directory.dest().others_create;
  if (may_be_others && (directory.is_base() || !has_twin(directory, name))) return false;
  // A listing can miss a name while another copy renames its new file over that name, which then has another file.
  constexpr int kLooks = 100;
  for (int look = 0; look < kLooks; look++) {
    Stat before{}, after{};
    if (platform::stat_entry(directory.dst(), name, before) == -ENOENT) return false;
    if (!lacks(directory, name)) {
      directory.dest().others_create = true;
      return false;
    }
    if (platform::stat_entry(directory.dst(), name, after) == -ENOENT) return false;
    // The number of a freed inode may be used again.
    if (is_same_entry(before, after) && before.ctime == after.ctime) return true;
  }
  return true;  // the name changed at every look and was never listed; a collision loses no data
}

}  // namespace fastcp
