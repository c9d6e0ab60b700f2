/**
 * Decides what is copied: one verdict per entry, joined from git's rules, globs and the user's filter. Each
 * stage stores its state for a directory in a scope. A stage that has no effect below a directory has no scope
 * there. If no stage has one, the engine alone copies the directory.
 */
import { isThenable } from '../builtins.js';
import { invalidType, invalidValue } from '../errors/arguments.js';
import type { FilterEntry } from '../types.js';
import { type EntryFilter, FilterAsker } from './filter.js';
import type { Gitignore } from './gitignore.js';
import type { GitignoreOptions, GitignoreScope } from './gitignore-scope.js';
import { type Glob, type GlobScope, globScope, judgeGlobs } from './globs.js';
import { type Listed, type SelectionWarning, textOf, type Verdict, verdicts } from './verdict.js';

export type { EntryFilter } from './filter.js';
export { type Listed, type SelectionWarning, textOf, type Verdict, verdicts } from './verdict.js';

export interface SelectionOptions extends GitignoreOptions {
  include: readonly Glob[] | undefined;
  exclude: readonly Glob[];
  filter?: EntryFilter | undefined;
  /** Also report why an entry is excluded. */
  explain?: boolean;
}

/** A directory on the way. Its members are for this unit only. */
export interface DirectoryScope {
  /** Below SRC: empty or with a slash at its end. A byte per character. */
  path: string;
  rules?: GitignoreScope;
  globs?: GlobScope;
  entry?: FilterEntry;
}

/** Indexed like the entries that were judged. */
export interface Judged {
  verdicts: Uint8Array;
  /** For each directory that will be asked about. */
  scopes: (DirectoryScope | undefined)[];
  /** With `explain`: `.gitignore:3:*.log`, `exclude: *.map`, … */
  reasons?: (string | undefined)[];
}

export interface Selection {
  root: DirectoryScope;
  warnings: SelectionWarning[];
  /** Entries that judge() gets at most, so that the event loop has its turns in between. */
  readonly slice: number;
  /**
   * Reads the rule files in a directory's listing, which must be whole. Returns a promise only if git is asked: at the root of a
   * nested repository, and for a .gitignore that is in the index. Throws or rejects with a CopyError.
   */
  enter(
    scope: DirectoryScope,
    entries: readonly Listed[],
  ): DirectoryScope | Promise<DirectoryScope>;
  /**
   * Judges some entries of a directory after enter(). Returns a promise only if the filter does. Throws or
   * rejects with the filter's value.
   */
  judge(scope: DirectoryScope, entries: readonly Listed[]): Judged | Promise<Judged>;
  /** Returns whether a rule file of `ignoreFileNames` was found. */
  hasMet(ruleFileName: string): boolean;
  /** Has what was left out of a copy between worktrees. */
  readonly gitignore: Gitignore | undefined;
}

/** Checks names of rule files. Throws ERR_INVALID_ARG_TYPE or _VALUE. */
export function checkRuleFileNames(names: unknown, option: string): string[] {
  if (!Array.isArray(names)) throw invalidType(option, 'an array of file names', names);
  return names.map((name, index) => {
    if (typeof name !== 'string') throw invalidType(`${option}[${index}]`, 'a file name', name);
    if (/^\.{0,2}$|[/\0]/.test(name)) {
      throw invalidValue(`${option}[${index}]`, 'a file name without slashes', name);
    }
    return name;
  });
}

/**
 * Creates a selection. `src` is the absolute path of a directory, `shown` is its name in messages. Returns
 * undefined if nothing selects: then everything is copied without JavaScript. Rejects with a CopyError if rules
 * cannot be read.
 */
export async function createSelection(
  src: Buffer,
  options: SelectionOptions,
  shown: string = src.toString(),
): Promise<Selection | undefined> {
  const root: DirectoryScope = { path: '' };
  const globs = globScope(options.include, options.exclude);
  if (globs) root.globs = globs;
  let gitignore: Gitignore | undefined;
  if (options.gitignore || options.onlyIgnored || options.ignoreFileNames.length > 0) {
    const { Gitignore } = await import('./gitignore.js'); // loaded late: most copies do without
    gitignore = new Gitignore(src, shown, options);
    root.rules = await gitignore.start();
  }
  const asker = options.filter && new FilterAsker(options.filter);
  if (!root.globs && !root.rules && !asker) return undefined;
  return new TreeSelection(root, gitignore, asker, options.explain ?? false);
}

