/** Follows a path as the system does, one name after another. The engine does the same in conflict.cc. */
import { directoryOf, fromSystem, isAbsolute, join, namesFrom, rootOf } from './paths.js';
import { readlink, type Steps } from './steps.js';

/** As many symlinks as Linux follows. */
const most = 40;

/** Returns each entry that the system meets when it follows a path, symlinks included, by a path without symlinks. */
export function* entriesOnTheWay(path: Buffer): Steps<Buffer[]> {
  const found: Buffer[] = [];
  let at = rootOf(path);
  const rest = namesFrom(at, path);
  for (let links = 0; rest.length > 0 && links <= most; ) {
    const name = rest.shift() as Buffer;
    const text = name.toString('latin1');
    if (text === '.') continue;
    if (text === '..') {
      at = directoryOf(at);
      continue;
    }
    const entry = join(at, name);
    found.push(entry);
    const target = yield* linkTarget(entry);
    if (target) {
      links++;
      // On Windows `/directory` is on the drive of the symlink.
      if (isAbsolute(target)) at = rootOf(rootOf(target).length > 1 ? target : at);
      rest.unshift(...namesFrom(rootOf(target), target));
    } else {
      at = entry;
    }
  }
  return found;
}

function* linkTarget(path: Buffer): Steps<Buffer | undefined> {
  try {
    return fromSystem(yield* readlink(path));
  } catch {
    return undefined;
  }
}
