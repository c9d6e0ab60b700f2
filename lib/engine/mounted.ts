/** What the mounts below SRC and DEST mean for a copy: entries that both have, and ctimes that prove nothing. */
import { promises } from 'node:fs';
import { refuse } from '../errors.js';
import type { Request } from '../request/options.js';
import { verdicts } from '../selection/index.js';
import type { EntryKind } from '../types.js';
import { distrustedDevices, Layers } from '../walk/layers.js';
import {
  type Location,
  localFileSystems,
  type Mount,
  MountTable,
  mounts,
  type Place,
  sharedBy,
  type Tree,
} from '../walk/mounts.js';
import { directoryOf, isRoot, join, namesFrom, showPath } from '../walk/paths.js';
import { realpath, run } from '../walk/steps.js';
import {
  deletes,
  existing,
  isMissing,
  isSame,
  type Root,
  realPathOf,
  type Walk,
} from '../walk/walk.js';
import type { Answers } from './answers.js';

/** A source, or its DEST. */
interface RootTree extends Tree<Shown> {
  root: Root;
}

interface Shown extends Place {
  /**
   * The place is where the mount has its content: a layer of the overlay, or the image of the disk. Deletions in an overlay change
   * its upper layer only.
   */
  content?: 'upper' | 'lower' | 'image';
}

/** An entry that a source and a DEST seem to have, by the names that lead there. No names: SRC, or DEST, itself. */
interface Meeting {
  source: RootTree;
  target: RootTree;
  inSrc: Buffer[];
  inDest: Buffer[];
  by: 'a bind mount' | 'an overlay' | 'a loop device';
  /** In a lower layer of SRC's overlay. A mirror deletes there only entries that SRC does not show, or that are excluded. */
  isLower: boolean;
}

/**
 * Rejects with `ERR_FASTCP_DEST_PROTECTED` if entries would be deleted that SRC also has. Sets `walk.distrusted` and
 * `walk.reflections`. Does nothing if the system does not tell its mounts.
 */
export async function lookAtMounts(walk: Walk, answers: Answers, request: Request): Promise<void> {
  if (process.platform !== 'linux') return;
  const table = new MountTable(await mounts().catch(() => []));
  if (deletes(request)) await refuseMounted(table, walk, answers, request);
  if (request.sync) walk.distrusted = await distrustedDevices(table, walk.roots);
}

async function refuseMounted(
  table: MountTable,
  walk: Walk,
  answers: Answers,
  request: Request,
): Promise<void> {
  const { roots, shown } = walk;
  const { sources, targets } = await findTrees(table, roots);
  const reflections = new Map<string, Buffer>(); // several SRC have the same directories above
  const add = (path: Buffer): unknown => reflections.set(path.toString('latin1'), path);
  for (const source of sources) {
    for (const place of source.places) {
      if (!mayReflect(place, targets)) continue;
      (await reflectionsIn(place, source, targets, answers)).forEach(add);
      // The mount that SRC is in may show DEST above SRC.
      if (place.at.equals(source.directory)) pathTo(place.mount.path, place.at).forEach(add);
    }
    // A mount in DEST may show SRC, or a directory above it.
    if (targets.some(({ places }) => places.some(isOpaque)))
      pathTo(Buffer.from('/'), source.directory).forEach(add);
  }
  walk.reflections = [...reflections.values()];
  for (const target of targets) {
    for (const source of sources) {
      for (const meeting of meetings(table, source, target)) {
        const why = await problemOf(meeting, answers, request);
        if (!why) continue;
        const paths = [shown.src(source.root.src), shown.dest(target.root.dest)] as const;
        throw refuse('ERR_FASTCP_DEST_PROTECTED', why, ...paths);
      }
    }
  }
}

/** Returns a directory and those above it, up to `top`. */
function pathTo(top: Buffer, directory: Buffer): Buffer[] {
  const found = [directory];
  let at = directory;
  while (!isRoot(at) && !at.equals(top)) {
    at = directoryOf(at);
    found.push(at);
  }
  return found;
}

