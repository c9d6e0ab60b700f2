/** What the mounts below SRC and DEST mean for a copy: entries that both have, and ctimes that prove nothing. */

import type { Answers } from '../bridge/answers.js';
import { refuse } from '../errors/copy-error.js';
import { unlessMissing } from '../errors/from-node.js';
import { existing, isSame, realpath } from '../io/looks.js';
import { isWithin, join, namesFrom, showPath } from '../paths.js';
import { distrustedDevices, type MountedPlace, mounts, placesIn } from '../placement/mounts.js';
import { type Placement, type Root, realPathOf } from '../placement/placement.js';
import { deletes, type Request } from '../request/request.js';
import { verdicts } from '../selection/index.js';

/** SRC or DEST, and what it shows. */
interface Tree {
  root: Root;
  directory: Buffer;
  places: MountedPlace[];
}

/** A path below SRC or DEST, by the names that lead there. No names: SRC, or DEST, itself. */
interface Entry {
  tree: Tree;
  names: Buffer[];
}

/**
 * Linux: rejects with `ERR_FASTCP_DEST_PROTECTED` if by a bind mount entries would be deleted that SRC also has. Sets
 * `placement.distrusted`. Does nothing if the system does not tell its mounts.
 */
export async function lookAtMounts(
  placement: Placement,
  answers: Answers,
  request: Request,
): Promise<void> {
  if (process.platform !== 'linux') return;
  const all = await mounts().catch(() => []);
  if (request.sync) placement.distrusted = distrustedDevices(all);
  if (!deletes(request)) return;
  const { roots, shown } = placement;
  const treeAt = (root: Root, directory: Buffer): Tree => {
    return { root, directory, places: placesIn(all, directory) };
  };
  const [sources, targets]: [Tree[], Tree[]] = [[], []];
  for (const root of roots) {
    sources.push(treeAt(root, await realPathOf(root)));
    const dest = await realpath(root.dest).catch(unlessMissing);
    if (dest && root.kind === 'directory') targets.push(treeAt(root, dest));
  }
  for (const source of sources) {
    for (const target of targets) {
      for (const [src, dest] of sharedBy(source, target)) {
        if (!(await isReached(src, dest, answers, request))) continue;
        const remedy = request.atomic || request.deleteExcluded ? '' : ' or exclude it';
        const why = `by a bind mount '${show(src, 'src')}' is also '${show(dest, 'dest')}', where entries would be deleted; unmount it${remedy}`;
        const paths = [shown.src(source.root.src), shown.dest(target.root.dest)] as const;
        throw refuse('ERR_FASTCP_DEST_PROTECTED', why, ...paths);
      }
    }
  }
}

function pathOf({ tree, names }: Entry): Buffer {
  return names.reduce(join, tree.directory);
}

function show({ tree, names }: Entry, end: 'src' | 'dest'): string {
  return showPath(names.reduce(join, tree.root[end]));
}

/** Finds the entries that both trees seem to show. */
function* sharedBy(source: Tree, target: Tree): Generator<[Entry, Entry]> {
  for (const one of source.places) {
    for (const other of target.places) {
      if (one.device !== other.device) continue;
      const below = (inner: MountedPlace, outer: MountedPlace): Buffer =>
        namesFrom(outer.path, inner.path).reduce(join, outer.at);
      const isInner = isWithin(one.path, other.path);
      if (!isInner && !isWithin(other.path, one.path)) continue;
      const src = isInner ? one.at : below(other, one);
      const dest = isInner ? below(one, other) : other.at;
      yield [
        { tree: source, names: namesFrom(source.directory, src) },
        { tree: target, names: namesFrom(target.directory, dest) },
      ];
    }
  }
}

/** Returns whether both are one entry, and the copy deletes there. If permission to look is missing, they may be one. */
async function isReached(
  src: Entry,
  dest: Entry,
  answers: Answers,
  { atomic, deleteExcluded, oneFileSystem }: Request,
): Promise<boolean> {
  const look = (path: Buffer) => existing(path, true).catch(() => null);
  const [one, other] = [await look(pathOf(src)), await look(pathOf(dest))];
  if (one === undefined || other === undefined || (one && other && !isSame(one, other)))
    return false;
  if (atomic) return true;
  const isDest = dest.names.length === 0;
  const top = await look(src.tree.directory);
  if (isDest && oneFileSystem && top && one && top.dev !== one.dev) return false; // never entered
  const { tree, names } = isDest ? src : dest;
  if (names.length === 0 || (!isDest && deleteExcluded)) return true;
  const kind = (one ?? other)?.isDirectory() === false ? 'file' : 'directory';
  return (await answers.verdictOn(tree.root, names, kind)) !== verdicts.leave;
}
