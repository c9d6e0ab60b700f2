/** Refuses to delete entries of DEST that SRC also has, by bind mounts or overlays. */
import { refuse } from '../errors.js';
import type { Request } from '../request/options.js';
import { verdicts } from '../selection/index.js';
import {
  isWithin,
  type Layer,
  type Mount,
  mounts,
  overlaysIn,
  type Shared,
  sharedByMounts,
} from '../walk/mounts.js';
import { baseName, join, namesFrom, showPath } from '../walk/paths.js';
import { realpath, run } from '../walk/steps.js';
import { directoryToKeep, existing, isSame, type Root, type Walk } from '../walk/walk.js';
import type { Answers } from './answers.js';

/** One source with one DEST, which need not be that of the same root, and an entry that both have. */
interface Meeting extends Shared {
  source: Root;
  target: Root;
  kind: 'directory' | 'file';
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
  const all: Mount[] = await mounts().catch(() => []);
  for await (const meeting of meetings(roots, all)) {
    const why = await problemOf(meeting, answers, request);
    if (!why) continue;
    const paths = [shown.src(meeting.source.src), shown.dest(meeting.target.dest)] as const;
    throw refuse('ERR_FASTCP_DEST_PROTECTED', why, ...paths);
  }
}

async function* meetings(roots: readonly Root[], all: readonly Mount[]): AsyncGenerator<Meeting> {
  const sources = await Promise.all(
    roots.map(async (source) => ({ source, real: await realPathOf(source) })),
  );
  for (const target of roots) {
    if (target.kind !== 'directory' || !(await run(existing(target.dest, true)))) continue;
    const dest = await run(realpath(target.dest));
    for (const { source, real } of sources) {
      for (const shared of sharedByMounts(all, real, dest)) {
        const one = await run(existing(shared.inSrc.reduce(join, real), true));
        const other = await run(existing(shared.inDest.reduce(join, dest), true));
        if (!one || !other || !isSame(one, other)) continue;
        const kind = one.isDirectory() ? 'directory' : 'file';
        yield { source, target, kind, by: 'a bind mount', relation: 'is also', ...shared };
      }
      const by = { source, target, kind: 'directory', by: 'an overlay' } as const;
      for await (const { inOverlay, inLayer, isWhole } of sharedByLayers(all, real, dest)) {
        const relation = isWhole ? 'has a layer in' : 'is also';
        yield { ...by, relation, inSrc: inOverlay, inDest: inLayer };
      }
      // Deletions in an overlay change its upper layer only.
      const isUpper = (layer: Layer): boolean => layer.isUpper;
      for await (const { inOverlay, inLayer, isWhole } of sharedByLayers(
        all,
        dest,
        real,
        isUpper,
      )) {
        const relation = isWhole ? 'is a layer of' : 'is also';
        yield { ...by, relation, inSrc: inLayer, inDest: inOverlay };
      }
    }
  }
}

/** A directory that two trees have: by an overlay, and by a layer of the overlay. */
interface SharedByLayer {
  inOverlay: Buffer[];
  inLayer: Buffer[];
  /** The whole layer is in the second tree. */
  isWhole: boolean;
}

/**
 * Returns the directories that `one` shows by overlays, and `other` by their layers. Leaves out those that both have as their
 * own roots: a copy between an overlay and its layer is what users may want.
 */
async function* sharedByLayers(
  all: readonly Mount[],
  one: Buffer,
  other: Buffer,
  counts: (layer: Layer) => boolean = () => true,
): AsyncGenerator<SharedByLayer> {
  for (const { at, layers } of overlaysIn(all, one)) {
    for (const { path } of layers.filter(counts)) {
      // As the options name it, perhaps by a path that is not valid here.
      const layer = await run(realpath(path)).catch(() => path);
      if (isWithin(layer, other) && !layer.equals(other)) {
        const inOverlay = isWithin(at, one) ? namesFrom(one, at) : [];
        yield { inOverlay, inLayer: namesFrom(other, layer), isWhole: true };
      } else if (isWithin(other, layer)) {
        const shown = namesFrom(layer, other).reduce(join, at); // the other tree, in the overlay
        if (shown.equals(one) || !(await run(existing(shown, false)))) continue;
        const isIn = isWithin(shown, one);
        if (!isIn && !isWithin(one, shown)) continue;
        const inOverlay = isIn ? namesFrom(one, shown) : [];
        yield { inOverlay, inLayer: isIn ? [] : namesFrom(shown, one), isWhole: false };
      }
    }
  }
}

/** Returns a source's path without symlinks on the way. */
async function realPathOf(root: Root): Promise<Buffer> {
  const kept = directoryToKeep(root);
  const real = await run(realpath(kept));
  return kept === root.src ? real : join(real, baseName(root.src));
}

/** Returns what is wrong with a mirror or an atomic replacement, or undefined. */
async function problemOf(
  { source, target, kind, by, relation, inSrc, inDest }: Meeting,
  answers: Answers,
  { atomic, deleteExcluded }: Request,
): Promise<string | undefined> {
  const isExcluded = async (root: Root, names: readonly Buffer[]): Promise<boolean> =>
    (await answers.verdictOn(root, names, kind)) === verdicts.leave;
  const src = showPath(inSrc.reduce(join, source.src));
  const dest = showPath(inDest.reduce(join, target.dest));
  if (inDest.length === 0) {
    if (!atomic && (await isExcluded(source, inSrc))) return undefined;
    return `by ${by} '${src}' ${relation} the destination; exclude that`;
  }
  const isKept = !atomic && !deleteExcluded;
  if (isKept && (await isExcluded(target, inDest))) return undefined;
  const [name, other] = [inDest, inSrc].map((names) => names.map(showPath).join('/'));
  // At the same place in both, the engine touches nothing. It reports a directory.
  if (!atomic && source === target && name === other) return undefined;
  const remedy = isKept ? `unmount it or exclude '${name}'` : 'unmount it';
  return `by ${by} '${src}' ${relation} '${dest}', where entries would be deleted; ${remedy}`;
}
