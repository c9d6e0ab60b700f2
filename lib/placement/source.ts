/** Finds out what SRC is. */

import type { BigIntStats } from 'node:fs';
import { archiveIn } from '../errors/advice.js';
import { invalidValue, named } from '../errors/arguments.js';
import { reasons } from '../errors/copy-error.js';
import { asCopyError, isMissing } from '../errors/from-node.js';
import type { Looks } from '../io/looks.js';
import { baseName, type ShownPaths, trimSlashes } from '../paths.js';
import type { EntryKind } from '../types.js';
import { namesDescriptor, openedPath } from './descriptor.js';

/** Returns SRC itself, or the path of the open file descriptor that it names. */
export function findSource(
  src: Buffer,
  follow: boolean,
  shown: ShownPaths,
  looks: Looks,
): { src: Buffer; found: BigIntStats } {
  const found = statSource(src, follow, shown.src(src), looks);
  if (found.isFile() || found.isDirectory() || !namesDescriptor(src, follow, looks))
    return { src, found };
  const opened = openedPath(src, shown.src(src), looks);
  return { src: opened, found: looks.statEntry(opened, false, shown.src(src)) };
}

function statSource(src: Buffer, follow: boolean, path: string, looks: Looks): BigIntStats {
  try {
    return looks.stat(src, follow);
  } catch (error) {
    const why = isMissing(error) ? whyMissing(src, path, looks) : undefined;
    throw asCopyError(error, path, why);
  }
}

/** Says more about a SRC that does not exist. */
function whyMissing(src: Buffer, path: string, looks: Looks): string | undefined {
  if (looks.isDangling(trimSlashes(src))) return reasons.dangling;
  const archive = archiveIn(src.toString('latin1'));
  if (archive && looks.existing(Buffer.from(archive, 'latin1'), true)?.isFile())
    return reasons.archive;
  const [, above = './', glob] = /^([^*?[{]*\/)?([^/]*[*?[{].*)$/s.exec(path) ?? [];
  return glob && `it is not read as a glob: use ${named('include', glob)} with SRC '${above}'`;
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
export function nameOf(src: Buffer, shown: ShownPaths, looks: Looks): Buffer {
  const name = baseName(src);
  if (!['', '.', '..'].includes(name.toString())) return name;
  const real = baseName(looks.realpath(src));
  if (real.length > 0) return real;
  throw invalidValue('src', 'a path with a name, to be copied into a directory', shown.src(src));
}
