/** Finds the roots of a copy: what SRC is, where it lands, and whether that makes sense. */

import { CopyError, refuse } from '../errors/copy-error.js';
import { ahead, realpath, type Steps, stat } from '../io/steps.js';
import { baseName, directoryOf, endsInSlash, isRoot, join, trimSlashes } from '../paths.js';
import { deletes, type Request } from '../request/request.js';
import type { Placement, Root } from './placement.js';
import { findSourcesBelow, refusePlace, refuseToEmpty, refuseTwin, type Twin } from './refusals.js';
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
  yield* beginLooks(request);
  // The checks of fs.cp know already whether SRC is a directory.
  if (request.like === 'fastcp') yield* beginLooksForDirectory(request);
  const roots: Root[] = [];
  const errors: CopyError[] = [];
  const placed: Placed = new Map();
  for (const source of sources) {
    try {
      roots.push(yield* placeSource(source, placed, into, request));
    } catch (error) {
      // If the copy continues after errors, a source among several that cannot be copied is one error.
      if (!several || request.onError === 'stop' || !(error instanceof CopyError)) throw error;
      errors.push(error);
    }
  }
  if (deletes(request)) {
    const sourcesBelow = yield* findSourcesBelow(roots);
    for (const root of roots) yield* refuseToEmpty(root, sourcesBelow, shown);
  }
  return { roots, into, shown, errors };
}

/** Sources and their places in DEST, by the spelling of their names there. */
type Placed = Map<string, Twin[]>;

function* placeSource(
  source: Buffer,
  placed: Placed,
  into: boolean,
  request: Request,
): Steps<Root> {
  const { dest, shown } = request;
  const followSrc = endsInSlash(source) || request.dereference || request.worktree;
  const { src, found } = yield* findSource(source, followSrc, shown);
  const target = into ? join(dest, yield* nameOf(source, shown)) : dest;
  const spelling = spellingOf(baseName(target));
  const twins = placed.get(spelling) ?? [];
  yield* refuseTwin({ source, target }, twins, request);
  const inside = yield* refusePlace({ source, src, found, target, into }, request);
  placed.set(spelling, [...twins, { source, target }]);
  return {
    src,
    dest: target,
    followSrc,
    followDest: request.followsDest && !into,
    scope: 0,
    remove: false,
    kind: kindOf(found),
    bytes: found.isFile() ? Number(found.size) : 0,
    mode: creationMode(Number(found.mode), request),
    ...(inside && { inside }),
  };
}

function creationMode(src: number, { preserve }: Request): number {
  if (!preserve.includes('mode')) return 0o777;
  const waits = preserve.includes('ownership') || preserve.includes('xattrs');
  return waits ? 0o700 : (src & 0o1777) | 0o700;
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
