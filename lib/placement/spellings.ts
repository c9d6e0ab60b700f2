/** Finds out whether two names that differ in the case of letters are one name. Some file systems ignore case. */
import { promises } from 'node:fs';
import { isAppendOnly } from '../bridge/native.js';
import { join, temporaryName, textOrBytes } from '../paths.js';

/** Returns text that is equal for names that differ only in the case of ASCII letters. */
export function spellingOf(name: Buffer): string {
  return name.toString('latin1').replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** Returns whether two names are one in new directories within `parent`. Tries it in a temporary directory. */
export async function areOneName(parent: Buffer, one: Buffer, other: Buffer): Promise<boolean> {
  if (isAppendOnly(parent)) return false; // the directory would stay, and neither can replace the other
  const room = join(parent, temporaryName());
  const made = [room, join(room, one)];
  try {
    for (const path of made) await promises.mkdir(textOrBytes(path), { mode: 0o700 });
    return await promises.lstat(join(room, other)).then(
      () => true,
      () => false,
    );
  } catch {
    return false; // the copy reports that
  } finally {
    for (const path of made.reverse()) await promises.rmdir(textOrBytes(path)).catch(() => {});
  }
}
