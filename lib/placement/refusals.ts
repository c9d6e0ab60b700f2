/** Refuses places in DEST that make no sense, before anything is created. */

import type { BigIntStats } from 'node:fs';
import { constants, homedir } from 'node:os';
import { reasons, refuse } from '../errors/copy-error.js';
import { errorOf } from '../errors/from-engine.js';
import { existing, identity, isDangling, isSame } from '../io/look.js';
import type { Steps } from '../io/steps.js';
import {
  baseName,
  directoryOf,
  isRoot,
  join,
  type ShownPaths,
  showPath,
  trimSlashes,
} from '../paths.js';
import { type Request, selects } from '../request/request.js';
import { namesDescriptor } from './descriptor.js';
import { directoryToKeep, type Root } from './placement.js';
import { chainUp, isAtOrBelow, namesBelow, nearest, realIfThere } from './real-paths.js';
import { areOneName } from './spellings.js';

/** Refuses a source whose place in DEST is that of another one: by its name, or because DEST ignores case. */
export function* refuseTwin(
  namesake: Buffer | undefined,
  twins: readonly Root[],
  src: Buffer,
  target: Buffer,
  { shown, dryRun }: Request,
): Steps<true> {
  if (namesake) {
    const [one, two] = [shown.src(namesake), shown.src(src)];
    const why = `'${one}' and '${two}' have the same last name, so both would be copied to the same place`;
    throw refuse('ERR_FS_CP_EINVAL', why, two, shown.dest(target));
  }
  for (const twin of twins) {
    const names = [baseName(twin.dest), baseName(target)] as const;
    if (dryRun || !(yield* areOneName(yield* nearest(directoryOf(target)), ...names))) continue;
    const why = `'${showPath(names[0])}' and '${showPath(names[1])}' are the same name in the destination`;
    throw refuse('ERR_FASTCP_NAME_COLLISION', why, shown.src(src), shown.dest(target));
  }
  return true;
}

/** `subjects`: SRC, and its target if that is a file. Returns the names from SRC to DEST, if it lies inside. */
export function* refusePlaces(
  subjects: readonly BigIntStats[],
  src: Buffer,
  target: Buffer,
  into: boolean,
  request: Request,
): Steps<{ inside: Buffer[] | undefined }> {
  const { shown, compares } = request;
  const [found] = subjects;
  if (found) yield* refuseOtherKind(found, target, into, request);
  let inside: Buffer[] | undefined;
  for (const one of compares ? [] : subjects) {
    const paths = [shown.src(src), shown.dest(target)] as const;
    inside = yield* refuseIntoItself(one, src, target, ...paths, request);
  }
  return { inside };
}

/** Returns whether DEST is another hard link of SRC's file and the copy leaves it alone, as below a directory. */
function* isLinkThatStays(
  found: BigIntStats,
  src: Buffer,
  target: Buffer,
  { sync, instead, force, update, like }: Request,
): Steps<boolean> {
  const stays = sync || instead === 'hardLink' || (like === 'fastcp' && (!force || update));
  if (!stays || !found.isFile() || found.nlink === 1n) return false;
  return !(yield* isOnePlace(src, target));
}

/** Returns whether both paths lead to one entry of a directory. */
function* isOnePlace(src: Buffer, target: Buffer): Steps<boolean> {
  const place = join(yield* realIfThere(directoryOf(target)), baseName(target));
  return place.equals(yield* realIfThere(src));
}

