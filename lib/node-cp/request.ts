/** Converts a call of fs.cp or of fs-extra's copy to a request to the engine. */
import type { BigIntStats } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isPromise } from 'node:util/types';
import { isUrl } from '../builtins.js';
import { invalid } from '../errors/arguments.js';
import { type CopyError, reasons, refuse } from '../errors/copy-error.js';
import { errorOf } from '../errors/from-engine.js';
import { asCopyError } from '../errors/from-node.js';
import { isSame, type Looks } from '../io/looks.js';
import { absolute, endsInSlash, trimSlashes } from '../paths.js';
import { checkRequest } from '../request/options.js';
import type { Like, Request } from '../request/request.js';
import type { ErrorCode, PathLike } from '../types.js';

/** The options that fs.cp and fs-extra have in common, all given. */
export interface Rules {
  like: Exclude<Like, 'fastcp'>;
  recursive: boolean;
  dereference: boolean;
  errorOnExist: boolean;
  force: boolean;
  preserveTimestamps: boolean;
  verbatimSymlinks: boolean;
  /** Fails if a file cannot be cloned. */
  clone: boolean;
}

export function foreignRequest(src: PathLike, dest: PathLike, rules: Rules): Request {
  const { dereference, errorOnExist, force, preserveTimestamps, clone } = rules;
  const request = checkRequest(src, dest, {
    dereference,
    errorOnExist,
    force,
    preserve: preserveTimestamps ? ['mode', 'timestamps'] : ['mode'],
    reflink: clone ? 'always' : 'auto',
  });
  const [root = request.dest] = request.sources;
  return {
    ...request,
    shown: {
      src: shownBelow(request.shown.src, root),
      dest: shownBelow(request.shown.dest, request.dest),
    },
    existingDirectories: false,
    like: rules.like,
    workingDirectory: workingDirectory(),
    absoluteSymlinks: !rules.verbatimSymlinks,
  };
}

/** Returns a path in the form that filters get. pathBytes() has checked it. */
export function pathText(path: PathLike): string {
  return isUrl(path) ? fileURLToPath(path) : path.toString();
}

function workingDirectory(): Buffer {
  try {
    return absolute(Buffer.from('.'));
  } catch {
    return Buffer.alloc(0); // it was removed, and the paths are absolute
  }
}

/** Returns the named path as it was passed, and paths below as path.join() makes them. */
function shownBelow(show: (path: Buffer) => string, named: Buffer): (path: Buffer) => string {
  return (at) => (at.equals(named) ? show(at) : path.normalize(show(at)));
}

type Answer = boolean | Promise<boolean>;
export type PathFilter = (src: string, dest: string) => Answer;

/** Returns the user's filter, which takes two paths, for every entry below the named one. */
export function filterBelow(
  filter: PathFilter,
  src: PathLike,
  dest: PathLike,
): NonNullable<Request['filter']> {
  const [from, to] = [pathText(src), pathText(dest)];
  return (_src, _dest, entry) => filter(path.join(from, entry.path), path.join(to, entry.path));
}

/** Returns a filter that throws if the user's filter returns a promise. */
export function synchronous(filter: PathFilter): (src: string, dest: string) => boolean {
  return (src, dest) => {
    const answer = filter(src, dest);
    // As for Node, a thenable that is not a promise counts as true.
    if (!isPromise(answer)) return Boolean(answer);
    answer.catch(() => {}); // it was refused, so its result does not matter
    const message =
      'Expected boolean to be returned from the "filter" function but got an instance of Promise.';
    throw invalid(TypeError, 'ERR_INVALID_RETURN_VALUE', message);
  };
}

/** What was found at the two paths. */
export interface Found {
  src: BigIntStats;
  dest: BigIntStats | undefined;
  /** DEST ends in a slash, which requires a directory. */
  slash: boolean;
  from: string;
  to: string;
}

/**
 * Applies the rules of Node and fs-extra for the two paths, in the same order. The engine applies those for entries.
 */
export function checkEntries(request: Request, { recursive }: Rules, looks: Looks): Found {
  const slash = endsInSlash(request.dest);
  const { dereference, shown } = request;
  const to = shown.dest(request.dest);
  request.dest = trimSlashes(request.dest); // a slash does not mean "into" in fs.cp
  const { dest } = request;
  const [src = dest] = request.sources;
  const from = shown.src(src);
  const no = (code: ErrorCode, why: string): CopyError => refuse(code, why, from, to);

  const found = looks.statEntry(src, dereference, from);
  const there = statIfThere(dest, dereference || slash, to, looks);
  if (slash && there && !there.isDirectory()) {
    const operation = dereference ? 'stat' : 'lstat';
    throw errorOf({ errno: -constants.errno.ENOTDIR, operation }, to);
  }
  if (there && isSame(found, there)) throw no('ERR_FS_CP_EINVAL', reasons.same);
  if (there && found.isDirectory() && !there.isDirectory()) {
    throw no('ERR_FS_CP_DIR_TO_NON_DIR', 'the destination is not a directory');
  }
  if (there?.isDirectory() && !found.isDirectory()) {
    throw no('ERR_FS_CP_NON_DIR_TO_DIR', 'the destination is a directory');
  }
  // A symlink that somebody puts there later is not followed.
  request.followsDest = (dereference || slash) && Boolean(there?.isDirectory());
  if (found.isDirectory() && !recursive) {
    throw no('ERR_FS_EISDIR', 'the source is a directory, and recursive is not set');
  }
  return { src: found, dest: there, slash, from, to };
}

/** Throws the errors that Node's first mkdir, symlink or copyfile would. fs-extra's filter is asked before. */
export function checkBeginning(request: Request, found: Found, { like }: Rules): void {
  const { src, dest: there, slash, from, to } = found;
  if (slash && !there && !src.isDirectory()) {
    throw errorOf({ errno: -constants.errno.EISDIR, operation: 'copyfile' }, from, to);
  }
  if (there && src.isSymbolicLink() && !there.isSymbolicLink()) {
    throw errorOf({ errno: -constants.errno.EEXIST, operation: 'symlink' }, from, to);
  }
  const isError = like === 'node' && request.errorOnExist && !request.force;
  if (isError && there && src.isDirectory()) {
    throw refuse('ERR_FS_CP_EEXIST', 'the destination exists', from, to);
  }
}

/** Throws Node's error if something other than the entry is missing. */
function statIfThere(
  entry: Buffer,
  follow: boolean,
  shown: string,
  looks: Looks,
): BigIntStats | undefined {
  try {
    return looks.stat(entry, follow);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw asCopyError(error, shown);
  }
}
