/**
 * Finds out whether two spellings are one name. Some file systems ignore the case of names, or the form of Unicode in
 * which they are written.
 */
import { isAppendOnly } from '../engine/native.js';
import { baseName, directoryOf, isRoot, join, temporaryName } from './paths.js';
import { list, mkdirOwn, realpath, rmdir, type Steps, stat } from './steps.js';

/**
 * Returns whether two real paths of existing entries are one entry's, in two spellings. Some file systems that ignore
 * case give each spelling an inode number of its own (exfat-fuse). They list only one of the two.
 */
export function* isRespelled(one: Buffer, other: Buffer): Steps<boolean> {
  if (one.equals(other)) return true;
  if (folded(one) !== folded(other)) return false;
  if (isRoot(one)) return true; // a drive of Windows
  const above = directoryOf(one);
  if (!(yield* isRespelled(above, directoryOf(other)))) return false;
  const names = [baseName(one), baseName(other)] as const;
  return names[0].equals(names[1]) || !(yield* lists(above, names));
}

/**
 * Returns names that lead down from `directory` as the walk will list them. DEST may be named in another spelling, if
 * the file system ignores case.
 */
export function* asListed(directory: Buffer, names: readonly Buffer[]): Steps<Buffer[]> {
  const found: Buffer[] = [];
  for (const name of names) {
    const listed = (yield* listOrNothing(found.reduce(join, directory))) ?? [];
    const isName = (other: Buffer): boolean => folded(other) === folded(name);
    found.push(listed.find((other) => other.equals(name)) ?? listed.find(isName) ?? name);
  }
  return found;
}

/** Returns text that is equal for all spellings of a path on file systems that ignore case or the form of Unicode. */
export function folded(path: Buffer): string {
  return path.toString().normalize('NFC').toLowerCase();
}

/** Returns whether a directory lists all names, or cannot be listed. */
function* lists(directory: Buffer, names: readonly Buffer[]): Steps<boolean> {
  const listed = yield* listOrNothing(directory);
  return !listed || names.every((name) => listed.some((entry) => entry.equals(name)));
}

/** Returns the names in a directory, or undefined if it cannot be listed. */
function* listOrNothing(directory: Buffer): Steps<Buffer[] | undefined> {
  try {
    return yield* list(directory);
  } catch {
    return undefined;
  }
}

/** Returns text that is equal for all names that may be one on some file system. FAT drops dots and spaces at the end. */
export function spellingOf(name: Buffer): string {
  return folded(name)
    .normalize('NFKD')
    .toUpperCase()
    .replace(/[. ]+$/, '');
}

/** Returns whether two paths lead to one entry. Creates nothing. */
export function* leadToOne(one: Buffer, other: Buffer): Steps<boolean> {
  try {
    return yield* isRespelled(yield* realpath(one), yield* realpath(other));
  } catch {
    return false;
  }
}

/** Returns whether two names are one in new directories within `parent`. Tries it in a temporary directory. */
export function* areOneName(
  parent: Buffer,
  [one, other]: readonly [Buffer, Buffer],
): Steps<boolean> {
  // Nothing that is created there can be removed. Nor can the second source replace the first.
  if (isAppendOnly(parent)) return false;
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