function* refuseIntoItself(
  found: BigIntStats,
  src: Buffer,
  target: Buffer,
  srcPath: string,
  destPath: string,
  request: Request,
): Steps<Buffer[] | undefined> {
  const isDirectory = found.isDirectory();
  const there = yield* existing(target, isDirectory, request.shown.dest);
  if (there && isSame(found, there)) {
    if (yield* isLinkThatStays(found, src, target, request)) return undefined;
    throw refuse('ERR_FS_CP_EINVAL', reasons.same, srcPath, destPath);
  }
  if (there?.isSymbolicLink() && (yield* namesDescriptor(target, false))) {
    const why = 'the destination names an open file descriptor, which fastcp does not replace';
    throw refuse('ERR_FASTCP_DEST_IS_SPECIAL', why, srcPath, destPath);
  }
  if (!isDirectory) return undefined;
  // Another copy may create DEST at any time: an entry that was missing at one look counts as missing.
  const missing: Buffer[] = [];
  let at = trimSlashes(target);
  let above = there;
  for (; !above && !isRoot(at); above = yield* existing(at, true, request.shown.dest)) {
    missing.unshift(baseName(at));
    at = directoryOf(at);
  }
  // Then the copy never reaches DEST. An atomic copy is created beside it, perhaps within reach.
  const isOnAnother = above !== undefined && above.dev !== found.dev;
  if (request.oneFileSystem && !request.atomic && isOnAnother) return undefined;
  const names = yield* namesBelow(at, found);
  if (!names) return undefined;
  if (there && names.length === 0) {
    throw refuse('ERR_FS_CP_EINVAL', reasons.same, srcPath, destPath);
  }
  // Only the selection, with its rules, shows whether the copy reaches DEST.
  if (selects(request) && !request.atomic && request.like === 'fastcp')
    return [...names, ...missing];
  const why = request.atomic
    ? `${reasons.inside}, which atomic cannot exclude`
    : `${reasons.inside}; exclude it to copy everything else`;
  throw refuse('ERR_FS_CP_EINVAL', why, srcPath, destPath);
}

/**
 * Refuses a file in the place of a directory, where the user usually forgot the slash, and the reverse. A comparison refuses a
 * directory with anything else.
 */
function* refuseOtherKind(
  src: BigIntStats,
  target: Buffer,
  into: boolean,
  request: Request,
): Steps<void> {
  const { shown, sources, like, compares, atomic } = request;
  if (into || like !== 'fastcp') return;
  const there = yield* existing(target, compares && src.isDirectory(), shown.dest);
  const dest = shown.dest(target);
  if (compares) {
    if (!there || there.isDirectory() === src.isDirectory()) return;
    const code = src.isDirectory() ? 'ERR_FS_CP_DIR_TO_NON_DIR' : 'ERR_FS_CP_NON_DIR_TO_DIR';
    throw refuse(code, 'only one of them is a directory', shown.src(sources[0] ?? target), dest);
  }
  if (src.isDirectory()) {
    if (atomic || !(yield* isDangling(target))) return;
    const why = 'the destination is a symlink to nothing';
    throw refuse('ERR_FS_CP_DIR_TO_NON_DIR', why, shown.src(sources[0] ?? target), dest);
  }
  // 'new/.' would be one, as soon as its parent is created.
  if (!there?.isDirectory() && !['.', '..'].includes(baseName(target).toString())) return;
  const problem = { errno: -constants.errno.EISDIR, operation: 'cp' };
  const hint = `; to copy into it, write '${dest}/'`;
  throw errorOf(problem, shown.src(sources[0] ?? target), dest, hint);
}

/** Returns the sources by the identities of their directories, and of all directories above them. */
export function* findSourcesBelow(roots: readonly Root[]): Steps<Map<string, Root>> {
  const byIdentity = new Map<string, Root>();
  for (const root of roots) {
    const { here } = yield* chainUp(directoryToKeep(root));
    for (const { found } of here)
      if (!byIdentity.has(identity(found))) byIdentity.set(identity(found), root);
  }
  return byIdentity;
}

/** Refuses to empty directories that nobody wants to replace with a copy, and those that have any of the sources. */
export function* refuseToEmpty(
  root: Root,
  sourcesBelow: Map<string, Root>,
  shown: ShownPaths,
): Steps<void> {
  const target = root.dest;
  const there = yield* existing(target, true, shown.dest);
  if (!there?.isDirectory()) return;
  const refuseAs = (what: string, src = root.src): never => {
    throw refuse(
      'ERR_FASTCP_DEST_PROTECTED',
      `this would delete everything else in ${what}`,
      shown.src(src),
      shown.dest(target),
    );
  };
  const real = yield* realIfThere(target); // another atomic copy may have taken it away since
  if (isRoot(real)) refuseAs('the root directory');
  if (/^([A-Z]:)?\/(root|(home|Users)(\/[^/]+)?)$/.test(real.toString()))
    refuseAs('a home directory');
  const home = Buffer.from(homedir());
  if ((yield* existing(home, true)) && (yield* isAtOrBelow(home, there)))
    refuseAs('your home directory');
  const source = sourcesBelow.get(identity(there));
  if (source) refuseAs('a directory that the source is in', source.src);
}
