/** Converts a call of fs.cp to a request to the engine. */
import { constants } from 'node:fs';
import { constants as osConstants } from 'node:os';
import path from 'node:path';
import { isPromise } from 'node:util/types';
import { errorOf, invalid, refuse } from '../errors.js';
import { checkRequest, type Request } from '../request/options.js';
import type { PathLike } from '../types.js';
import { endsInSlash, trimSlashes } from '../walk/paths.js';
import type { Steps } from '../walk/steps.js';
import { existing, findRoots, statEntry } from '../walk/walk.js';
import { type Options, pathText } from './options.js';

export function nodeRequest(src: PathLike, dest: PathLike, options: Options): Request {
  const { dereference, errorOnExist, force, mode, preserveTimestamps } = options;
  const clone = (mode & constants.COPYFILE_FICLONE_FORCE) !== 0;
  const request = checkRequest(src, dest, {
    dereference,
    errorOnExist,
    force,
    preserve: preserveTimestamps ? ['mode', 'timestamps'] : ['mode'],
    reflink: clone ? 'always' : 'auto',
  });
  return {
    ...request,
    existingDirectories: false,
    likeNode: true,
    absoluteSymlinks: !options.verbatimSymlinks,
  };
}

type Answer = boolean | Promise<boolean>;

/** Returns the user's filter, which takes two paths, for every entry below the named one. */
export function filterBelow(
  filter: (src: string, dest: string) => Answer,
  src: PathLike,
  dest: PathLike,
): NonNullable<Request['filter']> {
  const [from, to] = [pathText(src), pathText(dest)];
  return (_src, _dest, entry) => filter(path.join(from, entry.path), path.join(to, entry.path));
}

/** Returns a filter that throws if the user's filter returns a promise. */
export function synchronous(
  filter: (src: string, dest: string) => Answer,
): (src: string, dest: string) => boolean {
  return (src, dest) => {
    const answer = filter(src, dest);
    if (!isPromise(answer)) return answer;
    answer.catch(() => {}); // it was refused, so its result does not matter
    const message =
      'Expected boolean to be returned from the "filter" function but got an instance of Promise.';
    throw invalid(TypeError, 'ERR_INVALID_RETURN_VALUE', message);
  };
}

/**
 * Refuses what Node refuses before it looks inside, in the same order. The engine's own rules follow. A slash at the end
 * of DEST requires a directory.
 */
export function* checkEntries(request: Request, recursive: boolean): Steps<void> {
  const slash = endsInSlash(request.dest);
  request.dest = trimSlashes(request.dest); // a slash does not mean "into" in fs.cp
  const { dest, dereference, shown } = request;
  const [src = dest] = request.sources;
  const [from, to] = [shown.src(src), shown.dest(dest)];
  const found = yield* statEntry(src, dereference, from);
  const there = yield* existing(dest, dereference || slash);
  if (slash && there && !there.isDirectory()) {
    const operation = dereference ? 'stat' : 'lstat';
    throw errorOf({ errno: -osConstants.errno.ENOTDIR, operation }, to, '');
  }
  if (slash && !there && !found.isDirectory()) {
    throw errorOf({ errno: -osConstants.errno.EISDIR, operation: 'copyfile' }, from, to);
  }
  if (there && found.isDirectory() && !there.isDirectory()) {
    const why = 'the destination is not a directory';
    throw refuse('ERR_FS_CP_DIR_TO_NON_DIR', why, from, to);
  }
  if (there?.isDirectory() && !found.isDirectory()) {
    const why = 'the destination is a directory';
    throw refuse('ERR_FS_CP_NON_DIR_TO_DIR', why, from, to);
  }
  if (!found.isDirectory() || recursive) return;
  yield* findRoots(request);
  throw refuse('ERR_FS_EISDIR', 'the source is a directory, and recursive is not set', from);
}
