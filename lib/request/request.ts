/** A checked call of copyTree(), and what follows from its options. */

import { named } from '../errors/arguments.js';
import type { ShownPaths } from '../paths.js';
import type { Glob } from '../selection/globs.js';
import type { CopyTurn } from '../turn.js';
import type { CopyOptions, CopyProgress, Filter, PreserveKind } from '../types.js';
import type { ChoiceName, FlagName, table } from './table.js';

/** Flags and choices, with their defaults. */
export type Checked = { [K in FlagName]: boolean } & {
  [K in ChoiceName]:
    | Exclude<CopyOptions[K], undefined>
    | ((typeof table)[K]['default'] & undefined);
};

/** The programs whose rules a copy may follow. */
export type Like = 'fastcp' | 'node' | 'fs-extra';

/** A call of copyTree() with all defaults. addon.cc reads it. */
export interface Request extends Checked {
  preserve: readonly PreserveKind[];
  /** Also applies SRC's metadata to directories that exist in DEST. */
  existingDirectories: boolean;
  /** With `atomic`, in the engine: the old DEST, whose place the copy will take. */
  replaces: Buffer | undefined;
  /** Whose rules apply: see docs/fs.md. */
  like: Like;
  /** Of the time of the call; empty unless `like` is another program, or if it was removed. */
  workingDirectory: Buffer;
  /** A DEST that is a symlink to a directory stands for that directory. */
  followsDest: boolean;
  /** Relative symlinks become absolute, as in Node's fs.cp. */
  absoluteSymlinks: boolean;
  /** The number of shards (0: this copy is none), and this copy's, counted from 0. */
  shards: number;
  shard: number;
  atomic: boolean | 'two-step';
  /** Seconds. */
  lockTimeout: number;
  concurrency: number;
  signal: AbortSignal | undefined;
  /** Of a copy that runs. */
  turn?: CopyTurn;
  filter: Filter | undefined;
  onProgress: ((progress: CopyProgress) => void) | undefined;
  ignoreFileNames: string[];
  include: Glob[] | undefined;
  exclude: Glob[];
  /** Nothing is copied: two trees are compared. */
  compares: boolean;
  /** Absolute, as `dest` is, so a later change of the working directory has no effect. */
  sources: Buffer[];
  /** Several sources were passed, as an array: they are copied into `dest`. */
  several: boolean;
  dest: Buffer;
  /** How messages write absolute paths: relative if the paths were passed so. */
  shown: ShownPaths;
}

/** Returns whether something of SRC may be excluded. */
export function selects(request: Request): boolean {
  const { gitignore, onlyIgnored, ignoreFileNames, include, exclude, filter } = request;
  const lists = [...ignoreFileNames, ...exclude];
  return gitignore || onlyIgnored || lists.length > 0 || (include ?? filter) !== undefined;
}

/** Returns whether entries that DEST alone has are deleted. */
export function deletes({ mirror, atomic, compares }: Request): boolean {
  return (mirror || Boolean(atomic)) && !compares;
}

/** Returns the first option that a snapshot cannot fulfil. */
export function snapshotObstacle(request: Request): string | undefined {
  const { include, exclude, ignoreFileNames } = request;
  const { dereference, backup, update, gitignore, onlyIgnored, filter } = request;
  const obstacles: Record<string, unknown> = {
    dereference,
    hardLink: request.hardLink,
    symlink: request.symlink,
    reflink: request.reflink === 'never' && 'never',
    sparse: request.sparse === 'always' && 'always',
    backup,
    mirror: request.mirror,
    checksum: request.checksum,
    quickCheck: request.quickCheck,
    sync: request.sync,
    update,
    shard: request.shards > 0,
    gitignore,
    onlyIgnored,
    include,
    exclude: exclude.length > 0,
    ignoreFileNames: ignoreFileNames.length > 0,
    filter,
  };
  if (request.sources.length > 1) return 'several sources';
  const [found] = Object.entries(obstacles).filter(([, obstacle]) => obstacle);
  return found && named(`options.${found[0]}`, typeof found[1] === 'string' ? found[1] : undefined);
}
