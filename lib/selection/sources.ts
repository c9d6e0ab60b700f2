/** Of several SRCs, those that an exclude glob names are not copied. */
import { baseName } from '../paths.js';
import type { Placement } from '../placement/placement.js';
import type { Request } from '../request/request.js';
import type { CopyWarning } from '../types.js';
import { excludedBy } from './globs.js';
import { textOf } from './verdict.js';

/**
 * Of several SRCs, takes away those that an exclude glob names: a shell has expanded `*`, and the user does not see which names
 * that are. A single SRC was written.
 */
export function skipSources(
  { roots, shown }: Placement,
  { sources, exclude }: Request,
): CopyWarning[] {
  if (sources.length < 2) return [];
  const warnings: CopyWarning[] = [];
  for (const root of [...roots]) {
    const name = textOf(baseName(root.dest).toString('latin1'));
    const reason = excludedBy(exclude, name, root.kind === 'directory');
    if (!reason) continue;
    roots.splice(roots.indexOf(root), 1);
    const path = shown.src(root.src);
    const message = `'${path}' is not copied: it matches the excluded glob '${reason}'`;
    warnings.push({ code: 'SOURCE_SKIPPED', message, path });
  }
  return warnings;
}
