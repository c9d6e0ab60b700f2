/** Warns of globs that matched nothing, if what the user meant by them can be told. */
import type { CopyWarning } from '../types.js';
import { type Glob, unusedGlobs } from './globs.js';

/** Globs that exclude everything. */
const everything = /^(\.?\/+)?\*+(\/+\*+)*$/;

interface Globs {
  include: readonly Glob[] | undefined;
  exclude: readonly Glob[];
  /** Whether anything else excludes entries. */
  selectsMore: boolean;
}

/** Call it after the copy. `sources`: each SRC as the user wrote it. */
export function unmatchedGlobs(
  { include, exclude, selectsMore }: Globs,
  sources: readonly string[],
): CopyWarning[] {
  const unmatched = (message: string): CopyWarning => ({ code: 'INCLUDE_UNMATCHED', message });
  const included = unusedGlobs(include ?? []);
  const all = exclude.find(({ source }) => everything.test(source))?.source;
  const warnings: CopyWarning[] = [];
  if (include?.length === 0) warnings.push(unmatched('the list of globs to include is empty'));
  if (all !== undefined && included.length > 0) {
    const why = 'with globs to include, only what they match is copied';
    warnings.push(unmatched(`every entry is excluded by the glob '${all}': leave it out; ${why}`));
  } else {
    const or = exclude.length > 0 || selectsMore ? ', or what matches is excluded' : '';
    for (const glob of included) {
      const hint = hintOn(glob);
      const what = `no entry of the source matches the included glob '${glob}'${or}`;
      warnings.push(unmatched(hint ? `${what}: ${hint}` : what));
    }
  }
  const roots = sources.map(plainPath);
  for (const glob of unusedGlobs(exclude)) {
    const root = roots.find((one) => one && isBelow(plainPath(glob), one));
    const hint =
      hintOn(glob) ??
      (root ? `globs are relative to the source; write '${belowRoot(glob, root)}'` : undefined);
    if (hint === undefined) continue;
    const message = `the excluded glob '${glob}' matches nothing: ${hint}`;
    warnings.push({ code: 'EXCLUDE_UNMATCHED', message });
  }
  return warnings;
}

/** Tells what to write instead of a list, or of a filter rule of rsync. */
function hintOn(glob: string): string | undefined {
  const [, sign, rule] = /^([-+]) (.+)$/s.exec(glob) ?? [];
  if (sign) {
    return `rsync's filter rules are not supported; ${sign === '-' ? 'exclude' : 'include'} '${rule}'`;
  }
  const outside = glob.replace(/\\.|\[[^\]]*\]|\{[^{}]*\}/gs, '');
  return outside.includes(',') ? `give each glob by itself, or write '{${glob}}'` : undefined;
}

function isBelow(path: string, directory: string): boolean {
  return path !== directory && path.startsWith(directory);
}

/** Returns a glob that begins with the source's path as one that is relative to it. */
function belowRoot(glob: string, root: string): string {
  return `/${withoutBeginning(glob).slice(root.length)}`;
}

/** Returns a path or glob with a slash at its end, and without `./` at its beginning. Empty for `.`. */
function plainPath(path: string): string {
  const plain = withoutBeginning(path).replace(/\/+$/, '');
  return plain === '' || plain === '.' ? '' : `${plain}/`;
}

/** Returns a path or glob without `./` and slashes at its beginning. */
function withoutBeginning(path: string): string {
  return path.replace(/^(\.?\/+)+/, '');
}