/** Creates a selection by the user's function alone. */
export function filterSelection(filter: EntryFilter): Selection {
  return new TreeSelection({ path: '' }, undefined, new FilterAsker(filter), false);
}

const { leave, take, takeAll } = verdicts;

class TreeSelection implements Selection {
  readonly slice: number;
  readonly root: DirectoryScope;
  readonly warnings: SelectionWarning[];
  readonly gitignore: Gitignore | undefined;
  #asker: FilterAsker | undefined;
  #explain: boolean;

  constructor(
    root: DirectoryScope,
    gitignore: Gitignore | undefined,
    asker: FilterAsker | undefined,
    explain: boolean,
  ) {
    this.root = root;
    this.warnings = gitignore?.warnings ?? [];
    this.gitignore = gitignore;
    this.#asker = asker;
    this.#explain = explain;
    // Rules may take 70 ms per entry, if there are 50,000. Promises of a filter are awaited together.
    this.slice = asker ? 512 : 32;
  }

  hasMet(ruleFileName: string): boolean {
    return this.gitignore?.hasMet(ruleFileName) ?? false;
  }

  enter(
    scope: DirectoryScope,
    entries: readonly Listed[],
  ): DirectoryScope | Promise<DirectoryScope> {
    const rules = scope.rules && this.gitignore?.enter(scope.rules, entries, scope.path);
    if (isThenable(rules)) return rules.then((entered) => ({ ...scope, rules: entered }));
    return rules ? { ...scope, rules } : scope;
  }

  judge(scope: DirectoryScope, entries: readonly Listed[]): Judged | Promise<Judged> {
    const judged: Judged = {
      verdicts: new Uint8Array(entries.length),
      scopes: new Array(entries.length),
      ...(this.#explain && { reasons: new Array(entries.length) }),
    };
    const asked: FilterEntry[] = [];
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as Listed;
      const below: DirectoryScope | undefined =
        entry.kind === 'directory' ? { path: `${scope.path}${entry.name}/` } : undefined;
      const verdict = this.#judgeOne(scope, entry, below, judged, i);
      judged.verdicts[i] = verdict;
      if (verdict === leave) continue;
      if (this.#asker) {
        const asks = filterEntry(entry, scope.entry);
        asked[i] = asks;
        if (below) below.entry = asks;
      }
      if (verdict !== takeAll) judged.scopes[i] = below;
    }
    const answered = this.#asker?.ask(asked, (index) => {
      judged.verdicts[index] = leave;
      judged.scopes[index] = undefined;
      if (judged.reasons) judged.reasons[index] = 'filter';
    });
    return answered ? answered.then(() => judged) : judged;
  }

  /** Judges an entry by everything except the filter. Fills `below` for a directory. */
  #judgeOne(
    scope: DirectoryScope,
    entry: Listed,
    below: DirectoryScope | undefined,
    { reasons }: Judged,
    index: number,
  ): Verdict {
    const isDirectory = below !== undefined;
    let verdict: Verdict = this.#asker || !isDirectory ? take : takeAll;
    let met: readonly Glob[] = [];
    if (scope.globs) {
      const answer = judgeGlobs(scope.globs, textOf(entry.name), isDirectory);
      if (answer.verdict === leave) {
        if (reasons) reasons[index] = answer.reason;
        return leave;
      }
      if (below && answer.below) below.globs = answer.below;
      met = answer.met ?? [];
      if (answer.verdict < verdict) verdict = answer.verdict;
    }
    if (scope.rules && this.gitignore) {
      const answer = this.gitignore.judge(scope.rules, entry, scope.path);
      if (answer.verdict === leave) {
        if (reasons) reasons[index] = this.gitignore.reasonOf(answer);
        return leave;
      }
      if (below && answer.verdict !== takeAll) {
        below.rules = this.gitignore.below(scope.rules, entry.name, answer, scope.path);
      }
      if (answer.verdict < verdict) verdict = answer.verdict;
    }
    for (const glob of met) glob.used = true;
    return verdict;
  }
}

function filterEntry({ name: bytes, kind }: Listed, parent: FilterEntry | undefined): FilterEntry {
  const name = textOf(bytes);
  if (!parent) return { path: name, name, kind };
  return { path: `${parent.path}/${name}`, name, kind, parent };
}
