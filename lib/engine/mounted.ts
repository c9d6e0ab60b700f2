/** Refuses to delete from DEST what SRC also has, because of bind mounts. */
import { refuse } from '../errors.js';
import type { Request } from '../request/options.js';
import { verdicts } from '../selection/index.js';
import { type Mount, mounts, type Shared, sharedByMounts } from '../walk/mounts.js';
import { baseName, join, showPath } from '../walk/paths.js';
import { realpath, run } from '../walk/steps.js';
import { directoryToKeep, existing, type Root, type Walk } from '../walk/walk.js';
import type { Answers } from './answers.js';

/** One source with one DEST, which need not be that of the same root. */
interface Pair {
  source: Root;
  target: Root;
  answers: Answers;
  request: Request;
}

/** Rejects with `ERR_FASTCP_DEST_PROTECTED`. Does nothing if the system does not tell its mounts. */
export async function refuseMounted(
  { roots, shown }: Walk,
  answers: Answers,
  request: Request,
): Promise<void> {
  if (process.platform !== 'linux') return;
  const all: Mount[] = await mounts().catch(() => []);
  const sources = await Promise.all(
    roots.map(async (source) => ({ source, real: await realPathOf(source) })),
  );
  for (const target of roots) {
    if (target.kind !== 'directory' || !(await run(existing(target.dest, true)))) continue;
    const dest = await run(realpath(target.dest));
    for (const { source, real } of sources) {
      for (const shared of sharedByMounts(all, real, dest)) {
        const why = await problemOf({ source, target, answers, request }, shared);
        if (!why) continue;
        const paths = [shown.src(source.src), shown.dest(target.dest)] as const;
        throw refuse('ERR_FASTCP_DEST_PROTECTED', why, ...paths);
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
async function problemOf(pair: Pair, { inSrc, inDest }: Shared): Promise<string | undefined> {
  const { source, target, request } = pair;
  const [src, dest] = [
    showPath(inSrc.reduce(join, source.src)),
    showPath(inDest.reduce(join, target.dest)),
  ];
  if (inDest.length === 0) {
    if (!request.atomic && !(await isSelected(pair, source, inSrc))) return undefined;
    return `by a bind mount the destination is also '${src}'; exclude that`;
  }
  const isKept = !request.atomic && !request.deleteExcluded;
  if (isKept && !(await isSelected(pair, target, inDest))) return undefined;
  // If both have it at the same place, the engine leaves it alone, with an error.
  const [name, other] = [inDest, inSrc].map((names) => names.map(showPath).join('/'));
  if (!request.atomic && source === target && name === other) return undefined;
  const remedy = isKept ? `unmount it or exclude '${name}'` : 'unmount it';
  return `by a bind mount '${src}' is also '${dest}', where entries would be deleted; ${remedy}`;
}

async function isSelected(
  { answers }: Pair,
  root: Root,
  names: readonly Buffer[],
): Promise<boolean> {
  return (await answers.verdictOn(root, names, 'directory')) !== verdicts.leave;
}
