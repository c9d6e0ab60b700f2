/** What is known of a directory for git's rules, and how a rule is found there. */
import { lastMatch, type Rule, type RulesHere } from './rules.js';
import type { Tracked } from './tracked.js';
import { textOf, type Verdict } from './verdict.js';
import { foldCase } from './wildmatch.js';

export interface GitignoreOptions {
  gitignore: boolean;
  onlyIgnored: boolean;
  /** With `onlyIgnored`: .worktreeinclude limits it, and no `.git` and no other repository is copied. */
  worktree?: boolean;
  ignoreFileNames: readonly string[];
  /** Symlinks to directories are listed as directories. */
  dereference: boolean;
  /** Ends git if that has not answered. */
  signal?: AbortSignal | undefined;
}

/** The rules of one directory. */
export interface GitignoreScope {
  /** From the weakest to the strongest. */
  rules: RulesHere[];
  /** The rule that excludes this directory, except its tracked files. */
  ignoredBy?: Match;
  /** The directory below SRC that this rule excludes. */
  ignored?: string;
  /** The rules of .worktreeinclude. Absent if everything here is wanted. */
  wanted?: RulesHere;
  /** With `worktree`: this is another repository. */
  isOther?: true;
  repository?: RepositoryHere;
}

export interface RepositoryHere {
  ignoreCase: boolean;
  tracked: Tracked;
  /** This directory, relative to the beginning of the tracked paths: empty or with a slash at its end. */
  path: string;
}

export interface Match {
  rule: Rule;
  from: RulesHere;
}

export interface Answer {
  verdict: Verdict;
  /** The rule that excludes an entry, or a directory except a part of it. */
  match?: Match;
  /** The reason for an exclusion without a rule. */
  reason?: string;
  /** The rules of .worktreeinclude in a directory that they do not match. */
  wanted?: RulesHere;
}

/** Returns the rule that decides: the last one that matches, in the strongest file. */
export function matchOf(
  { rules, repository }: GitignoreScope,
  name: string,
  isDirectory: boolean,
): Match | undefined {
  const folded = repository?.ignoreCase ? foldCase(name) : name;
  for (let i = rules.length - 1; i >= 0; i--) {
    const from = rules[i] as RulesHere;
    const rule = lastMatch(from, from.file.fold ? folded : name, isDirectory);
    if (rule) return { rule, from };
  }
  return undefined;
}

/** Git's rules do not affect tracked files. The user's own rules do. */
export function isTracked(
  { repository }: GitignoreScope,
  { from }: Match,
  name: string,
  isDirectory: boolean,
): boolean {
  return !from.file.own && repository?.tracked.has(repository.path + name, isDirectory) === true;
}

export function holdsTracked(
  { repository }: GitignoreScope,
  { from }: Match,
  name: string,
): boolean {
  return !from.file.own && repository?.tracked.hasBelow(repository.path + name) === true;
}

export function isDotGit({ repository }: GitignoreScope, name: string): boolean {
  return name === '.git' || (repository?.ignoreCase === true && foldCase(name) === '.git');
}

/** Names a rule as `git check-ignore -v` does: file, line and pattern. */
export function shownRule({ rule, from }: Match): string {
  return `${from.file.shown}:${rule.line}:${textOf(rule.text)}`;
}
