/** Warns of rules that matched nothing, rule files that were never found, and worktrees that were left out. */
import { join } from '../paths.js';
import type { Root } from '../placement/placement.js';
import type { Request } from '../request/request.js';
import type { CopyWarning } from '../types.js';
import type { Selection } from './index.js';
import { unmatchedGlobs } from './unmatched.js';

interface Selected {
  root: Root;
  selection: Selection;
}

/** Call it after the copy. `isEmpty`: no entry was selected. */
export function unusedWarnings(
  roots: readonly Selected[],
  request: Request,
  isEmpty: boolean,
): CopyWarning[] {
  const { include, exclude, gitignore, onlyIgnored, ignoreFileNames, filter, shown } = request;
  const selectsMore = gitignore || onlyIgnored || ignoreFileNames.length > 0 || Boolean(filter);
  const sources = roots.map(({ root: { src } }) => shown.src(src));
  const warnings = unmatchedGlobs({ include, exclude, selectsMore }, sources);
  for (const name of ignoreFileNames) {
    if (roots.some(({ selection }) => selection.hasMet(name))) continue;
    const message = `the source has no rule file named '${name}'`;
    warnings.push({ code: 'IGNORE_FILE_NOT_FOUND', message });
  }
  for (const one of roots) warnings.push(...worktreeWarnings(one, request));
  if (request.worktree && isEmpty) {
    const path = sources.join("', '");
    const message = `git ignores nothing in '${path}', the source, so there is nothing to copy`;
    warnings.push({ code: 'NOTHING_IGNORED', message, path });
  }
  return warnings;
}

/** Warns of worktrees that were left out, and of patterns of .worktreeinclude. */
function* worktreeWarnings(
  { root, selection }: Selected,
  { worktree, include, exclude, shown }: Request,
): Generator<CopyWarning> {
  const dest = root.inside?.map((name) => name.toString('latin1')).join('/');
  const { leftWorktrees = [], include: patterns } = selection.gitignore ?? {};
  for (const one of worktree ? [] : leftWorktrees) {
    if (one === dest) continue;
    const path = shown.src(join(root.src, Buffer.from(one, 'latin1')));
    const message = `'${path}' is not copied: it is a worktree of its own`;
    yield { code: 'WORKTREE_SKIPPED', message, path };
  }
  // Otherwise the rest of the worktree may have what they match.
  if (include || exclude.length > 0 || !patterns?.isAtTop) return;
  for (const pattern of patterns.unused) {
    const message = `the pattern ${pattern} matches no ignored entry outside directories that are copied whole`;
    yield { code: 'INCLUDE_UNMATCHED', message };
  }
}