/** Returns whether a mount of SRC may show entries of DEST under other identities. */
function mayReflect(place: Shown, targets: readonly RootTree[]): boolean {
  if (isOpaque(place)) return true;
  if (place.content || place.mount.fileSystem !== 'overlay') return false;
  // In a container, SRC and DEST are on one overlay. Then identities tell.
  return targets.some(({ places }) =>
    places.some(({ device, content }) => !content && device !== place.device),
  );
}

/** Returns whether nothing tells what a mount shows: FUSE and servers may show any directory. */
function isOpaque({ content, mount: { fileSystem } }: Shown): boolean {
  return !content && fileSystem !== 'overlay' && !localFileSystems.has(fileSystem);
}

/**
 * Returns where a mount may show a DEST: its root, or if it shows a directory above DEST, the rest of DEST's path. Does not
 * look at directories that the selection excludes: the look might hang.
 */
async function reflectionsIn(
  { at }: Shown,
  { root, directory }: RootTree,
  targets: readonly RootTree[],
  answers: Answers,
): Promise<Buffer[]> {
  const isEntered = async (path: Buffer): Promise<boolean> => {
    const names = namesFrom(directory, path);
    if (names.length === 0) return true;
    return (await answers.verdictOn(root, names, 'directory')) !== verdicts.leave;
  };
  if (!(await isEntered(at))) return [];
  const found = [at];
  for (const target of targets) {
    const names = namesFrom(Buffer.from('/'), target.directory);
    for (let above = 0; above < names.length; above++) {
      const path = names.slice(above).reduce(join, at);
      const there = await run(existing(path, false)).catch(() => undefined);
      if (there?.isDirectory() && (await isEntered(path))) found.push(path);
    }
  }
  return found;
}

async function findTrees(
  table: MountTable,
  roots: readonly Root[],
): Promise<Record<'sources' | 'targets', RootTree[]>> {
  const sources: RootTree[] = [];
  const targets: RootTree[] = [];
  const treeAt = (root: Root, directory: Buffer): RootTree => {
    return { root, directory, places: table.placesIn(directory) };
  };
  for (const root of roots) {
    sources.push(treeAt(root, await run(realPathOf(root))));
    if (root.kind !== 'directory') continue;
    const dest = await run(realpath(root.dest)).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
    });
    if (dest) targets.push(treeAt(root, dest));
  }
  const near = [...sources, ...targets].map(({ directory }) => directory);
  const layers = new Layers(table, near);
  for (const tree of sources) tree.places = [...tree.places, ...(await contentsOf(tree))];
  for (const tree of targets) {
    const added = await contentsOf(tree);
    tree.places = [...tree.places, ...added.filter(({ content }) => content === 'upper')];
  }
  return { sources, targets };

  /** Returns where the mounts of a tree have their content. */
  async function contentsOf({ places }: RootTree): Promise<Shown[]> {
    const found: Shown[] = [];
    for (const place of places) {
      const image = await imageOf(place.mount, table);
      if (image) found.push({ ...place, ...image, content: 'image' });
      if (!place.mount.layers?.length) continue;
      const names = namesFrom(Buffer.from('/'), place.path);
      for (const { device, path, isUpper } of await layers.of(place.device)) {
        const content = isUpper ? 'upper' : 'lower';
        found.push({ ...place, device, path: names.reduce(join, path), content });
      }
    }
    return found;
  }
}

/** Returns the file that a mounted file system is stored in, if it is on a loop device. */
async function imageOf({ source }: Mount, table: MountTable): Promise<Location | undefined> {
  const [, loop] = /^\/dev\/(loop\d+)/.exec(source?.toString('latin1') ?? '') ?? [];
  if (loop === undefined) return undefined;
  const file = `/sys/block/${loop}/loop/backing_file`;
  const path = await promises.readFile(file, 'latin1').catch(() => '');
  return path ? table.locate(Buffer.from(path.replace(/\n$/, ''), 'latin1')) : undefined;
}

