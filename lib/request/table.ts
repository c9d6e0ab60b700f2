/**
 * The table of the options of copyTree(): allowed values, defaults, and the names on the command line. Read by
 * the checks (options.ts), the help, the completions and the man page. A
 * leaf: it loads nothing, so that `--help` needs no addon.
 */
import type { CompareOptions, CopyOptions } from '../types.js';

const reflinkModes = ['auto', 'always', 'never'] as const;
const sparseModes = ['auto', 'always'] as const;
const snapshotModes = ['never', 'auto', 'always'] as const;
const backupModes = ['numbered', 'existing'] as const;
const onErrorModes = ['stop', 'continue'] as const;

/** How the command line names an option. The help shows the groups in this order. */
export const groups = {
  select: 'Selecting entries:',
  existing: 'Existing entries of DEST:',
  metadata: 'Metadata, symlinks, hard links:',
  content: 'Copying:',
  output: 'Output:',
} as const;

/** `common` options are in `--help`, all in `--help-all`. */
export interface Spelling {
  group: keyof typeof groups;
  flags: string;
  help: string;
  common?: true;
}

export interface Flag {
  type: 'flag';
  default: boolean;
  cli?: Spelling;
}

export interface Choice<T extends string> {
  type: 'choice';
  choices: readonly [T, ...T[]];
  /** Undefined: the option is off. */
  default: T | undefined;
  cli?: Spelling;
}

/** An option with a check of its own. */
export interface Other {
  type: 'other';
  cli?: Spelling;
}

const flag = (cli?: Spelling): Flag => ({ type: 'flag', default: false, ...(cli && { cli }) });
/** An option that is true unless it is switched off. */
const on = (cli?: Spelling): Flag => ({ type: 'flag', default: true, ...(cli && { cli }) });
const choice = <T extends string>(
  choices: readonly [T, ...T[]],
  fallback: T | undefined,
  cli?: Spelling,
): Choice<T> => ({ type: 'choice', choices, default: fallback, ...(cli && { cli }) });
const other = (cli?: Spelling): Other => ({ type: 'other', ...(cli && { cli }) });

/** Creates a spelling: group, flags, help, and whether the option is common. */
export function cli(
  group: keyof typeof groups,
  flags: string,
  help: string,
  common?: 'common',
): Spelling {
  return { group, flags, help, ...(common && { common: true as const }) };
}

export const table = {
  gitignore: flag(
    cli('select', '--gitignore', 'exclude .git and everything that git ignores', 'common'),
  ),
  onlyIgnored: flag(cli('select', '--only-ignored', 'copy only what git ignores')),
  worktree: flag(cli('select', '--worktree', 'copy what a new git worktree lacks', 'common')),
  include: other(cli('select', '--include <glob>', 'copy only matches (repeatable)', 'common')),
  exclude: other(cli('select', '--exclude <glob>', 'exclude matches (repeatable)', 'common')),
  ignoreFileNames: other(
    cli('select', '--ignore-file-name <name>', 'also read rules from files of this name'),
  ),
  filter: other(),
  oneFileSystem: flag(
    cli('select', '-x, --one-file-system', 'do not enter other file systems in SRC'),
  ),
  shard: other(cli('select', '--shard <i/n>', 'copy only part i of n, counted from 1')),

  sync: flag(cli('existing', '--sync', 'skip unchanged files, and preserve timestamps', 'common')),
  mirror: flag(cli('existing', '--mirror', '--sync, and delete what SRC does not have', 'common')),
  deleteExcluded: flag(
    cli('existing', '--delete-excluded', 'with --mirror: also delete excluded entries'),
  ),
  checksum: flag(cli('existing', '--checksum', 'like --sync, but compare every content')),
  quickCheck: flag(cli('existing', '--quick-check', 'like --sync, but trust equal size and mtime')),
  update: flag(cli('existing', '-u, --update', 'only replace older files; preserve timestamps')),
  force: on(cli('existing', '-n, --no-clobber', 'keep existing entries', 'common')),
  errorOnExist: flag(
    cli('existing', '--error-on-exist', 'keep existing files, and report each as an error'),
  ),
  backup: choice(
    backupModes,
    undefined,
    cli('existing', '--backup [=how]', 'keep replaced files: existing (f~) or numbered'),
  ),
  atomic: other(
    cli('existing', '--atomic [=two-step]', 'replace DEST as a whole, or not at all', 'common'),
  ),
  lock: on(cli('existing', '--no-lock', 'ignore other copies of SRC and DEST that are running')),
  lockTimeout: other(
    cli('existing', '--lock-timeout <seconds>', 'wait at most so long for other copies (600)'),
  ),
  parents: on(cli('existing', '--no-mkpath', 'fail if a parent of DEST is missing')),

  preserve: other(
    cli('metadata', '--preserve [=list]', 'mode,timestamps,ownership,xattr,links or all'),
  ),
  preserveTimestamps: flag(),
  strict: flag(cli('metadata', '--strict', 'fail if metadata cannot be preserved')),
  dereference: flag(cli('metadata', '-L, --dereference', 'copy the targets of symlinks', 'common')),
  verbatimSymlinks: on(),
  recursive: on(),
  hardLink: flag(cli('metadata', '-l, --link', 'create hard links instead of copies')),
  symlink: flag(cli('metadata', '-s, --symbolic-link', 'create symlinks instead of copies')),

  reflink: choice(
    reflinkModes,
    'auto',
    cli('content', '--reflink [=when]', 'share blocks with SRC: auto, always or never'),
  ),
  sparse: choice(
    sparseModes,
    'auto',
    cli('content', '--sparse <when>', 'preserve holes (auto), or turn zeros into holes (always)'),
  ),
  snapshot: choice(
    snapshotModes,
    'never',
    cli('content', '--snapshot [=when]', 'copy the tree as one btrfs or APFS snapshot'),
  ),
  fsync: flag(cli('content', '--fsync', 'wait until everything is on disk')),
  verify: flag(cli('content', '--verify', 'read back what was written, and compare')),
  concurrency: other(cli('content', '-j, --jobs <n>', 'use at most n threads')),
  onError: choice(onErrorModes, 'stop'),
  signal: other(),
  dryRun: flag(
    cli('output', '--dry-run', 'list what would change in DEST, and write nothing', 'common'),
  ),
  entries: flag(),
  onProgress: other(),
} satisfies { [K in keyof Required<CopyOptions>]: Flag | Choice<string> | Other };

type Table = typeof table;

export type FlagName = {
  [K in keyof Table]: Table[K] extends Flag ? K : never;
}[keyof Table];

export type ChoiceName = {
  [K in keyof Table]: Table[K] extends Choice<string> ? K : never;
}[keyof Table];

/** The options that have a meaning for compareTrees(). */
export const comparisonOptions = [
  'preserve',
  'dereference',
  'concurrency',
  'onError',
  'signal',
  'oneFileSystem',
  'gitignore',
  'onlyIgnored',
  'ignoreFileNames',
  'include',
  'exclude',
  'filter',
] as const satisfies readonly (keyof CompareOptions)[];
