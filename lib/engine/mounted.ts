/** Refuses to delete entries of DEST that SRC also has, by bind mounts or overlays. */
import { refuse } from '../errors.js';
import type { Request } from '../request/options.js';
import { verdicts } from '../selection/index.js';
import type { EntryKind } from '../types.js';
import {
  isWithin,
  type Layer,
  MountTable,
  mounts,
  type Overlay,
  type Shared,
  type Shown,
  sharedByMounts,
} from '../walk/mounts.js';
import { baseName, directoryOf, isAbsolute, join, namesFrom, showPath } from '../walk/paths.js';
import { realpath, run } from '../walk/steps.js';
import { directoryToKeep, existing, isSame, type Root, type Walk } from '../walk/walk.js';
import type { Answers } from './answers.js';

/** A source or a DEST, and what it shows. */
interface Tree extends Shown {
  root: Root;
  overlays: Overlay[];
}

/** One source with one DEST, which need not be that of the same root, and an entry that both seem to have. */
interface Meeting extends Shared {
  source: Tree;
  target: Tree;
  by: 'a bind mount' | 'an overlay';
  /** What SRC's entry is to that of DEST. */
  relation: 'is also' | 'has a layer in' | 'is a layer of';
}

/** Rejects with `ERR_FASTCP_DEST_PROTECTED`. Does nothing if the system does not tell its mounts. */
export async function refuseMounted(
  { roots, shown }: Walk,
  answers: Answers,
  request: Request,
): Promise<void> {
  if (process.platform !== 'linux') return;
  const table = new MountTable(await mounts().catch(() => []));
  const sources: Tree[] = [];
  const targets: Tree[] = [];
  for (const root of roots) {
    sources.push(treeAt(table, root, await realPathOf(root)));
    if (root.kind === 'directory' && (await run(existing(root.dest, true))))
      targets.push(treeAt(table, root, await run(realpath(root.dest))));
  }
  const near = [...sources, ...targets].map(({ directory }) => directory);
  for (const tree of [...sources, ...targets])
    for (const overlay of tree.overlays) overlay.layers = await findLayers(overlay, near);
  for (const target of targets) {
    for (const source of sources) {
      for (const meeting of meetings(table, source, target, request)) {
        const why = await problemOf(meeting, answers, request);
        if (!why) continue;
        const paths = [shown.src(source.root.src), shown.dest(target.root.dest)] as const;
        throw refuse('ERR_FASTCP_DEST_PROTECTED', why, ...paths);
      }
    }
  }
}

function treeAt(table: MountTable, root: Root, directory: Buffer): Tree {
  const places = table.placesIn(directory);
  return { root, directory, places, overlays: table.overlaysAt(places) };
}

/** Returns a source's path without symlinks on the way. */
async function realPathOf(root: Root): Promise<Buffer> {
  const kept = directoryToKeep(root);
  const real = await run(realpath(kept));
  return kept === root.src ? real : join(real, baseName(root.src));
}

/**
 * Returns the layers that exist here: a container does not see those of its root. A relative path is of the directory in which
 * the overlay was mounted: perhaps one above its mount point or `near`.
 */
async function findLayers({ at, layers }: Overlay, near: readonly Buffer[]): Promise<Layer[]> {
  const resolve = async (from: Buffer): Promise<Layer[]> => {
    const found: Layer[] = [];
    for (const { path, isUpper } of layers) {
      const whole = isAbsolute(path) ? path : join(from, path);
      const real = await run(realpath(whole)).catch(() => undefined);
      if (real) found.push({ path: real, isUpper });
    }
    return found;
  };
  if (layers.every(({ path }) => isAbsolute(path))) return resolve(at);
  const tried = new Set<string>();
  for (const one of [at, ...near]) {
    for (let from = one; !tried.has(from.toString('latin1')); from = directoryOf(from)) {
      tried.add(from.toString('latin1'));
      const found = await resolve(from);
      if (found.length === layers.length) return found;
    }
  }
  return [];
}

function* meetings(
  table: MountTable,
  source: Tree,
  target: Tree,
  { atomic, deleteExcluded }: Request,
): Generator<Meeting> {
  for (const shared of sharedByMounts(table, source, target))
    yield { source, target, by: 'a bind mount', relation: 'is also', ...shared };
  const both = { source, target, by: 'an overlay' } as const;
  for (const { inOverlay, inLayer, isWhole } of sharedByLayers(source, target, () => true)) {
    if (inOverlay.length + inLayer.length === 0 && !atomic && !deleteExcluded) continue;
    const relation = isWhole ? 'has a layer in' : 'is also';
    yield { ...both, relation, inSrc: inOverlay, inDest: inLayer };
  }
  // Deletions in an overlay change its upper layer only.
  for (const { inOverlay, inLayer, isWhole } of sharedByLayers(target, source, isUpper)) {
    if (inOverlay.length + inLayer.length === 0) continue;
    const relation = isWhole ? 'is a layer of' : 'is also';
    yield { ...both, relation, inSrc: inLayer, inDest: inOverlay };
  }
}

