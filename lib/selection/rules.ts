/** The rules of one file with .gitignore's syntax. Finds the rule that decides about an entry. */
import { foldCase, matchesWildcard, parseWildcard, type Wildcard } from './wildmatch.js';

/** One line of a rule file. Strings hold a byte per character. */
export interface Rule {
  /** Counted from 1. */
  line: number;
  text: string;
  negative: boolean;
  onlyDirectories: boolean;
  /** The beginning of the name, or of the path for a rule with a slash, before any wildcard. */
  prefix: string;
  /** The rest after the prefix. */
  rest?: Wildcard;
  /** The end of the name. A rule with one star and no other wildcard needs nothing else. */
  suffix?: string;
}

export interface RuleFile {
  /** As users know it. */
  shown: string;
  /** Named by the user, not git's. It applies to tracked files also. */
  own: boolean;
  fold: boolean;
  /** Rules for names: those without wildcards by the name, and the others. */
  byName: Map<string, Rule[]>;
  names: Rule[];
  /** Rules for paths below the directory that has the file. */
  paths: Rule[];
}

/** A rule file, seen from a directory below it. */
export interface RulesHere {
  file: RuleFile;
  /** This directory, seen from the file's: empty or with a slash at its end. Folded if names are. */
  directory: string;
  /** Those that can match here or further down. */
  paths: Rule[];
}

export function parseRules(
  content: Buffer,
  { shown, own, fold }: Pick<RuleFile, 'shown' | 'own' | 'fold'>,
): RuleFile {
  const file: RuleFile = { shown, own, fold, byName: new Map(), names: [], paths: [] };
  const hasMark = content[0] === 0xef && content[1] === 0xbb && content[2] === 0xbf;
  const lines = content.toString('latin1', hasMark ? 3 : 0).split('\n');
  lines.forEach((line, index) => {
    addRule(file, line, index + 1);
  });
  return file;
}

function addRule(file: RuleFile, source: string, line: number): void {
  if (source.startsWith('#')) return;
  const [beforeNul = ''] = source.replace(/\r$/, '').split('\0');
  const text = withoutSpacesAtEnd(beforeNul);
  const negative = text.startsWith('!');
  let pattern = negative ? text.slice(1) : text;
  const onlyDirectories = pattern.endsWith('/');
  if (onlyDirectories) pattern = pattern.slice(0, -1);
  if (pattern === '') return;
  // A pattern without a slash means any depth anyway.
  pattern = pattern.replace(/^(\*\*+\/)+(?=[^/]+$)/, '');
  const rule: Rule = { line, text, negative, onlyDirectories, prefix: '' };
  const literal = (bytes: string): string => (file.fold ? foldCase(bytes) : bytes);
  const isPath = pattern.includes('/');
  if (pattern.startsWith('/')) pattern = pattern.slice(1);

  if (!isPath && /^\*[^*?[\\]*$/.test(pattern)) {
    file.names.push({ ...rule, suffix: literal(pattern.slice(1)) });
    return;
  }
  const wild = pattern.search(/[*?[\\]/);
  rule.prefix = literal(wild < 0 ? pattern : pattern.slice(0, wild));
  if (wild >= 0) {
    // As in git, the prefix is compared first, and a double star behind it counts as one at the start.
    const rest = parseWildcard(pattern.slice(isPath ? wild : 0), file.fold);
    if (!rest) return;
    rule.rest = rest;
    if (!isPath) rule.prefix = '';
  }
  if (isPath) {
    file.paths.push(rule);
  } else if (rule.rest) {
    file.names.push(rule);
  } else {
    const same = file.byName.get(rule.prefix);
    if (same) same.push(rule);
    else file.byName.set(rule.prefix, [rule]);
  }
}

/** Removes spaces at the end, except an escaped one and those before it. */
function withoutSpacesAtEnd(text: string): string {
  let end = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === ' ') continue;
    end = at + 1;
  }
  return text.slice(0, end);
}

/** Returns the file's rules in its own directory, or in one below it. */
export function rulesIn(file: RuleFile, path = ''): RulesHere {
  const directory = file.fold ? foldCase(path) : path;
  return { file, directory, paths: livePaths(file.paths, directory) };
}

/** Returns the same rules in a subdirectory. */
export function rulesBelow(here: RulesHere, name: string): RulesHere {
  const { file, paths } = here;
  const directory = `${here.directory}${file.fold ? foldCase(name) : name}/`;
  return { file, directory, paths: livePaths(paths, directory) };
}

function livePaths(paths: Rule[], directory: string): Rule[] {
  const isLive = ({ prefix, rest }: Rule): boolean =>
    prefix.startsWith(directory) || (rest !== undefined && directory.startsWith(prefix));
  return paths.every(isLive) ? paths : paths.filter(isLive);
}

/**
 * Returns the last rule that matches an entry of the directory. `name` must be folded if the file's rules are.
 */
export function lastMatch(here: RulesHere, name: string, isDirectory: boolean): Rule | undefined {
  const { file, directory, paths } = here;
  const named = file.byName.get(name);
  let last = named?.findLast((rule) => isDirectory || !rule.onlyDirectories);
  for (let i = file.names.length - 1; i >= 0; i--) {
    const rule = file.names[i] as Rule;
    if (last && last.line > rule.line) break;
    if (rule.onlyDirectories && !isDirectory) continue;
    const { suffix, rest } = rule;
    const matches =
      suffix === undefined ? rest && matchesWildcard(rest, name, 0) : name.endsWith(suffix);
    if (!matches) continue;
    last = rule;
    break;
  }
  if (paths.length === 0) return last;
  const path = directory + name;
  for (let i = paths.length - 1; i >= 0; i--) {
    const rule = paths[i] as Rule;
    if (last && last.line > rule.line) break;
    if (rule.onlyDirectories && !isDirectory) continue;
    const { prefix, rest } = rule;
    if (rest === undefined ? path !== prefix : !path.startsWith(prefix)) continue;
    if (rest && !matchesWildcard(rest, path, prefix.length)) continue;
    return rule;
  }
  return last;
}
