/** Finds out what SRC is. */

import type { BigIntStats } from 'node:fs';
import { archiveIn } from '../errors/advice.js';
import { invalidValue } from '../errors/arguments.js';
import { reasons } from '../errors/copy-error.js';
import { asCopyError, isMissing } from '../errors/from-node.js';
import { existing, isDangling, statEntry } from '../io/look.js';
import { list, realpath, type Steps, stat } from '../io/steps.js';
import { baseName, directoryOf, join, type ShownPaths, showPath, trimSlashes } from '../paths.js';
import type { EntryKind } from '../types.js';
import { namesDescriptor, openedPath } from './descriptor.js';

/** Returns SRC itself, or the path of the open file descriptor that it names. */
export function* findSource(
  src: Buffer,
  follow: boolean,
  shown: ShownPaths,
): Steps<{ src: Buffer; found: BigIntStats }> {
  const found = yield* statSource(src, follow, shown.src(src));
  if (found.isFile() || found.isDirectory() || !(yield* namesDescriptor(src, follow)))
    return { src, found };
  const opened = yield* openedPath(src, shown.src(src));
  return { src: opened, found: yield* statEntry(opened, false, shown.src(src)) };
}

function* statSource(src: Buffer, follow: boolean, path: string): Steps<BigIntStats> {
  try {
    return yield* stat(src, follow);
  } catch (error) {
    const why = isMissing(error)
      ? ((yield* whyMissing(src, path)) ?? (yield* movedAway(src)))
      : undefined;
    throw asCopyError(error, path, why);
  }
}

/** An atomic copy in two steps that is killed between them leaves no DEST. Says where that is. */
function* movedAway(path: Buffer): Steps<string | undefined> {
  const directory = directoryOf(path);
  const start = `.${baseName(path).toString('latin1')}.fastcp-`;
  const isOld = (name: string): boolean =>
    name.startsWith(start) && /^[0-9a-f]{16}\.old$/.test(name.slice(start.length));
  try {
    const names = yield* list(directory);
    const found = names.find((name) => isOld(name.toString('latin1')));
    return (
      found &&
      `its replacement was interrupted; '${showPath(join(directory, found))}' is the old tree`
    );
  } catch {} // then nothing is known about it
  return undefined;
}

/** Says more about a SRC that does not exist. */
function* whyMissing(src: Buffer, path: string): Steps<string | undefined> {
  if (yield* isDangling(trimSlashes(src))) return reasons.dangling;
  const archive = archiveIn(src.toString('latin1'));
  if (archive && (yield* existing(Buffer.from(archive, 'latin1'), true))?.isFile())
    return reasons.archive;
  const [, above = './', glob] = /^([^*?[{]*\/)?([^/]*[*?[{].*)$/s.exec(path) ?? [];
  return glob && `it is not read as a glob: use include: '${glob}' with SRC '${above}'`;
}

export function kindOf(stat: BigIntStats): EntryKind {
  if (stat.isDirectory()) return 'directory';
  if (stat.isSymbolicLink()) return 'symlink';
  if (stat.isFIFO()) return 'fifo';
  if (stat.isCharacterDevice()) return 'characterDevice';
  if (stat.isBlockDevice()) return 'blockDevice';
  return stat.isSocket() ? 'socket' : 'file';
}

/** Returns the name of SRC in DEST. */
export function* nameOf(src: Buffer, shown: ShownPaths): Steps<Buffer> {
  const name = baseName(src);
  if (!['', '.', '..'].includes(name.toString())) return name;
  const real = baseName(yield* realpath(src));
  if (real.length > 0) return real;
  throw invalidValue('src', 'a path with a name, to be copied into a directory', shown.src(src));
}
