/** Checks options and arguments. After this file they have the values that their types allow. */

import { invalidType, invalidValue, named, refuseOption } from '../errors/arguments.js';
import { absolute, pathBytes, shownFrom, trimSlashes } from '../paths.js';
import { parseGlobs, refuseAllDirectories } from '../selection/globs.js';
import { checkRuleFileNames } from '../selection/index.js';
import type { CopyOptions, PathLike } from '../types.js';
import { findConflict, missingRequirements } from './conflicts.js';
import { checkNames } from './names.js';
import { type Request, snapshotObstacle } from './request.js';
import { table } from './table.js';
import {
  checkAll,
  checkAtomic,
  checkConcurrency,
  checkFunction,
  checkSeconds,
  checkShard,
  checkSignal,
  listOf,
  preserved,
  withTimes,
} from './values.js';

/** Throws if options are not an object. */
export function checkObject(options: unknown): asserts options is object {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw invalidType('options', 'an object', options);
  }
}

export function checkRequest(
  src: PathLike | readonly PathLike[],
  dest: PathLike,
  options: CopyOptions,
): Request {
  checkObject(options);
  checkNames(options, Object.keys(table));
  const paths = checkPaths(src, dest);
  const checked = checkAll(options);
  const atomic = checkAtomic(options.atomic);
  const shard = checkShard(options.shard);
  const lists = {
    ignoreFileNames: checkRuleFileNames(options.ignoreFileNames ?? [], 'options.ignoreFileNames'),
    include:
      options.include === undefined
        ? undefined
        : parseGlobs(listOf(options.include), 'options.include'),
    exclude: parseGlobs(listOf(options.exclude), 'options.exclude'),
  };
  refuseAllDirectories(lists.include, 'options.include');
  for (const name of ['include', 'exclude'] as const) refuseWholePaths(options[name], name, paths);
  for (const name of ['recursive', 'verbatimSymlinks'] as const) {
    if (!checked[name]) {
      throw invalidValue(`options.${name}`, "true: 'fastcp/fs' has it as fs.cp does", false);
    }
  }
  const conflict = findConflict(options);
  if (conflict) {
    const { name, others, why } = conflict;
    const given = others.map((one) => named(`options.${one}`, one === 'force' ? false : undefined));
    throw refuseOption(name, `cannot be combined with ${given.join(' and ')}${why && `: ${why}`}`);
  }
  for (const [name, needed] of missingRequirements(options)) {
    throw refuseOption(name, `requires ${named(`options.${needed}`)}`);
  }
  if (checked.sparse === 'always' && checked.reflink === 'always') {
    const other = named('options.sparse', 'always');
    throw refuseOption('reflink', `cannot be combined with ${other}: it writes files anew`);
  }
  if (atomic && paths.sources.length > 1) {
    throw refuseOption('atomic', 'cannot be combined with several sources');
  }
  const sync = checked.sync || checked.mirror || checked.checksum || checked.quickCheck;
  const keepsTimes = sync || checked.update || checked.preserveTimestamps || checked.worktree;
  const { preserve, existingDirectories } = preserved(options.preserve);
  const request: Request = {
    ...paths,
    ...checked,
    ...shard,
    ...lists,
    ...(checked.worktree && { onlyIgnored: true, force: false }),
    ...(checked.worktree && paths.sources.length === 1 && { dest: trimSlashes(paths.dest) }),
    sync,
    atomic,
    preserve: keepsTimes ? withTimes(preserve) : preserve,
    existingDirectories: (existingDirectories && !checked.worktree) || sync || shard.shards > 0,
    replaces: undefined,
    compares: false,
    absoluteSymlinks: false,
    like: 'fastcp',
    workingDirectory: Buffer.alloc(0),
    followsDest: true,
    concurrency: checkConcurrency(options.concurrency),
    lockTimeout: checkSeconds(options.lockTimeout),
    signal: checkSignal(options.signal),
    filter: checkFunction(options.filter, 'filter'),
    onProgress: checkFunction(options.onProgress, 'onProgress'),
  };
  const obstacle = request.snapshot === 'always' && snapshotObstacle(request);
  if (!obstacle) return request;
  throw refuseOption('snapshot', `cannot be combined with ${obstacle}`);
}

function checkPaths(
  src: PathLike | readonly PathLike[],
  dest: PathLike,
): Pick<Request, 'sources' | 'several' | 'dest' | 'shown'> {
  const several = Array.isArray(src);
  if (several && src.length === 0) throw invalidValue('src', 'at least one path', '[]');
  const sources = several
    ? Array.from(src, (path, index) => pathBytes(path, `src[${index}]`))
    : [pathBytes(src, 'src')];
  const target = pathBytes(dest, 'dest');
  return {
    sources: sources.map(absolute),
    several,
    dest: absolute(target),
    shown: { src: shownFrom(sources), dest: shownFrom([target]) },
  };
}

/**
 * Refuses globs that begin with the path of SRC or DEST. They are relative to SRC and would match nothing, so a mirror would
 * delete what the user wants to keep. A path of one name may also be a directory in SRC. In `/` all paths are.
 */
function refuseWholePaths(
  globs: CopyOptions['include'],
  name: 'include' | 'exclude',
  { sources, dest }: Pick<Request, 'sources' | 'dest'>,
): void {
  const roots = [...sources, dest].map((path) => trimSlashes(path).toString());
  if (sources.some((path) => trimSlashes(path).toString() === '/')) return;
  const deep = roots.filter((path) => path.split('/').length > 2);
  for (const [index, glob] of [globs ?? []].flat().entries()) {
    if (!deep.some((path) => `${glob}/`.startsWith(`${path}/`))) continue;
    throw invalidValue(`options.${name}[${index}]`, "a glob relative to SRC, as '/cache'", glob);
  }
}
