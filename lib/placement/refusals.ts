/** Refuses places in DEST that make no sense, before anything is created. */

import type { BigIntStats } from 'node:fs';
import { constants } from 'node:os';
import { named } from '../errors/arguments.js';
import { reasons, refuse } from '../errors/copy-error.js';
import { errorOf } from '../errors/from-engine.js';
import { identity, isSame, type Looks } from '../io/looks.js';
import {
  baseName,
  directoryOf,
  homeDirectory,
  isRoot,
  join,
  type ShownPaths,
  showPath,
  trimSlashes,
} from '../paths.js';
import { type Request, selects } from '../request/request.js';
import { namesDescriptor } from './descriptor.js';
import { directoryToKeep, type Placement, type Root } from './placement.js';
import { chainUp, isAtOrBelow, namesBelow, nearest, realIfThere } from './real-paths.js';
import { areOneName, spellingOf } from './spellings.js';

/** Refuses a source whose name is that of another one because DEST ignores case. Tries that. */
export async function refuseTwins(
  { roots, errors, shown, looks }: Placement,
  { dryRun, onError }: Request,
): Promise<void> {
  const spelled = new Map<string, Buffer[]>();
  for (const root of dryRun ? [] : [...roots]) {
    const name = baseName(root.dest);
    const parent = directoryOf(root.dest);
    const twins = spelled.get(spellingOf(name)) ?? [];
    spelled.set(spellingOf(name), [...twins, name]);
    for (const twin of twins) {
      if (!(await areOneName(nearest(parent, looks), twin, name))) continue;
      const why = `'${showPath(twin)}' and '${showPath(name)}' are the same name in the destination`;
      const paths = [shown.src(root.src), shown.dest(root.dest)] as const;
      const error = refuse('ERR_FASTCP_NAME_COLLISION', why, ...paths);
      if (onError === 'stop') throw error;
      errors.push(error);
      roots.splice(roots.indexOf(root), 1);
      break;
    }
  }
}

/** A source and the place in DEST where it would land. */
interface Candidate {
  /** As it was named. */
  source: Buffer;
  /** Differs from `source` if that names an open file descriptor. */
  src: Buffer;
  found: BigIntStats;
  target: Buffer;
  into: boolean;
  looks: Looks;
}

/** Refuses a place in DEST that makes no sense for this source. Returns the names from SRC to DEST, if it lies inside. */
export function refusePlace(candidate: Candidate, request: Request): Buffer[] | undefined {
  const { src, found, target, looks } = candidate;
  refuseOtherKind(candidate, request);
  if (request.compares) return undefined;
  const there = looks.existing(target, found.isDirectory(), request.shown.dest);
  refuseItself(candidate, there, request);
  if (found.isDirectory()) return refuseInside(candidate, there, request);
  // A symlink put in the place of its target would be all that is left.
  const leadsTo = found.isSymbolicLink() ? reachable(src, looks) : undefined;
  if (leadsTo?.isFile()) refuseItself({ ...candidate, found: leadsTo }, there, request);
  return undefined;
}

/** Looks at a symlink's target. Returns undefined if there is none, or access is denied. */
function reachable(path: Buffer, looks: Looks): BigIntStats | undefined {
  try {
    return looks.stat(path, true);
  } catch {
    return undefined;
  }
}

/** Refuses a DEST that is SRC itself, or an open file descriptor. */
function refuseItself(
  candidate: Candidate,
  there: BigIntStats | undefined,
  request: Request,
): void {
  const { src, found, target, looks } = candidate;
  const paths = [request.shown.src(src), request.shown.dest(target)] as const;
  if (there && isSame(found, there) && !isLinkThatStays(candidate, request))
    throw refuse('ERR_FS_CP_EINVAL', reasons.same, ...paths);
  if (there?.isSymbolicLink() && namesDescriptor(target, false, looks)) {
    const why = 'the destination names an open file descriptor, which fastcp does not replace';
    throw refuse('ERR_FASTCP_DEST_IS_SPECIAL', why, ...paths);
  }
}

/** Returns whether DEST is another hard link of SRC's file and the copy leaves it alone, as below a directory. */
function isLinkThatStays(
  { src, found, target, looks }: Candidate,
  { sync, hardLink, force, update, like }: Request,
): boolean {
  const stays = sync || hardLink || (like === 'fastcp' && (!force || update));
  if (!stays || !found.isFile() || found.nlink === 1n) return false;
  const place = join(realIfThere(directoryOf(target), looks), baseName(target));
  return !place.equals(realIfThere(src, looks)); // otherwise both lead to one entry of a directory
}