function* meetings(table: MountTable, source: RootTree, target: RootTree): Generator<Meeting> {
  for (const { one, other, inOne: inSrc, inOther: inDest } of sharedBy(table, source, target)) {
    const isPlain = !one.content && !other.content;
    const by = one.content === 'image' ? 'a loop device' : isPlain ? 'a bind mount' : 'an overlay';
    const isLower = one.content === 'lower' && !other.content;
    yield { source, target, inSrc, inDest, by, isLower };
  }
}

/**
 * Returns the kinds that the entry may have. Returns none if it does not exist, or the two are not the same. If permission to
 * look is missing, they may be.
 */
async function kindsOf({ source, target, by, inSrc, inDest }: Meeting): Promise<EntryKind[]> {
  const look = (tree: RootTree, names: readonly Buffer[]) =>
    run(existing(names.reduce(join, tree.directory), true)).catch(() => 'hidden' as const);
  const [one, other] = [await look(source, inSrc), await look(target, inDest)];
  if (!one || !other) return [];
  if (one === 'hidden' || other === 'hidden') return ['directory', 'file'];
  if (by === 'a bind mount' && !isSame(one, other)) return [];
  return [other.isDirectory() ? 'directory' : 'file'];
}

/** Returns whether an entry of a tree is on another file system than the tree, or in another subvolume. */
async function isOnAnother({ directory }: RootTree, names: readonly Buffer[]): Promise<boolean> {
  const look = (path: Buffer) => run(existing(path, true)).catch(() => undefined);
  const [top, there] = [await look(directory), await look(names.reduce(join, directory))];
  return top !== undefined && there !== undefined && top.dev !== there.dev;
}

/** Returns what is wrong with a mirror or an atomic replacement, or undefined. */
async function problemOf(
  meeting: Meeting,
  answers: Answers,
  { atomic, deleteExcluded, oneFileSystem }: Request,
): Promise<string | undefined> {
  const { source, target, by, inSrc, inDest, isLower } = meeting;
  const isKept = !atomic && !deleteExcluded;
  // Users may want to copy an overlay to its own layer.
  if (isLower && isKept && inSrc.length + inDest.length === 0) return undefined;
  const kinds = await kindsOf(meeting);
  if (kinds.length === 0) return undefined;
  const isExcluded = async ({ root }: RootTree, names: readonly Buffer[]): Promise<boolean> => {
    for (const kind of kinds)
      if ((await answers.verdictOn(root, names, kind)) !== verdicts.leave) return false;
    return true;
  };
  const src = showPath(inSrc.reduce(join, source.root.src));
  const dest = showPath(inDest.reduce(join, target.root.dest));
  if (inDest.length === 0) {
    if (!atomic && inSrc.length > 0 && (await isExcluded(source, inSrc))) return undefined;
    // Then a mirror never enters DEST.
    if (!atomic && oneFileSystem && (await isOnAnother(source, inSrc))) return undefined;
    const cause = atomic ? 'atomic' : 'mirror';
    const remedy = atomic || inSrc.length === 0 ? `copy without ${cause}` : 'exclude that';
    return `by ${by} '${src}' is also the destination; ${remedy}`;
  }
  if (isKept && (await isExcluded(target, inDest))) return undefined;
  const [name, other] = [inDest, inSrc].map((names) => names.map(showPath).join('/'));
  // At the same place in both, the engine touches nothing, if it gets there. It reports a directory.
  const isSamePlace = !atomic && source.root === target.root && name === other;
  const isUntouched = isSamePlace && (by === 'a bind mount' || (isLower && isKept));
  if (isUntouched && !(await isExcluded(source, inSrc))) return undefined;
  const remedy = isKept ? `unmount it or exclude '${name}'` : 'unmount it';
  const relation = by === 'a loop device' ? 'is stored in' : 'is also';
  const end = by === 'a loop device' ? 'which would be deleted' : 'where entries would be deleted';
  return `by ${by} '${src}' ${relation} '${dest}', ${end}; ${remedy}`;
}
