/** Checks that need the selection: DEST within SRC, and deletions that a mirror or an atomic replacement must not make. */
import { Answers } from '../bridge/answers.js';
import { Report } from '../bridge/result.js';
import { runEngine } from '../bridge/run-engine.js';
import { named } from '../errors/arguments.js';
import { reasons, refuse } from '../errors/copy-error.js';
import { existing } from '../io/looks.js';
import { directoryOf, join, temporaryName, trimSlashes } from '../paths.js';
import { type Placement, redirect } from '../placement/placement.js';
import { deletes, type Request, selects } from '../request/request.js';
import { verdicts } from '../selection/index.js';

/** The directories of version control in the root of a repository. */
const repositories = ['.git', '.hg', '.svn'];

/**
 * Rejects with `ERR_FS_CP_EINVAL` if a root's DEST lies within its SRC and is not excluded. Rejects with
 * `ERR_FASTCP_DEST_PROTECTED` if a mirror or an atomic replacement would delete a repository and not copy one, or selects
 * nothing.
 */
export async function refuseBySelection(
  placement: Placement,
  answers: Answers,
  request: Request,
): Promise<void> {
  const { roots, shown } = placement;
  for (const root of roots) {
    const [src, dest] = [shown.src(root.src), shown.dest(root.dest)];
    const verdict = root.inside && (await answers.verdictOn(root, root.inside, 'directory'));
    if (verdict) {
      const why = `${reasons.inside}; exclude it to copy everything else`;
      throw refuse('ERR_FS_CP_EINVAL', why, src, dest);
    }
  }
  await refuseRepositories(placement, answers, request);
  if (request.sync && process.platform === 'linux') {
    const { distrustedDevices } = await import('../placement/mounts.js'); // loaded late, as most copies do without
    placement.distrusted = await distrustedDevices();
  }
  await refuseEmptySelection(placement, request);
}

/**
 * Rejects with `ERR_FASTCP_DEST_PROTECTED` if a mirror or an atomic replacement would delete a repository and not copy one. Called
 * again before an atomic copy is placed, because that takes time.
 */
export async function refuseRepositories(
  { roots, shown }: Placement,
  answers: Answers,
  request: Request,
): Promise<void> {
  if (!deletes(request)) return;
  for (const root of roots.filter(({ kind }) => kind === 'directory')) {
    for (const name of repositories.map((one) => Buffer.from(one))) {
      const there = await existing(join(root.dest, name), false, () => shown.dest(root.dest));
      if (!there) continue;
      const own = await existing(join(root.src, name), request.dereference);
      const kind = there.isDirectory() ? 'directory' : 'file';
      const verdict = await answers.verdictOn(root, [name], kind);
      const keepsExcluded = request.mirror && !request.deleteExcluded;
      const isReplaced = own?.isDirectory() === there.isDirectory();
      const stays =
        verdict === verdicts.leave
          ? keepsExcluded
          : isReplaced && (verdict >= verdicts.take || keepsExcluded);
      if (stays) continue;
      const remedy = request.mirror
        ? `exclude '${name}' to keep it`
        : `copy without ${named('atomic')}, which replaces everything`;
      const why = `this would delete the repository of the destination; ${remedy}`;
      throw refuse('ERR_FASTCP_DEST_PROTECTED', why, shown.src(root.src), shown.dest(root.dest));
    }
  }
}

/**
 * Rejects with `ERR_FASTCP_DEST_PROTECTED` if a mirror would delete everything in DEST because nothing is selected. Plans
 * the copy first to know, so a filter is called twice for each entry.
 */
async function refuseEmptySelection(placement: Placement, request: Request): Promise<void> {
  if (!request.deleteExcluded || !selects(request)) return;
  const { roots, shown } = placement;
  for (const root of roots) {
    if (root.kind !== 'directory' || !(await existing(root.dest, true))) continue;
    // A name that does not exist, so that every selected entry counts.
    const dest = join(directoryOf(trimSlashes(root.dest)), temporaryName());
    const plan = { ...request, mirror: false, deleteExcluded: false, dryRun: true, entries: false };
    const alone = redirect(placement, root, dest);
    const report = new Report();
    const answers = await Answers.prepare(alone, plan);
    await runEngine(alone, answers, { ...plan, onProgress: undefined }, report);
    if (!report.isEmpty) continue;
    const why = 'nothing is selected, so everything in the destination would be deleted';
    throw refuse('ERR_FASTCP_DEST_PROTECTED', why, shown.src(root.src), shown.dest(root.dest));
  }
}
