/** Warns of globs that matched nothing, if what the user meant by them can be told. */
import { promises } from 'node:fs';
import { join } from '../paths.js';
import type { CopyWarning } from '../types.js';
import {
  type Glob,
  type GlobScope,
  globScope,
  judgeGlobs,
  parseGlobs,
  unusedGlobs,
} from './globs.js';
import { textOf, verdicts } from './verdict.js';

/** So many directories are listed to find what a glob would match at another depth. */
const mostListed = 500;

/** Globs that exclude everything. */
const everything = /^(\.?\/+)?\*+(\/+\*+)*$/;

interface Globs {
  include: readonly Glob[] | undefined;
  exclude: readonly Glob[];
  /** Whether anything else excludes entries. */
  selectsMore: boolean;
}

/** Call it after the copy. `directories`: each SRC, and as the user wrote it. */
export async function unmatchedGlobs(
  { include, exclude, selectsMore }: Globs,
  directories: readonly { src: Buffer; shown: string }[],
): Promise<CopyWarning[]> {
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
  const excluded = unusedGlobs(exclude);
  const deeper = await matchedDeeper(excluded, exclude, directories);
  const roots = directories.map(({ shown }) => plainPath(shown));
  for (const glob of excluded) {
    const root = roots.find((one) => one && isBelow(plainPath(glob), one));
    const hint =
      hintOn(glob) ??
      (root ? `globs are relative to the source; write '${belowRoot(glob, root)}'` : undefined) ??
      (deeper.has(glob)
        ? `globs with a slash are relative to the source; write '**/${glob}'`
        : undefined);
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

/** Returns the globs that would match an entry if they began with two stars, as patterns of rsync do. */
async function matchedDeeper(
  globs: readonly string[],
  exclude: readonly Glob[],
  directories: readonly { src: Buffer }[],
): Promise<Set<string>> {
  const relative = globs.filter((glob) => /^(?!\.?\/|\*\*\/).+\/./.test(glob));
  const deep = parseGlobs(
    relative.map((glob) => `**/${glob}`),
    'exclude',
  );
  if (deep.length === 0) return new Set();
  // Apart, because a glob counts as used if it could match in a directory that another one excludes.
  const [own, wanted] = [globScope(undefined, exclude), globScope(undefined, deep)];
  const left = directories.map(({ src }) => ({ src, own, wanted }));
  for (let listed = 0; listed < Math.min(left.length, mostListed); listed++) {
    const at = left[listed] as (typeof left)[number];
    const options = { encoding: 'buffer', withFileTypes: true } as const;
    for (const entry of await promises.readdir(at.src, options).catch(() => [])) {
      const judge = (scope: GlobScope | undefined) =>
        scope && judgeGlobs(scope, textOf(entry.name.toString('latin1')), entry.isDirectory());
      const excluded = judge(at.own);
      if (excluded?.verdict === verdicts.leave) continue;
      const below = judge(at.wanted)?.below;
      if (below) left.push({ src: join(at.src, entry.name), own: excluded?.below, wanted: below });
    }
  }
  const unused = new Set(unusedGlobs(deep));
  return new Set(relative.filter((glob) => !unused.has(`**/${glob}`)));
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
