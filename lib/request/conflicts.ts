/** Options that cannot be combined, for the library and the command line alike. A leaf, as table.ts is. */
import type { CopyOptions } from '../types.js';
import { conflicts, requirements } from './table.js';

type Name = keyof CopyOptions;

export interface Conflict {
  name: Name;
  /** The option that it cannot be combined with. */
  other: Name;
  /** Empty where that is obvious. */
  why: string;
}

/** The first pair of options that exclude each other. */
export function findConflict(options: CopyOptions): Conflict | undefined {
  for (const [name, other, why = ''] of conflicts) {
    if (isSet(options, name) && isSet(options, other)) {
      return { name, other, why };
    }
  }
  return undefined;
}

/** Options that mean nothing because the one that they need is missing. */
export function missingRequirements(options: CopyOptions): (readonly [Name, Name])[] {
  return requirements.filter(([name, needed]) => isSet(options, name) && !isSet(options, needed));
}

/** `force` counts where it is false: true is the default. `checksum` and `quickCheck` are kinds of sync. */
function isSet(options: CopyOptions, name: Name): boolean {
  if (name === 'force') return options.force === false;
  const { [name]: value } = options;
  if (value !== undefined && value !== false && value !== 'never') return true;
  return name === 'sync' && (options.checksum === true || options.quickCheck === true);
}
