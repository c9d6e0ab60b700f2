/** Checks the names of options, and suggests the one that was probably meant. */
import { refuseOption } from '../errors/arguments.js';
import type { CopyOptions } from '../types.js';

/** Throws for a name that is not an option of `known`, and suggests an option. */
export function checkNames(options: object, known: readonly string[]): void {
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const meant = nearestName(name, known);
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
  hardlink: 'hardLink',
  timestamps: 'preserveTimestamps',
  progress: 'onProgress',
  mode: 'preserve',
};

/**
 * Returns the option that was probably meant by `name`: for another tool's name, or with at most two different
 * letters.
 */
function nearestName(name: string, known: readonly string[]): string | undefined {
  const other = Object.hasOwn(otherNames, name) ? otherNames[name] : undefined;
  if (other && known.includes(other)) return other;
  const lower = name.toLowerCase();
  const distances = known.map((one): [string, number] => [one, distance(lower, one.toLowerCase())]);
  const [best] = distances.sort((a, b) => a[1] - b[1]);
  return best && best[1] <= Math.min(2, Math.floor(name.length / 3)) ? best[0] : undefined;
}

/** Returns the number of letters to insert, remove or replace (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
