/** Options that cannot be combined, for the library and the command line alike. A leaf, as table.ts is. */
import type { CopyOptions } from '../types.js';

type Name = keyof CopyOptions;

/**
 * Options that exclude each other: the first, the second, the reason, and perhaps a third. They are refused if all are set, as
 * isSet() says.
 */
const conflicts: readonly [Name, Name, why?: string, third?: Name][] = [
  ['onlyIgnored', 'gitignore'],
  ['worktree', 'gitignore', 'a worktree gets what git ignores'],
  ['worktree', 'onlyIgnored', 'a worktree gets what git ignores anyway'],
  ['worktree', 'ignoreFileNames', '.worktreeinclude has the rules'],
  ['worktree', 'dereference', 'symlinks stay symlinks'],
  ['worktree', 'shard', 'a shard does not know what the others copy'],
  ['worktree', 'mirror', 'existing entries of DEST stay'],
  ['worktree', 'sync', 'existing entries of DEST stay'],
  ['worktree', 'update', 'existing entries of DEST stay'],
  ['worktree', 'backup', 'existing entries of DEST stay'],
  ['worktree', 'atomic', 'existing entries of DEST stay'],
  ['worktree', 'snapshot', 'only a part of SRC is copied'],
  ['quickCheck', 'checksum'],
  ['hardLink', 'symlink'],
  ['mirror', 'shard', 'a shard does not know what the others copy'],
  ['mirror', 'backup', 'the next run would delete the backups'],
  ['mirror', 'errorOnExist', 'a mirror replaces what differs'],
  ['mirror', 'force', 'a mirror replaces what differs'],
  ['mirror', 'update', 'a mirror replaces newer entries as well'],
  ['mirror', 'symlink', 'symlinks to SRC are always up to date'],
  ['sync', 'errorOnExist', 'a sync replaces what differs'],
  ['sync', 'force', 'a sync replaces what differs'],
  ['sync', 'update', 'a sync replaces newer entries as well'],
  ['sync', 'symlink', 'symlinks to SRC are always up to date'],
  ['update', 'errorOnExist', 'it would replace nothing'],
  ['update', 'force', 'it would replace nothing'],
  ['backup', 'errorOnExist', 'nothing would be replaced'],
  ['backup', 'force', 'nothing would be replaced'],
  ['atomic', 'errorOnExist', 'nothing of the old DEST stays'],
  ['atomic', 'force', 'nothing of the old DEST stays'],
  ['atomic', 'update', 'nothing of the old DEST stays'],
  ['atomic', 'backup', 'nothing of the old DEST stays'],
  ['atomic', 'mirror', 'everything is copied anew'],
  ['atomic', 'sync', 'everything is copied anew'],
  ['atomic', 'shard', 'a shard is not the whole tree'],
  ['atomic', 'symlink', 'targets in the old DEST would be lost', 'dereference'],
];

/** Options that have no effect without another one. */
const requirements: readonly [Name, Name][] = [['deleteExcluded', 'mirror']];

export interface Conflict {
  name: Name;
  /** The option that excludes it, or two that do so together. */
  others: readonly Name[];
  /** Empty if the reason is obvious. */
  why: string;
}

/** Returns the first options that exclude each other. */
export function findConflict(options: CopyOptions): Conflict | undefined {
  for (const [name, other, why = '', third] of conflicts) {
    const others = third ? [other, third] : [other];
    if (![name, ...others].every((one) => isSet(options, one))) continue;
    return { name: kindOf(options, name), others: others.map((one) => kindOf(options, one)), why };
  }
  return undefined;
}

/** Returns options that have no effect because another option is missing. */
export function missingRequirements(options: CopyOptions): (readonly [Name, Name])[] {
  return requirements.filter(([name, needed]) => isSet(options, name) && !isSet(options, needed));
}

/** Names the kind of sync that was asked for. */
function kindOf({ sync, checksum }: CopyOptions, name: Name): Name {
  return name !== 'sync' || sync ? name : checksum ? 'checksum' : 'quickCheck';
}

/**
 * Returns whether an option is set. `force` counts if it is false, because true is the default. `checksum` and
 * `quickCheck` are kinds of sync.
 */
function isSet(options: CopyOptions, name: Name): boolean {
  if (name === 'force') return options.force === false;
  const { [name]: value } = options;
  if (value !== undefined && value !== false && value !== 'never') return true;
  return name === 'sync' && (options.checksum === true || options.quickCheck === true);
}
