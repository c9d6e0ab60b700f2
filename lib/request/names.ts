/** Checks the names of options, and suggests the one that was probably meant. */
import { refuseOption } from '../errors/arguments.js';
import type { CopyOptions } from '../types.js';

/** Throws for a name that is not an option of `known`, and suggests an option. */
export function checkNames(options: object, known: readonly string[]): void {
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const meant = meantBy(name, known);
    const hint = meant === undefined ? '' : `; did you mean '${meant}'?`;
    throw refuseOption(name, `is not an option of fastcp${hint}`);
  }
}

/** Names of other tools for fastcp's options. */
const otherNames: Record<string, keyof CopyOptions> = {
  overwrite: 'force',
  clobber: 'force',
  skipExisting: 'force',
  ignore: 'exclude',
  ignored: 'onlyIgnored',
  ignoreFiles: 'ignoreFileNames',
  delete: 'mirror',
  timestamps: 'preserveTimestamps',
  progress: 'onProgress',
  mode: 'preserve',
};

/** Returns the option that was probably meant by `name`: for another tool's name, or another case. */
function meantBy(name: string, known: readonly string[]): string | undefined {
  const other = Object.hasOwn(otherNames, name) ? otherNames[name] : name;
  return known.find((one) => one.toLowerCase() === other?.toLowerCase());
}