/** Refuses a DEST within SRC. Returns the names that lead there if the selection may exclude it. */
function refuseInside(
  { src, found, target, looks }: Candidate,
  there: BigIntStats | undefined,
  request: Request,
): Buffer[] | undefined {
  const { shown, atomic, oneFileSystem, like } = request;
  // Another copy may create DEST at any time: an entry that was missing at one look counts as missing.
  const missing: Buffer[] = [];
  let at = trimSlashes(target);
  let above = there;
  for (; !above && !isRoot(at); above = looks.existing(at, true, shown.dest)) {
    missing.unshift(baseName(at));
    at = directoryOf(at);
  }
  // Then the copy never reaches DEST. An atomic copy is created beside it, perhaps within reach.
  const isOnAnother = above !== undefined && above.dev !== found.dev;
  if (oneFileSystem && !atomic && isOnAnother) return undefined;
  const names = namesBelow(at, found, looks);
  if (!names) return undefined;
  const isItself = there && names.length === 0;
  // Only the selection, with its rules, shows whether the copy reaches DEST.
  if (!isItself && selects(request) && !atomic && like === 'fastcp') return [...names, ...missing];
  const remedy = atomic
    ? `, which ${named('atomic')} cannot exclude`
    : '; exclude it to copy everything else';
  const isOwn = like === 'fastcp';
  const why = isItself ? reasons.same : reasons.inside + (isOwn ? remedy : '');
  const place = isOwn ? target : firstInside(src, target, names.length + missing.length);
  throw refuse('ERR_FS_CP_EINVAL', why, shown.src(src), shown.dest(place));
}

/** Returns what Node and fs-extra name: DEST, or, if a symlink leads there, the directory above it that is directly in SRC. */
function firstInside(src: Buffer, target: Buffer, levels: number): Buffer {
  if (target.toString('latin1').startsWith(`${src.toString('latin1')}/`)) return target;
  let at = target;
  for (let level = 1; level < levels; level++) at = directoryOf(at);
  return at;
}

/**
 * Refuses a file in the place of a directory, where the user usually forgot the slash, and the reverse. A comparison refuses a
 * directory with anything else.
 */
function refuseOtherKind(
  { source, found, target, into, looks }: Candidate,
  { shown, like, compares, atomic }: Request,
): void {
  if (into || like !== 'fastcp') return;
  const there = looks.existing(target, compares && found.isDirectory(), shown.dest);
  const [path, dest] = [shown.src(source), shown.dest(target)];
  if (compares) {
    if (!there || there.isDirectory() === found.isDirectory()) return;
    const code = found.isDirectory() ? 'ERR_FS_CP_DIR_TO_NON_DIR' : 'ERR_FS_CP_NON_DIR_TO_DIR';
    throw refuse(code, 'only one of them is a directory', path, dest);
  }
  if (found.isDirectory()) {
    if (atomic || !looks.isDangling(target)) return;
    const why = 'the destination is a symlink to nothing';
    throw refuse('ERR_FS_CP_DIR_TO_NON_DIR', why, path, dest);
  }
  // 'new/.' would be one, as soon as its parent is created.
  if (!there?.isDirectory() && !['.', '..'].includes(baseName(target).toString())) return;
  const problem = { errno: -constants.errno.EISDIR, operation: 'cp' };
  throw errorOf(problem, path, dest, `; to copy into it, write '${dest}/${baseName(source)}'`);
}

/** Returns the sources by the identities of their directories, and of all directories above them. */
export function findSourcesBelow(roots: readonly Root[], looks: Looks): Map<string, Root> {
  const byIdentity = new Map<string, Root>();
  for (const root of roots) {
    const { here } = chainUp(directoryToKeep(root), looks);
    for (const { found } of here)
      if (!byIdentity.has(identity(found))) byIdentity.set(identity(found), root);
  }
  return byIdentity;
}

/** Refuses to empty directories that nobody wants to replace with a copy, and those that have any of the sources. */
export function refuseToEmpty(
  root: Root,
  sourcesBelow: Map<string, Root>,
  shown: ShownPaths,
  looks: Looks,
): void {
  const target = root.dest;
  const there = looks.existing(target, true, shown.dest);
  if (!there?.isDirectory()) return;
  const refuseAs = (what: string, src = root.src): never => {
    const why = `this would delete everything else in ${what}`;
    throw refuse('ERR_FASTCP_DEST_PROTECTED', why, shown.src(src), shown.dest(target));
  };
  const real = realIfThere(target, looks); // another atomic copy may have taken it away since
  if (isRoot(real)) refuseAs('the root directory');
  if (/^([A-Z]:)?\/(root|(home|Users)(\/[^/]+)?)$/.test(real.toString()))
    refuseAs('a home directory');
  const home = Buffer.from(homeDirectory() ?? '/');
  if (looks.existing(home, true) && isAtOrBelow(home, there, looks))
    refuseAs('your home directory');
  const source = sourcesBelow.get(identity(there));
  if (source) refuseAs('a directory that the source is in', source.src);
}
