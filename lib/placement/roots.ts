/** Finds the roots of a copy: what SRC is, where it lands, and whether that makes sense. */
import type { BigIntStats } from 'node:fs';
import { constants, homedir } from 'node:os';
import { isNativeError } from 'node:util/types';
import type { NativeRoot } from '../bridge/native.js';
import { invalidValue } from '../errors/arguments.js';
import { CopyError, reasons, refuse } from '../errors/copy-error.js';
import { errorOf } from '../errors/from-engine.js';
import {
  ahead,
  all,
  list,
  mkdir,
  realpath,
  type Steps,
  stat,
  statAgain,
  syncDirectory,
} from '../io/steps.js';
import {
  baseName,
  directoryOf,
  endsInSlash,
  isRoot,
  join,
  movedTo,
  type ShownPaths,
  showPath,
  trimSlashes,
} from '../paths.js';
import { deletes, type Request, selects } from '../request/request.js';
import type { EntryKind } from '../types.js';
import { namesDescriptor, openedPath } from './descriptor.js';
import { areOneName, spellingOf } from './spellings.js';

export interface Root extends NativeRoot {
  kind: EntryKind;
  /** The names that lead from SRC to DEST, if DEST is within SRC. The selection must then exclude DEST. */
  inside?: readonly Buffer[];
}

export interface Placement {
  roots: Root[];
  /** The roots land in DEST under their names, not at DEST's own path. */
  into: boolean;
  shown: ShownPaths;
  /** Of several sources, if the copy continues after errors: those that are missing or refused. */
  errors: CopyError[];
  /** Devices of overlays whose ctimes prove nothing. Empty unless the copy syncs. */
  distrusted?: readonly number[];
}

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

/** Returns SRC itself, or the path of the open file descriptor that it names. */
function* findSource(
  src: Buffer,
  follow: boolean,
  shown: ShownPaths,
): Steps<{ src: Buffer; found: BigIntStats }> {
  const found = yield* statSource(src, follow, shown.src(src));
  if (found.isFile() || found.isDirectory() || !(yield* namesDescriptor(src, follow)))
    return { src, found };
  const opened = yield* openedPath(src, shown.src(src));
  return { src: opened, found: yield* statEntry(opened, false, shown.src(src)) };
}

function* statSource(src: Buffer, follow: boolean, path: string): Steps<BigIntStats> {
  try {
    return yield* stat(src, follow);
  } catch (error) {
    const why = isMissing(error)
      ? ((yield* whyMissing(src, path)) ?? (yield* movedAway(src)))
      : undefined;
    throw rename(error, path, why);
  }
}

/** An atomic copy in two steps that is killed between them leaves no DEST. Says where that is. */
function* movedAway(path: Buffer): Steps<string | undefined> {
  const directory = directoryOf(path);
  const prefix = Buffer.concat([Buffer.from('.'), baseName(path), Buffer.from('.fastcp-')]);
  try {
    for (const name of yield* list(directory)) {
      const container = join(directory, name);
      const isOne = name.subarray(0, prefix.length).equals(prefix);
      if (isOne && (yield* existing(join(container, Buffer.from('old')), false)))
        return `its replacement was interrupted; '${showPath(container)}' has the old tree and the new one`;
    }
  } catch {} // then nothing is known about it
  return undefined;
}

