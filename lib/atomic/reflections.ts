/** Finds directories of the old DEST that a mount shows in SRC: their removal would empty SRC. */
import { promises } from 'node:fs';
import { isAppendOnly } from '../engine/native.js';
import { refuse } from '../errors.js';
import { Access } from '../walk/access.js';
import { join, showPath, temporaryName, textOrBytes } from '../walk/paths.js';
import { list, mkdirOwn, rmdir, run } from '../walk/steps.js';
import { existing, type Root, rename, type Walk } from '../walk/walk.js';

/** Directories that are looked at at the same time. */
const atOnce = 16;

/** A directory of SRC that may show one of DEST, and the names in it. */
interface Reflection {
  path: Buffer;
  names: ReadonlySet<string>;
}

/**
 * Rejects with `ERR_FASTCP_DEST_PROTECTED` if one of `walk.reflections` shows a directory of DEST. If all names of one
 * directory are in the other, too, creates a temporary directory in DEST's, and looks for it in the reflection. This changes the mtime.
 */
export async function refuseReflected(
  root: Root,
  target: Buffer,
  walk: Walk,
  signal?: AbortSignal,
): Promise<void> {
  const reflections = await Promise.all((walk.reflections ?? []).map(readReflection));
  const filled = reflections.filter(({ names }) => names.size > 0);
  if (filled.length === 0) return;
  const waiting = [target];
  const access = new Access(); // kept to the end, because the entries of directories below are looked at later
  try {
    while (waiting.length > 0) {
      signal?.throwIfAborted();
      const looks = await Promise.allSettled(waiting.splice(-atOnce).map(look));
      for (const one of looks) if (one.status === 'rejected') throw one.reason;
    }
  } finally {
    await access.giveBack();
  }

  async function look(directory: Buffer): Promise<void> {
    const entries = await access
      .to(directory, () =>
        promises.readdir(textOrBytes(directory), { encoding: 'buffer', withFileTypes: true }),
      )
      .catch(() => []); // no directory, or nothing in it can be removed
    if (entries.length === 0) return;
    for (const entry of entries) if (entry.isDirectory()) waiting.push(join(directory, entry.name));
    const names = namesOf(entries.map(({ name }) => name));
    const alike = filled.filter((one) => isPart(names, one.names) || isPart(one.names, names));
    const reflection = alike.length > 0 && (await findNew(directory, alike, access));
    if (!reflection) return;
    const { src, dest } = walk.shown;
    const why = `by a mount '${src(reflection.path)}' is also '${showPath(directory)}', which would be deleted; unmount it`;
    throw refuse('ERR_FASTCP_DEST_PROTECTED', why, src(root.src), dest(root.dest));
  }
}

async function readReflection(path: Buffer): Promise<Reflection> {
  const names = await run(list(path)).catch(() => []);
  return { path, names: namesOf(names) };
}

function namesOf(names: readonly Buffer[]): ReadonlySet<string> {
  return new Set(names.map((name) => name.toString('latin1')));
}

/** A mount may hide entries, or show more than those of one directory. */
function isPart(few: ReadonlySet<string>, many: ReadonlySet<string>): boolean {
  if (few.size > many.size) return false;
  for (const name of few) if (!many.has(name)) return false;
  return true;
}

/** Returns the one in which a new entry of a directory appears. */
async function findNew(
  directory: Buffer,
  reflections: readonly Reflection[],
  access: Access,
): Promise<Reflection | undefined> {
  if (isAppendOnly(directory)) return undefined; // the entry would stay, as all others will
  const name = temporaryName();
  const probe = join(directory, name);
  try {
    await access.to(directory, () => run(mkdirOwn(probe)));
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['EACCES', 'EPERM', 'EROFS'].includes(code)) return undefined; // then nothing there can be removed either
    throw rename(error, showPath(directory));
  }
  try {
    for (const one of reflections)
      if (await run(existing(join(one.path, name), false)).catch(() => undefined)) return one;
    return undefined;
  } finally {
    await run(rmdir(probe));
  }
}
