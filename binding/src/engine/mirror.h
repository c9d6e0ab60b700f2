// What DEST has and SRC does not: found while a folder is listed, and removed before its entries are
// copied.
//
//   list both ends ── no host: remove what is extra, copy the rest
//                  └─ ask the host about both (questions.cc): what it leaves alone stays
//
//   RemoveFolderTask ─> a doomed Folder: both ends are DEST's; its entries are removed, and it itself
//                       when its last use ends; then SRC's entry of that name is copied, if there is one
#pragma once

#include <string>
#include <vector>

#include "engine.h"

namespace fastcp {

/** Whether DEST may have something there that SRC has not. */
bool is_mirrored(const Engine& engine, const Folder& folder);

/**
 * Compares a folder's end in DEST with a whole listing of SRC, whose kinds are known. Reports what goes
 * wrong: then nothing is to be removed.
 */
bool list_extra(Worker& worker, const Folder& folder, const std::string& records,
                const std::string& kinds, std::vector<Extra>& out);

/** Removes one entry of DEST; a folder is pushed as a task. */
void remove_entry(Worker& worker, const FolderUse& folder, const char* name);

void remove_entries(Worker& worker, RemoveTask task);
void remove_folder(Worker& worker, RemoveFolderTask task);

/** The end of a doomed folder. */
void finish_removal(Engine& engine, Folder& folder);

/** Makes a folder of DEST let its owner in, where its mode keeps us out. False where it cannot. */
bool open_up(Engine& engine, Folder& folder);

/** Calls again where a folder of DEST had to be opened up for it. */
template <class Call>
int with_access(Engine& engine, Folder& folder, Call call) {
  // Another shard may close it again when it has done its part.
  constexpr int kTries = 64;
  int error = call();
  for (int i = 0; error == -EACCES && i < kTries && open_up(engine, folder); i++) error = call();
  return error;
}

}  // namespace fastcp
