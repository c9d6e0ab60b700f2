/** Finds out whether two names that differ in the case of letters are one name. Some file systems ignore case. */
import { isAppendOnly } from '../bridge/native.js';
import { mkdirOwn, rmdir, type Steps, stat } from '../io/steps.js';
import { join, temporaryName } from '../paths.js';

/** Returns text that is equal for names that differ only in the case of ASCII letters. */
export function spellingOf(name: Buffer): string {
  return name.toString('latin1').replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** Returns whether two names are one in new directories within `parent`. Tries it in a temporary directory. */
export function* areOneName(parent: Buffer, one: Buffer, other: Buffer): Steps<boolean> {
  if (isAppendOnly(parent)) return false; // the directory would stay, and neither can replace the other
  const room = join(parent, temporaryName());
  if (!(yield* succeeds(mkdirOwn(room)))) return false; // the copy reports that
  const isMade = yield* succeeds(mkdirOwn(join(room, one)));
  const isOne = isMade && (yield* succeeds(stat(join(room, other), false)));
  for (const path of isMade ? [join(room, one), room] : [room]) yield* succeeds(rmdir(path));
  return isOne;
}

function* succeeds(steps: Steps<unknown>): Steps<boolean> {
  try {
    yield* steps;
    return true;
  } catch {
    return false;
  }
}
