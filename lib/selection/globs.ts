/**
 * Matches globs relative to SRC, segment by segment on the way down. A directory has only the globs that can still
 * match below it, so only a name has to be matched.
 */
import { invalidType, invalidValue } from '../errors/arguments.js';
import { type Verdict, verdicts } from './verdict.js';
import { matchesSegment, parseWildcard } from './wildmatch.js';

const { leave, look, take, takeAll } = verdicts;

/** The maximum number of paths from braces. */
const mostPaths = 1000;

const anyDirectories = Symbol('**');
const isDouble = /^\*\*+$/;
type Segment = typeof anyDirectories | ((name: string) => boolean);

export interface Glob {
  /** As the user wrote it. */
  source: string;
  segments: readonly Segment[];
  /**
   * For each place between segments: that place and the equivalent ones, because `**` may stand for nothing.
   */
  places: readonly (readonly number[])[];
  onlyDirectories: boolean;
  /**
   * True if it has matched an entry, or may have. Entries below a directory that is included as a whole are not
   * matched.
   */
  used: boolean;
}

/** A glob within a directory, and the segments that an entry may match there. */
interface Active {
  glob: Glob;
  at: readonly number[];
}

/** The globs of one directory. */
export interface GlobScope {
  /** Undefined: everything here is included. */
  include: readonly Active[] | undefined;
  exclude: readonly Active[];
}

export interface GlobAnswer {
  verdict: Verdict;
  /** The scope within a directory whose verdict is take or look. */
  below?: GlobScope;
  /** The reason for an exclusion. */
  reason?: string;
  /** Included globs that match it. They are used, unless rules exclude the entry. */
  met?: readonly Glob[];
}

/** Refuses rsync's idiom to enter all directories, which here would copy them whole. Throws ERR_INVALID_ARG_VALUE. */
export function refuseAllDirectories(globs: readonly Glob[] = [], option: string): void {
  const glob = globs.length > 1 && globs.find(({ source }) => /^(\.\/)?\*+\/$/.test(source));
  const expected =
    "a glob that names what to copy, since '*/' would copy every directory whole: leave it out, and exclude '*' too";
  if (glob) throw invalidValue(option, expected, glob.source);
}

/** Checks an option's globs. Throws ERR_INVALID_ARG_TYPE or _VALUE. */
export function parseGlobs(globs: unknown, option: string): Glob[] {
  if (!Array.isArray(globs)) throw invalidType(option, 'an array of globs', globs);
  return globs.flatMap((glob, index) => parseGlob(glob, `${option}[${index}]`));
}