const isUpper = (layer: Layer): boolean => layer.isUpper;

/** A directory that two trees have: by an overlay, and by a layer of the overlay. */
interface SharedByLayer {
  inOverlay: Buffer[];
  inLayer: Buffer[];
  /** The whole layer is in the second tree. */
  isWhole: boolean;
}

/**
 * Returns the directories that `one` shows by overlays, and `other` by their layers. No names: the trees themselves are a
 * directory of the overlay and its counterpart in the layer. Users may want to copy one to the other.
 */
function* sharedByLayers(
  one: Tree,
  other: Tree,
  counts: (layer: Layer) => boolean,
): Generator<SharedByLayer> {
  const [over, under] = [one.directory, other.directory];
  for (const { at, layers } of one.overlays) {
    for (const { path: layer } of layers.filter(counts)) {
      if (isWithin(layer, under) && !layer.equals(under)) {
        const inOverlay = isWithin(at, over) ? namesFrom(over, at) : [];
        yield { inOverlay, inLayer: namesFrom(under, layer), isWhole: true };
      } else if (isWithin(under, layer)) {
        const shown = namesFrom(layer, under).reduce(join, at); // the other tree, in the overlay
        const isIn = isWithin(shown, over);
        if (!isIn && !isWithin(over, shown)) continue;
        const inOverlay = isIn ? namesFrom(over, shown) : [];
        yield { inOverlay, inLayer: isIn ? [] : namesFrom(shown, over), isWhole: false };
      }
    }
  }
}

/**
 * Returns the kinds that the entry may have. Returns none if it does not exist, or the two are not the same. If permission to
 * look is missing, they may be.
 */
async function kindsOf({ source, target, by, inSrc, inDest }: Meeting): Promise<EntryKind[]> {
  const look = (tree: Tree, names: readonly Buffer[]) =>
    run(existing(names.reduce(join, tree.directory), true)).catch(() => 'hidden' as const);
  const [one, other] = [await look(source, inSrc), await look(target, inDest)];
  if (!one || !other) return [];
  if (one === 'hidden' || other === 'hidden') return ['directory', 'file'];
  if (by === 'a bind mount' && !isSame(one, other)) return [];
  return [one.isDirectory() ? 'directory' : 'file'];
}

/** Returns what is wrong with a mirror or an atomic replacement, or undefined. */
async function problemOf(
  meeting: Meeting,
  answers: Answers,
  { atomic, deleteExcluded }: Request,
): Promise<string | undefined> {
  const { source, target, by, relation, inSrc, inDest } = meeting;
  const kinds = await kindsOf(meeting);
  if (kinds.length === 0) return undefined;
  const isExcluded = async ({ root }: Tree, names: readonly Buffer[]): Promise<boolean> => {
    for (const kind of kinds)
      if ((await answers.verdictOn(root, names, kind)) !== verdicts.leave) return false;
    return true;
  };
  const src = showPath(inSrc.reduce(join, source.root.src));
  const dest = showPath(inDest.reduce(join, target.root.dest));
  const isKept = !atomic && !deleteExcluded;
  if (inDest.length === 0) {
    if (!atomic && inSrc.length > 0 && (await isExcluded(source, inSrc))) return undefined;
    const cause = atomic ? 'atomic' : 'deleteExcluded';
    const remedy = atomic || inSrc.length === 0 ? `copy without ${cause}` : 'exclude that';
    return `by ${by} '${src}' ${relation} the destination; ${remedy}`;
  }
  if (isKept && (await isExcluded(target, inDest))) return undefined;
  const [name, other] = [inDest, inSrc].map((names) => names.map(showPath).join('/'));
  // At the same place in both, the engine touches nothing, if it gets there. It reports a directory.
  const isUntouched =
    !atomic && source.root === target.root && name === other && (by === 'a bind mount' || isKept);
  if (isUntouched && !(await isExcluded(source, inSrc))) return undefined;
  const remedy = isKept ? `unmount it or exclude '${name}'` : 'unmount it';
  return `by ${by} '${src}' ${relation} '${dest}', where entries would be deleted; ${remedy}`;
}
