/** Options that cannot be combined, for the library and the command line alike. A leaf, as table.ts is. */
import type { CopyOptions } from '../types.js';
import { conflicts, requirements } from './table.js';

type Name = keyof CopyOptions;

export interface Conflict {
  name: Name;
  /** The option that excludes it. */
  other: Name;
  /** Empty if the reason is obvious. */
  why: string;
}

/** Returns the first pair of options that exclude each other. */
export function findConflict(options: CopyOptions): Conflict | undefined {
  for (const [name, other, why = ''] of conflicts) {
    if (isSet(options, name) && isSet(options, other)) {
      return { name, other, why };
    }
  }
  return undefined;
}

/** Returns options that have no effect because another option is missing. */
export function missingRequirements(options: CopyOptions): (readonly [Name, Name])[] {
  return requirements.filter(([name, needed]) => isSet(options, name) && !isSet(options, needed));
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
