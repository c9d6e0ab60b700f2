/** Refuses to delete entries of DEST that SRC also has, by bind mounts, overlays or images of disks. */
import { promises } from 'node:fs';
import { refuse } from '../errors.js';
import type { Request } from '../request/options.js';
import { verdicts } from '../selection/index.js';
import type { EntryKind } from '../types.js';
import { Layers } from '../walk/layers.js';
import {
  isWithin,
  localFileSystems,
  MountTable,
  mounts,
  type Place,
  sharedBy,
  type Tree,
} from '../walk/mounts.js';
import { baseName, join, namesFrom, showPath } from '../walk/paths.js';
import { realpath, run } from '../walk/steps.js';
import { directoryToKeep, existing, isSame, type Root, type Walk } from '../walk/walk.js';
import type { Answers } from './answers.js';

/** A source, or its DEST. */
interface RootTree extends Tree<Shown> {
  root: Root;
}

interface Shown extends Place {
  /** By an overlay: the place is in a layer. Deletions in an overlay change its upper layer only. */
  layer?: 'upper' | 'lower';
}

/** An entry that a source and a DEST seem to have, by the names that lead there. No names: SRC, or DEST, itself. */
interface Meeting {
  source: RootTree;
  target: RootTree;
  inSrc: Buffer[];
  inDest: Buffer[];
  by: 'a bind mount' | 'an overlay' | 'a loop device';
  /** In a lower layer of SRC's overlay, where all entries that SRC shows may stay. */
  isLower: boolean;
}

/**
 * Rejects with `ERR_FASTCP_DEST_PROTECTED`. Does nothing if the system does not tell its mounts. Sets `walk.reflections`, by which
 * the engine notices what mounts do not tell.
 */
export async function refuseMounted(walk: Walk, answers: Answers, request: Request): Promise<void> {
  if (process.platform !== 'linux') return;
  const { roots, shown } = walk;
  const table = new MountTable(await mounts().catch(() => []));
  const { sources, targets } = await findTrees(table, roots);
  const places = sources.flatMap((source) => source.places);
  walk.reflections = places
    .filter(({ mount, layer }) => !layer && !localFileSystems.has(mount.fileSystem))
    .map(({ at }) => at);
  for (const target of targets) {
    for (const source of sources) {
      const all = [...meetings(table, source, target), ...(await imagesIn(table, source, target))];
      for (const meeting of all) {
        const why = await problemOf(meeting, answers, request);
        if (!why) continue;
        const paths = [shown.src(source.root.src), shown.dest(target.root.dest)] as const;
        throw refuse('ERR_FASTCP_DEST_PROTECTED', why, ...paths);
      }
    }
  }
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
    sources.push(treeAt(root, await realPathOf(root)));
    if (root.kind === 'directory' && (await run(existing(root.dest, true))))
      targets.push(treeAt(root, await run(realpath(root.dest))));
  }
  const near = [...sources, ...targets].map(({ directory }) => directory);
  const layers = new Layers(table, near);
  const addLayers = async (tree: RootTree, isWanted: (one: Shown) => boolean): Promise<void> => {
    const added: Shown[] = [];
    for (const { mount, path, at, device } of tree.places) {
      if (!mount.layers?.length) continue;
      for (const layer of await layers.of(device)) {
        const inLayer = namesFrom(Buffer.from('/'), path).reduce(join, layer.path);
        added.push({
          ...layer,
          path: inLayer,
          at,
          mount,
          layer: layer.isUpper ? 'upper' : 'lower',
        });
      }
    }
    tree.places = [...tree.places, ...added.filter(isWanted)];
  };
  for (const tree of sources) await addLayers(tree, () => true);
  for (const tree of targets) await addLayers(tree, ({ layer }) => layer === 'upper');
  return { sources, targets };
}

/** Returns a source's path without symlinks on the way. */
async function realPathOf(root: Root): Promise<Buffer> {
  const kept = directoryToKeep(root);
  const real = await run(realpath(kept));
  return kept === root.src ? real : join(real, baseName(root.src));
}

function* meetings(table: MountTable, source: RootTree, target: RootTree): Generator<Meeting> {
  for (const { one, other, inOne: inSrc, inOther: inDest } of sharedBy(table, source, target)) {
    const by = one.layer || other.layer ? 'an overlay' : 'a bind mount';
    const isLower = one.layer === 'lower' && !other.layer;
    yield { source, target, inSrc, inDest, by, isLower };
  }
}

/** Returns the images in DEST whose file systems are in SRC. */
async function imagesIn(table: MountTable, source: RootTree, target: RootTree): Promise<Meeting[]> {
  const found: Meeting[] = [];
  for (const { at, mount } of source.places) {
    const [, loop] = /^\/dev\/(loop\d+)/.exec(mount.source?.toString('latin1') ?? '') ?? [];
    if (loop === undefined) continue;
    const file = `/sys/block/${loop}/loop/backing_file`;
    const text = await promises.readFile(file, 'latin1').catch(() => '');
    const path = Buffer.from(text.trimEnd(), 'latin1');
    const image = text && table.locate(path);
    if (!image) continue;
    for (const place of target.places) {
      if (place.device !== image.device || !isWithin(image.path, place.path)) continue;
      const inDest = namesFrom(
        target.directory,
        namesFrom(place.path, image.path).reduce(join, place.at),
      );
      const inSrc = namesFrom(source.directory, at);
      found.push({ source, target, inSrc, inDest, by: 'a loop device', isLower: false });
    }
  }
  return found;
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

/** Returns what is wrong with a mirror or an atomic replacement, or undefined. */
async function problemOf(
  meeting: Meeting,
  answers: Answers,
  { atomic, deleteExcluded }: Request,
): Promise<string | undefined> {
  const { source, target, by, inSrc, inDest, isLower } = meeting;
  const isKept = !atomic && !deleteExcluded;
  // A copy of an overlay to its own layer is what users may want.
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
