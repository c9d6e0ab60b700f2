/** Where the walk begins: what SRC is, where it lands, and whether that makes sense. */
import * as fs from 'node:fs';
import { promisify } from 'node:util';
import { CopyError, invalidValue, refuse } from './errors.js';
import type { NativeRoot } from './native.js';
import type { Request } from './options.js';
import { baseName, endsInSlash, folderOf, isAbsolute, join, trimSlashes } from './paths.js';

// Not fs/promises: loading it takes longer than copying a small tree.
const lstat = promisify(fs.lstat);
const mkdir = promisify(fs.mkdir);
const stat = promisify(fs.stat);
const realpath = (path: Buffer): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    fs.realpath.native(path, 'buffer', (error, real) => (error ? reject(error) : resolve(real)));
  });

/** Paths as the user would write them, for messages. */
export interface Shown {
  src(path: Buffer): string;
  dest(path: Buffer): string;
}

export interface Root extends NativeRoot {
  isFolder: boolean;
}

export interface Walk {
  roots: Root[];
  /** The roots land in DEST by their names, not at its own path. */
  into: boolean;
  shown: Shown;
}

/**
 * Finds what is to be copied. Everything that makes the copy as a whole impossible is refused before
 * anything is made: a missing SRC, DEST within SRC or SRC itself.
 */
export async function findRoots(request: Request): Promise<Walk> {
  const { sources, several, dest } = request;
  const cwd = Buffer.from(process.cwd());
  const shown: Shown = {
    src: shownFrom(cwd, sources),
    dest: shownFrom(cwd, [dest]),
  };
  const into = several || endsInSlash(dest);

  const roots: Root[] = [];
  for (const source of sources) {
    const src = absolute(source);
    const followSrc = endsInSlash(src) || request.dereference;
    const found = await statEntry(src, followSrc, shown.src(src));
    const target = into ? join(absolute(dest), await nameOf(src)) : absolute(dest);
    if (roots.some((root) => root.dest.equals(target))) {
      throw invalidValue('src', 'paths with different last names', shown.dest(target));
    }
    // A link put in the place of what it leads to would be all that is left.
    const leadsTo = found.isSymbolicLink() ? await existing(src, true) : undefined;
    for (const subject of leadsTo?.isFile() ? [found, leadsTo] : [found]) {
      await refuseIntoItself(subject, target, shown.src(src), shown.dest(target));
    }
    roots.push({ src, dest: target, followSrc, scope: 0, isFolder: found.isDirectory() });
  }
  return { roots, into, shown };
}

function absolute(path: Buffer): Buffer {
  return isAbsolute(path) ? path : join(Buffer.from(process.cwd()), path);
}

/** Takes off what made a relative path absolute. */
function shownFrom(cwd: Buffer, given: Buffer[]): (path: Buffer) => string {
  const prefix = join(cwd, Buffer.alloc(0));
  const strip = given.some((path) => !isAbsolute(path));
  return (path) =>
    (strip && path.subarray(0, prefix.length).equals(prefix)
      ? path.subarray(prefix.length)
      : path
    ).toString();
}

async function statEntry(path: Buffer, follow: boolean, shown: string): Promise<fs.BigIntStats> {
  try {
    return await (follow ? stat : lstat)(path, { bigint: true });
  } catch (error) {
    throw rename(error, shown);
  }
}

/** Node's own error as ours, with the path as it was given. */
function rename(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  const { code, errno, syscall } = error as NodeJS.ErrnoException;
  const [text = ''] = error.message.split(', ');
  const fields = { path, ...(errno && { errno }), ...(syscall && { syscall }) };
  return new CopyError(String(code), `${text}, ${syscall} '${path}'`, fields);
}

function isMissing(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** The name under which SRC goes into DEST. */
async function nameOf(src: Buffer): Promise<Buffer> {
  const name = baseName(src);
  if (!['', '.', '..'].includes(name.toString())) return name;
  const real = baseName(await realpath(src));
  if (real.length > 0) return real;
  throw invalidValue('src', 'a path with a name, to be copied into a folder', src.toString());
}

function isSame(a: fs.BigIntStats, b: fs.BigIntStats): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}

/** Compares identities, not names: links and bind mounts lead to the same folder by other ways. */
async function refuseIntoItself(
  src: fs.BigIntStats,
  target: Buffer,
  srcPath: string,
  destPath: string,
): Promise<void> {
  const isFolder = src.isDirectory();
  const there = await existing(target, isFolder);
  if (there && isSame(src, there)) {
    throw refuse('ERR_FS_CP_EINVAL', 'src and dest are the same', srcPath, destPath);
  }
  if (!isFolder) return;
  let above: Buffer = there ? target : folderOf(target);
  while (!(await existing(above, true))) above = folderOf(above);
  for (let at: Buffer = await realpath(above); ; at = folderOf(at)) {
    if (isSame(src, await stat(at, { bigint: true }))) {
      throw refuse('ERR_FS_CP_EINVAL', 'cannot copy a folder into itself', srcPath, destPath);
    }
    if (at.length === 1) return;
  }
}

async function existing(path: Buffer, follow: boolean): Promise<fs.BigIntStats | undefined> {
  try {
    return await (follow ? stat : lstat)(path, { bigint: true });
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw rename(error, path.toString());
  }
}

/**
 * Makes missing parents of DEST. A folder named by a slash, or for several sources, is made itself;
 * those above it if asked.
 */
export async function makeParents({ into, shown }: Walk, request: Request): Promise<void> {
  const { parents, dryRun } = request;
  const dest = absolute(trimSlashes(request.dest));
  const parent = folderOf(dest);
  const needed = into ? dest : parent;
  const found = await existing(needed, true);
  if (found?.isDirectory()) return;
  if (found) {
    const why = 'cannot overwrite a non-folder with a folder';
    throw refuse('ERR_FS_CP_DIR_TO_NON_DIR', why, shown.dest(needed));
  }
  if (!parents && !(await existing(parent, true))) {
    throw refuse('ENOENT', 'the parent folder of the destination is missing', shown.dest(parent));
  }
  if (dryRun) return;
  try {
    await mkdir(needed, { recursive: parents });
  } catch (error) {
    throw rename(error, shown.dest(needed));
  }
}