/** Says more about a SRC that does not exist. */
function* whyMissing(src: Buffer, path: string): Steps<string | undefined> {
  if (yield* isDangling(trimSlashes(src))) return reasons.dangling;
  const [, above = './', glob] = /^([^*?[{]*\/)?([^/]*[*?[{].*)$/s.exec(path) ?? [];
  return glob && `for a glob name the directory as SRC, and write --include '${glob}' ${above}`;
}

export function* statEntry(path: Buffer, follow: boolean, shown: string): Steps<BigIntStats> {
  try {
    return yield* stat(path, follow);
  } catch (error) {
    throw rename(error, shown);
  }
}

/** The error of Node's permission model, which has no system call, and not always a hint. */
const deniedByNode = 'ERR_ACCESS_DENIED';
const deniedText = `${deniedByNode}: Node's permission model forbids it; use --allow-fs-read and --allow-fs-write`;

/** Converts Node's error to fastcp's, with the user's path, and with more about the reason. */
export function rename(error: unknown, path: string, more?: string): unknown {
  if (!isNativeError(error) || !('code' in error)) return error;
  const { code, errno, syscall } = error as NodeJS.ErrnoException;
  const [said = ''] = code === deniedByNode ? [deniedText] : error.message.split(', ');
  const text = more === undefined ? said : `${said}: ${more}`;
  const reason = text.replace(/^\w+: /, '');
  const fields = { path, reason, ...(errno && { errno }), ...(syscall && { syscall }) };
  const place = syscall ? `${syscall} '${path}'` : `'${path}'`;
  return new CopyError(String(code), `${text}, ${place}`, fields);
}

function kindOf(stat: BigIntStats): EntryKind {
  if (stat.isDirectory()) return 'directory';
  if (stat.isSymbolicLink()) return 'symlink';
  if (stat.isFIFO()) return 'fifo';
  if (stat.isCharacterDevice()) return 'characterDevice';
  if (stat.isBlockDevice()) return 'blockDevice';
  return stat.isSocket() ? 'socket' : 'file';
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | null)?.code;
}

export function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '');
}

/** Returns the name of SRC in DEST. */
function* nameOf(src: Buffer, shown: ShownPaths): Steps<Buffer> {
  const name = baseName(src);
  if (!['', '.', '..'].includes(name.toString())) return name;
  const real = baseName(yield* realpath(src));
  if (real.length > 0) return real;
  throw invalidValue('src', 'a path with a name, to be copied into a directory', shown.src(src));
}

/** Returns text that is equal for the looks at one entry. */
export function identity({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

export function isSame(a: BigIntStats, b: BigIntStats): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}

/** A directory by its real path, and what a look at it found. */
interface Ancestor {
  real: Buffer;
  found: BigIntStats;
}

/**
 * Returns whether `directory` is the one at `path`, or at its nearest existing parent, or one above it. Compares identities, not
 * names, because symlinks and bind mounts lead to the same directory on other ways.
 */
export function* isAtOrBelow(path: Buffer, directory: BigIntStats): Steps<boolean> {
  return (yield* namesBelow(path, directory)) !== undefined;
}

/**
 * Returns the names that lead from `directory` to `path`, also those of missing directories. Returns undefined if `path` is not at
 * or below it.
 */
function* namesBelow(path: Buffer, directory: BigIntStats): Steps<Buffer[] | undefined> {
  const { here, missing } = yield* chainUp(path);
  for (const [depth, { found }] of here.entries()) {
    if (isSame(directory, found))
      return here
        .slice(0, depth)
        .map((one) => baseName(one.real))
        .reverse()
        .concat(missing);
  }
  return undefined;
}

interface Chain {
  here: Ancestor[];
  /** The names from there to the entry. */
  missing: Buffer[];
}

/** Returns an entry, or its nearest existing parent, and all directories above it. */
function* chainUp(path: Buffer): Steps<Chain> {
  const missing: Buffer[] = [];
  let at = yield* realNearest(path, missing);
  const here = [at];
  while (!isRoot(at)) {
    at = directoryOf(at);
    here.push(at);
  }
  const looks = yield* all(here.map((one) => () => statIfAllowed(one)));
  const places = here.flatMap((real, index) => {
    const found = looks[index];
    return found ? [{ real, found }] : [];
  });
  return { here: places, missing };
}

/** Returns undefined where Node's permission model forbids the look. SRC is not there, because it may be read. */
function* statIfAllowed(path: Buffer): Steps<BigIntStats | undefined> {
  try {
    return yield* stat(path, true);
  } catch (error) {
    if (codeOf(error) !== deniedByNode) throw error;
    return undefined;
  }
}

/** An entry may be there one moment and gone the next: another atomic copy replaces DEST in two steps. */
function* realNearest(path: Buffer, missing: Buffer[]): Steps<Buffer> {
  for (let at = path; ; at = directoryOf(at)) {
    try {
      return yield* realpath(at);
    } catch (error) {
      if (!isMissing(error)) throw error;
      if (isRoot(at)) throw noDrive(at);
      missing.unshift(baseName(at));
    }
  }
}

/** Returns the path itself if it is too long, or no name leads to the directory any more. */
function* realIfThere(path: Buffer): Steps<Buffer> {
  try {
    return yield* realpath(path);
  } catch {
    return path;
  }
}

/** Refuses a source whose place in DEST is that of another one: by its name, or because DEST ignores case. */
function* refuseTwin(
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
function* refusePlaces(
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

/** Returns a placement that copies one root to another place. Messages and the filter still see its DEST. */
export function redirect(placement: Placement, root: Root, to: Buffer): Placement {
  const { src, dest } = placement.shown;
  return {
    ...placement,
    roots: [{ ...root, dest: to, destHeld: -1, made: false }],
    shown: { src, dest: (path) => dest(movedTo(path, to, root.dest)) },
  };
}

/** Returns the sources by the identities of their directories, and of all directories above them. */
function* findSourcesBelow(roots: readonly Root[]): Steps<Map<string, Root>> {
  const byIdentity = new Map<string, Root>();
  for (const root of roots) {
    const { here } = yield* chainUp(directoryToKeep(root));
    for (const { found } of here)
      if (!byIdentity.has(identity(found))) byIdentity.set(identity(found), root);
  }
  return byIdentity;
}

/** Refuses to empty directories that nobody wants to replace with a copy, and those that have any of the sources. */
function* refuseToEmpty(
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

/** Returns the directory that must stay, so that a source stays. */
export function directoryToKeep({ src, kind, followSrc }: Root): Buffer {
  return kind === 'directory' || followSrc ? src : directoryOf(src);
}

/** Returns a source's path without symlinks on the way. */
export function* realPathOf(root: Root): Steps<Buffer> {
  const kept = directoryToKeep(root);
  const real = yield* realIfThere(kept);
  return kept === root.src ? real : join(real, baseName(root.src));
}

/** Looks at a symlink's target. Returns undefined if there is none, or access is denied. */
function* reachable(path: Buffer): Steps<BigIntStats | undefined> {
  try {
    return yield* stat(path, true);
  } catch {
    return undefined;
  }
}

/**
 * Looks at an entry that may be missing. `shownDest`: the entry is DEST or above it; the error names it as the user does, and says
 * that it is about DEST.
 */
export function* existing(
  path: Buffer,
  follow: boolean,
  shownDest?: ShownPaths['dest'],
): Steps<BigIntStats | undefined> {
  try {
    return yield* stat(path, follow);
  } catch (error) {
    if (isMissing(error)) return undefined;
    if (!shownDest) throw rename(error, showPath(path));
    const more = codeOf(error) === 'EACCES' ? 'the destination cannot be looked at' : undefined;
    throw rename(error, shownDest(path), more);
  }
}

/** Returns whether a path is a symlink to nothing now. Another program may have created an entry since the first look. */
export function* isDangling(path: Buffer): Steps<boolean> {
  const entry = yield* existing(path, false);
  if (!entry?.isSymbolicLink()) return false;
  try {
    yield* statAgain(path);
    return false;
  } catch (error) {
    return isMissing(error);
  }
}

/** On Windows: there is no such drive. */
function noDrive(root: Buffer): CopyError {
  return refuse('ENOENT', 'no such file or directory', showPath(root));
}

/** Returns a path itself or its nearest existing parent. */
export function* nearest(path: Buffer): Steps<Buffer> {
  for (let at = path; ; at = directoryOf(at)) {
    if (yield* existing(at, true)) return at;
    if (isRoot(at)) throw noDrive(at);
  }
}

/**
 * Creates missing parents of DEST if the user wants that. Always creates a directory named by a slash, or for
 * several sources. Returns the nearest directory that existed.
 */
export function* makeParents(placement: Placement, request: Request): Steps<Buffer> {
  const { shown } = placement;
  const { parents, dryRun } = request;
  const needed = parentOf(placement, request);
  const parent = directoryOf(request.dest);
  const src = shown.src(request.sources[0] ?? needed);
  const found = yield* existing(needed, true, shown.dest);
  if (found?.isDirectory()) return needed;
  if (found) {
    const why = `'${shown.dest(needed)}' is not a directory`;
    throw refuse('ERR_FS_CP_DIR_TO_NON_DIR', why, src, shown.dest(request.dest));
  }
  if (yield* isDangling(needed)) {
    const why = `'${shown.dest(needed)}' is a symlink to nothing`;
    throw refuse('ERR_FS_CP_DIR_TO_NON_DIR', why, src, shown.dest(request.dest));
  }
  if (!parents && !(yield* existing(parent, true))) {
    const why = `the parent directory '${shown.dest(parent)}' does not exist`;
    throw refuse('ENOENT', why, src, shown.dest(request.dest));
  }
  const there = yield* nearest(directoryOf(needed));
  if (dryRun) return there;
  try {
    yield* mkdir(needed, { recursive: parents });
  } catch (error) {
    // Another program may have created it since the look.
    const isThere = codeOf(error) === 'EEXIST' && (yield* statAgain(needed)).isDirectory();
    if (!isThere) throw rename(error, shown.dest(needed));
  }
  return there;
}

/**
 * Makes names durable that the engine does not see: those of the roots, and of directories created above them.
 * `there` is the result of makeParents().
 */
export function* syncParents(placement: Placement, request: Request, there: Buffer): Steps<void> {
  for (let at = parentOf(placement, request); ; at = directoryOf(at)) {
    try {
      yield* syncDirectory(at);
    } catch (error) {
      // The directory may be unreadable, or its file system may not support that.
      const { code } = error as NodeJS.ErrnoException;
      const none = ['EACCES', 'EINVAL', 'EPERM'].includes(code ?? '');
      if (!none) throw rename(error, placement.shown.dest(at));
    }
    if (at.equals(there) || isRoot(at)) return;
  }
}

/** Returns the directory that has the roots. */
function parentOf({ into }: Placement, request: Request): Buffer {
  const dest = trimSlashes(request.dest);
  return into ? dest : directoryOf(dest);
}
