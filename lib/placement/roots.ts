/** Finds the roots of a copy: what SRC is, where it lands, and whether that makes sense. */

import type { BigIntStats } from 'node:fs';
import { CopyError, refuse } from '../errors/copy-error.js';
import { ahead, realpath, type Steps, stat } from '../io/steps.js';
import { baseName, directoryOf, endsInSlash, isRoot, join, trimSlashes } from '../paths.js';
import { deletes, type Request } from '../request/request.js';
import type { Placement, Root } from './placement.js';
import { findSourcesBelow, refusePlaces, refuseToEmpty, refuseTwin } from './refusals.js';
import { findSource, kindOf, nameOf } from './source.js';
import { spellingOf } from './spellings.js';

/**
 * Finds the roots. Refuses everything that makes the copy impossible, before anything is created: a missing SRC, DEST within
 * SRC or SRC itself. If the copy of several sources continues after errors, those that are refused are in `errors`, and the
 * others are the roots.
 */
export function* findRoots(request: Request): Steps<Placement> {
  const { sources, several, dest, shown } = request;
  const into = several || endsInSlash(dest);

  if (request.mirror && !request.compares && isRoot(dest)) {
    const why = 'this would delete everything else in the root directory';
    throw refuse('ERR_FASTCP_DEST_PROTECTED', why, shown.src(sources[0] ?? dest), shown.dest(dest));
  }
  const roots: Root[] = [];
  const errors: CopyError[] = [];
  const placed = new Map<string, Buffer>(); // SRC by its place in DEST
  const spelled = new Map<string, Root[]>(); // by the spelling of their names
  yield* beginLooks(request);
  // The checks of fs.cp know already whether SRC is a directory.
  if (request.like === 'fastcp') yield* beginLooksForDirectory(request);
  for (const source of sources) {
    const followSrc = endsInSlash(source) || request.dereference || request.worktree;
    const subject = yield* unlessRefused(findSource(source, followSrc, shown), request, errors);
    if (!subject) continue;
    const { src, found } = subject;
    const target = into ? join(dest, yield* nameOf(source, shown)) : dest;
    const place = target.toString('latin1');
    const spelling = spellingOf(baseName(target));
    const twins = spelled.get(spelling) ?? [];
    const free = refuseTwin(placed.get(place), twins, source, target, request);
    if (!(yield* unlessRefused(free, request, errors))) continue;
    // A symlink put in the place of its target would be all that is left.
    const leadsTo = found.isSymbolicLink() ? yield* reachable(src) : undefined;
    const subjects = leadsTo?.isFile() ? [found, leadsTo] : [found];
    const checked = yield* unlessRefused(
      refusePlaces(subjects, src, target, into, request),
      request,
      errors,
    );
    if (!checked) continue;
    const { inside } = checked;
    const kind = kindOf(found);
    const root: Root = {
      src,
      dest: target,
      followSrc,
      followDest: request.followsDest && !into,
      scope: 0,
      remove: false,
      kind,
      ...(inside && { inside }),
    };
    placed.set(place, source);
    spelled.set(spelling, [...twins, root]);
    roots.push(root);
  }
  if (deletes(request)) {
    const sourcesBelow = yield* findSourcesBelow(roots);
    for (const root of roots) yield* refuseToEmpty(root, sourcesBelow, shown);
  }
  return { roots, into, shown, errors };
}

/** Begins the looks that every copy of one SRC needs: at SRC, at DEST, and at the directory above DEST. */
export function beginLooks({ sources, dest, dereference, worktree }: Request): Steps<void> {
  const [source = dest] = sources;
  const at = trimSlashes(dest);
  const follow = endsInSlash(source) || dereference || worktree;
  return ahead([stat(source, follow), stat(at, false), stat(directoryOf(at), true)]);
}

/** Begins the looks that a directory also needs: at DEST's target, and for the real path of the directory above. */
export function beginLooksForDirectory({ dest }: Request): Steps<void> {
  const at = trimSlashes(dest);
  return ahead([stat(at, true), realpath(directoryOf(at))]);
}

/** If the copy continues after errors, a source among several that cannot be copied is one error. */
function* unlessRefused<T>(
  steps: Steps<T>,
  { several, onError }: Request,
  errors: CopyError[],
): Steps<T | undefined> {
  try {
    return yield* steps;
  } catch (error) {
    if (!several || onError === 'stop' || !(error instanceof CopyError)) throw error;
    errors.push(error);
    return undefined;
  }
}

/** Looks at a symlink's target. Returns undefined if there is none, or access is denied. */
function* reachable(path: Buffer): Steps<BigIntStats | undefined> {
  try {
    return yield* stat(path, true);
  } catch {
    return undefined;
  }
}