function parseGlob(source: unknown, option: string): Glob[] {
  if (typeof source !== 'string') throw invalidType(option, 'a glob', source);
  const refuse = (expected: string): Error => invalidValue(option, expected, source);
  const paths = expandBraces(source);
  if (!paths) throw refuse(`a glob whose braces stand for at most ${mostPaths} paths`);
  return paths.map((expanded) => {
    const plain = expanded.replace(/\\.|\[[^\]]*\]?/gs, 'x');
    if (/[@?*+!]\(|\([^()]*\||\{[^{}]*\.\./.test(plain))
      throw refuse(
        "a glob without groups and ranges: write a backslash before a parenthesis that is part of a name, '{a,b}' for '@(a|b)', '{1,2}' for '{1..2}', and exclude for '!(a)'",
      );
    if (expanded.startsWith('!')) throw refuse("a glob that does not begin with '!'");
    const onlyDirectories = expanded.endsWith('/');
    const parts = expanded.replace(/^(\.?\/+)+/, '').split(/\/+/);
    if (onlyDirectories) parts.pop();
    if (parts.join('') === '') throw refuse('a glob that is not empty');
    // As in .gitignore and rsync: a name, at any depth.
    if (parts.length === 1 && !/^\.?\//.test(expanded)) parts.unshift('**');
    // As in .gitignore: everything in it, but not the directory itself.
    if (isDouble.test(parts.at(-1) as string)) parts.push('*');
    const segments = parts.map((part): Segment => {
      if (isDouble.test(part)) return anyDirectories;
      if (part === '.' || part === '..') throw refuse("a glob without '.' and '..' as directories");
      return parseSegment(part, refuse);
    });
    return { source, segments, places: placesOf(segments), onlyDirectories, used: false };
  });
}

/**
 * Returns a matcher that takes at most segment times name, while a regular expression tries all places of each star. Brackets have
 * the meaning of a shell and of git.
 */
function parseSegment(segment: string, refuse: (expected: string) => Error): Segment {
  if (!/[\\*?[]/.test(segment)) return (name) => name === segment;
  const tokens = parseWildcard(segment, false)?.[0];
  if (!Array.isArray(tokens))
    throw refuse(
      'a glob that parses: its brackets closed and without a slash, with known classes, and no backslash at its end',
    );
  // Also matches the segment literally, because people use names such as `[id].ts`.
  return (name) => name === segment || matchesSegment(tokens, name, 0, name.length);
}

/** Expands `{a/b,c}/d` to `a/b/d` and `c/d`, as a shell does. Returns undefined if there are too many. */
function expandBraces(glob: string): string[] | undefined {
  const paths: string[] = [];
  for (const left = [glob]; left.length > 0; ) {
    const next = left.pop() as string;
    const split = splitBraces(next);
    if (left.length + paths.length + (split?.length ?? 1) > mostPaths) return undefined;
    if (split) left.push(...split.reverse());
    else paths.push(next);
  }
  return [...new Set(paths)];
}

/** Splits at the first closed braces that contain a comma. */
function splitBraces(glob: string): string[] | undefined {
  const depths: { start: number; commas: number[] }[] = [];
  for (let at = 0; at < glob.length; at++) {
    const inner = depths.at(-1);
    if (glob[at] === '\\') at += 1;
    else if (glob[at] === '{') depths.push({ start: at, commas: [] });
    else if (glob[at] === ',') inner?.commas.push(at);
    else if (glob[at] === '}' && inner) {
      depths.pop();
      if (inner.commas.length === 0) continue;
      const ends = [...inner.commas, at];
      const starts = [inner.start, ...inner.commas];
      const [before, after] = [glob.slice(0, inner.start), glob.slice(at + 1)];
      return starts.map((start, i) => before + glob.slice(start + 1, ends[i]) + after);
    }
  }
  return undefined;
}

/** Returns undefined if the globs exclude nothing. An `include` without globs excludes everything. */
export function globScope(
  include: readonly Glob[] | undefined,
  exclude: readonly Glob[],
): GlobScope | undefined {
  if (!include && exclude.length === 0) return undefined;
  const begin = (glob: Glob): Active => ({ glob, at: glob.places[0] as readonly number[] });
  return {
    include: include?.map(begin),
    exclude: exclude.map(begin),
  };
}

function placesOf(segments: readonly Segment[]): number[][] {
  const places: number[][] = [[segments.length]];
  for (let place = segments.length - 1; place >= 0; place--) {
    const next = segments[place] === anyDirectories ? (places[0] as number[]) : [];
    places.unshift([place, ...next]);
  }
  return places;
}

/** Returns the places of a glob within an entry; undefined if it cannot match there. */
function advance({ glob, at }: Active, name: string): readonly number[] | undefined {
  let reached: readonly number[] | undefined;
  for (const place of at) {
    const segment = glob.segments[place];
    if (segment === undefined || (segment !== anyDirectories && !segment(name))) continue;
    const places = glob.places[segment === anyDirectories ? place : place + 1] as readonly number[];
    reached = reached ? [...new Set([...reached, ...places])] : places;
  }
  return reached;
}

/** Judges an entry. A glob that matches a directory matches everything in it. */
export function judgeGlobs(scope: GlobScope, name: string, isDirectory: boolean): GlobAnswer {
  const exclude = match(scope.exclude, name, isDirectory);
  for (const glob of exclude.met) glob.used = true;
  if (exclude.by) return { verdict: leave, reason: `exclude: ${exclude.by.source}` };
  const include = scope.include && match(scope.include, name, isDirectory);
  const included = !include || include.by !== undefined;
  if (!isDirectory) return included ? { verdict: take, met: include?.met ?? [] } : notIncluded;
  if (included) {
    const met = include?.met ?? [];
    if (exclude.below.length === 0) return { verdict: takeAll, met };
    return { verdict: take, met, below: { include: undefined, exclude: exclude.below } };
  }
  if (include.below.length === 0) return notIncluded;
  return { verdict: look, below: { include: include.below, exclude: exclude.below } };
}

/** Returns the glob, as the user wrote it, that excludes a name at any depth. */
export function excludedBy(
  exclude: readonly Glob[],
  name: string,
  isDirectory: boolean,
): string | undefined {
  const anywhere = exclude.filter(({ segments }) => segments[0] === anyDirectories);
  return match(globScope(undefined, anywhere)?.exclude ?? [], name, isDirectory).by?.source;
}

const notIncluded: GlobAnswer = { verdict: leave, reason: 'include: no glob matches' };

/** Returns an option's globs that have matched nothing, as the user wrote them. */
export function unusedGlobs(globs: readonly Glob[]): string[] {
  const used = new Set(globs.filter((glob) => glob.used).map(({ source }) => source));
  return [...new Set(globs.map(({ source }) => source))].filter((source) => !used.has(source));
}

/** Returns the first glob that matches the entry, or the globs that can match below it. */
function match(
  active: readonly Active[],
  name: string,
  isDirectory: boolean,
): { by?: Glob; met: Glob[]; below: Active[] } {
  const below: Active[] = [];
  const met: Glob[] = [];
  for (const one of active) {
    const at = advance(one, name);
    if (!at) continue;
    const { segments, onlyDirectories } = one.glob;
    if (at.includes(segments.length) && (isDirectory || !onlyDirectories)) {
      met.push(one.glob);
    } else if (isDirectory) {
      below.push({ glob: one.glob, at });
    }
  }
  const [by] = met;
  if (!by) return { met, below };
  return { by, met: [...met, ...below.map(({ glob }) => glob)], below };
}
