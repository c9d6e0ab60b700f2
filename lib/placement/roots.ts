/** Finds the roots of a copy: what SRC is, where it lands, and whether that makes sense. */

import { CopyError, refuse } from '../errors/copy-error.js';
import type { Looks } from '../io/looks.js';
import { endsInSlash, isRoot, join } from '../paths.js';
import { deletes, type Request } from '../request/request.js';
import type { Placement, Root } from './placement.js';
import { findSourcesBelow, refusePlace, refuseToEmpty } from './refusals.js';
import { findSource, kindOf, nameOf } from './source.js';

/**
 * Finds the roots. Refuses everything that makes the copy impossible, before anything is created: a missing SRC, DEST within
 * SRC or SRC itself. If the copy of several sources continues after errors, those that are refused are in `errors`, and the
 * others are the roots.
 */
export function findRoots(request: Request, looks: Looks): Placement {
  const { sources, several, dest, shown } = request;
  const into = several || endsInSlash(dest);
  if (request.mirror && !request.compares && isRoot(dest)) {
    const why = 'this would delete everything else in the root directory';
    throw refuse('ERR_FASTCP_DEST_PROTECTED', why, shown.src(sources[0] ?? dest), shown.dest(dest));
  }
  const roots: Root[] = [];
  const errors: CopyError[] = [];
  const placed: Placed = new Map();
  for (const source of sources) {
    try {
      roots.push(placeSource(source, placed, into, request, looks));
    } catch (error) {
      // If the copy continues after errors, a source among several that cannot be copied is one error.
      if (!several || request.onError === 'stop' || !(error instanceof CopyError)) throw error;
      errors.push(error);
    }
  }
  if (deletes(request)) {
    const sourcesBelow = findSourcesBelow(roots, looks);
    for (const root of roots) refuseToEmpty(root, sourcesBelow, shown, looks);
  }
  return { roots, into, shown, errors, looks };
}

/** Sources, by the paths of their places in DEST. */
type Placed = Map<string, Buffer>;

function placeSource(
  source: Buffer,
  placed: Placed,
  into: boolean,
  request: Request,
  looks: Looks,
): Root {
  const { dest, shown } = request;
  const followSrc = endsInSlash(source) || request.dereference || request.worktree;
  const { src, found } = findSource(source, followSrc, shown, looks);
  const target = into ? join(dest, nameOf(source, shown, looks)) : dest;
  const twin = placed.get(target.toString('latin1'));
  if (twin) {
    const path = shown.src(source);
    const why = `'${shown.src(twin)}' and '${path}' have the same last name, so both would be copied to the same place`;
    throw refuse('ERR_FS_CP_EINVAL', why, path, shown.dest(target));
  }
  const inside = refusePlace({ source, src, found, target, into, looks }, request);
  placed.set(target.toString('latin1'), source);
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
